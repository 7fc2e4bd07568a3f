"""Nameless ops of a tape in drawn graphs -> the forward ops whose gradients they compute."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from tfprof_widgets.analysis import match_ops, op_scopes
from tfprof_widgets.trace import SourceMap, empty_source_map, table_frame

FORWARD, TAPE, OTHER = range(3)
"""Frames: where the model is called, where the tape is asked for gradients, and what the program does besides."""
Graph = dict[str, tuple[str, list[str], int]]
"""Of each op its type, what it reads, and its frame."""


def drawn(graph: Graph, *layers: str) -> SourceMap:
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
    assert forward_of(drawn(BRANCHES, "stem", "left", "right")) == {"AddN": "net/stem/Relu"}


def test_a_sum_of_gradients_of_one_layer_is_of_that_layer() -> None:
    graph: Graph = {
        "net/dense/MatMul": ("MatMul", [], FORWARD),
        "net/norm/mean": ("Mean", ["net/dense/MatMul"], FORWARD),
        "net/norm/sub": ("Sub", ["net/dense/MatMul", "net/norm/mean"], FORWARD),
        "gradient_tape/net/norm/sub/Neg": ("Neg", [], TAPE),
        "gradient_tape/net/norm/mean/truediv": ("RealDiv", [], TAPE),
        "AddN_3": ("AddN", ["gradient_tape/net/norm/sub/Neg", "gradient_tape/net/norm/mean/truediv"], TAPE),
        "gradient_tape/net/dense/MatMul/MatMul": ("MatMul", ["AddN_3"], TAPE),
    }
    found = forward_of(drawn(graph, "dense", "norm"))["AddN_3"]
    assert found is not None
    assert found.startswith("net/norm/")


def test_a_sum_around_a_residual_connection_is_of_the_value_that_branches() -> None:
    graph: Graph = {
        "net/a/Relu": ("Relu", [], FORWARD),
        "net/b/MatMul": ("MatMul", ["net/a/Relu"], FORWARD),
        "net/add/add": ("AddV2", ["net/a/Relu", "net/b/MatMul"], FORWARD),
        "net/c/Tanh": ("Tanh", ["net/add/add"], FORWARD),
        "gradient_tape/net/c/TanhGrad": ("TanhGrad", [], TAPE),
        "gradient_tape/net/b/MatMul/MatMul": ("MatMul", ["gradient_tape/net/c/TanhGrad"], TAPE),
        "AddN": ("AddN", ["gradient_tape/net/c/TanhGrad", "gradient_tape/net/b/MatMul/MatMul"], TAPE),
    }
    assert forward_of(drawn(graph, "a", "b", "add", "c")) == {"AddN": "net/a/Relu"}


def test_the_sum_of_a_weights_gradients_and_of_its_penalty_is_of_the_layer() -> None:
    graph: Graph = {
        "net/dense/MatMul": ("MatMul", [], FORWARD),
        "Square": ("Square", [], FORWARD),
        "gradient_tape/Mul": ("Mul", [], TAPE),
        "gradient_tape/net/dense/MatMul/MatMul_1": ("MatMul", [], TAPE),
        "AddN": ("AddN", ["gradient_tape/Mul", "gradient_tape/net/dense/MatMul/MatMul_1"], TAPE),
    }
    assert forward_of(drawn(graph, "dense"))["AddN"] == "net/dense/MatMul"


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
    assert forward_of(drawn(graph, "norm", "act", "dense")) == dict.fromkeys(("Sigmoid", "mul"), "net/act/IdentityN")


def test_what_is_done_with_gradients_on_the_line_of_the_tape_is_no_gradient() -> None:
    graph: Graph = {
        "net/dense/MatMul": ("MatMul", [], FORWARD),
        "gradient_tape/net/dense/MatMul/MatMul": ("MatMul", [], TAPE),
        "mul": ("Mul", ["gradient_tape/net/dense/MatMul/MatMul"], TAPE),
        "AssignSub": ("AssignSubVariableOp", ["mul"], TAPE),
    }
    assert forward_of(drawn(graph, "dense")) == {"mul": None, "AssignSub": None}


def test_a_sum_that_no_tape_made_is_no_gradient() -> None:
    graph = BRANCHES | {"AddN": ("AddN", BRANCHES["AddN"][1], OTHER)}
    assert forward_of(drawn(graph, "stem", "left", "right")) == {"AddN": None}


def test_edges_in_a_circle_end() -> None:
    graph: Graph = BRANCHES | {
        "net/stem/Relu": ("AddV2", ["net/left/MatMul"], FORWARD),
        "net/left/MatMul": ("AddV2", ["net/stem/Relu"], FORWARD),
        "mul": ("Mul", ["gradient_tape/net/left/MatMul/MatMul", "mul"], TAPE),
    }
    assert set(forward_of(drawn(graph))) == {"AddN", "mul"}


@pytest.mark.timeout(30)
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
    found = forward_of(drawn(graph))
    assert all(found[f"AddN_{i}"] is not None for i in range(800))
