"""The folder of a watched training: appended to at once, and never a reason for the training to end."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest

from tfprof_widgets.read import WatchWriter
from tfprof_widgets.read import steps_file as module
from tfprof_widgets.trace import SAMPLE_COLUMNS, STEP

Writes = Callable[[Path], WatchWriter]


@pytest.fixture
def write() -> Iterator[Writes]:
    with ExitStack() as stack:
        yield lambda folder: stack.enter_context(closing(WatchWriter(folder)))


def _rows(n: int) -> np.ndarray:
    rows = np.zeros(n, STEP)
    rows["number"] = np.arange(n)
    return rows


def test_what_is_added_is_in_the_files_at_once(tmp_path: Path, write: Writes) -> None:
    folder = tmp_path / "deep" / "run"
    writer = write(folder)
    writer.add_steps(_rows(3))
    writer.add_steps(_rows(2))
    writer.add_sample(np.arange(len(SAMPLE_COLUMNS)))
    writer.add_event({"kind": "epoch", "at_ns": np.int64(7), "step": None, "loss": np.float32(0.5), "path": folder})
    assert np.fromfile(folder / "steps.bin", STEP)["number"].tolist() == [0, 1, 2, 0, 1]
    assert np.fromfile(folder / "samples.bin").tolist() == list(range(len(SAMPLE_COLUMNS)))
    assert json.loads((folder / "events.jsonl").read_text()) == (
        {"kind": "epoch", "at_ns": 7, "step": None, "loss": 0.5, "path": str(folder)}
    )
    assert json.loads((folder / "watch.json").read_text())["format"] == "tfprof watch"
    assert writer.read_steps(2, 4)["number"].tolist() == [2, 0]
    assert writer.read_steps(4, 9)["number"].tolist() == [1]
    assert writer.notice == ""


def test_a_folder_that_has_a_watch_is_left_alone(tmp_path: Path, write: Writes) -> None:
    first = write(tmp_path)
    first.add_steps(_rows(2))
    second = write(tmp_path)
    second.add_steps(_rows(5))
    assert (tmp_path / "steps.bin").stat().st_size == 2 * STEP.itemsize
    assert second.notice.startswith(f"{tmp_path} is written no more")


def test_a_failed_write_ends_the_writing_and_is_told_once(tmp_path: Path, write: Writes) -> None:
    writer = write(tmp_path)
    writer.add_steps(_rows(1))
    writer._files["steps.bin"].close()
    writer._files["steps.bin"]._file = open(os.devnull, "rb", buffering=0)  # noqa: SIM115, PTH123
    writer.add_steps(_rows(1))
    notice = writer.notice
    assert "the training goes on" in notice
    writer.add_steps(_rows(1))
    writer.add_event({"kind": "end"})
    assert writer.notice == notice
    assert (tmp_path / "events.jsonl").stat().st_size == 0


def test_steps_beyond_the_limit_are_left_out_and_told(
    tmp_path: Path, write: Writes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_STEP_BYTES", 10 * STEP.itemsize + 5)
    writer = write(tmp_path)
    writer.add_steps(_rows(8))
    writer.add_steps(_rows(8))
    writer.add_steps(_rows(8))
    assert (tmp_path / "steps.bin").stat().st_size == 10 * STEP.itemsize
    assert "is full at 320 bytes" in writer.notice
    writer.add_event({"kind": "end"})
    assert (tmp_path / "events.jsonl").stat().st_size > 0


def test_an_event_that_is_too_long_is_left_out(tmp_path: Path, write: Writes) -> None:
    writer = write(tmp_path)
    writer.add_event({"kind": "begin", "program": "x" * module.MAX_LINE_BYTES})
    writer.add_event({"kind": "end"})
    assert (tmp_path / "events.jsonl").read_text().count("\n") == 1
    assert "An event of" in writer.notice


def test_what_comes_after_the_end_is_not_kept(tmp_path: Path, write: Writes) -> None:
    writer = write(tmp_path)
    writer.close()
    writer.add_steps(_rows(1))
    assert (tmp_path / "steps.bin").stat().st_size == 0
    assert writer.notice == ""
