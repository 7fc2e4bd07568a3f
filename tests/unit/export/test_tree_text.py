"""Text that a terminal shows: the summary, and what tfprof's own text of a tree says nothing about."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.builders import event, line, plane, space, trace
from tests.unit.analysis.tree.drawn_graphs import graph_of
from tfprof_widgets.analysis import VIEWS, TreeView, build_tree, make_tree_options
from tfprof_widgets.export import format_memory, format_number, format_time, tree_text
from tfprof_widgets.profiles import Profile
from tfprof_widgets.read import Opened
from tfprof_widgets.trace import OpGraph, make_op_graph


@pytest.mark.parametrize(
    ("number", "as_number", "as_time", "as_memory"),
    [
        (0, "0", "0us", "0B"),
        (999, "999", "999us", "999B"),
        (1000, "1.00k", "1.00ms", "1.00KB"),
        (84190, "84.19k", "84.19ms", "84.19KB"),
        (1_500_000, "1.50m", "1.50sec", "1.50MB"),
        (2_500_000_000, "2.50b", "2500.00sec", "2500.00MB"),
    ],
)
def test_numbers_have_the_units_of_tfprof(number: int, as_number: str, as_time: str, as_memory: str) -> None:
    assert (format_number(number), format_time(number), format_memory(number)) == (as_number, as_time, as_memory)


def test_parts_of_microseconds_have_two_decimals() -> None:
    assert [format_time(micros) for micros in (0.0, 0.256, 2.0, 1234.5)] == ["0.00us", "0.26us", "2.00us", "1.23ms"]


def test_without_a_selection_a_line_has_the_times() -> None:
    options = make_tree_options()
    text = tree_text(build_tree(graph_of({"net/MatMul": 1500}), "scope", options), options)
    assert text.splitlines()[-4:] == [
        "node name | total execution time | accelerator execution time | cpu execution time",
        "_TFProfRoot (--/1.50ms, --/0us, --/1.50ms)",
        "  net (0us/1.50ms, 0us/0us, 0us/1.50ms)",
        "    net/MatMul (1.50ms/1.50ms, 0us/0us, 1.50ms/1.50ms)",
    ]


@pytest.mark.parametrize("view", VIEWS)
def test_a_graph_without_ops_has_a_text(view: TreeView) -> None:
    options = make_tree_options(select=["micros", "params", "device", "occurrence"])
    text = tree_text(build_tree(make_op_graph({}), view, options), options)
    assert text.startswith(f"\nDoc:\n{view}: ") and "node name | " in text


def profile_of(graph: OpGraph) -> Profile:
    return Profile(lambda: Opened(trace(plane("/host:CPU")), (), op_graph=graph))


def test_a_chain_of_thousands_of_ops_is_cut_and_says_of_how_many() -> None:
    names = [f"op{i}" for i in range(3000)]
    profile = profile_of(graph_of(dict.fromkeys(names, 1), inputs=list(pairwise(names))))
    text = profile.tree_text("graph")
    assert text.endswith("\n100 of 3,001 nodes: give max_depth= for more than 100 levels.\n")
    assert len(text) < 50_000
    assert profile.tree_text("graph", max_depth=10_000).count("\n") > 3000
    assert len(profile.tree("graph")) == 3001


def test_a_tree_that_is_shown_whole_has_no_such_line() -> None:
    assert "max_depth" not in profile_of(graph_of({"a/b": 1, "a/c": 2})).tree_text("scope")


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
