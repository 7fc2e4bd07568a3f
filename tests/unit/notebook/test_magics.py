"""The text after %%tfprofile: options are taken from its begin, the statement behind them stays as it was written."""

from __future__ import annotations

import pytest
from IPython.core.error import UsageError

from tfprof_widgets.capture import CaptureOptions
from tfprof_widgets.notebook import TfprofMagics, lone_help, parse_steps, split_options


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
