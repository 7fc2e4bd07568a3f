"""The four views of small graphs: what a capture adds to tfprof's rules, and what no size of graph breaks."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.structure_drawings import drawn_graph, profile_of
from tests.unit.analysis.tree.drawn_graphs import graph_of
from tfprof_widgets.analysis import (
    FIGURES,
    NO_STACK,
    VIEWS,
    ShownStructure,
    Tree,
    TreeView,
    build_tree,
    compute_shown_structure,
    forward_name,
    framework_ops,
    make_tree_options,
)
from tfprof_widgets.trace import OpGraph


def tree_of(graph: OpGraph, view: TreeView, **options: Any) -> Tree:
    return build_tree(graph, view, make_tree_options(**options))


def drawn(tree: Tree) -> list[str]:
    return [
        f"{'  ' * depth}{name} {own:g}/{total:g}"
        for depth, name, own, total in zip(
            tree.depth, tree.names, tree.column("micros"), tree.column("micros", is_total=True), strict=True
        )
    ]


@pytest.mark.parametrize("view", VIEWS)
def test_absurd_numbers_of_damaged_files_stay_in_64_bits(view: TreeView) -> None:
    graph = graph_of({"a": 1, "b": 2}, stacks={"a": ["main"], "b": ["main"]})
    runs, times = graph.runs.assign(n_runs=2**63 - 1), graph.times.assign(duration_us=float(2**63))
    tree = tree_of(replace(graph, runs=runs, times=times), view)
    assert tree.column("run_count", is_total=True).max() == 2**54
    assert tree.column("micros", is_total=True).max() == 2**54


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


@pytest.mark.parametrize("view", VIEWS)
def test_chains_deeper_than_any_recursion_are_walked(view: TreeView) -> None:
    n_ops = 3000
    names = ["a" + "/a" * i for i in range(n_ops)]
    graph = graph_of(
        dict.fromkeys(names, 1), inputs=list(pairwise(names)), stacks={names[-1]: [f"f{i}" for i in range(n_ops)]}
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


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"max_dept": 3},
            TypeError,
            r"'max_dept' is no option of a tree \(is 'max_depth' meant\?\)\. The options: max_depth,",
        ),
        ({"max_depth": "3"}, TypeError, "max_depth is '3', not a whole number"),
        ({"account_displayed_op_only": 1}, TypeError, "account_displayed_op_only is 1, not True or False"),
        (
            {"select": ["micros", "byte"]},
            ValueError,
            r"select has 'byte' \(is 'bytes' meant\?\)\. It may have: micros,",
        ),
        ({"order_by": "size"}, ValueError, r"order_by has 'size'\. It may have: name, depth, micros,"),
        ({"show_name_regexes": [3]}, TypeError, "show_name_regexes has 3: give texts"),
        (
            {"hide_name_regexes": ["ok", "a("]},
            ValueError,
            r"hide_name_regexes has 'a\(', which is no regular expression of Python: missing \).* backslash",
        ),
        ({"show_name_regexes": "a{99999999999999}"}, ValueError, "show_name_regexes has 'a{9+}', which is no regular"),
        ({"start_name_regexes": "(" * 5000 + ")" * 5000}, ValueError, "start_name_regexes has .*which is no regular"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_wrong_is_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make_tree_options(**options)


N_LAYERS = 5


def shown_of(graph: OpGraph, **options: int) -> ShownStructure:
    return compute_shown_structure(graph, np.arange(len(graph.ops)), **options)


@pytest.mark.parametrize("most_ops", [3, 10_000])
@pytest.mark.parametrize("figure", FIGURES)
def test_figures_add_up_to_those_of_the_tree_however_few_ops_are_named(figure: str, most_ops: int) -> None:
    graph = drawn_graph(N_LAYERS)
    root = build_tree(graph, "scope", make_tree_options(select=(figure,), max_depth=99)).frame.iloc[0]
    shown = shown_of(graph, most_ops=most_ops)
    assert shown.ops[figure].sum() == root[f"total_{figure}"]
    assert shown.n_ops == len(graph.ops)
    assert shown.n_named == min(most_ops, len(graph.ops))


def test_edges_are_between_named_ops_and_counted_in_the_whole_graph() -> None:
    graph = drawn_graph(N_LAYERS)
    shown = shown_of(graph)
    assert len(shown.edges) == shown.n_edges == len(graph.inputs)
    names = shown.ops["name"]
    pairs = {(names[a], names[b]) for a, b in zip(shown.edges["source"], shown.edges["op"], strict=True)}
    assert ("model/layer_0/block_0/Cast", "model/layer_1/block_0/MatMul") in pairs
    few = shown_of(graph, most_ops=3)
    assert few.n_edges == len(graph.inputs)
    assert len(few.edges) < len(graph.inputs)


def test_ops_of_the_trace_are_found_by_name_in_a_stored_graph() -> None:
    results = profile_of(drawn_graph(N_LAYERS)).run.results
    rows = framework_ops(results, results.op_graph)
    assert results.op_graph.ops["name"].to_numpy()[rows].tolist() == list(results.op_shares.name)
