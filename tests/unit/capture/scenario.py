"""Pieces of a program with real TensorFlow, each run in a process of its own -> what they put into `out`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.warm_process import run_python

Scenario = Callable[..., dict[str, Any]]
"""What the fixture of that name gives: `run_scenario`."""

PRELUDE = """
import gc, inspect, json, os, pathlib, signal, sys, threading, time
import numpy as np
import tensorflow as tf
import keras
from tfprof_widgets.capture import CapturingCallback
from tfprof_widgets.capture import KerasPatch
from tfprof_widgets.capture import step, trace_steps
from tfprof_widgets.capture import Capture, CaptureOptions
from tfprof_widgets.errors import CaptureError
from tfprof_widgets.read import open_traces

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job is started deaf to it
out = {}

def arrays(n_batches, size=8):
    return np.ones((size * n_batches, 4), "f4"), np.ones((size * n_batches, 1), "f4")

def model(**options):
    made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    made.compile("sgd", "mse", **options)
    return made

FIT = {"batch_size": 8, "verbose": 0}

def started(**options):
    capture = Capture(CaptureOptions(**options), patch=KerasPatch())
    capture.start()
    return capture

class RecordCallback(CapturingCallback):
    _result_name = "profile"

    def __init__(self, **options):
        super().__init__()
        self.options = CaptureOptions(**options)

    def _start_capture(self, end_if_over):
        capture = Capture(self.options, end_if_over=end_if_over)
        capture.start()
        return capture

    def _result_of(self, record):
        return record

    profile, profiles = CapturingCallback._last_result, CapturingCallback._all_results

callback_of = RecordCallback

def steps(record, *names):
    '''The numbers of the steps named so that ran to their end, window by window, in time order.'''
    found = []
    for window in record.windows:
        trace = open_traces(window.run_dir).trace
        ended = trace.has_stat("_r") & ~trace.has_stat("step_left")
        rows = np.flatnonzero(trace.names_matching(names or ("train",)) & ended)
        numbers = trace.int_stat("step_num", default=-1)
        found.append([int(numbers[i]) for i in rows[np.argsort(trace.start_ps[rows])]])
    return found

def n_kept(record):
    return sum(window.n_steps for window in record.windows)

def seconds(window):
    return (window.stop_ns - window.start_ns) / 1e9

def durations_ms(record, name):
    trace = open_traces(record.run_dirs[0]).trace
    rows = np.flatnonzero(trace.names_matching((name,)) & trace.has_stat("_r"))
    return (trace.duration_ps[rows] / 1e9).tolist()

def error_of(action):
    try:
        action()
    except BaseException as error:
        return [type(error).__name__, str(error)]
    return None
"""


def run_scenario(body: str, *, cwd: Path | None = None, **variables: str) -> dict[str, Any]:
    """Run `body` after the prelude in a process of its own and return its `out`."""
    program = PRELUDE + textwrap.dedent(body) + "\nprint('\\n@@' + json.dumps(out))\n"
    done = run_python(program, cwd=cwd, **variables)
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    result: dict[str, Any] = json.loads(done.stdout.rpartition("@@")[2])
    return result
