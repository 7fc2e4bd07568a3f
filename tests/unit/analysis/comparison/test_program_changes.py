"""What differs between two programs is said first, with figures; the machine only where its samples tell so."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.unit.analysis.comparison.drawn_runs import MODEL, Run, with_times
from tfprof_widgets.analysis import Analysis, RunDiff, verdict_of
from tfprof_widgets.trace import SourceMap, table_frame

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


def test_the_same_model_again_differs_in_nothing_whatever_its_layers_are_called() -> None:
    again = tuple((name.replace("model/", "model_1/").replace("dense/", "dense_3/"), *rest) for name, *rest in SMALL)
    assert diff_of(Run(seed=1), Run(seed=2), noted(SMALL), noted(again)).program == ()  # type: ignore[arg-type]
    assert diff_of(Run(seed=1), Run(seed=2), noted(SMALL), None).program == ()


def test_a_second_live_model_of_the_same_names_is_no_difference() -> None:
    assert diff_of(Run(seed=1), Run(seed=2), noted(SMALL), noted((*SMALL, *WIDE))).program == ()


def test_what_one_run_did_not_note_is_neither_new_nor_gone() -> None:
    for before, after in ((noted(SMALL), None), (None, noted(SMALL))):
        diff = diff_of(Run(seed=1), Run(seed=2), before, after)
        for table in (diff.layers, diff.source_lines):
            assert not set(table["state"]) & {"added", "removed"}
        assert verdict_of(diff).startswith("No change beyond noise: ")


def test_other_numbers_are_named() -> None:
    halves = tuple((name, shape, "bfloat16") for name, shape, _ in SMALL)
    (told,) = diff_of(Run(seed=1), Run(seed=2), noted(SMALL), noted(halves)).program
    assert "model/conv2d/kernel is bfloat16, was float32" in told


def test_ops_that_steps_run_more_often_are_named() -> None:
    more = {f"model/dense/{k}/Erf": 50.0 for k in range(3)}
    (told,) = diff_of(Run(seed=1), Run(seed=2, ops=MODEL | more), None, None).program
    assert told == "Erf runs 3.00 times a step, in a 0 times"


def test_what_noise_may_hide_is_not_called_the_same() -> None:
    """The dense layer takes three times as long, in runs so uneven that it is not proven."""
    uneven = {"n_steps": 8, "uneven": 0.4, "noise": 0.4}
    diff = diff_of(Run(seed=1, **uneven), Run(seed=2, ops=with_times({"dense": 3.0}), **uneven), None, None)  # type: ignore[arg-type]
    row = diff.layers.set_index("layer").loc["model/dense"]
    assert row["state"] != "same"
    steady = diff_of(Run(seed=1), Run(seed=2), None, None)
    assert set(steady.layers["state"]) == {"same"}


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
