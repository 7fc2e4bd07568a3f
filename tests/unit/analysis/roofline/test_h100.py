"""Rooflines of real captures of an H100 against counts by hand, from the shapes of the models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tfprof_widgets.analysis import Analysis, Roofline
from tfprof_widgets.read import read_xspace

N_STEPS = 10
KINDS = ["h100_transformer_xla", "h100_resnet_xla"]


@pytest.fixture(scope="module")
def roofline_of(capture_of: Callable[[str], Path]) -> Callable[[str], Roofline]:
    made: dict[str, Roofline] = {}

    def roofline(kind: str) -> Roofline:
        if kind not in made:
            made[kind] = Analysis(read_xspace(capture_of(kind).read_bytes())).roofline
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


@pytest.mark.parametrize(
    ("kind", "tflop", "mfu"), [("h100_transformer_xla", 4.45, 0.207), ("h100_resnet_xla", 1.52, 0.0453)]
)
def test_steps_reach_their_share_of_the_peak(
    roofline_of: Callable[[str], Roofline], kind: str, tflop: float, mfu: float
) -> None:
    steps = roofline_of(kind).by("step")
    assert len(steps) == N_STEPS
    assert steps["flops"].to_numpy() / 1e12 == pytest.approx(np.full(N_STEPS, tflop), rel=0.005)
    assert steps["mfu_ratio"].mean() == pytest.approx(mfu, rel=0.01)
    assert steps["known_ratio"].min() > 0.999


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", ["op", "kernel", "layer", "step"])
def test_nothing_is_above_its_roof(roofline_of: Callable[[str], Roofline], kind: str, rows: str) -> None:
    frame = roofline_of(kind).by(rows)  # type: ignore[arg-type]
    assert frame["roof_ratio"].max() <= 1
    assert frame["mfu_ratio"].max() <= 1
    judged = frame["bound"].isin(["compute", "memory"])
    assert frame.loc[judged, "time_us"].sum() > 0.9 * frame["time_us"].sum()
    # What read from a cache moves a little more than the memory can, not many times as much.
    assert frame.loc[frame["bound"] == "cache", "bandwidth_gbps"].max() < 3 * 3352 or rows != "op"


@pytest.mark.parametrize("kind", KINDS)
def test_every_table_adds_up_to_the_same(roofline_of: Callable[[str], Roofline], kind: str) -> None:
    roofline = roofline_of(kind)
    ops = roofline.frame
    for rows in ("kernel", "layer"):
        frame = roofline.by(rows)
        assert frame["flops"].sum() == pytest.approx(ops["flops"].sum(), rel=1e-9)
    assert roofline.by("layer")["time_us"].sum() == pytest.approx(ops["time_us"].sum(), rel=1e-9)
    # Beside kernels an op sets memory and copies within it.
    assert 0.97 < roofline.by("kernel")["time_us"].sum() / ops["time_us"].sum() <= 1


def test_large_products_run_near_the_peak(roofline_of: Callable[[str], Roofline]) -> None:
    """Of the layers of 4,096: three quarters of what a data sheet promises."""
    kernels = roofline_of("h100_transformer_xla").by("kernel")
    wide = np.isclose(kernels["flops"], N_STEPS * 2 * 16 * 512 * 1024 * 4096, rtol=1e-3)
    nvjet = kernels[kernels["name"].str.startswith("nvjet") & wide]
    assert len(nvjet) >= 24
    assert set(nvjet["unit"]) == {"16-bit Tensor Core"}
    assert nvjet["mfu_ratio"].between(0.72, 0.85).all()


@pytest.mark.parametrize("kind", ["h100_lstm", "h100_eager", "h100_cnn_input"])
def test_without_a_program_nothing_is_claimed(roofline_of: Callable[[str], Roofline], kind: str) -> None:
    roofline = roofline_of(kind)
    assert len(roofline.frame) > 5
    assert roofline.frame[["flops", "bytes", "intensity", "roof_ratio", "mfu_ratio"]].isna().all(axis=None)
    assert set(roofline.frame["bound"]) == {""}
    assert roofline.by("step")["mfu_ratio"].isna().all()
