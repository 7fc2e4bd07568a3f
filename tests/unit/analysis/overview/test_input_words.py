"""What is said of the input: in the figures of the breakdown of a step, and without alarm where little is waited for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.analysis.overview.test_overview import gpu_run
from tfprof_widgets.analysis import Overview, input_words


def waiting(ms: float, step_ms: float = 10.0) -> Overview:
    overview = gpu_run([("gemm", 400, 500)]).overview
    parts = overview.breakdown.set_index("category")
    parts.loc["input", ["ms", "ratio"]] = ms, ms / step_ms
    return replace(overview, step_time_avg_ms=step_ms, breakdown=parts.reset_index())


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (0.037, "The input keeps up: it costs 37.0 µs of a step."),
        (0.199, "The input keeps up: it costs 199 µs of a step."),
        (0.2, "The GPU waits 0.200 of 10.0 ms a step for data (2 %)."),
        (1.99, "The GPU waits 1.99 of 10.0 ms a step for data (20 %)."),
        (2.0, "Input-bound: the GPU waits 2.00 of 10.0 ms a step for data (20 %)."),
    ],
)
def test_the_input_is_told_in_the_figures_of_the_step(ms: float, said: str) -> None:
    assert input_words(waiting(ms), "") == said


def test_without_an_averaged_step_it_is_what_the_pipeline_says() -> None:
    assert input_words(replace(waiting(1), n_steps_averaged=0), "No step was measured.") == "No step was measured."
