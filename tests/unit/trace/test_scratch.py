"""Private folders lie on a disk that has the room, and are swept when their process is surely gone, not before."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tfprof_widgets.trace import Owner, scratch

MIB = 2**20


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder for temporary files."""
    monkeypatch.setattr(scratch, "_parents", lambda: [tmp_path])
    return tmp_path


def dead_process() -> int:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    return gone.pid


def left(place: Path, name: str = "", *, n_bytes: int = 0, **changes: object) -> Path:
    """A folder of another process, with a trace of so many bytes."""
    process_id = dead_process()
    folder = place / f"tfprof-{process_id}-{name}"
    folder.mkdir()
    if n_bytes:
        run = folder / "plugins" / "profile" / "2026_11_26_04_00_00"
        run.mkdir(parents=True)
        (run / "host.xplane.pb").write_bytes(bytes(n_bytes))
    values: dict[str, object] = {"process_id": process_id} | changes
    scratch.write_owner(folder, replace(scratch._this_process(), **values))  # type: ignore[arg-type]
    return folder


def test_a_folder_is_private_and_names_its_process(place: Path) -> None:
    folder = scratch.make_folder(1)
    assert folder.parent == place
    assert folder.stat().st_mode & 0o077 == 0
    owner = scratch._read_owner(folder)
    assert owner is not None
    assert owner.process_id == os.getpid()
    assert scratch.state_of(owner) == "running"


def test_what_a_dead_process_left_without_traces_is_swept_and_what_a_living_one_has_is_not(place: Path) -> None:
    mine = scratch.make_folder(1)
    dead = left(place)
    scratch.make_folder(1)
    assert mine.exists()
    assert not dead.exists()


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "ended"),
        ({"process_ids": "pid:[1]"}, "unknown"),
        ({"machine": "elsewhere"}, "unknown"),
        ({"boot": "an earlier one"}, "ended"),
        ({"process_id": os.getpid(), "process_start": "1"}, "ended"),
        ({"process_id": os.getpid()}, "running"),
    ],
)
def test_a_process_is_gone_only_where_this_one_would_see_it(
    place: Path, changes: dict[str, object], state: str
) -> None:
    """Its number says nothing in another container, and is given out again."""
    folder = left(place, **changes)
    owner = scratch._read_owner(folder)
    assert owner is not None
    assert scratch.state_of(owner) == state
    scratch.sweep()
    assert folder.exists() == (state != "ended")


def test_a_child_that_nobody_waited_for_is_gone() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    deadline_s = time.monotonic() + 10
    while scratch._start_of(child.pid) is not None and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert scratch._start_of(child.pid) is None
    child.wait()


def test_folders_of_others_and_without_a_note_stay(place: Path) -> None:
    for name in ("tfprof-1-plain", "tfprof-tests-1"):
        (place / name).mkdir()
    (place / "tfprof-2-link").symlink_to(left(place, "target", n_bytes=1))
    broken = place / "tfprof-3-broken"
    broken.mkdir()
    (broken / scratch.NOTE).write_text('{"process_id": "x"}')
    before = sorted(place.iterdir())
    scratch.sweep()
    assert sorted(place.iterdir()) == before


def test_traces_of_the_killed_stay_for_a_while_and_up_to_a_size(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now_ns = time.time_ns()
    new, old, oldest = (left(place, str(age), n_bytes=MIB, made_ns=now_ns - age * 10**9) for age in (1, 2, 3))
    ancient = left(place, n_bytes=1, made_ns=now_ns - 8 * 86_400 * 10**9)
    monkeypatch.setattr(scratch, "KEPT_BYTES", int(2.5 * MIB))
    scratch.sweep()
    assert [folder.exists() for folder in (new, old, oldest, ancient)] == [True, True, False, False]
    assert [(one.folder, one.n_windows) for one in scratch.left_folders()] == [(new, 1), (old, 1)]


def test_a_disk_is_taken_before_memory_and_one_with_room_before_a_full_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, full, roomy = (tmp_path / name for name in ("memory", "full", "roomy"))
    for folder in (memory, full, roomy):
        folder.mkdir()
    free = {memory: 1000, full: 5, roomy: 100}
    monkeypatch.setattr(scratch, "_parents", lambda: [memory, full, roomy])
    monkeypatch.setattr(scratch, "is_memory", lambda place: place == memory)
    monkeypatch.setattr(scratch, "free_bytes", lambda place: free[place])
    assert scratch.room_for(50) == roomy
    free[roomy] = 10
    assert scratch.room_for(50) == memory
    free[memory] = 100
    assert scratch.room_for(50) == roomy, "a training may need the memory: better the disk that has most"


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no memory-backed folder here")
def test_memory_backed_folders_are_known(tmp_path: Path) -> None:
    assert scratch.is_memory(Path("/dev/shm"))
    assert scratch.is_memory(tmp_path) == ("tmpfs" in subprocess.getoutput(f"stat -f -c %T {tmp_path}"))


def test_single_files_of_a_process_share_a_folder_of_its_own(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "_folders", {})
    folder = scratch.process_folder(1)
    assert scratch.process_folder(1) == folder
    assert isinstance(scratch._read_owner(folder), Owner)
    scratch.remove_folder(folder, os.getpid() + 1)
    assert folder.exists(), "it is another process's"
    scratch.remove_folder(folder, os.getpid())
    assert scratch.process_folder(1) != folder


COPY = """
import os, fsspec
from tfprof_widgets.read import UrlPath
fsspec.filesystem("memory").pipe_file("/run/host.xplane.pb", b"content")
place = UrlPath("memory://run/host.xplane.pb")
assert place.read_bytes() == b"content"
print(place._copy, flush=True)
os._exit(0)
"""


def test_copies_of_urls_go_once_their_process_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(scratch.__file__).parents[2])}
    told = subprocess.run(
        [sys.executable, "-c", COPY], capture_output=True, text=True, check=True, env=environment
    ).stdout
    copy = Path(told.strip())
    assert copy.parent.parent == tmp_path
    assert copy.exists()
    monkeypatch.setattr(scratch, "_parents", lambda: [tmp_path])
    scratch.sweep()
    assert list(tmp_path.iterdir()) == []
