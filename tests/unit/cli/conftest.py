"""Fixtures of the command line: a shell, and runs on the disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.builders import event, line, plane, space
from tests.unit.cli.shell import Shell


@pytest.fixture
def tfprof(capsys: pytest.CaptureFixture[str]) -> Shell:
    """`tfprof("report", run)`: what the command answers."""
    return Shell(capsys)


@pytest.fixture
def run(keras_xplane: Path) -> Path:
    """A Keras training with steps."""
    return keras_xplane


@pytest.fixture
def drawn(tmp_path: Path) -> Callable[[str, Sequence[int]], Path]:
    """`drawn(name, times)`: a trace whose marked steps take so many microseconds each."""

    def draw(name: str, times_us: Sequence[int]) -> Path:
        starts = [sum(times_us[:i]) for i in range(len(times_us))]
        marks = [
            event("train", start, time, _r=1, step_num=i)
            for i, (start, time) in enumerate(zip(starts, times_us, strict=True))
        ]
        work = [event("dense/MatMul:MatMul", start + 1, time - 2) for start, time in zip(starts, times_us, strict=True)]
        events = [one for pair in zip(marks, work, strict=True) for one in pair] or [event("work", 0, 1000)]
        path = tmp_path / f"{name}.xplane.pb"
        path.write_bytes(space(plane("/host:CPU", line("main", *events))))
        return path

    return draw
