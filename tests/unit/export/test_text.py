"""The text summary: what a terminal shows of a profile."""

from __future__ import annotations

from pathlib import Path

import tfprof_widgets as tfprof
from tests.builders import event, line, plane, space


def summary(directory: Path, *lines: bytes) -> str:
    (directory / "host.xplane.pb").write_bytes(space(plane("/host:CPU", *lines)))
    return tfprof.load(directory).summary()


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
