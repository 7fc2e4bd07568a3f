"""What computes for over a fifth of a step -> a card that names it, and what to change where the mechanism is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.analysis.advice.busy_drawings import LARGE, PLACES, SUM, busy_run, passes
from tests.unit.analysis.advice.gpu_drawings import gpu_run
from tests.unit.analysis.advice.graph_drawings import Op, graph_run, noted
from tfprof_widgets.analysis import Advice, Analysis

PRODUCT = Op("net/MatMul", "MatMul", 500, [0, 1], "64x64;64x64", "64x64")


def told(results: Analysis, rule: str) -> list[Advice]:
    assert results.advice_notices == ()
    return [one for one in results.advice if one.rule == rule]


def test_elementwise_ops_at_the_speed_of_memory_win_what_one_pass_does_not_move() -> None:
    (one,) = told(busy_run(*passes()), "many_passes")
    assert one.title.startswith(
        "6 elementwise ops take 0.540 of 0.990 ms a step (55 %) of the GPU, all of that in the layer net (net.py:2), at 59 % of"
    )
    # Of six ops three read two tensors of 64 MiB and three read one; fused they read one and write one.
    assert (one.evidence["moved_bytes"], one.evidence["fused_bytes"]) == ((3 * 3 + 3 * 2 + 1) * 2**26, 2 * 2**26)
    assert one.gain_ratio == pytest.approx(0.540 / 0.990 * (1 - 2 / 16), rel=0.01)


@pytest.mark.parametrize("ops", [passes(us=90, shape="1024x1024"), passes(kinds=("Mul", "Tanh")), passes(us=10)])
def test_slow_few_and_short_elementwise_ops_are_no_chain(ops: list[Op]) -> None:
    assert told(busy_run(*ops), "many_passes") == []


def test_ops_whose_sizes_nobody_knows_promise_nothing() -> None:
    assert told(busy_run(*passes(shape="-1x1024")), "many_passes") == []


def test_no_bandwidth_no_speed_of_memory() -> None:
    results = busy_run(*passes(), SUM, memory_bandwidth=0)
    assert told(results, "many_passes") == told(results, "slow_sum") == []


def test_a_bias_gradient_that_memory_does_not_explain() -> None:
    (one,) = told(busy_run(SUM, replace(PRODUCT, us=300)), "slow_sum")
    assert one.title.startswith("BiasAddGrad at net.py:2 takes 0.500 of 0.990 ms a step (51 %) of the GPU to add up")
    assert one.evidence["memory_ratio"] == pytest.approx(2048 * 50257 * 2 / 3_352_320 / 500, rel=0.01)
    assert one.fix.words.startswith("Make this layer with use_bias=False") and "jit_compile=True" in one.fix.words
    assert told(busy_run(replace(SUM, us=45), replace(PRODUCT, us=30), step_us=100), "slow_sum") == []


def test_sizes_that_the_device_alone_knows_stop_the_host() -> None:
    (one,) = told(busy_run(PLACES, gap_us=150), "unknown_size")
    assert one.title.startswith(
        "The GPU waits 0.300 of 0.990 ms a step (30 %) amid Where at net.py:2 and its like: 2.00 times"
    )
    assert one.gain_ratio == pytest.approx(0.303, abs=0.001)
    assert told(busy_run(PLACES), "unknown_size") == []


def test_what_a_gpu_waits_between_the_kernels_of_an_op_is_the_ops() -> None:
    svd = Op("compile_loss/own/Svd", "Svd", 20, [0], "512x512", "512", times=10)
    (one,) = told(
        busy_run(Op("net/MatMul", "MatMul", 100, [0, 1], "64x64;64x64", "64x64"), svd, gap_us=50), "inefficient_op"
    )
    # Ten kernels, and nine times 50 us between them.
    assert one.title.startswith("Svd in the loss (net.py:2) takes, with its gradient, 0.650 of 0.990 ms a step (66 %)")
    assert one.gain_ratio == pytest.approx(0.650 / 0.990, rel=0.01)


def test_what_has_no_mechanism_has_no_fix() -> None:
    (one,) = told(busy_run(replace(PRODUCT, name="net/Svd", type="Svd"), memory_bandwidth=0, core_count=2), "busy")
    assert (one.severity, one.gain_ratio, str(one.fix)) == ("low", 0.0, "")
    assert one.title.startswith(
        "The layer net (net.py:2) takes 0.500 of 0.990 ms a step (51 %) of the GPU, all of that in Svd"
    )
    assert one.title.endswith("That is a large part of a step, and need not be a fault.")


def test_a_fifth_of_a_step_is_not_told() -> None:
    assert told(busy_run(replace(PRODUCT, name="net/Svd", type="Svd", us=190)), "busy") == []


def test_kernels_of_no_op_are_told_by_name() -> None:
    (one,) = told(busy_run(Op("", "", 500, outputs=LARGE), core_count=2), "busy")
    assert one.title.startswith("The kernel _0_kernel takes 0.500 of 0.990 ms a step (51 %) of the GPU")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            "with tf.device('/CPU:0'):\n    y = layer(x)\n",
            "with tf.device('/CPU:0') at net.py:1 places it on the CPU: ",
        ),
        ("x = 1\ny = layer(x)\n", "tf.device places it on the CPU: "),
    ],
)
def test_the_line_that_placed_an_op_on_the_cpu_is_named(text: str, place: str) -> None:
    source_map = noted([Op("net/Sort", "TopKV2", 500, [0], "64x64", "64x64")])
    source_map.details["device"] = "/device:CPU:0"
    source_map.files["text"] = text
    drawn = gpu_run(
        [("MemcpyH2D", 800, 20)], host=[("net/Sort:TopKV2", 100, 600)], launches=[("cuLaunchKernel", 790, 5)]
    )
    (one,) = told(Analysis(drawn.trace, source_map), "host_fallback")
    assert one.fix.words.startswith(place)
    (other,) = told(Analysis(drawn.trace), "host_fallback")
    assert other.fix.words.startswith("It has no kernel of this type and dtype for the GPU, or is placed by hand")


KNOWN: dict[str, tuple[float, list[Op]]] = {
    "98 % of its results are thrown away by a StridedSlice": (
        0.88,
        [
            Op("net/MatMul", "MatMul", 9_000, [0, 1], "-1x48x64;64x1000", "-1x48x1000"),
            Op("net/Last", "StridedSlice", 5, ["net/MatMul"], "-1x48x1000", "-1x1000"),
        ],
    ),
    "what a loop, as of tf.map_fn, makes one by one": (
        0.0,
        [Op("net/S", "TensorListStack", 9_000, [0], "()", "64x30")],
    ),
    "which reads flattened images (8x8x24)": (
        0.0,
        [
            Op("net/Flat", "Reshape", 0, [0], "-1x8x8x24;2", "-1x1536"),
            Op("net/Read", "ReadVariableOp", 5, [], "()", "1536x64", variable=0),
            Op("net/MatMul", "MatMul", 9_000, ["net/Flat", "net/Read"], "-1x1536;1536x64", "-1x64"),
        ],
    ),
}


@pytest.mark.parametrize("words", KNOWN)
def test_the_mechanism_is_told_where_the_graph_shows_it(words: str) -> None:
    gain, ops = KNOWN[words]
    (one,) = told(graph_run(*ops, variables=[("net/kernel", "1536x64", "float32")]), "busy")
    assert words in one.title
    assert one.gain_ratio == pytest.approx(gain, abs=0.01)


MASKED = (
    Op("net/NotEqual", "NotEqual", 5, [0], "-1x256;()", "-1x256", dtype="bool"),
    Op("net/words/GatherV2", "GatherV2", 5, [1, 0], "5000x64;-1x256;()", "-1x256x64"),
    Op("net/attention/Einsum", "Einsum", 9_000, ["net/words/GatherV2"], "-1x256x64;-1x256x64", "-1x256x256"),
)


@pytest.mark.parametrize(("length", "is_told"), [("256", True), ("-1", False)])
def test_work_on_places_that_a_mask_may_hide_is_told_as_such(length: str, is_told: bool) -> None:
    """Of sequences of any length nobody padded all to one."""
    ops = [
        replace(one, inputs=one.inputs.replace("256", length), outputs=one.outputs.replace("256", length))
        for one in MASKED
    ]
    (advice,) = [one for one in graph_run(*ops).advice if one.rule == "busy"]
    assert ("hide some of the 256 places of each sequence" in advice.title) == is_told
    assert (advice.severity, advice.gain_ratio) == ("low", 0)


def test_a_lookup_without_a_mask_says_nothing_of_padding() -> None:
    (advice,) = [one for one in graph_run(*MASKED[1:]).advice if one.rule == "busy"]
    assert "need not be a fault" in advice.title
