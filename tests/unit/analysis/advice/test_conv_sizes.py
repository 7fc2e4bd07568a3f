"""Convolutions of large filters, by the shapes of a graph."""

from __future__ import annotations

import pytest

from tests.unit.analysis.advice.graph_drawings import Op, graph_run
from tfprof_widgets.analysis import LAST, Advice


def found(size: int) -> list[Advice]:
    """Of steps of 10 ms in which the convolution of one layer takes 8."""
    shapes = f"8x32x32x3;{size}x{size}x3x8"
    gradient = "gradient_tape/net/smooth/convolution/Conv2DBackpropFilter"
    ops = (
        Op("net/smooth/convolution", "Conv2D", 4_000, [0, 1], shapes, "8x32x32x8"),
        Op(gradient, "Conv2DBackpropFilter", 4_000, [0, 1], "8x32x32x3;4;8x32x32x8", f"{size}x{size}x3x8"),
        Op("net/dense/MatMul", "MatMul", 1_990, [0, 1], "8x8;8x8", "8x8"),
    )
    return [one for one in graph_run(*ops).advice if one.rule != LAST]


@pytest.mark.parametrize(("size", "saved"), [(5, 1 - 18 / 25), (7, 1 - 27 / 49), (11, 1 - 45 / 121)])
def test_a_large_filter_could_be_several_small_ones(size: int, saved: float) -> None:
    (advice,) = found(size)
    assert (advice.rule, advice.evidence["filter_px"]) == ("inefficient_op", size)
    assert advice.gain_ratio == pytest.approx(0.8 * saved, abs=0.01)
    assert advice.fix.words.startswith(f"Put {(size - 1) // 2} convolutions of 3 x 3")
    assert "net/smooth/convolution" in advice.selection.op_names


@pytest.mark.parametrize("size", [1, 3, 4])
def test_a_small_filter_is_no_fault_however_much_of_the_time_it_takes(size: int) -> None:
    assert found(size) == []
