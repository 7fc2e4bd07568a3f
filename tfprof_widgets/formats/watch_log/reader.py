"""stub"""
import json

import numpy as np
import pandas as pd

from ...trace.watched import *
from .layout import *


def read_watch_log(folder):
    steps=np.fromfile(folder/STEPS, STEP)
    ev=tuple(json.loads(l) for l in (folder/EVENTS).read_text().splitlines())
    s=np.fromfile(folder/SAMPLES).reshape(-1,len(SAMPLE_COLUMNS))
    return WatchLog(folder, {}, steps, pd.DataFrame(s,columns=list(SAMPLE_COLUMNS)), ev, tuple(folder/e['path'] for e in ev if e['kind']=='window'))
from pathlib import Path


def is_watch_log(path):
    return "://" not in str(path) and (Path(path)/HEADER).is_file()
_r=read_watch_log
def read_watch_log(path): return _r(Path(path))
