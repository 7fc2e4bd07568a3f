"""Short drawings of steps, one or more for each rule -> results for which the rule has something to say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.cluster import Cluster
from tests.unit.analysis.advice.busy_drawings import BUSY_CAUSES
from tests.unit.analysis.advice.gpu_drawings import STEP_US as GPU_STEP_US
from tests.unit.analysis.advice.gpu_drawings import gpu_run, memory_event
from tests.unit.analysis.advice.graph_causes import BUSY, GRAPH_CAUSES
from tests.unit.analysis.advice.graph_drawings import graph_run
from tests.unit.analysis.advice.outside_drawings import epochs, validation
from tests.unit.analysis.advice.test_device_rules import (
    GIGABYTE,
    HALF,
    PLANTED,
    SINGLE,
    VOLTA,
)
from tests.unit.analysis.advice.test_host_rules import (
    IN_CALLS,
    LOOPED,
    STEP_US,
    WORK,
    calling_keras,
    in_graph,
    run,
    sampled,
)
from tests.unit.analysis.advice.test_input_rules import drawn
from tests.unit.analysis.advice.test_iterator_rules import competing, refilled, remade
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import merge_traces

_EAGER = [(f"EagerLocalExecute: {kind}", 1_000.0 * i + 10, 300.0) for i, kind in enumerate(["MatMul", "Mul"] * 20)]
_LOSS = "StatefulPartitionedCall/compile_loss/smooth/Conv2D:Conv2D"
_LAYER = "StatefulPartitionedCall/net_1/conv_1/convolution:Conv2D"
_STAGES = ("BatchV2", "Map", "TFRecord", "ParallelMapV2", "FlatMap[0]::Generator", "Filter", "Shuffle", "Interleave")


def _on_device(cause: str) -> Callable[[], Analysis]:
    return lambda: gpu_run(**PLANTED[cause][0])


def _waiting(stage: str, wait_us: float) -> Callable[[], Analysis]:
    return lambda: drawn(wait_us, stage=stage)


def _callback() -> Analysis:
    moments = [(i * STEP_US + at, 1 if at < 60_000 else 3) for i in range(10) for at in (20_000, 70_000, 90_000)]
    return run(("net/dense/MatMul:MatMul", 0, 60_000), source_map=sampled(*moments))


def _traced() -> Analysis:
    calls = [
        ("make step\n", 0, 98_000),
        ("EagerKernelExecute", 70_000, 25_000),
        ("net/d/MatMul:MatMul", 70_500, 24_000),
    ]
    return run(*calls, stats={"make step\n": {"tf_function_call": "traced-nonXla", "tracing_count": 12}})


def _eager() -> Analysis:
    around = [("EagerExecute", start - 5, us + 10) for _, start, us in _EAGER]
    kernels = [("KernelAndDeviceOp::Run", start + 1, us - 2) for _, start, us in _EAGER]
    return run(*around, *_EAGER, *kernels, stats={"EagerExecute": {"is_func": 0}})


def _leak() -> Analysis:
    more = GIGABYTE // 2
    rising = [memory_event(GPU_STEP_US * i + 50, i + 1, more, 8 * GIGABYTE + i * more) for i in range(12)]
    return gpu_run([(HALF, 10, 980)], memory=rising, n_steps=12, **VOLTA)


def _waiting_for(**slow: dict[int, float]) -> Callable[[], Analysis]:
    """Four hosts; some of them are slow."""
    cluster = Cluster(4, n_steps=8, compute_us=900, **slow)  # type: ignore[arg-type]
    return lambda: Analysis(merge_traces([read_xspace(content) for _, content in cluster.files()]))


CAUSES: dict[str, Callable[[], Analysis]] = {
    **{cause: _on_device(cause) for cause in PLANTED},
    **BUSY_CAUSES,
    **GRAPH_CAUSES,
    **{f"{stage}, {wait_us} us": _waiting(stage, wait_us) for stage in _STAGES for wait_us in (3_000, 8_000)},
    "launches in short gaps": lambda: gpu_run(
        [(HALF, 100 + 18 * i, 17) for i in range(48)], launches=[("cuLaunchKernel", 2, 980)], op="a\nb/MatMul:MatMul"
    ),
    "32 bits in short kernels": lambda: gpu_run([(SINGLE, 10 + 20 * i, 19.5) for i in range(48)], **VOLTA),
    "python": lambda: run(("net/dense/MatMul:MatMul", 0, 60_000)),
    "python in a call": lambda: run(
        ("train_step", 1_000, 98_000),
        ("net/dense/MatMul:MatMul", 61_500, 36_000),
        stats={"train_step": {"tf_function_call": "notTraced-nonXla"}},
    ),
    "a callback": _callback,
    "another thread": lambda: run(
        ("train_step", 1_000, 98_000),
        ("net/Conv2D:Conv2D", 61_500, 36_000),
        stats={"train_step": {"tf_function_call": "notTraced-nonXla"}},
        source_map=sampled(*IN_CALLS, with_other=True),
    ),
    "a call of predict in each step": lambda: calling_keras(1),
    "a hook of epochs": lambda: epochs(4),
    "an iterator in each step": remade,
    "input on the cores of the model": lambda: competing(9_000),
    "a buffer that is filled": lambda: refilled(200_000.0),
    "a large validation": lambda: epochs(1, others=validation),
    "saves": lambda: run(
        WORK, only=lambda i: i % 5 == 4, longer=100_000, extra=[("EagerLocalExecute: SaveV2", 100_000, 95_000)]
    ),
    "a host with slow ops": _waiting_for(slow_compute={1: 2.0}),
    "a host with slow input": _waiting_for(slow_input={2: 3.0}),
    "short ops": lambda: run(*((f"net/l{i}/MatMul:MatMul", 20 * i, 5.0) for i in range(45)), step_us=1_000, n_steps=40),
    "a function traced again": _traced,
    "steps that trace": lambda: run(
        ("tf.function-graph_building", 10, 40_000), ("net/dense/MatMul:MatMul", 40_100, 59_000)
    ),
    "a loop that is unrolled": lambda: run(
        WORK,
        only=lambda i: i == 0,
        longer=500_000,
        extra=[("tf.function-graph_building", 100_000, 499_000)],
        source_map=in_graph(LOOPED, *[("MatMul", "8x8")] * 80),
    ),
    "ops one by one": _eager,
    "python in the graph": lambda: run(
        ("net/dense/MatMul:MatMul", 0, 60_000), ("net/py/PyFunc:PyFunc", 60_000, 39_000)
    ),
    "a heavy loss": lambda: run((_LAYER, 0, 40_000), (_LOSS, 40_000, 59_000)),
    "few blocks": lambda: gpu_run([(HALF, 10, 980)], core_count=80, **VOLTA),
    "short kernels of the optimizer": lambda: gpu_run(
        [(HALF, 95 + 100 * i, 5) for i in range(9)],
        launches=[("cuLaunchKernel", 85 + 100 * i, 9) for i in range(9)],
        op="adam/mul:Mul",
    ),
    "free memory in pieces": lambda: gpu_run(
        [(HALF, 10, 980)], memory=[memory_event(10, 1, 12 * GIGABYTE, 12 * GIGABYTE, fragmentation=0.8)], **VOLTA
    ),
    "a leak": _leak,
    "a costly line": lambda: graph_run(replace(BUSY, type="Svd")),
    "images turned around": lambda: gpu_run([("nchwToNhwcKernel<half>", 10, 290), (HALF, 300, 690)], **VOLTA),
}
