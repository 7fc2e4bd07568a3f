"""Rooflines of real captures of an H100 against counts by hand, from the shapes of the models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tfprof_widgets.analysis import Results, Roofline
from tfprof_widgets.read import read_xspace

N_STEPS = 10
KINDS = ["h100_transformer_xla", "h100_resnet_xla"]


@pytest.fixture(scope="module")
def roofline_of(capture_of: Callable[[str], Path]) -> Callable[[str], Roofline]:
    made: dict[str, Roofline] = {}

    def roofline(kind: str) -> Roofline:
        if kind not in made:
            made[kind] = Results(read_xspace(capture_of(kind).read_bytes())).roofline
        return made[kind]

    return roofline


def transformer_flops() -> float:
    """Six blocks of 1,024, 16 x 512 tokens of 8,000 words; the backward pass has two products for each of the forward one."""
    width, tokens, length, words = 1024, 16 * 512, 512, 8000
    projections = 4 * 2 * tokens * width**2
    attention = 2 * 2 * tokens * length * width
    dense = 2 * 2 * tokens * width * 4 * width
    return 3.0 * (6 * (projections + attention + dense) + 2 * tokens * width * words)


def resnet_flops() -> float:
    """ResNet50 of Keras at 160 pixels: 2 x batch x positions x features in x features out x window, thrice but for the first."""
    batch = 128

    def convolution(size: int, features_in: int, features_out: int, window: int) -> float:
        return 2.0 * batch * size**2 * features_in * features_out * window**2

    total = 2 * convolution(80, 3, 64, 7)
    features = 64
    for size, inner, n_blocks in ((40, 64, 3), (20, 128, 4), (10, 256, 6), (5, 512, 3)):
        total += 3 * convolution(size, features, 4 * inner, 1)
        for _ in range(n_blocks):
            block = ((features, inner, 1), (inner, inner, 3), (inner, 4 * inner, 1))
            total += 3 * sum(convolution(size, *layer) for layer in block)
            features = 4 * inner
    return total


@pytest.mark.parametrize(("kind", "by_hand"), list(zip(KINDS, (transformer_flops, resnet_flops), strict=True)))
def test_products_are_as_many_as_counted_by_hand(
    roofline_of: Callable[[str], Roofline], kind: str, by_hand: Callable[[], float]
) -> None:
    frame = roofline_of(kind).frame
    products = frame[frame["name"].str.contains("custom-call|gemm|cudnn-conv|dot")]
    assert products["flops"].sum() / N_STEPS == pytest.approx(by_hand(), rel=0.02)
