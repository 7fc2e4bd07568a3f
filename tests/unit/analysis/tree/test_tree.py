"""The graph of ops that a capture tells, its variables, and the four views of small graphs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.builders import event, line, plane, session, trace
from tests.structure_drawings import drawn_graph, profile_of
from tests.unit.analysis.memory.test_memory import give, take
from tests.unit.analysis.tree.captured_programs import run_program
from tests.unit.analysis.tree.drawn_graphs import graph_of
from tfprof_widgets.analysis import (
    FIGURES,
    GRADIENT,
    NO_STACK,
    VIEWS,
    Analysis,
    ShownStructure,
    Tree,
    TreeView,
    build_tree,
    by_type,
    compute_shown_structure,
    forward_name,
    framework_ops,
    make_tree_options,
    name_ops,
)
from tfprof_widgets.read import parse_source_map
from tfprof_widgets.trace import GRAPH_TABLES, OpGraph, make_op_graph

Ran = Callable[[str], tuple[Analysis, dict[str, Any]]]
CALL = "StatefulPartitionedCall"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The results of a program, which runs once."""
    known: dict[str, tuple[Analysis, dict[str, Any]]] = {}

    def get(name: str) -> tuple[Analysis, dict[str, Any]]:
        if name not in known:
            known[name] = run_program(name, tmp_path_factory.mktemp(name))
        return known[name]

    return get


def assert_totals(results: Analysis) -> None:
    """Time, sides and executions are those of the table of ops: in all, by type and by op."""
    graph, ops = results.op_graph, results.ops
    times = graph.times
    assert times["duration_us"].sum() == pytest.approx(ops["total_self_time_us"].sum(), rel=1e-9)
    for side, of_side in ops.groupby("device"):
        own = times[times["is_accelerator"] == (side == "Device")]
        assert own["duration_us"].sum() == pytest.approx(of_side["total_self_time_us"].sum(), rel=1e-9)
    kind = graph.ops["type"].to_numpy()[times["op"]]
    wanted = by_type(ops).groupby("type")["total_self_time_us"].sum()
    pd.testing.assert_series_equal(times.groupby(kind)["duration_us"].sum(), wanted, check_names=False)
    shares = results.op_shares
    keys = zip(np.where(shares.is_device, "Device", "Host"), shares.name, strict=True)
    row = {key: int(op) for key, op in zip(keys, name_ops(results).of_framework_op, strict=True) if op >= 0}
    own_row = [row[key] for key in zip(ops["device"], ops["name"], strict=True)]
    n = len(graph.ops)
    by_op = np.bincount(times["op"], times["duration_us"], n)
    np.testing.assert_allclose(by_op, np.bincount(own_row, ops["total_self_time_us"], n), rtol=1e-9, atol=1e-9)
    most = np.zeros(n, np.int64)
    np.maximum.at(most, own_row, ops["occurrences"].to_numpy())
    assert np.bincount(graph.runs["op"], graph.runs["n_runs"], n).tolist() == most.tolist()


def assert_sound(graph: OpGraph) -> None:
    """Names are unique and nothing refers to a row that is not there."""
    assert graph.ops["name"].is_unique
    for table, columns in GRAPH_TABLES.items():
        assert getattr(graph, table).dtypes.astype(str).to_dict() == columns
        if "op" in columns:
            assert getattr(graph, table)["op"].between(0, len(graph.ops) - 1).all()
    assert graph.inputs["source"].between(0, len(graph.ops) - 1).all()
    assert (graph.frames["parent"] < graph.frames.index).all()
    assert graph.ops["frame"].between(-1, len(graph.frames) - 1).all()
    assert (graph.is_whole, graph.counts_steps) == (False, False)


def named(graph: OpGraph, name: str) -> int:
    (row,) = np.flatnonzero(graph.ops["name"] == name)
    return int(row)


def stack_of(graph: OpGraph, name: str) -> list[str]:
    """The texts of the lines that made an op, the innermost first; those of libraries are empty."""
    texts, frame = [], int(graph.ops["frame"][named(graph, name)])
    while frame >= 0:
        texts.append(str(graph.frames["text"][frame]))
        frame = int(graph.frames["parent"][frame])
    return texts


@pytest.mark.tensorflow
def test_an_op_is_named_as_in_its_graph_and_knows_its_inputs_and_shapes(ran: Ran) -> None:
    graph = ran("conv")[0].op_graph
    conv = named(graph, "net_1/conv_1/convolution")
    inputs = graph.inputs[graph.inputs["op"] == conv]
    assert named(graph, "net_1/conv_1/convolution/ReadVariableOp") in set(inputs["source"])
    shapes = graph.shapes[graph.shapes["op"] == conv].set_index(["is_output", "slot"])["shape"]
    assert shapes[False, 1] == (3, 3, 1, 4)
    assert shapes[True, 0][1:] == (10, 10, 4)


@pytest.mark.tensorflow
def test_a_gradient_is_at_the_line_of_what_it_is_of_and_marked(ran: Ran) -> None:
    graph = ran("loop")[0].op_graph
    forward, backward = "loss = tf.reduce_sum(tf.matmul(x, w)) * scale", "gradient_tape/MatMul/MatMul_1"
    assert stack_of(graph, "MatMul")[0] == forward
    name = next(name for name in graph.ops["name"] if name.startswith("gradient_tape/MatMul"))
    assert stack_of(graph, name)[0] == forward + GRADIENT, backward
    assert all(text.endswith(GRADIENT) for text in stack_of(graph, name))
    assert not any(text.endswith(GRADIENT) for text in stack_of(graph, "MatMul"))


# ---- drawn traces ---------------------------------------------------------------------------------------------------


def drawn(*events: Any, device: tuple[Any, ...] = ()) -> Analysis:
    planes = [plane("/host:CPU", line("main", *events))]
    if device:
        planes.append(plane("/device:GPU:0", line("Stream #1", *device)))
    return Analysis(trace(session(), *planes))


def test_steps_are_rows_of_the_table_of_steps_and_outside_of_any_it_is_minus_one() -> None:
    def step(number: int, at_us: float) -> list[Any]:
        return [event("train", at_us, 10, _r=1, step_num=number), event("a/Mul:Mul", at_us + 1, 4)]

    results = drawn(event("a/Mul:Mul", 0, 2), *step(7, 10), *step(8, 30))
    assert len(results.step_frame) == 2
    times = results.op_graph.times.set_index("step")["duration_us"]
    assert times.to_dict() == {-1: 2.0, 0: 4.0, 1: 4.0}
    assert results.op_graph.runs.set_index("step")["n_runs"].to_dict() == {-1: 1, 0: 1, 1: 1}
    assert results.op_graph.steps == [0, 1]
    assert_totals(results)


def test_hostile_names_stay_text_and_apart() -> None:
    names = ["a//b", "a/b", "/", "//", "gradient_tape/", f"{CALL}/{CALL}/", "x" * 500, "..", "a/b/_1/_2"]
    events = [event("op", 10 * i, 5, tf_op=f"{name}:Mul") for i, name in enumerate([*names, "<script>", ""])]
    results = drawn(*events, event("Iterator::Root::<b>", 200, 5), event("Iterator::", 210, 5))
    assert_totals(results)
    assert_sound(results.op_graph)
    assert "tf.data/Root/<b>" in set(results.op_graph.ops["name"])


def test_what_an_op_gives_back_while_it_runs_is_not_left_over() -> None:
    results = drawn(
        event("a/Mul:Mul", 0, 10),
        take(1, 1, 101, 101, tf_op="a/Mul"),
        take(2, 2, 301, 402, tf_op="a/Mul"),
        give(3, 1, 101, 301),
        take(4, 3, 51, 352, tf_op="a/Mul"),
        event("b/Mul:Mul", 20, 10),
        give(22, 2, 301, 51),
    )
    (row,) = results.op_graph.memory.to_dict("records")
    assert (row["requested_bytes"], row["peak_bytes"], row["residual_bytes"]) == (450, 400, 350)
    assert (row["in_use_bytes"], row["time_us"]) == (402, 1)


def test_a_sidecar_without_details_still_gives_names_and_stacks() -> None:
    document = {
        "version": 1,
        "recorder": "a",
        "ops": {"graph": [0, 0], "op": ["a/Mul", "a/Const"], "type": ["Mul", "Const"], "frame": [1, -1]},
        "frames": {"parent": [-1, 0], "file": [0, 0], "line": [1, 2], "function": ["<module>", "f"]},
        "files": {"file": ["/home/me/a.py"], "title": ["a.py"], "is_user": [True], "text": ["f()\n  x * y\n"]},
        "functions": {"graph": ["step"], "file": [-1], "line": [0], "function": [""]},
    }
    source_map = parse_source_map(gzip.compress(json.dumps(document).encode()))
    results = Analysis(drawn(event(f"{CALL}/a/Mul:Mul", 0, 5)).trace, source_map)
    graph = results.op_graph
    assert graph.ops["name"].tolist() == ["a/Mul", "a/Const"]
    assert stack_of(graph, "a/Mul") == ["x * y", "f()"]
    assert graph.frames["file"].tolist() == ["/home/me/a.py"] * 2
    assert_sound(graph)
    assert_totals(results)


def results_of(**columns: list[Any]) -> Analysis:
    document = {"version": 1, "recorder": "a", "variables": columns}
    return Analysis(
        trace(session(), plane("/host:CPU", line("main", event("Mul:Mul", 0, 1)))),
        parse_source_map(gzip.compress(json.dumps(document).encode())),
    )


@pytest.mark.tensorflow
def test_parameters_of_a_model_add_up_to_its_own_count(ran: Ran) -> None:
    results, known = ran("conv")
    table = results.variables
    assert int(table["n_params"].sum()) == known["n_params"]
    assert int(table["n_params"][table["trainable"]].sum()) == known["n_trainable"]
    kernel = table.set_index("name").loc["net/conv/kernel"]
    assert (kernel["shape"], kernel["dtype"], kernel["layer"]) == ((3, 3, 1, 4), "float32", "net/conv")
    assert kernel["bytes"] == 4 * 36
    assert "CPU:0" in kernel["device"]
    assert table["layer"].tolist() == ["net/conv"] * 2 + ["net/norm"] * 4 + ["net/out"] * 2


def test_what_is_not_known_counts_as_nothing() -> None:
    table = results_of(
        name=["a", "b", "c", "<d>"],
        shape=["?", "-1x3", "999999999999999999x999999999999999999", "2x[3"],
        dtype=["float32", "float32", "int8", "string"],
        trainable=[True] * 4,
        layer=[""] * 4,
        device=[""] * 4,
    ).variables
    assert table["shape"].tolist() == [None, (-1, 3), (999999999999999999,) * 2, None]
    assert table["n_params"].tolist()[:2] == [0, 0]
    assert table["n_params"].tolist()[3] == 0
    assert table["n_params"].dtype == np.int64
    assert (table["bytes"] >= 0).all()


def test_of_a_graph_of_a_session_the_variables_are_what_it_trains_and_holds() -> None:
    ops = {
        "name": ["w", "x", "b", "slot"],
        "type": ["VariableV2", "Placeholder", "VarHandleOp", "VarHandleOp"],
        "op_types": [
            ("VariableV2", "_trainable_variables"),
            ("Placeholder",),
            ("_trainable_variables",),
            ("VarHandleOp",),
        ],
        "device": ["/device:cpu:0", "", "", ""],
        "host_device": [""] * 4,
        "float_ops": [0] * 4,
        "shape": [(2, 3), (5, 5), (3,), (3,)],
        "frame": [-1] * 4,
        "dtype": [101, 1, 2, 0],
    }
    results = Analysis(trace(session()), stored_graph=make_op_graph({"ops": ops}))
    assert results.variables[["name", "n_params", "dtype", "bytes", "trainable"]].to_dict("list") == {
        "name": ["b", "slot", "w"],
        "n_params": [3, 3, 6],
        "dtype": ["float64", "", "float32"],
        "bytes": [24, 0, 24],
        "trainable": [True, False, True],
    }


def tree_of(graph: OpGraph, view: TreeView, **options: Any) -> Tree:
    return build_tree(graph, view, make_tree_options(**options))


def rows_of(tree: Tree) -> list[str]:
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
    assert rows_of(tree_of(graph, "graph")) == ["_TFProfRoot 0/7", "  a 1/3", "    b 2/2", "  c 4/4"]


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
    assert rows_of(tree) == [
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
