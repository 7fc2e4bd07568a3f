"""`tfprof.diff` as a user holds it: what it takes, what it shows, and real captures."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.unit.analysis.comparison.drawn_runs import Run, with_times
from tfprof_widgets.errors import EmptyTraceError

NUMBERS = ["a_ms", "b_ms", "change_ms", "ratio"]
COUNTED = [*NUMBERS, "a_count", "b_count", "noise_ms", "state"]
COLUMNS = {
    "summary": ["metric", "unit", "a", "b", "change", "ratio", "noise", "is_beyond_noise"],
    "categories": ["category", *NUMBERS, "noise_ms", "state"],
    "ops": ["type", "name", "device", *COUNTED, "a_name"],
    "layers": ["layer", "class_name", "kind", "device", *COUNTED, "a_name"],
    "source_lines": ["file", "line", "function", "code", "bucket", "device", *COUNTED],
    "kernels": ["name", "op_name", *COUNTED],
    "iterators": ["name", "long_name", *COUNTED],
    "memory": ["allocator", "metric", "unit", "a", "b", "change", "ratio", "noise", "state"],
}
RUNS = {
    "steps": Run(seed=1, input_us=100, kernels={"gemm": 50.0}),
    "few steps": Run(seed=1, n_steps=2),
    "no steps": Run(seed=1, has_steps=False),
    "nothing": Run(n_steps=0),
}


@pytest.mark.parametrize("first", list(RUNS))
@pytest.mark.parametrize("second", list(RUNS))
def test_every_table_has_its_columns_whatever_is_compared(first: str, second: str, tmp_path: Path) -> None:
    found = tfprof.diff(RUNS[first].profile(tmp_path), RUNS[second].profile(tmp_path))
    assert {name: list(getattr(found, name)) for name in COLUMNS} == COLUMNS
    assert str(found)
    assert "\n" not in repr(found)
    assert set(found._repr_mimebundle_()) == {"text/plain"}
    if first != second:
        assert found.verdict
    else:
        assert found.is_within_noise


def test_a_comparison_shows_its_verdict_and_the_largest_changes(tmp_path: Path) -> None:
    a, b = Run(seed=1).profile(tmp_path), Run(seed=2, ops=with_times({"dense": 1.4})).profile(tmp_path)
    found = tfprof.diff(a, b)
    low, high = found.step_time_interval
    assert low < found.step_time_ratio < high
    assert not found.is_within_noise
    text = found._repr_mimebundle_()["text/plain"]
    assert found.verdict in text
    assert text.index("  slower   model/dense ") < text.index("  same     model/")
    assert found.layers is found.layers
    assert repr(found).startswith(f"<ProfileDiff {a.title} -> ")
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.a = "x"  # type: ignore[misc]


def test_hostile_names_stay_on_one_line(tmp_path: Path) -> None:
    ops = {"a\nb/MatMul": 50.0, f"{'x' * 5000}/MatMul": 60.0, "<b>/MatMul": 70.0}
    found = tfprof.diff(Run(ops=ops).profile(tmp_path), Run(ops=ops, seed=1).profile(tmp_path))
    assert all(len(line) < 300 for line in str(found).splitlines())


@pytest.mark.parametrize(("arguments", "name"), [(("x", None), "a"), ((None, 3), "a")])
def test_what_is_no_profile_is_refused_with_what_to_give(arguments: tuple[object, object], name: str) -> None:
    with pytest.raises(TypeError, match=rf"and {name} is a \w+: give what `with tfprof\.profile\(\) as prof` or"):
        tfprof.diff(*arguments)  # type: ignore[arg-type]


def test_a_second_argument_that_is_no_profile_is_named(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="and b is a str"):
        tfprof.diff(Run(n_steps=2).profile(tmp_path), "run")  # type: ignore[arg-type]


def test_a_capture_that_caught_nothing_is_compared_and_named(tmp_path: Path) -> None:
    def nothing() -> object:
        raise EmptyTraceError("nothing was captured: no session of the profiler ran")

    empty = tfprof.Profile(nothing)  # type: ignore[arg-type]
    found = tfprof.diff(empty, Run(n_steps=8).profile(tmp_path))
    assert found.notices[0] == "Run a: nothing was captured: no session of the profiler ran"
    assert "Run a has recorded nothing" in found.verdict
    assert math.isnan(found.step_time_ratio)


@pytest.mark.parametrize("kind", ["keras_fit", "xla_fit"])
def test_a_real_capture_does_not_differ_from_itself(kind: str, capture_of: Callable[[str], Path]) -> None:
    first, second = (tfprof.load(capture_of(kind)) for _ in range(2))
    found = tfprof.diff(first, second)
    assert found.is_within_noise
    assert found.step_time_ratio == 1
    for name in COLUMNS:
        frame: pd.DataFrame = getattr(found, name)
        assert (frame["change_ms" if "change_ms" in frame else "change"] == 0).all()
    assert len(found.ops)
    sums = found._runs.op_sums[0].self_ms.mean(axis=1).sum()
    during = first.overview.is_averaged
    ran = sum(first.select(step=int(step)).ops["total_self_time_us"].sum() for step in during.nonzero()[0])
    assert sums == pytest.approx(ran / 1e3 / during.sum(), rel=0.3)  # ops that cross the end of a step count as a whole


def test_a_real_gpu_capture_is_compared_with_one_of_a_cpu(v100_xplane: Path, capture_of: Callable[[str], Path]) -> None:
    found = tfprof.diff(tfprof.load(v100_xplane), tfprof.load(capture_of("keras_fit")))
    assert "removed" in set(found.kernels["state"]) | {"removed" if found.kernels.empty else ""}
    assert any("computed on a device" in notice for notice in found.notices)
    assert str(found)
