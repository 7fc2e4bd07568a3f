"""Private folders of a process on disk, and those left by processes that are gone."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import platform
import shutil
import stat
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import BinaryIO, Literal

from ..errors import TraceError

PREFIX = "tfprof-"
NOTE = "tfprof.owner.json"
TRACES = "plugins/profile/*/*.xplane.pb"
WATCHED = "tfprof.steps.bin"
SHARED_MEMORY = Path("/dev/shm")
MEMORY_SYSTEMS = frozenset(("tmpfs", "ramfs", "devtmpfs", "hugetlbfs"))
"""File systems whose files take memory."""
SPARED = 4
"""Files are in memory only where no disk has the room, and this many times their size is free."""
KEPT_S = 7 * 86_400
KEPT_BYTES = 2**30
"""Limits of the traces of killed processes, the oldest of which are deleted first."""
_MAX_NOTE_BYTES = 100_000
_MAX_PROGRAM = 200

_folders: dict[int, Path] = {}
"""Folders for single files by process id, as a fork inherits its parent's."""

State = Literal["running", "ended", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Owner:
    """The process that made a folder, and what shows whether it still runs."""

    process_id: int
    process_start: str
    """In ticks of the machine's clock, as process ids are given out again; "" where the system does not say."""
    process_ids: str
    """Its PID namespace: containers have their own."""
    boot: str
    """Id of the kernel's run."""
    machine: str
    program: str
    made_ns: int
    n_steps: int = 0
    """Steps in the traces that it has written there."""


@dataclass(frozen=True, kw_only=True)
class LeftFolder:
    """A folder of a process that is not known to run."""

    folder: Path
    owner: Owner
    state: State
    n_bytes: int
    n_windows: int
    is_watched: bool

    @property
    def is_wanted(self) -> bool:
        """Whether somebody may still ask for what is in it."""
        return bool(self.n_windows) or self.is_watched


def make_folder(n_bytes: int) -> Path:
    """Make an empty private folder where about `n_bytes` fit, and sweep what killed processes left."""
    sweep()
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=room_for(n_bytes)))
    write_owner(folder, _this_process())
    return folder


def process_folder(n_bytes: int) -> Path:
    """The folder of this process for single files, where about `n_bytes` more fit; what is in it goes with the process."""
    process_id = os.getpid()
    folder = _folders.get(process_id)
    if folder is None or not folder.is_dir() or free_bytes(folder) < n_bytes:
        folder = _folders[process_id] = make_folder(n_bytes)
        atexit.register(remove_folder, folder, process_id)
    return folder


def remove_folder(folder: Path, process_id: int) -> None:
    """Delete a folder; does nothing in a forked child of that process, whose folder it is."""
    if os.getpid() == process_id:
        shutil.rmtree(folder, ignore_errors=True)


def note_steps(folder: Path, n_steps: int) -> None:
    """Note how many steps lie in the traces in a folder of this process; it may be gone."""
    with contextlib.suppress(OSError):
        write_owner(folder, replace(_read_owner(folder) or _this_process(), n_steps=n_steps))


def write_owner(folder: Path, owner: Owner) -> None:
    """Write whose folder it is, so that nobody finds half of it."""
    part = folder / f".{NOTE}.part"
    part.write_text(json.dumps(asdict(owner)), encoding="utf-8")
    part.replace(folder / NOTE)


# ---- where there is room --------------------------------------------------------------------------------------------


def room_for(n_bytes: int) -> Path:
    """The folder for temporary files where so much fits: on a disk, where any has the room."""
    places = [place for place in _parents() if os.access(place, os.W_OK | os.X_OK)]
    on_disk = [place for place in places if not is_memory(place)]
    in_memory = [place for place in places if place not in on_disk]
    for place, needed in (
        *((place, n_bytes) for place in on_disk),
        *((place, SPARED * n_bytes) for place in in_memory),
    ):
        if free_bytes(place) >= needed:
            return place
    return max(on_disk or places, key=free_bytes, default=Path(tempfile.gettempdir()))


def _parents() -> list[Path]:
    """Where folders may be, the best first."""
    cache_home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    found = [Path(tempfile.gettempdir()), Path("/var/tmp"), cache_home, SHARED_MEMORY]
    return [place for place in dict.fromkeys(found) if place.is_dir()]


def free_bytes(place: Path) -> int:
    """Free bytes where a folder is; 0 where unknown."""
    try:
        return shutil.disk_usage(place).free
    except OSError:
        return 0


def is_memory(place: Path) -> bool:
    """Whether files there take memory; False where unknown."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        device = os.stat(place).st_dev  # noqa: PTH116 - beside os.major
        number = f"{os.major(device)}:{os.minor(device)}"
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            mount, _, source = line.partition(" - ")
            if mount.split()[2] == number:
                return source.split()[0] in MEMORY_SYSTEMS
    return False


# ---- whose folders there are ----------------------------------------------------------------------------------------


def sweep() -> None:
    """Delete what processes that are surely gone left, but for traces that somebody may still ask for."""
    kept = 0
    for left in left_folders():
        if left.state != "ended":
            continue
        kept += left.n_bytes if left.is_wanted else 0
        is_old = time.time_ns() - left.owner.made_ns > KEPT_S * 1e9
        if is_old or not left.is_wanted or kept > KEPT_BYTES:
            shutil.rmtree(left.folder, ignore_errors=True)


def left_folders() -> list[LeftFolder]:
    """Folders of this user's processes that are not known to run, the newest first."""
    found = []
    for parent in _parents():
        with contextlib.suppress(OSError):
            for folder in parent.glob(f"{PREFIX}[0-9]*-*"):
                owner = _read_owner(folder)
                if owner is None or (state := state_of(owner)) == "running":
                    continue
                n_bytes = sum(_size(file) for file in folder.rglob("*"))
                n_windows = len({file.parent for file in folder.glob(TRACES)})
                is_watched = _size(folder / WATCHED) > 0
                found.append(
                    LeftFolder(
                        folder=folder,
                        owner=owner,
                        state=state,
                        n_bytes=n_bytes,
                        n_windows=n_windows,
                        is_watched=is_watched,
                    )
                )
    return sorted(found, key=lambda left: left.owner.made_ns, reverse=True)


def state_of(owner: Owner) -> State:
    """Whether a process runs; "unknown" of one that this one cannot see, as it is of another machine or container."""
    here = _this_process()
    if owner.machine != here.machine:
        return "unknown"
    if owner.boot != here.boot:
        return "ended"
    if owner.process_ids != here.process_ids:
        return "unknown"
    start = _start_of(owner.process_id)
    return "running" if start is not None and start in (owner.process_start, "") else "ended"


def _read_owner(folder: Path) -> Owner | None:
    with contextlib.suppress(OSError, ValueError, TypeError):
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != getattr(os, "getuid", int)():
            return None
        with (folder / NOTE).open("rb") as file:
            known = json.loads(file.read(_MAX_NOTE_BYTES))
        owner = Owner(**{one.name: known[one.name] for one in fields(Owner) if one.name in known})
        numbers = (owner.process_id, owner.made_ns, owner.n_steps)
        return owner if all(type(number) is int for number in numbers) else None
    return None


def _size(file: Path) -> int:
    try:
        return file.lstat().st_size
    except OSError:
        return 0


def _this_process() -> Owner:
    return Owner(
        process_id=os.getpid(),
        process_start=_start_of(os.getpid()) or "",
        process_ids=_link("/proc/self/ns/pid"),
        boot=_text("/proc/sys/kernel/random/boot_id"),
        machine=f"{platform.node()} {_text('/etc/machine-id')}".strip(),
        # What Jupyter calls the notebook, else what the process was started with.
        program=(os.environ.get("JPY_SESSION_NAME") or sys.argv[0] or "python")[:_MAX_PROGRAM],
        made_ns=time.time_ns(),
    )


def _start_of(process_id: int) -> str | None:
    """When a process started; None where it is gone, "" where the system does not say."""
    if not Path("/proc/self/stat").exists():
        if sys.platform != "win32":  # where a signal of any number would end it
            try:
                os.kill(process_id, 0)
            except ProcessLookupError:
                return None
            except OSError:  # of another user
                pass
        return ""
    try:
        # The name of the program stands in brackets, and may have any in it.
        told = Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return None if told[0] in "ZX" else told[19]
    except (FileNotFoundError, ProcessLookupError):
        return None
    except (OSError, IndexError):
        return ""


def _link(path: str) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(path)  # noqa: PTH115 - it leads to no file
    return ""


def _text(path: str) -> str:
    with contextlib.suppress(OSError):
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    return ""


_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
"""Opening a pipe must not wait for its writer."""


def opened(file: Path, *, buffering: int = -1) -> BinaryIO:
    if not isinstance(file, Path):  # behind a URL
        return file.open("rb", buffering=buffering)
    descriptor = os.open(file, _FLAGS)
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        os.close(descriptor)
        raise TraceError(f"{file} is a pipe or a device. Copy what comes out of it to a file, and load that.")
    try:
        return os.fdopen(descriptor, "rb", buffering=buffering)
    except OSError:  # a directory
        os.close(descriptor)
        raise


def content_of(file: Path, most: int) -> bytes:
    with opened(file) as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise TraceError(f"it has more than {most} bytes, the limit")
    return content
