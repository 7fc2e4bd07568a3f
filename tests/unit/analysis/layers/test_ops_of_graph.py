"""The op of a graph that each executed op is, and of what a tape made."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfprof_widgets.analysis import match_ops, op_scopes
from tfprof_widgets.trace import SourceMap, empty_source_map, table_frame

Graphs = dict[str, dict[str, str]]


def drawn(graphs: Graphs) -> SourceMap:
    """Graphs as `{name: {op: type}}`; each op has a frame of its own."""
    rows = [(g, op, kind) for g, ops in enumerate(graphs.values()) for op, kind in ops.items()]
    n = len(rows)
    return replace(
        empty_source_map(),
        ops=pd.DataFrame(rows, columns=["graph", "op", "type"]).assign(frame=range(n)),
        functions=pd.DataFrame({"graph": list(graphs), "file": -1, "line": 0, "function": ""}),
    )


def matched(graphs: Graphs, *ops: str) -> list[str | None]:
    """The graph op of each `name:type`."""
    one = drawn(graphs)
    names, types = [op.partition(":")[0] for op in ops], [op.partition(":")[2] for op in ops]
    rows = match_ops(names, types, op_scopes(names, types), one).row.tolist()
    whose = [f"{one.functions['graph'][g]}.{op}" for g, op in zip(one.ops["graph"], one.ops["op"], strict=True)]
    return [whose[row] if row >= 0 else None for row in rows]


STEP: Graphs = {
    "step": {
        "net/dense/MatMul": "MatMul",
        "net/dense/BiasAdd": "BiasAdd",
        "net/act/Relu": "Relu",
        "net/act/Relu_1": "Relu",
        "mul": "Mul",
        "loss/Sum": "Sum",
        "gradient_tape/net/act/ReluGrad": "ReluGrad",
        "gradient_tape/net/act/ReluGrad_1": "ReluGrad",
        "gradient_tape/net/dense/MatMul/MatMul": "MatMul",
    }
}


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("net/dense/MatMul:MatMul", "net/dense/MatMul"),
        ("StatefulPartitionedCall/net/dense/BiasAdd:_FusedMatMul", "net/dense/BiasAdd"),
        ("a/StatefulPartitionedCall_3/PartitionedCall/net/dense/MatMul:MatMul", "net/dense/MatMul"),
        ("while/body/_12/net/act/Relu:Relu", "net/act/Relu"),
        ("net/dense/MatMul/_7:MatMul", "net/dense/MatMul"),
        ("net/dense/MatMul-0-TransposeNHWCToNCHW-LayoutOptimizer:Transpose", "net/dense/MatMul"),
        ("net/dense/ArithmeticOptimizer/FoldTranspose_MatMul:MatMul", "net/dense/MatMul"),
        ("ArithmeticOptimizer/ReplaceMulWithSquare_mul:Square", "mul"),
        ("net/dense/Tensordot/new:Reshape", "net/dense/MatMul"),
    ],
)
def test_an_executed_op_is_found_by_its_name_or_else_by_its_scope(name: str, op: str) -> None:
    assert matched(STEP, name) == [f"step.{op}"]


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("gradient_tape/net/dense/MatMul/MatMul:MatMul", "net/dense/MatMul"),
        ("StatefulPartitionedCall/gradient_tape/net/dense/MatMul/MatMul_1:MatMul", "net/dense/MatMul"),
        ("gradient_tape/net/dense/BiasAdd/BiasAddGrad:BiasAddGrad", "net/dense/BiasAdd"),
        ("gradients/loss/Sum_grad/Tile:Tile", "loss/Sum"),
        ("gradient_tape/net/act/ReluGrad:ReluGrad", "net/act/Relu_1"),
        ("gradient_tape/net/act/ReluGrad_1:ReluGrad", "net/act/Relu"),
        ("gradient_tape/net/dense/Shape:Shape", "net/dense/MatMul"),
    ],
)
def test_a_gradient_is_charged_to_the_op_that_it_is_of(name: str, op: str) -> None:
    assert matched(STEP, name) == [f"step.{op}"]


def test_of_equal_names_the_graph_that_ran_under_the_prefix_is_taken() -> None:
    graphs = {
        "step": {**{f"x{i}": "Add" for i in range(20)}, "mul": "Mul"},
        "Dataset_map_f": {"mul": "Mul", "sub": "Sub"},
    }
    ran = [f"StatefulPartitionedCall/x{i}:Add" for i in range(20)]
    found = matched(graphs, *ran, "StatefulPartitionedCall/mul:Mul", "mul:Mul", "sub:Sub")
    assert found[-3:] == ["step.mul", "Dataset_map_f.mul", "Dataset_map_f.sub"]


def test_the_forward_op_of_another_graph_is_found() -> None:
    graphs: Graphs = {"forward": {"tanh/Tanh": "Tanh"}, "backward": {"gradients/tanh/Tanh_grad/TanhGrad": "TanhGrad"}}
    found = matched(
        graphs, "PartitionedCall/tanh/Tanh:Tanh", "PartitionedCall/gradients/tanh/Tanh_grad/TanhGrad:TanhGrad"
    )
    assert found == ["forward.tanh/Tanh"] * 2


PARTS = st.lists(
    st.sampled_from(["gradient_tape", "gradients", "a", "b_grad", "_1", "while", "body", "", "Relu", "\u00e9"])
)
NAMES = st.one_of(st.text(max_size=30), PARTS.map("/".join))
TYPES = st.one_of(st.sampled_from(["Relu", "ReluGrad", "Mul", "Conv2DBackpropFilter"]), st.text(max_size=10))


@given(
    st.lists(st.tuples(st.integers(-1, 3), NAMES, TYPES), max_size=12),
    st.lists(st.tuples(NAMES, TYPES), max_size=12, unique_by=lambda op: op[0]),
)
def test_any_names_are_matched_to_a_row_or_none(
    graph_ops: list[tuple[int, str, str]], ran: list[tuple[str, str]]
) -> None:
    ops = pd.DataFrame(graph_ops, columns=["graph", "op", "type"]).assign(frame=range(len(graph_ops)))
    names, types = [name for name, _ in ran], [kind for _, kind in ran]
    match = match_ops(names, types, op_scopes(names, types), replace(empty_source_map(), ops=ops))
    assert len(match.row) == len(ran)
    assert all(-1 <= row < len(ops) for row in match.row.tolist())


def test_a_name_as_long_as_a_file_is_matched_like_any_other() -> None:
    names = ("a/" * 50_000 + "b:Mul", "/_1" * 50_000 + "x:Mul", "gradient_tape/" * 20_000 + "Relu:ReluGrad")
    assert len(matched(STEP, *names)) == len(names)


FORWARD, TAPE, OTHER = range(3)
"""Frames: where the model is called, where the tape is asked for gradients, and what the program does besides."""
Graph = dict[str, tuple[str, list[str], int]]
"""Of each op its type, what it reads, and its frame."""


def drawn_by_tape(graph: Graph, *layers: str) -> SourceMap:
    """One graph as a map, with layers of these names in a model `net`."""
    row = {name: i for i, name in enumerate(graph)}
    edges = [(row[name], slot, row[one], 0) for name, (_, reads, _) in graph.items() for slot, one in enumerate(reads)]
    ops = [(0, name, kind, frame) for name, (kind, _, frame) in graph.items()]
    known = [
        (path, path.rpartition("/")[2], "Layer", "net", -1, 0) for path in ("net", *(f"net/{one}" for one in layers))
    ]
    return replace(
        empty_source_map(),
        ops=pd.DataFrame(ops, columns=["graph", "op", "type", "frame"]),
        functions=pd.DataFrame({"graph": ["step"], "file": -1, "line": 0, "function": ""}),
        frames=pd.DataFrame({"parent": [-1] * 3, "file": [-1] * 3, "line": [1, 2, 3], "function": [""] * 3}),
        layers=pd.DataFrame(known, columns=list(table_frame("layers", {}).columns)),
        edges=pd.DataFrame(edges, columns=["op", "slot", "source", "source_output"]),
    )


def forward_of(one: SourceMap) -> dict[str, str | None]:
    """For each op that has no scope what it is the gradient of, None where it counts as none."""
    names, types = one.ops["op"].tolist(), one.ops["type"].tolist()
    match = match_ops(names, types, op_scopes(names, types), one)
    found = zip(names, match.row.tolist(), match.is_backward.tolist(), strict=True)
    return {name: names[row] if is_backward else None for name, row, is_backward in found if "/" not in name}


BRANCHES: Graph = {
    "net/stem/Relu": ("Relu", [], FORWARD),
    "net/left/MatMul": ("MatMul", ["net/stem/Relu"], FORWARD),
    "net/right/MatMul": ("MatMul", ["net/stem/Relu"], FORWARD),
    "gradient_tape/net/left/MatMul/MatMul": ("MatMul", [], TAPE),
    "gradient_tape/net/right/MatMul/MatMul": ("MatMul", [], TAPE),
    "AddN": ("AddN", ["gradient_tape/net/left/MatMul/MatMul", "gradient_tape/net/right/MatMul/MatMul"], TAPE),
    "gradient_tape/net/stem/ReluGrad": ("ReluGrad", ["AddN"], TAPE),
}


def test_a_sum_of_gradients_of_two_layers_is_of_the_layer_that_made_what_both_read() -> None:
    assert forward_of(drawn_by_tape(BRANCHES, "stem", "left", "right")) == {"AddN": "net/stem/Relu"}


def test_the_sum_of_a_weights_gradients_and_of_its_penalty_is_of_the_layer() -> None:
    graph: Graph = {
        "net/dense/MatMul": ("MatMul", [], FORWARD),
        "Square": ("Square", [], FORWARD),
        "gradient_tape/Mul": ("Mul", [], TAPE),
        "gradient_tape/net/dense/MatMul/MatMul_1": ("MatMul", [], TAPE),
        "AddN": ("AddN", ["gradient_tape/Mul", "gradient_tape/net/dense/MatMul/MatMul_1"], TAPE),
    }
    assert forward_of(drawn_by_tape(graph, "dense"))["AddN"] == "net/dense/MatMul"


def test_a_gradient_that_a_function_brings_is_of_the_layer_between_its_neighbours() -> None:
    graph: Graph = {
        "net/norm/add": ("AddV2", [], FORWARD),
        "net/act/Sigmoid": ("Sigmoid", ["net/norm/add"], FORWARD),
        "net/act/mul": ("Mul", ["net/norm/add", "net/act/Sigmoid"], FORWARD),
        "net/act/IdentityN": ("IdentityN", ["net/act/mul", "net/norm/add"], FORWARD),
        "net/dense/MatMul": ("MatMul", ["net/act/IdentityN"], FORWARD),
        "gradient_tape/net/dense/MatMul/MatMul": ("MatMul", [], TAPE),
        "Sigmoid": ("Sigmoid", ["net/norm/add"], TAPE),
        "mul": ("Mul", ["gradient_tape/net/dense/MatMul/MatMul", "Sigmoid"], TAPE),
        "gradient_tape/net/norm/add/Sum": ("Sum", ["mul"], TAPE),
    }
    assert forward_of(drawn_by_tape(graph, "norm", "act", "dense")) == dict.fromkeys(
        ("Sigmoid", "mul"), "net/act/IdentityN"
    )


def test_a_sum_that_no_tape_made_is_no_gradient() -> None:
    graph = BRANCHES | {"AddN": ("AddN", BRANCHES["AddN"][1], OTHER)}
    assert forward_of(drawn_by_tape(graph, "stem", "left", "right")) == {"AddN": None}


def test_edges_in_a_circle_end() -> None:
    graph: Graph = BRANCHES | {
        "net/stem/Relu": ("AddV2", ["net/left/MatMul"], FORWARD),
        "net/left/MatMul": ("AddV2", ["net/stem/Relu"], FORWARD),
        "mul": ("Mul", ["gradient_tape/net/left/MatMul/MatMul", "mul"], TAPE),
    }
    assert set(forward_of(drawn_by_tape(graph))) == {"AddN", "mul"}


@pytest.mark.timeout(30)
@pytest.mark.nightly
def test_many_steps_in_one_scope_take_no_longer_each_than_few() -> None:
    graph: Graph = {"net/start/MatMul": ("MatMul", [], FORWARD)}
    state, gradient = "net/start/MatMul", "gradient_tape/net/end/ones"
    for i in range(800):
        graph[f"net/Tanh_{i}"] = ("Tanh", [state], FORWARD)
        graph[f"net/add_{i}"] = ("AddV2", [f"net/Tanh_{i}", state], FORWARD)
        state = f"net/add_{i}"
    graph[gradient] = ("Fill", [], TAPE)
    for i in reversed(range(800)):
        tanh = f"net/Tanh_{i}"
        graph[f"gradient_tape/{tanh}/TanhGrad"] = ("TanhGrad", [tanh, gradient], TAPE)
        graph[f"mul_{i}"] = ("Mul", [f"gradient_tape/{tanh}/TanhGrad", tanh], TAPE)
        graph[f"AddN_{i}"] = ("AddN", [f"mul_{i}", gradient, f"gradient_tape/{tanh}/TanhGrad"], TAPE)
        gradient = f"AddN_{i}"
    found = forward_of(drawn_by_tape(graph))
    assert all(found[f"AddN_{i}"] is not None for i in range(800))
