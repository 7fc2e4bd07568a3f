"""A cell that is run again: one line says how the run compares with the last one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tfprof_widgets as tfprof
from tests.fake_shell import FakeShell
from tests.unit.analysis.comparison.drawn_runs import Run
from tfprof_widgets.analysis import Pace, since_last
from tfprof_widgets.notebook import LastRuns, cell_of

Draw = Callable[[Run], tfprof.Profile]


@pytest.fixture
def drawn(tmp_path: Path) -> Draw:
    """Makes profiles of drawn runs."""

    def profile(run: Run) -> tfprof.Profile:
        path = tmp_path / f"{abs(hash(repr(run)))}.xplane.pb"
        path.write_bytes(run.xspace())
        return tfprof.load(path)

    return profile


def after(drawn: Draw, first: Run, second: Run) -> tfprof.Profile:
    runs, profile = LastRuns(), drawn(second)
    runs.take("cell", drawn(first))
    runs.take("cell", profile)
    return profile


def test_a_much_faster_run_says_how_much(drawn: Draw) -> None:
    profile = after(drawn, Run(seed=1, speed=3.0), Run(seed=2))
    told = profile.run.since_last
    factor = float(told.split(" times faster than the last run (the median step took ")[0])
    assert factor == pytest.approx(profile_ratio(drawn, Run(seed=1, speed=3.0), Run(seed=2)), rel=0.02)
    assert "busy machine" not in told


def profile_ratio(drawn: Draw, a: Run, b: Run) -> float:
    times = [drawn(run).steps["step_time_ms"].median() for run in (a, b)]
    return float(times[0] / times[1])


def test_a_little_slower_run_is_told_with_the_doubt_that_a_busy_machine_leaves(drawn: Draw) -> None:
    told = after(
        drawn, Run(seed=1, between=0, noise=0.01), Run(seed=2, speed=1.2, between=0, noise=0.01)
    ).run.since_last
    assert told.startswith("1.20 times slower than the last run")
    assert "a busy machine does that, too" in told


def test_an_equal_run_has_not_changed_beyond_noise(drawn: Draw) -> None:
    assert after(drawn, Run(seed=1), Run(seed=2)).run.since_last.startswith(
        "No sure change since the last run: the median step took "
    )


def test_runs_whose_steps_do_not_overlap_are_told_apart_however_uneven() -> None:
    """The interval of so few, so uneven steps holds 1; that each was faster is a fact."""
    before = Pace(np.array([39.9, 38.0, 36.0, 34.0, 29.0, 25.2, 25.1, 25.0, 24.8]), float("nan"))
    now = Pace(np.array([21.1, 22.4, 21.8, 21.9, 21.5, 22.0, 21.7, 21.6, 22.1]), float("nan"))
    assert since_last(before, now).startswith(
        "Every step was faster than any of the last run: the median step took 29.0 ms"
    )
    assert since_last(now, before).startswith(
        "Every step was slower than any of the last run: the median step took 21.8 ms"
    )


@pytest.mark.parametrize("first", [Run(n_steps=2), Run(n_steps=0), Run(has_steps=False)])
def test_nothing_is_said_after_a_run_that_tells_too_little(drawn: Draw, first: Run) -> None:
    assert after(drawn, first, Run()).run.since_last == ""


def test_the_first_run_of_another_cell_is_compared_with_none(drawn: Draw) -> None:
    runs, profile = LastRuns(), drawn(Run(seed=2))
    runs.take("one cell", drawn(Run(speed=3.0)))
    runs.take("another cell", profile)
    assert profile.run.since_last == ""


def test_text_report_plain_html_and_views_say_it(drawn: Draw) -> None:
    profile = after(drawn, Run(seed=1, speed=3.0), Run(seed=2))
    for text in (
        profile.text(),
        profile.report().replace("\\", ""),
        profile._plain_html(),
        str(profile.overview_panel().options),
    ):
        assert profile.run.since_last in text


def test_a_changed_cell_is_the_same_one_where_the_front_end_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cell_of("model.fit(x)", is_cell=True) != cell_of("model.fit(y)", is_cell=True)
    shell = FakeShell().install(monkeypatch)
    shell.message["metadata"] = {"cellId": "a1"}
    assert cell_of("model.fit(x)", is_cell=True) == cell_of("model.fit(y)", is_cell=True)
    assert cell_of("model.fit(x)", is_cell=False) != cell_of("model.fit(y)", is_cell=False)
