"""The recorder of source lines by itself: the map that it writes, and what it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfprof_widgets.analysis.base.user_files import UserFiles
from tfprof_widgets.capture.source import source_map as writer
from tfprof_widgets.capture.source.source_graphs import FrameTable
from tfprof_widgets.capture.source.source_map import SourceRecorder
from tfprof_widgets.formats.sidecar import read_source_map


def test_a_recorder_that_saw_nothing_writes_what_the_reader_reads(tmp_path: Path) -> None:
    recorder = SourceRecorder()
    recorder._next_look_s = float("inf")
    assert recorder.write(tmp_path) == ""
    one = read_source_map(tmp_path)
    assert one.warnings == ()
    assert len(one.recorders[0]) == 32


def test_a_file_that_cannot_be_written_is_told_of(tmp_path: Path) -> None:
    recorder = SourceRecorder()
    recorder._next_look_s = float("inf")
    assert "Source lines are unknown" in recorder.write(tmp_path / "missing")


def test_large_files_are_cut_and_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(writer, "MAX_FILE_BYTES", 8)
    for name, text in (("a.py", "x = 1\ny = 2\n"), ("b.py", "z\n")):
        (tmp_path / name).write_text(text)
    recorder = SourceRecorder()
    recorder._next_look_s = float("inf")
    for name in ("a.py", "b.py"):
        recorder._frames.add(-1, str(tmp_path / name), 1, "f")
    assert "1 of 2 source files" in recorder.write(tmp_path)
    assert read_source_map(tmp_path).files["text"].tolist() == ["x = 1\n", "z\n"]
    assert "1 of 2" in read_source_map(tmp_path).warnings[0]


def test_frames_below_the_same_callers_are_one_row() -> None:
    table = FrameTable()
    first = table.add(-1, "a.py", 1, "<module>")
    assert table.add(first, "b.py", 2, "f") == table.add(first, "b.py", 2, "f")
    assert table.add(-1, "b.py", 2, "f") != table.add(first, "b.py", 2, "f")
    assert table.frames["parent"] == [-1, 0, -1]


def test_where_libraries_lie_is_noted_for_whoever_opens_the_trace_elsewhere(tmp_path: Path) -> None:
    assert SourceRecorder().write(tmp_path) == ""
    users = UserFiles.of_map(read_source_map(tmp_path))
    assert not users.has(pytest.__file__)
    assert not users.has(str(Path(pytest.__file__).parent.parent / "never_imported" / "net.py"))
    assert users.has(str(tmp_path / "site-packages" / "train.py"))
