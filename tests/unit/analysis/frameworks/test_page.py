"""docs/other_traces.md: its code runs, its figures are those of the captures, and its programs are those that were captured."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.layers import ROOT
from tfprof_widgets.loading import load_profile

TEXT = (ROOT / "docs/other_traces.md").read_text(encoding="utf-8")
CODE = re.findall(r"```python\n(.*?)```", TEXT, re.S)


def test_what_opens_a_trace_runs(
    capture_of: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jax_logs").symlink_to(capture_of("jax_marked").parents[3])
    (opening,) = [code for code in CODE if "tfprof.load" in code]
    exec(compile(opening, "other_traces.md", "exec"), {})
    assert "This is a trace of JAX 0.10.2" in capsys.readouterr().out
    assert (tmp_path / "jax.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("jax_marked", ("112.05", "111.90")),
        ("jax_h100_unmarked", ("4.22", "4.23")),
        ("torch_xla_unmarked", ("4.69", "4.64")),
    ],
)
def test_the_figures_are_those_of_the_captures(
    capture_of: Callable[[str], Path], name: str, figures: tuple[str, str]
) -> None:
    path = capture_of(name)
    clock = json.loads((path.parents[3] / "clock.json").read_text(encoding="utf-8"))
    prof, wall_ms = load_profile(path), np.array(clock["wall_ms"])
    found = {
        "jax_marked": (clock["total_ms"], prof.steps["step_time_ms"].sum()),
        "jax_h100_unmarked": (wall_ms[1:].mean(), prof.overview.step_time_avg_ms),
        "torch_xla_unmarked": (wall_ms[:-1].mean(), prof.overview.step_time_avg_ms),
    }[name]
    assert tuple(f"{ms:.2f}" for ms in found) == figures
    row = rf"\| {re.escape(figures[0])} ms[^|]*\| {re.escape(figures[1])} ms[^|]*\|"
    assert re.search(row, TEXT)
