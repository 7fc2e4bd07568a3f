"""What is read of a program without TensorFlow: the map that it writes, and what it leaves out."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tfprof_widgets.analysis import UserFiles
from tfprof_widgets.capture import CapturedProgram, FrameTable, NotedModels, ProgramReader
from tfprof_widgets.capture import captured as program_reader
from tfprof_widgets.read import read_source_map
from tfprof_widgets.trace import table_frame


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
