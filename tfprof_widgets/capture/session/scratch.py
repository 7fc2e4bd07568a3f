"""Scratch: private folders for profile files, memory-backed where there is room, gone when nobody holds them."""

from __future__ import annotations

import contextlib
import itertools
import os
import platform
import shutil
import tempfile
from pathlib import Path

from ...errors import CaptureError

PREFIX = "tfprof-"
SHARED_MEMORY = Path("/dev/shm")
ROOM_FACTOR = 4
"""A memory-backed folder is used when it has this many times the bound free: several captures live at once."""


def make_scratch(bytes_bound: int) -> Path:
    """Make an empty private folder for a capture of at most about `bytes_bound` bytes.

    Raises:
        CaptureError: no temporary folder can be written; the message names it and its free space.
    """
    parent = _parent(bytes_bound)
    _sweep(parent)
    try:
        # The name holds host and process id: the next process recognises what a killed one left behind.
        return Path(tempfile.mkdtemp(prefix=f"{_host_prefix()}{os.getpid()}-", dir=parent))
    except OSError as error:
        raise CaptureError(
            f"The capture has no place for its files: {parent} ({free_text(parent)} free): {error}. "
            "Free some space, set TMPDIR, or give logdir= on another disk."
        ) from error


def _parent(bytes_bound: int) -> Path:
    if SHARED_MEMORY.is_dir() and os.access(SHARED_MEMORY, os.W_OK | os.X_OK):
        with contextlib.suppress(OSError):
            if shutil.disk_usage(SHARED_MEMORY).free >= ROOM_FACTOR * bytes_bound:
                return SHARED_MEMORY
    return Path(tempfile.gettempdir())


def free_text(place: Path) -> str:
    """Return the free space where `place` is (or would be) as text: `1.5 GiB`."""
    existing = next((p for p in (place, *place.parents) if p.exists()), Path("/"))
    try:
        free = shutil.disk_usage(existing).free
    except OSError:
        return "unknown"
    return f"{free / 2**30:.1f} GiB" if free >= 2**30 else f"{free / 2**20:.1f} MiB"


def remove_scratch(folder: Path, owner_pid: int) -> None:
    """Delete a scratch folder; does nothing in a forked child, where the folder is the parent's."""
    if os.getpid() == owner_pid:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(parent: Path) -> None:
    """Delete what killed processes of this user left in `parent`: memory-backed files would hold memory for good."""
    import psutil

    prefix = _host_prefix()
    for folder in parent.glob(f"{prefix}[0-9]*-*"):
        with contextlib.suppress(OSError, ValueError):
            pid = int(folder.name[len(prefix) :].split("-")[0])
            if folder.stat().st_uid == os.getuid() and not psutil.pid_exists(pid):
                shutil.rmtree(folder, ignore_errors=True)


def _host_prefix() -> str:
    # Containers that share the folder do not share process ids, but each has its own host name.
    return f"{PREFIX}{platform.node().replace(os.sep, '_')}-"


def new_run(logdir: Path, name: str) -> Path:
    """Make an empty run directory `logdir/plugins/profile/<name>`, or `<name>_2` and so on where that is taken.

    Raises:
        OSError: it cannot be made.
    """
    runs = logdir / "plugins" / "profile"
    runs.mkdir(parents=True, exist_ok=True)
    # TensorFlow names runs by the second: two windows of one second have one name.
    for n in itertools.count(1):
        run = runs / (name if n == 1 else f"{name}_{n}")
        with contextlib.suppress(FileExistsError):
            run.mkdir()
            break
    return run


def place_run(run_dir: Path, logdir: Path) -> Path:
    """Move a run directory into `logdir/plugins/profile`, under a name that is not taken; return where it is.

    Raises:
        OSError: it could not be moved whole; `run_dir` is then still there.
    """
    target = new_run(logdir, run_dir.name)
    try:
        shutil.copytree(run_dir, target, dirs_exist_ok=True)
    except OSError:
        shutil.rmtree(target, ignore_errors=True)
        raise
    shutil.rmtree(run_dir, ignore_errors=True)
    return target
