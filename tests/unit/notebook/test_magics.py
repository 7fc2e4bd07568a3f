"""The text after %%tfprofile, and a cell that is run again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from IPython.core.error import UsageError

import tfprof_widgets as tfprof
from tests.fake_shell import FakeShell
from tests.unit.analysis.comparison.drawn_runs import Run
from tfprof_widgets.analysis import Pace, since_last
from tfprof_widgets.capture import CaptureOptions
from tfprof_widgets.notebook import LastRuns, TfprofMagics, cell_of, lone_help, parse_steps, split_options


@pytest.mark.parametrize(
    ("line", "options", "statement"),
    [
        ("", [], ""),
        ("-o prof", ["-o", "prof"], ""),
        ("--steps 10:20 --no-system --view none", ["--steps", "10:20", "--no-system", "--view", "none"], ""),
        ("--view=ops fit( x,  -1 )", ["--view", "ops"], "fit( x,  -1 )"),
        ("--logdir 'a b' f('c  d')", ["--logdir", "a b"], "f('c  d')"),
        ('--logdir="a b"', ["--logdir", "a b"], ""),
        ("--no-system x = {1: '$y'}", ["--no-system"], "x = {1: '$y'}"),
        ("-o p -- -x", ["-o", "p"], "-x"),
        ("--detail low --system 20 f()", ["--detail", "low", "--system", "20"], "f()"),
        ("f(a) if x else '-o'", [], "f(a) if x else '-o'"),
    ],
)
def test_options_end_where_the_statement_begins(line: str, options: list[str], statement: str) -> None:
    assert split_options(line) == (options, statement)


def test_an_option_without_its_value_is_refused() -> None:
    with pytest.raises(UsageError, match="--steps needs a value"):
        split_options("--steps")


@pytest.mark.parametrize(
    ("text", "steps"),
    [("10:20", range(10, 20)), (":5", range(5)), ("7", range(7, 8)), ("0:100:10", range(0, 100, 10))],
)
def test_steps_are_ranges(text: str, steps: range) -> None:
    assert parse_steps(text) == steps


@pytest.mark.parametrize("text", ["", "a:b", "5:", "-3:5", "1:2:3:4", "5:5", "9:2", "1:9:0", "1.5:3"])
def test_what_is_no_range_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"--steps"):
        parse_steps(text)


@pytest.mark.parametrize(
    ("cell", "is_help"),
    [
        (["%%tfprofile --help\n"], True),
        (["%%tfprofile -o p -h\n", "\n"], True),
        (["%%tfprofile --help\n", "x = 1\n"], False),
        (["%%tfprofile -o p\n"], False),
        (["%%tfprofile --helpful\n"], False),
        (["x = 1\n"], False),
        ([], False),
    ],
)
def test_help_works_without_a_body(cell: list[str], is_help: bool) -> None:
    assert lone_help(cell) == (["%tfprofile --help\n"] if is_help else cell)


def _capture_options(line: str) -> CaptureOptions:
    magics = TfprofMagics(shell=None)
    return magics._capture_options(magics.tfprofile.parser.parse_args(split_options(line)[0]))


@pytest.mark.parametrize(
    ("line", "detail", "system"),
    [
        ("", "normal", True),
        ("--detail low --system 20", "low", 20),
        ("--detail=high --no-system", "high", False),
        ("--system 5", "normal", 5),
    ],
)
def test_detail_and_the_rate_of_samples_reach_the_capture(line: str, detail: str, system: float | bool) -> None:
    options = _capture_options(line)
    assert (options.detail, options.system) == (detail, system)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--detail all", 'give one of "low", "normal", "high"'),
        ("--system 50", "from 5 to 20 Hz"),
        ("--system 10 --no-system", "contradict each other"),
    ],
)
def test_what_cannot_be_captured_is_refused_with_what_to_give(line: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        _capture_options(line)


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
