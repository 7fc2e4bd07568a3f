"""Names of executed ops against drawn graphs."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfprof_widgets.analysis import match_ops, op_scopes, ops_of_graph
from tfprof_widgets.trace import SourceMap, empty_source_map

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


def test_a_name_without_a_graph_is_none() -> None:
    assert matched(STEP, "elsewhere:Cos", "Iterator::Root", "", "/", ":") == [None] * 5
    assert matched({}, "mul:Mul") == [None]


def test_of_equal_names_the_graph_that_ran_under_the_prefix_is_taken() -> None:
    graphs = {
        "step": {**{f"x{i}": "Add" for i in range(20)}, "mul": "Mul"},
        "Dataset_map_f": {"mul": "Mul", "sub": "Sub"},
    }
    ran = [f"StatefulPartitionedCall/x{i}:Add" for i in range(20)]
    found = matched(graphs, *ran, "StatefulPartitionedCall/mul:Mul", "mul:Mul", "sub:Sub")
    assert found[-3:] == ["step.mul", "Dataset_map_f.mul", "Dataset_map_f.sub"]


def test_of_equal_names_the_type_decides_first() -> None:
    graphs: Graphs = {"a": {"x": "Mul"}, "b": {"x": "Add", "y": "Sub"}}
    assert matched(graphs, "x:Mul", "y:Sub") == ["a.x", "b.y"]


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


def test_without_a_traceback_no_graph_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ops_of_graph, "GraphIndex", None)
    one = replace(empty_source_map(), ops=drawn(STEP).ops.assign(frame=-1))
    names, types = ["gradient_tape/a/Mul", "a/Mul"], ["Mul", "Mul"]
    match = match_ops(names, types, op_scopes(names, types), one)
    assert (match.row.tolist(), match.is_backward.tolist()) == ([-1, -1], [True, False])
