"""What to run in place of `reduce_file` where a test has processes killed; imports little, as each process does so anew."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tfprof_widgets.opening.many_hosts import HostFile, reduce_file

DEADLY = ("worker0009", "worker0015")


def dies_never(file: HostFile) -> Any:
    """Only notes where it is called."""
    return _dies(file, ())


def dies_always(file: HostFile) -> Any:
    """Ends the process at each of the deadly files."""
    return _dies(file, DEADLY)


def dies_once(file: HostFile) -> Any:
    """Ends the process at the first of them, the first time."""
    died = Path(os.environ["TFPROF_TEST_NOTES"], "died")
    if DEADLY[0] not in file.url or died.exists():
        return _dies(file, ())
    died.touch()
    return _dies(file, DEADLY)


def _dies(file: HostFile, deadly: tuple[str, ...]) -> Any:
    if os.getpid() == int(os.environ["TFPROF_TEST_PARENT"]):
        Path(os.environ["TFPROF_TEST_NOTES"], "read in the caller").touch()
    elif any(name in file.url for name in deadly):
        os._exit(1)
    return reduce_file(file)
