"""`tfprof.diff` as a user holds it: what it takes, what it shows, and real captures."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.unit.analysis.comparison.drawn_runs import Run, with_times
from tfprof_widgets.analysis import Analysis, RunDiff, verdict_of
from tfprof_widgets.errors import EmptyTraceError
from tfprof_widgets.trace import SourceMap, table_frame

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


def test_hostile_names_stay_on_one_line(tmp_path: Path) -> None:
    ops = {"a\nb/MatMul": 50.0, f"{'x' * 5000}/MatMul": 60.0, "<b>/MatMul": 70.0}
    found = tfprof.diff(Run(ops=ops).profile(tmp_path), Run(ops=ops, seed=1).profile(tmp_path))
    assert all(len(line) < 300 for line in str(found).splitlines())


@pytest.mark.parametrize(("arguments", "name"), [(("x", None), "a"), ((None, 3), "a")])
def test_what_is_no_profile_is_refused_with_what_to_give(arguments: tuple[object, object], name: str) -> None:
    with pytest.raises(TypeError, match=rf"and {name} is a \w+: give what `with tfprof\.profile\(\) as prof` or"):
        tfprof.diff(*arguments)  # type: ignore[arg-type]


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


Variable = tuple[str, str, str]
"""Name, shape, dtype."""
SMALL: tuple[Variable, ...] = (
    ("model/conv2d/kernel", "3x3x1x16", "float32"),
    ("model/dense/kernel", "2704x64", "float32"),
)
WIDE: tuple[Variable, ...] = (
    ("model/conv2d/kernel", "3x3x1x48", "float32"),
    ("model/dense/kernel", "8112x64", "float32"),
)


def noted(variables: Sequence[Variable], *, extra: Sequence[str] = ()) -> SourceMap:
    """What a capture notes of a model with these weights, and with layers of no weights."""
    layers = [*dict.fromkeys(name.rpartition("/")[0] for name, _, _ in variables), *extra]
    tables = {name: table_frame(name, {}) for name in ("ops", "frames", "files", "functions", "samples", "facts")}
    tables["layers"] = pd.DataFrame(
        [{"layer": one, "name": one, "class_name": "Dense", "model": "model", "file": -1, "line": 0} for one in layers]
    )
    rows = [
        {
            "name": name,
            "shape": shape,
            "dtype": dtype,
            "trainable": True,
            "layer": name.rpartition("/")[0],
            "device": "",
        }
        for name, shape, dtype in variables
    ]
    return SourceMap(**tables, variables=pd.DataFrame(rows))


def diff_of(a: Run, b: Run, before: SourceMap | None, after: SourceMap | None) -> RunDiff:
    first, second = (dataclasses.replace(run.results(), sources=sources) for run, sources in ((a, before), (b, after)))
    return RunDiff(first, second)


def test_a_wider_model_is_named_first_and_no_machine_is_blamed() -> None:
    """All ops take 1.9 times as long, as on a slower machine: the variables tell that it is the program."""
    diff = diff_of(Run(seed=1), Run(seed=2, speed=1.9), noted(SMALL), noted(WIDE))
    said = verdict_of(diff)
    assert said.startswith(
        "What differs in b: 519,600 parameters, 173,200 in a (model/conv2d/kernel is (3, 3, 1, 48), was (3, 3, 1, 16), "
        "model/dense/kernel is (8112, 64), was (2704, 64)). Steps of b are "
    )
    assert "machine" not in said
    assert "no single part" not in said
    assert diff.step_times.is_beyond_noise
    assert set(diff.layers["state"]) == {"slower"}


def test_what_one_run_did_not_note_is_neither_new_nor_gone() -> None:
    for before, after in ((noted(SMALL), None), (None, noted(SMALL))):
        diff = diff_of(Run(seed=1), Run(seed=2), before, after)
        for table in (diff.layers, diff.source_lines):
            assert not set(table["state"]) & {"added", "removed"}
        assert verdict_of(diff).startswith("No change beyond noise: ")


@pytest.mark.parametrize("uneven", [0.1, *(pytest.param(less, marks=pytest.mark.nightly) for less in (0.0, 0.03))])
def test_thirty_pairs_of_one_program_do_not_differ(uneven: float) -> None:
    """Neighbouring steps are alike, the machine drifts, has bursts, and a level of its own in each run."""
    results: list[Analysis] = [
        Run(seed=seed, n_steps=40, uneven=uneven, between=0.04, noise=0.1, gap_us=300, input_us=100).results()
        for seed in range(31)
    ]
    said = [verdict_of(RunDiff(a, b)) for a, b in itertools.pairwise(results)]
    assert [one for one in said if not one.startswith("No change beyond noise: ")] == []


@pytest.mark.parametrize("uneven", [0.0, 0.03])
def test_a_program_that_takes_twice_as_long_is_found_in_runs_as_uneven(uneven: float) -> None:
    for seed in range(0, 10, 2):
        a = Run(seed=seed, n_steps=80, uneven=uneven, between=0.04, noise=0.1)
        b = dataclasses.replace(a, seed=seed + 1, ops=with_times({"dense_1": 6.0}))
        diff = diff_of(a, b, None, None)
        assert diff.step_times.ratio > 1.8
        assert diff.step_times.is_beyond_noise
        assert "model/dense_1 is slower" in verdict_of(diff)


def test_a_real_capture_of_another_program_is_told_by_its_parameters(capture_of: Callable[[str], Path]) -> None:
    a, b = (tfprof.load(capture_of(kind)) for kind in ("h100_resnet_mixed", "h100_lstm"))
    assert tfprof.diff(a, b).verdict.startswith("What differs in b: ")
    assert tfprof.diff(a, a)._runs.program == ()
