"""The four views of small graphs: what a capture adds to tfprof's rules, and what no size of graph breaks."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pandas as pd
import pytest

from tests.unit.analysis.tree.drawn_graphs import graph_of
from tfprof_widgets.analysis import NO_STACK, VIEWS, Tree, TreeView, build_tree, forward_name, make_tree_options
from tfprof_widgets.trace import OpGraph, make_op_graph


def tree_of(graph: OpGraph, view: TreeView, **options: Any) -> Tree:
    return build_tree(graph, view, make_tree_options(**options))


def drawn(tree: Tree) -> list[str]:
    return [
        f"{'  ' * depth}{name} {own:g}/{total:g}"
        for depth, name, own, total in zip(
            tree.depth, tree.names, tree.column("micros"), tree.column("micros", is_total=True), strict=True
        )
    ]


def test_scopes_are_made_of_the_names() -> None:
    graph = graph_of({"net/a/MatMul": 3, "net/a": 2, "net/b/Add": 5, "Const": 1})
    assert drawn(tree_of(graph, "scope")) == [
        "_TFProfRoot 0/11",
        "  Const 1/1",
        "  net 0/10",
        "    net/a 2/5",
        "      net/a/MatMul 3/3",
        "    net/b 0/5",
        "      net/b/Add 5/5",
    ]


@pytest.mark.parametrize("view", VIEWS)
def test_absurd_numbers_of_damaged_files_stay_in_64_bits(view: TreeView) -> None:
    graph = graph_of({"a": 1, "b": 2}, stacks={"a": ["main"], "b": ["main"]})
    runs, times = graph.runs.assign(n_runs=2**63 - 1), graph.times.assign(duration_us=float(2**63))
    tree = tree_of(replace(graph, runs=runs, times=times), view)
    assert tree.column("run_count", is_total=True).max() == 2**54
    assert tree.column("micros", is_total=True).max() == 2**54


@pytest.mark.parametrize("view", VIEWS)
def test_a_graph_without_ops_is_a_root(view: TreeView) -> None:
    tree = tree_of(make_op_graph({}), view)
    assert tree.names == ["_TFProfRoot"]
    assert len(tree.frame) == 1 and tree.n_ops == 0 and tree.n_nodes == 1


def test_a_cycle_that_nothing_leads_out_of_is_shown() -> None:
    graph = graph_of({"a": 1, "b": 2, "c": 4}, inputs=[("a", "b"), ("b", "a")])
    assert drawn(tree_of(graph, "graph")) == ["_TFProfRoot 0/7", "  a 1/3", "    b 2/2", "  c 4/4"]


@pytest.mark.parametrize("view", VIEWS)
def test_a_capture_counts_every_op_in_every_view_and_sums_its_steps(view: TreeView) -> None:
    graph = graph_of(
        {"net/MatMul": {0: 0.1, 1: 0.2}, "gradient_tape/net/MatMul": {0: 0.4}, "lost/Add": {-1: 1.3}},
        stacks={"net/MatMul": ["main", "call"]},
        is_capture=True,
    )
    tree = tree_of(graph, view)
    assert tree.frame["total_micros"].iloc[0] == 2.0
    assert tree.n_ops == 3
    assert tree_of(graph, view, step=0).frame["total_micros"].iloc[0] == 0.5
    average = tree_of(graph, view, average=True).frame["total_micros"].iloc[0]
    assert average == pytest.approx(0.15 + 0.4 + 1.3)
    if view == "code":
        assert NO_STACK in tree.names


def test_old_files_average_over_the_steps_in_which_an_op_ran_unless_told_to_sum() -> None:
    graph = graph_of({"a": {0: 3, 4: 4}, "b": {4: 9}})
    assert tree_of(graph, "scope").frame["total_micros"].tolist() == [12, 3, 9]
    assert tree_of(graph, "scope", average=False).frame["total_micros"].tolist() == [16, 7, 9]
    assert tree_of(graph, "scope", step=4).frame["total_micros"].tolist() == [13, 4, 9]


def test_a_step_that_was_not_recorded_is_named_with_those_that_were() -> None:
    graph = graph_of({"a": dict.fromkeys(range(30), 1.0)})
    with pytest.raises(ValueError, match=r"step 77 is not among .*: 0, 1, .*, 19 \(the first 20 of 30\)"):
        tree_of(graph, "scope", step=77)


def test_gradients_are_at_the_lines_of_what_they_are_of() -> None:
    graph = graph_of(
        {"net/MatMul": 3, "gradients/net/MatMul_grad/MatMul_1": 5, "gradients/gone_grad/x": 7},
        stacks={
            "net/MatMul": ["main", "a_function_of_a_long_name"],
            "gradients/net/MatMul_grad/MatMul_1": ["minimize"],
            "gradients/gone_grad/x": ["minimize"],
        },
    )
    tree = tree_of(graph, "code")
    assert drawn(tree) == [
        "_TFProfRoot 0/8",
        "  net.py:1:main 0/3",
        "    net.py:2:a_function_of_a_l... 3/3",
        "  net.py:1:main (gradient) 0/5",
        "    net.py:2:a_function_of_a_l... (gradient) 5/5",
    ]
    assert tree.stack_frame.tolist() == [-1, 0, 1, 0, 1]
    assert tree.row_of_op.tolist() == [2, 4, -1]


@pytest.mark.parametrize(
    ("name", "forward"),
    [
        ("gradients/dense/MatMul_grad/MatMul_1", "dense/MatMul"),
        ("train/gradients/a_grad/b_grad/c", "a"),
        ("gradients/Fill", None),
        ("gradients/_grad/x", None),
        ("dense/MatMul", None),
        ("x_grad/gradients/y", "y"),
    ],
)
def test_the_forward_op_is_found_by_the_name_of_a_gradient(name: str, forward: str | None) -> None:
    assert forward_name(name) == forward


def test_the_ops_of_a_row_are_known() -> None:
    graph = graph_of({"b/MatMul": 3, "a/MatMul": 2, "c/Add": 1})
    tree = tree_of(graph, "op")
    assert tree.names == ["_TFProfRoot", "Add", "MatMul"]
    assert [ops.tolist() for ops in tree.ops_by_row] == [[], [2], [1, 0]]
    assert tree.row_of_op.tolist() == [2, 2, 1]
    assert tree.parent.tolist() == [-1, 0, 1]


def test_select_keeps_only_what_is_asked_for() -> None:
    frame = tree_of(graph_of({"a": 1}), "scope", select=["bytes", "occurrence", "device"]).frame
    assert list(frame) == [
        *("name", "depth", "parent", "op", "bytes", "occurrence", "run_count"),
        *("total_bytes", "total_occurrence", "total_run_count", "device"),
    ]


def test_a_table_has_every_column_by_default() -> None:
    frame = tree_of(graph_of({"a": 1}), "scope").frame
    assert {"micros", "total_params", "run_count", "input_shapes", "device", "op_types"} <= set(frame)
    assert frame.dtypes[["micros", "bytes", "total_micros"]].tolist() == ["int64"] * 3
    assert tree_of(graph_of({"a": 1.5}, is_capture=True), "scope").frame.dtypes["micros"] == "float64"


@pytest.mark.parametrize("view", VIEWS)
def test_chains_deeper_than_any_recursion_are_walked(view: TreeView) -> None:
    n_ops = 3000
    names = ["a" + "/a" * i for i in range(n_ops)]
    graph = graph_of(
        dict.fromkeys(names, 1),
        inputs=list(pairwise(names)),
        stacks={names[-1]: [f"f{i}" for i in range(n_ops)]},
    )
    tree = tree_of(graph, view, hide_name_regexes=[".*(/a){7}"], account_displayed_op_only=view != "op")
    assert tree.depth.max() >= 1
    assert tree.frame["total_micros"].iloc[0] > 0


def test_a_view_that_does_not_exist_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"'scopes' is no view of a tree \(is 'scope' meant\?\)\. The views: scope, graph"
    ):
        tree_of(graph_of({"a": 1}), "scopes")  # type: ignore[arg-type]


def test_sizes_of_damaged_files_stay_positive_numbers() -> None:
    graph = graph_of({"a": 1, "b": {0: 1, 1: 1, 2: 1}})
    graph.ops["float_ops"] = [2**62, 2**62]
    graph.ops["shape"] = pd.Series([(2**40,) * 3, (2**40, -1)], dtype=object)
    for view in VIEWS:
        frame = tree_of(graph, view, average=False).frame
        assert (frame.select_dtypes("int64").drop(columns=["parent", "op"]) >= 0).all(axis=None)
    assert tree_of(graph, "scope").frame["total_params"].iloc[0] == 2**45


def test_times_beyond_what_picoseconds_can_count_add_up_in_larger_units() -> None:
    days_us = 13 * 86400e6
    tree = tree_of(graph_of({f"net/{i}": days_us for i in range(1000)}), "scope")
    assert tree.column("micros", is_total=True)[0] == pytest.approx(1000 * days_us)
