"""Steps of a GPU that is busy, and whose graph was noted, drawn kernel by kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.unit.analysis.advice.gpu_drawings import Part, gpu_run
from tests.unit.analysis.advice.graph_drawings import Op, noted
from tfprof_widgets.analysis import Analysis

H100 = {"compute_cap_major": 9, "compute_cap_minor": 0, "clock_rate": 1_980_000, "core_count": 132}
PEAK = 3_352_320_000_000
"""Bytes a second of its memory."""
LARGE = "16384x1024"
"""64 MiB in float32."""


def busy_run(*ops: Op, gap_us: float = 0.0, step_us: float = 1000, **stats: int) -> Analysis:
    """The ops of a graph one after the other, each a kernel as often as it runs, with a gap after each."""
    compute: list[Part] = []
    names: dict[str, str] = {}
    at = 20.0
    for op in ops:
        for k in range(op.times if op.us else 0):
            compute.append((f"{op.name}_{k}_kernel", at, op.us))
            names[compute[-1][0]] = f"{op.name}:{op.type}"
            at += op.us + gap_us
    known = {**H100, "memory_bandwidth": PEAK} | stats
    return Analysis(gpu_run(compute, ops=names, step_us=step_us, **known).trace, noted(ops))


def passes(
    us: float = 90, shape: str = LARGE, kinds: Sequence[str] = ("Mul", "Tanh", "Mul", "Sub", "Exp", "AddV2")
) -> list[Op]:
    """An activation of one op after the other, of what a product makes."""
    product = Op("net/MatMul", "MatMul", 200, [0, 1], f"{shape};1024x1024", shape)
    ops = [product]
    for i, kind in enumerate(kinds):
        reads = [ops[-1].name, product.name] if kind in ("Mul", "Sub", "AddV2") else [ops[-1].name]
        ops.append(Op(f"net/op_{i}", kind, us, reads, ";".join([shape] * len(reads)), shape))
    return [*ops, Op("net/head/MatMul", "MatMul", 20, [ops[-1].name, 2], f"{shape};1024x10", "16384x10")]


SUM = Op("net/BiasAddGrad", "BiasAddGrad", 500, [0], "2048x50257", "50257", dtype="bfloat16")
PLACES = Op("net/Where", "Where", 20, [0], "4096x100", "-1x2", times=3, dtype="int64")
BUSY_CAUSES: dict[str, Callable[[], Analysis]] = {
    "many_passes": lambda: busy_run(*passes()),
    "slow_sum": lambda: busy_run(SUM, Op("net/MatMul", "MatMul", 300, [0, 1], "64x64;64x64", "64x64")),
    "unknown_size": lambda: busy_run(PLACES, gap_us=150),
}
