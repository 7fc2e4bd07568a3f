"""Scratch: private folders for profile files, gone when nobody holds them; and log directories, where files are kept."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
from pathlib import Path

from ...errors import CaptureError
from ...trace.scratch import free_bytes, make_folder, remove_folder

RUNS = Path("plugins", "profile")
"""Where TensorBoard looks for runs below a log directory."""


def make_scratch(bytes_bound: int) -> Path:
    """Make an empty private folder for a capture of at most about `bytes_bound` bytes.

    Raises:
        CaptureError: no temporary folder can be written; the message names it and its free space.
    """
    try:
        return make_folder(bytes_bound)
    except OSError as error:
        place = Path(error.filename or ".").parent
        raise CaptureError(
            f"The capture has no place for its files: {place} ({free_text(place)} free): {error}. "
            "Free some space, set TMPDIR, or give logdir= on another disk."
        ) from error


def free_text(place: Path) -> str:
    """Return the free space where `place` is (or would be) as text: `1.5 GiB`."""
    # Not `Path.exists`, which raises where a name is too long.
    free = free_bytes(next((parent for parent in (place, *place.parents) if os.path.exists(parent)), Path("/")))  # noqa: PTH110
    return f"{free / 2**30:.1f} GiB" if free >= 2**30 else f"{free / 2**20:.1f} MiB"


def remove_scratch(folder: Path, owner_pid: int) -> None:
    """Delete a scratch folder, and where its sessions were written when it had no more room; not in a forked child."""
    if os.getpid() == owner_pid:
        with contextlib.suppress(OSError):
            for link in folder.glob("session*"):
                if link.is_symlink():
                    remove_folder(link.resolve(), owner_pid)
    remove_folder(folder, owner_pid)


def place_run(run_dir: Path, logdir: Path, name: str = "") -> Path:
    """Move a run directory into `logdir/plugins/profile`, whole or not at all, and return where it is.

    Args:
        run_dir: what TensorFlow wrote, named by the second.
        logdir: any directory; it is made.
        name: what to call it there, where not as it is called now.

    Raises:
        OSError: it could not be moved whole; `run_dir` is then still there.
    """
    name = name or run_dir.name
    runs = logdir / RUNS
    runs.mkdir(parents=True, exist_ok=True)
    if _share_a_disk(runs, run_dir):
        return run_dir.rename(new_run(logdir, name))  # over the empty directory of that name
    # Under a name that nobody looks for: half of it would be found where the process is killed meanwhile.
    part = runs / f".{name}.{os.getpid()}.part"
    try:
        shutil.copytree(run_dir, part)
        target = part.rename(new_run(logdir, name))
    except OSError:
        shutil.rmtree(part, ignore_errors=True)
        raise
    shutil.rmtree(run_dir, ignore_errors=True)
    return target


def _share_a_disk(place: Path, other: Path) -> bool:
    return place.stat().st_dev == other.stat().st_dev


def new_run(logdir: Path, name: str) -> Path:
    """Make an empty run directory `logdir/plugins/profile/<name>`, or `<name>_2` and so on where that is taken.

    Raises:
        OSError: it cannot be made.
    """
    runs = logdir / RUNS
    runs.mkdir(parents=True, exist_ok=True)
    # TensorFlow names runs by the second: two captures of one second have one name.
    for n in itertools.count(1):
        run = runs / (name if n == 1 else f"{name}_{n}")
        with contextlib.suppress(FileExistsError):
            run.mkdir()
            break
    return run
