"""Drawn steps with one fault of the graph, or of how Python calls it, each -> results for which one rule has something to say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd

from tests.builders import event, line, plane, session, trace
from tests.unit.analysis.advice.graph_drawings import OF_OP, STEP_US, Op, calling, graph_run
from tfprof_widgets.analysis import Analysis

ONE_HOT = (
    Op("hot/indices", "Cast", 0, [0], "32", "32"),
    Op("hot/one_hot", "OneHot", 2_000, ["hot/indices"], "32", "32x1000"),
    Op("hot/Reshape", "Reshape", 0, ["hot/one_hot"], "32x1000", "32x1000"),
    Op("net/MatMul", "MatMul", 5_000, ["hot/Reshape", 1], "32x1000;1000x8", "32x8"),
)
TURNED = (
    Op("turn/transpose", "Transpose", 2_000, [0], "-1x8x32x32", "-1x32x32x8"),
    Op("net/Conv2D", "Conv2D", 5_000, ["turn/transpose", 1], "-1x32x32x8;3x3x8x8", "-1x32x32x8"),
    Op("back/transpose", "Transpose", 2_000, ["net/Conv2D"], "-1x32x32x8", "-1x8x32x32"),
)
TABLE = (
    Op("ids", "Cast", 0, [0], "32x4", "32x4"),
    Op("items/ReadVariableOp", "ReadVariableOp", 0, [], "()", "100000x16", variable=0),
    Op("items/GatherV2", "GatherV2", 300, ["items/ReadVariableOp", "ids"], "100000x16;32x4;()", "32x4x16"),
    Op("adam/Mul", "Mul", 4_000, ["items/ReadVariableOp", 1], "100000x16;()", "100000x16"),
    Op("adam/AssignSubVariableOp", "AssignSubVariableOp", 4_000, [2, "adam/Mul"], "();100000x16", ""),
)
IN_LOOP = "rnn/while/body/_4"
LOOP = (
    Op("rnn/while", "While", 0, [0], "()", "()"),
    Op(f"{IN_LOOP}/cell/MatMul", "MatMul", 5, [], "8x8;8x8", "8x8", times=100),
)
HALF_OPS = (Op("net/Conv2D", "Conv2D", 9_000, [0, 1], "8x8", "8x8", dtype="float16"),)
FROZEN = (
    Op("net/base/Relu", "Relu", 200, [0], "32x64", "32x64"),
    Op("net/base/MatMul", "MatMul", 6_000, ["net/base/Relu", 1], "32x64;64x64", "32x64"),
    Op("net/head/MatMul", "MatMul", 500, ["net/base/MatMul", 2], "32x64;64x8", "32x8"),
    Op("gradient_tape/net/head/MatMul/MatMul", "MatMul", 1_000, ["net/base/MatMul", 3], "32x64;32x8", "64x8"),
)
SMALL = tuple(
    Op(f"adam/{kind}_{i}", kind, 2, [], "24;()", "24") for i in range(64) for kind in ("Mul", "AssignSubVariableOp")
)
PRINTED = (
    Op("net/MatMul", "MatMul", 2_000, [0, 1], "64x128;128x128", "64x128"),
    Op("StringFormat", "StringFormat", 7_000, ["net/MatMul"], "64x128", "()", dtype="string"),
    Op("PrintV2", "PrintV2", 500, ["StringFormat"], "()", ""),
)
BUSY = Op("net/Conv2D", "Conv2D", 9_500, [0], "8x8", "8x8")


def eager_calls(n: int, us: float, start: float) -> list[tuple[str, float, float]]:
    """Ops that Python calls one after the other, each half as long as until the next."""
    return [
        one
        for i in range(n)
        for one in (
            (f"EagerExecute{OF_OP}", start + i * us - 2, us / 2 + 4),
            (f"EagerLocalExecute: {('Mul', 'Sum')[i % 2]}", start + i * us, us / 2),
            ("KernelAndDeviceOp::Run", start + i * us + 1, us / 2 - 2),
            ("KernelAndDeviceFunc::Run", start + i * us + 1, us / 2 - 2),
        )
    ]


def converted(n_bytes: int = 2**26) -> Analysis:
    """Each step makes a tensor of an array in half of its time, and computes in the other half."""
    events: list[Any] = []
    for i in range(8):
        at = i * STEP_US
        events += [
            event("train", at, STEP_US, _r=1, step_num=i),
            event("TFE_Py_FastPathExecute_C", at + 10, 5_000),
            event("MemoryAllocation", at + 20, 0, stats={"requested_bytes": n_bytes, "allocator_name": "cpu"}),
            event("net/Conv2D:Conv2D", at + 5_100, 4_800),
        ]
    return Analysis(trace(plane("/host:CPU", line("python", *events)), session(duration_us=8 * STEP_US)))


def frozen(*ops: Op) -> Analysis:
    """A net of which the base is not trained."""
    results = graph_run(
        *ops, variables=[("net/base/kernel", "64x64", "float32"), ("net/head/kernel", "64x8", "float32")]
    )
    assert results.source_map is not None
    results.source_map.variables[["trainable", "layer"]] = [[False, "net/base"], [True, "net/head"]]
    return results


def recomputed() -> Analysis:
    """The call that makes the gradients computes the forward pass again."""
    forward = Op("net/Conv2D", "Conv2D", 3_900, [0])
    gradient = Op("gradient_tape/net/Conv2DBackpropFilter", "Conv2DBackpropFilter", 2_000, [0])
    results = graph_run(forward, gradient, replace(forward, name="net_1/Conv2D"))
    noted = results.source_map
    assert noted is not None
    frames = pd.DataFrame([(-1, 0, 2, "call"), (-1, 0, 1, "train"), (1, 0, 2, "call")], columns=noted.frames.columns)
    text = "gradients = tape.gradient(loss, weights)\ny = tf.recompute_grad(layer)(x)\n"
    known = replace(noted, frames=frames, ops=noted.ops.assign(frame=[0, 1, 2]), files=noted.files.assign(text=text))
    return Analysis(results.trace, known)


GRAPH_CAUSES: dict[str, Callable[[], Analysis]] = {
    "repeated_work": recomputed,
    "layout_conversion": lambda: graph_run(*TURNED),
    "dense_update": lambda: graph_run(*TABLE, variables=[("items/embeddings", "100000x16", "float32")]),
    "graph_loop": lambda: graph_run(
        *LOOP, python=[*calling(9_900), *((f"{IN_LOOP}/x/Shape:Shape", 600.0 + 92 * i, 1.0) for i in range(100))]
    ),
    "many variables": lambda: graph_run(
        *SMALL, variables=[(f"net/bias_{i}", "24", "float32") for i in range(64)], step_us=2_000, python=calling(1_800)
    ),
    "double_precision": lambda: graph_run(
        Op("net/MatMul", "MatMul", 9_000, [0, 1], "64x64;64x64", "64x64", dtype="float64")
    ),
    "half_precision": lambda: graph_run(*HALF_OPS),
    "frozen_layers": lambda: frozen(*FROZEN),
    "number_checks": lambda: graph_run(
        Op("net/Conv2D", "Conv2D", 6_000, [0]), *(Op(f"net/check_{i}", "CheckNumericsV2", 60, [0]) for i in range(40))
    ),
    "printing": lambda: graph_run(*PRINTED),
    "few_threads": lambda: graph_run(BUSY, facts={"intra_op_threads": "1", "n_cpus": "4"}),
    "argument_conversion": converted,
    "eager_ops": lambda: graph_run(
        Op("net/Conv2D", "Conv2D", 4_000, [0]), python=[*calling(4_100), *eager_calls(40, 140, 4_200)]
    ),
    "many functions": lambda: graph_run(
        Op("net/MatMul", "MatMul"),
        python=[
            one
            for start in range(0, 9_000, 450)
            for one in (
                *calling(200, start),
                ("net/MatMul:MatMul", start + 10.0, 20.0),
                ("EagerExecute", start + 250, 190.0),
            )
        ],
    ),
    "small_batch": lambda: graph_run(Op("net/MatMul", "MatMul", 30, [0], times=4), python=calling(400), step_us=1_000),
}
"""By the rule that has something to say."""
