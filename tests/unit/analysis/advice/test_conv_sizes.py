"""Advice on convolutions with large filters, by the variables of their layers."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from tests.builders import event, line, plane, session, trace
from tests.unit.analysis.advice.graph_drawings import Op, graph_run
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.trace import empty_source_map


def drawn(size: int) -> Analysis:
    """Steps of 10 ms, of which the convolution of one layer takes 8."""
    gradient = "gradient_tape/net/smooth/convolution/Conv2DBackpropFilter:Conv2DBackpropFilter"
    events = []
    for i in range(5):
        at = 10_000 * i
        events += [
            event("train", at, 10_000, _r=1, step_num=i),
            event("net/smooth/convolution:Conv2D", at, 4_000),
            event(gradient, at + 4_000, 4_000),
            event("net/dense/MatMul:MatMul", at + 8_000, 2_000),
        ]
    layer = {"layer": "net/smooth", "name": "smooth", "class_name": "Conv2D", "model": "net", "file": 0, "line": 1}
    file = {"file": "/home/me/train.py", "title": "train.py", "is_user": True, "text": "x = net(x)"}
    empty = empty_source_map()
    known = ("net/smooth/kernel", f"{size}x{size}x8x8", "float32", True, "net/smooth", "")
    variables = pd.DataFrame([known], columns=list(empty.variables.columns))
    source_map = replace(empty, files=pd.DataFrame([file]), layers=pd.DataFrame([layer]), variables=variables)
    return Analysis(trace(plane("/host:CPU", line("python", *events)), session(duration_us=50_000)), source_map)


@pytest.mark.parametrize(("size", "saved"), [(5, 1 - 18 / 25), (7, 1 - 18 / 49), (11, 1 - 18 / 121)])
def test_a_large_filter_could_be_several_small_ones(size: int, saved: float) -> None:
    (advice,) = [one for one in drawn(size).advice if one.rule == "inefficient_op"]
    assert advice.gain_ratio == pytest.approx(0.8 * saved, abs=0.01)
    most = {5: "", 7: "to 3 ", 11: "to 5 "}[size]
    assert advice.fix.words.startswith(f"Put two {most}convolutions of 3 x 3")
    assert "net/smooth/convolution" in advice.selection.op_names
    assert (advice.evidence["filter_px"], advice.evidence["line"]) == (size, "train.py:1")


@pytest.mark.parametrize("size", [1, 3, 4])
def test_a_small_filter_is_no_fault_however_much_of_the_time_it_takes(size: int) -> None:
    assert drawn(size).advice == ()


def words_of(conv: str, inputs: str, outputs: str) -> list[tuple[str, str, float]]:
    """Of a layer of 5 x 5 that takes 9 of 10 ms: title, words of the fix, gain."""
    shape = inputs.split(";")[1]
    results = graph_run(
        Op("net/smooth/convolution", conv, 9_000, [0, 1, 2], inputs, outputs),
        variables=[("net/smooth/k", shape, "float32")],
    )
    assert results.source_map is not None
    results.source_map.variables["layer"] = "net/smooth"
    return [(one.title, one.fix.words, one.gain_ratio) for one in results.advice if one.rule == "inefficient_op"]


@pytest.mark.parametrize(("n_in", "n_out", "left"), [(32, 32, 18 / 25), (64, 32, 13.5 / 25), (64, 8, 10.125 / 25)])
def test_what_small_filters_need_depends_on_channels(n_in: int, n_out: int, left: float) -> None:
    ((title, words, gain),) = words_of("Conv2D", f"-1x28x28x{n_in};5x5x{n_in}x{n_out}", f"-1x28x28x{n_out}")
    assert f"two of 3 x 3 need {left:.0%} of the work".replace("%", " %") in title
    assert gain == pytest.approx(0.9 * (1 - left), abs=0.01)
    assert "or with strides=2" in words


def test_small_filters_that_need_as_much_are_no_advice() -> None:
    """As from 32 to 64 channels, or from the three of an image to many."""
    assert words_of("Conv2D", "-1x28x28x32;5x5x32x64", "-1x14x14x64") == []
    assert words_of("Conv2D", "-1x28x28x3;5x5x3x64", "-1x28x28x64") == []


def test_one_with_strides_is_not_to_have_them() -> None:
    ((_, words, _),) = words_of("Conv2D", "-1x28x28x64;5x5x64x32", "-1x14x14x32")
    assert "the first with its strides" in words
    assert "strides=2" not in words


def test_of_one_that_upsamples_nothing_is_said() -> None:
    assert words_of("Conv2DBackpropInput", "4;5x5x32x64;64x7x7x64", "64x14x14x32") == []
