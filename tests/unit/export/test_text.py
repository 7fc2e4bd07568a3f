"""The text summary: what a terminal shows of a profile."""

from __future__ import annotations

import re
from pathlib import Path

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.builders import event, line, plane, space


def summary(directory: Path, *lines: bytes) -> str:
    (directory / "host.xplane.pb").write_bytes(space(plane("/host:CPU", *lines)))
    return tfprof.load(directory).text()


def test_parts_are_one_blank_line_apart_also_where_there_is_nothing_to_tell(tmp_path: Path) -> None:
    for lines in ([], [line("main", event("x", 0, 1))]):
        text = summary(tmp_path, *lines)
        assert "\n\n" in text
        assert "\n\n\n" not in text


def test_nobody_is_sent_to_change_the_allocator_where_nothing_ran(tmp_path: Path) -> None:
    text = summary(tmp_path)
    assert "no memory was allocated" in text
    assert "TF_CPU_ALLOCATOR_USE_BFC" not in text
    assert "TF_CPU_ALLOCATOR_USE_BFC" in summary(tmp_path, line("main", event("x:MatMul", 0, 1)))


def test_the_lines_that_cost_most_are_told_with_their_share(tmp_path: Path) -> None:
    text = tfprof.load(write_run(tmp_path / "run", PLAIN)).text()
    (head,) = [row for row in text.splitlines() if row.startswith("Lines by self time")]
    assert "of op time is charged to your code" in head
    assert re.search(r"[\d.]+ +\d+ %  train\.py:\d+ +" + re.escape(PLAIN.code), text)
    assert "Lines by" not in summary(tmp_path, line("main", event("x:MatMul", 0, 1)))
