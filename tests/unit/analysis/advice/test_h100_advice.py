"""Real captures of an H100 -> every piece of advice on them, in order, and what must not be said of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.analysis.advice.selected import why_nothing_is_seen
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.read import read_xspace

EXPECTED = {
    # rule, gain and words of the title, of each in order
    "cnn_input": [("input_bound", 0.83, "for data (83 %) in MapAndBatch")],
    "transformer_loop": [
        ("unfused_optimizer", 0.77, "before the 1,411 kernels of the optimizer"),
        ("idle_border", 0.09, "2.48 of 29.0 ms"),
        ("memory_headroom", 0, "try 4 times the batch"),
    ],
    "transformer_xla": [("idle_border", 0.21, "4.53 of 21.8 ms"), ("unfused_attention", 0.08, "4.29 of 21.8 ms")],
    "resnet_xla": [
        ("idle_border", 0.29, "9.64 of 33.7 ms"),
        ("h2d_bound", 0.15, "37.5 MiB a step at 7.96 GB/s, most of it from pageable memory"),
        ("memory_headroom", 0, "try 4 times the batch"),
    ],
    "resnet_mixed": [
        ("unfused_optimizer", 0.25, "dispatch 12.9 of 19.7 ms; 91 % of it before the 4,711 kernels of the optimizer"),
        ("unfused_norm", 0.23, "95.0 of 246 ms"),
        ("useless_bias", 0.11, "53 layers takes 26.2 of 246 ms"),
    ],
    "lstm": [
        (
            "small_batch",
            0.65,
            "between 832 small kernels, of 3.81 µs on average, for the CPU: kernel launch 7.24 ms, dispatch 5.05 of 7.31 ms.",
        ),
        ("idle_border", 0.14, "2.19 of 16.2 ms"),
        ("few_blocks", 0.12, "93 % of the kernel time runs fewer blocks than the GPU has multiprocessors (132)"),
        ("memory_headroom", 0, "try 4 times the batch"),
    ],
    "eager": [("eager_hot_loop", 0.95, "call 18 ops one by one"), ("compilation", 0, "of step 0")],
}
COMPILED = ("resnet_xla", "transformer_xla")
NOT_IN_XLA = "lstm"
"""XLA has no program for cuDNN's recurrent networks."""


@pytest.mark.parametrize("name", EXPECTED)
def test_each_piece_of_advice_is_true_and_the_first_is_what_matters_most(
    name: str, capture_of: Callable[[str], Path]
) -> None:
    results = Analysis(read_xspace(capture_of(f"h100_{name}").read_bytes()))
    told = results.advice
    assert [one.rule for one in told] == [rule for rule, _, _ in EXPECTED[name]]
    for one, (_, gain, words) in zip(told, EXPECTED[name], strict=True):
        assert one.gain_ratio == pytest.approx(gain, abs=0.006), one
        assert words in one.title
        assert why_nothing_is_seen(results, one) == "", one.rule
        compile(one.fix.code, one.rule, "exec")
        assert "jit_compile=True" not in str(one.fix) or name not in (*COMPILED, NOT_IN_XLA)
        assert one.bound != "at most" or "jit_compile=True" not in str(one.fix)  # 86 % were measured of the ResNet50
