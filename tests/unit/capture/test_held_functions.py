"""What is read of a program: functions of TensorFlow's runtime that come and go, and the map that is written without it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tfprof_widgets.analysis import UserFiles
from tfprof_widgets.capture import CapturedProgram, FrameTable, HeldFunctions, NotedModels, ProgramReader, graphs
from tfprof_widgets.capture import captured as program_reader
from tfprof_widgets.read import read_source_map
from tfprof_widgets.trace import table_frame

Counts = dict[tuple[int, bytes], int]


class Runtime:
    """TensorFlow's counts and context, which knows the functions of its counts and no others."""

    function_scope_id = 1

    def __init__(self, counts: Counts) -> None:
        self.counts, self.removed = counts, list[bytes]()

    def remove_function(self, name: bytes) -> None:
        if name == b"of before the reset":
            raise ValueError("Tried to remove non-existent function")
        self.removed.append(name)


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    made = Runtime({(1, b"kept"): 1, (1, b"dropped"): 1})
    monkeypatch.setattr(graphs, "_counts", lambda: made.counts)
    monkeypatch.setattr(graphs, "_context", lambda: made)
    return made


def test_what_is_held_and_let_go_leaves_the_counts_as_they_were(runtime: Runtime) -> None:
    held = HeldFunctions()
    held.hold()
    assert runtime.counts == {(1, b"kept"): 2, (1, b"dropped"): 2}
    runtime.counts[1, b"new"] = 1
    runtime.counts[1, b"dropped"] -= 1
    held.hold()
    assert held.names == {"kept", "dropped", "new"}
    held.release()
    assert runtime.counts == {(1, b"kept"): 1, (1, b"new"): 1}
    assert runtime.removed == [b"dropped"]


def test_what_only_another_capture_holds_is_not_held_again(runtime: Runtime) -> None:
    first = HeldFunctions()
    first.hold()
    runtime.counts[1, b"dropped"] -= 1
    second = HeldFunctions()
    second.hold()
    assert second.names == {"kept"}
    runtime.counts[1, b"new"] = 1
    first.release()
    assert runtime.removed == [b"dropped"]
    second.hold()
    assert second.names == {"kept", "new"}, "although there are as many as before"


def test_a_function_that_goes_while_others_are_being_held_is_left_out(runtime: Runtime) -> None:
    class Collected(Counts):
        def __iter__(self) -> Iterator[tuple[int, bytes]]:
            yield from [*super().__iter__(), (1, b"gone by now")]

    runtime.counts = Collected(runtime.counts)
    held = HeldFunctions()
    held.hold()
    assert held.names == {"kept", "dropped"}


def test_letting_go_outlives_a_runtime_that_was_reset(runtime: Runtime) -> None:
    runtime.counts |= {(1, b"of before the reset"): 1, (2, b"of another context"): 1, (1, b"forgotten"): 1}
    held = HeldFunctions()
    held.hold()
    del runtime.counts[1, b"forgotten"]
    runtime.counts[1, b"of before the reset"] = runtime.counts[2, b"of another context"] = 1
    held.release()
    assert runtime.counts == {(1, b"kept"): 1, (1, b"dropped"): 1}
    assert not runtime.removed


def test_a_fork_holds_and_lets_go_of_nothing(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    held = HeldFunctions()
    held.hold()
    before = dict(runtime.counts)
    monkeypatch.setattr(graphs, "os", SimpleNamespace(getpid=lambda: -1))
    held._lock.acquire()  # by a thread that the fork lacks
    runtime.counts[1, b"of the fork"] = 1
    held.hold()
    held.release()
    assert runtime.counts == before | {(1, b"of the fork"): 1}


def written(folder: Path) -> CapturedProgram:
    program = CapturedProgram()
    program.end([folder], writes=False)
    program.write()
    return program


def test_a_program_of_which_nothing_is_known_writes_what_the_reader_reads(tmp_path: Path) -> None:
    assert written(tmp_path).notices == ()
    one = read_source_map(tmp_path)
    assert one.warnings == ()
    assert len(one.recorders[0]) == 32


def test_a_run_that_is_gone_is_not_written_to(tmp_path: Path) -> None:
    assert written(tmp_path / "missing").notices == ()
    assert not (tmp_path / "missing").exists()


def test_large_files_are_cut_and_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(program_reader, "MAX_FILE_BYTES", 8)
    for name, text in (("a.py", "x = 1\ny = 2\n"), ("b.py", "z\n")):
        (tmp_path / name).write_text(text)
    reader = ProgramReader(NotedModels(), until_ns=time.time_ns())
    for name in ("a.py", "b.py"):
        reader._frames.add(-1, str(tmp_path / name), 1, "f")
    found = reader.source_map("", table_frame("facts", {}), [])
    assert found.files["text"].tolist() == ["x = 1\n", "z\n"]
    assert "1 of 2 source files" in found.warnings[0]


def test_frames_below_the_same_callers_are_one_row() -> None:
    table = FrameTable()
    first = table.add(-1, "a.py", 1, "<module>")
    assert table.add(first, "b.py", 2, "f") == table.add(first, "b.py", 2, "f")
    assert table.add(-1, "b.py", 2, "f") != table.add(first, "b.py", 2, "f")
    assert table.frames["parent"] == [-1, 0, -1]


def test_where_libraries_lie_is_noted_for_whoever_opens_the_trace_elsewhere(tmp_path: Path) -> None:
    written(tmp_path)
    users = UserFiles.of_map(read_source_map(tmp_path))
    assert not users.has(pytest.__file__)
    assert not users.has(str(Path(pytest.__file__).parent.parent / "never_imported" / "net.py"))
    assert users.has(str(tmp_path / "site-packages" / "train.py"))
