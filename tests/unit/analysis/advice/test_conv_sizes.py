"""The size of a convolution's filter, from what allocates its gradient, from compiled programs, and from variables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from tests.builders import event, line, plane, session, trace
from tests.unit.analysis.advice.graph_drawings import Op, graph_run
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.trace import SourceMap, empty_source_map


def drawn(size: int, source_map: SourceMap | None = None, *, with_memory: bool = True) -> Analysis:
    """Steps of 10 ms, of which the convolution of one layer takes 8."""
    events = []
    for i in range(5):
        at = 10_000 * i
        gradient = "gradient_tape/net/smooth/convolution/Conv2DBackpropFilter"
        events += [
            event("train", at, 10_000, _r=1, step_num=i),
            event("net/smooth/convolution:Conv2D", at, 4_000),
            event(f"{gradient}:Conv2DBackpropFilter", at + 4_000, 4_000),
            event("net/dense/MatMul:MatMul", at + 8_000, 2_000),
        ]
        if with_memory:
            events.append(event("MemoryAllocation", at + 5_000, 0, stats=allocation(gradient, f"[{size},{size},8,8]")))
    return Analysis(trace(plane("/host:CPU", line("python", *events)), session(duration_us=50_000)), source_map)


def allocation(op: str, shape: str) -> dict[str, Any]:
    known: dict[str, Any] = {"allocator_name": "cpu", "tf_op": op, "shape": shape, "region_type": "output", "addr": 1}
    sizes = dict.fromkeys(("requested_bytes", "allocation_bytes", "bytes_allocated", "peak_bytes_in_use"), 100)
    return known | sizes | {"bytes_reserved": 0, "bytes_available": 10**9, "fragmentation": 0.0, "data_type": 1}


def noted() -> SourceMap:
    """A map that knows the layer and the line that made it."""
    empty = empty_source_map()
    layer = {"layer": "net/smooth", "name": "smooth", "class_name": "Conv2D", "model": "net", "file": 0, "line": 1}
    file = {"file": "/home/me/train.py", "title": "train.py", "is_user": True, "text": "x = net(x)"}
    return SourceMap(
        ops=empty.ops,
        frames=empty.frames,
        files=pd.DataFrame([file]),
        layers=pd.DataFrame([layer]),
        functions=empty.functions,
        samples=empty.samples,
        facts=empty.facts,
    )


@pytest.mark.parametrize(("size", "saved"), [(5, 1 - 18 / 25), (7, 1 - 18 / 49), (11, 1 - 18 / 121)])
def test_a_large_filter_could_be_several_small_ones(size: int, saved: float) -> None:
    (advice,) = [one for one in drawn(size).advice if one.rule == "inefficient_op"]
    assert advice.gain_ratio == pytest.approx(0.8 * saved, abs=0.01)
    most = {5: "", 7: "to 3 ", 11: "to 5 "}[size]
    assert advice.fix.words.startswith(f"Put two {most}convolutions of 3 x 3")
    assert "net/smooth/convolution" in advice.selection.op_names


@pytest.mark.parametrize("size", [1, 3, 4])
def test_a_small_filter_is_no_fault_however_much_of_the_time_it_takes(size: int) -> None:
    assert drawn(size).advice == ()


def test_the_layers_variable_tells_where_no_memory_was_recorded() -> None:
    known = ("net/smooth/kernel", "11x11x8x8", "float32", True, "net/smooth", "")
    told = replace(noted(), variables=pd.DataFrame([known], columns=list(empty_source_map().variables.columns)))
    (advice,) = drawn(11, told, with_memory=False).advice
    assert (advice.rule, advice.evidence["filter_px"], advice.evidence["line"]) == ("inefficient_op", 11, "train.py:1")
    assert drawn(11, noted(), with_memory=False).advice == ()


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
