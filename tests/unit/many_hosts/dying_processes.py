"""What to run in place of `reduce_file` where a test has processes killed; imports little, as each process does so anew."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tfprof_widgets.analysis import HostFile, reduce_file

DEADLY_ONCE, DEADLY = "worker0001", "worker0007"


def dies_never(file: HostFile) -> Any:
    """Only notes where it is called."""
    return _dies(file, False)


def dies_always(file: HostFile) -> Any:
    """Ends the process at the deadly file."""
    return _dies(file, DEADLY in file.url)


def dies_once_and_always(file: HostFile) -> Any:
    """Ends the process at one file the first time, and at the deadly one each time."""
    died = Path(os.environ["TFPROF_TEST_NOTES"], "died")
    if DEADLY_ONCE not in file.url or died.exists():
        return dies_always(file)
    died.touch()
    return _dies(file, True)


def _dies(file: HostFile, is_deadly: bool) -> Any:
    if os.getpid() == int(os.environ["TFPROF_TEST_PARENT"]):
        Path(os.environ["TFPROF_TEST_NOTES"], "read in the caller").touch()
    elif is_deadly:
        os._exit(1)
    return reduce_file(file)
