"""Captures that an H200 made of programs with known faults -> the cause comes first, as it does on a CPU.

Each is `h200/NAME.tar.xz`, a saved profile; b21 and b25 of the foreign programs, four of `tests/nightly/diagnosis`.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

import tfprof_widgets as tfprof

SAVED = Path(__file__).parent / "h200"
FIRST = {
    # rule, gain, and words of the title
    "iter_each_step": ("new_iterator", 0.54, "19 of 19 steps make an iterator of their own"),
    "returns_in_a_while_loop": ("graph_loop", 0.45, "(functions.py:112) of at least 256 iterations"),
    "search_over_learning_rates": ("compilation", 0.91, "is made anew 2 times"),
    "spectrograms_in_py_function": ("input_bound", 0.60, "runs in Python"),
    "windows_of_a_pydataset": ("idle_border", 0.77, "while the input runs Python for 13.3 ms"),
    "xla_shapes": ("retracing", 0.97, "with compiling by XLA"),
}


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tfprof.Profile]:
    found = {}
    for name in FIRST:
        folder = tmp_path_factory.mktemp(name)
        with tarfile.open(SAVED / f"{name}.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        found[name] = tfprof.load(folder)
    return found


@pytest.mark.parametrize("name", FIRST)
def test_the_cause_comes_before_what_any_small_step_shows(name: str, profiles: dict[str, tfprof.Profile]) -> None:
    rule, gain, words = FIRST[name]
    first, *others = profiles[name].advice
    assert (first.rule, first.gain_ratio) == (rule, pytest.approx(gain, abs=0.006)), first
    assert words in first.title
    assert first.severity == "high"
    assert not {one.rule for one in others} & {"low_utilisation", "device_idle"}


def test_a_gpu_that_waits_for_python_in_tf_data_waits_for_data(profiles: dict[str, tfprof.Profile]) -> None:
    """The mapped function copies constants to the GPU itself: no launch of the step's."""
    assert profiles["spectrograms_in_py_function"].overview.verdict.startswith("Input-bound")


def test_what_compiles_for_a_gpu_is_no_python(profiles: dict[str, tfprof.Profile]) -> None:
    verdict = profiles["xla_shapes"].overview.verdict
    assert verdict.startswith("Compile-bound: tracing and compilation take 2,3"), verdict


def test_python_of_the_input_is_one_cause_and_has_one_card(profiles: dict[str, tfprof.Profile]) -> None:
    """Also where the steps wait for its batches, and their Python for its lock."""
    assert [one.rule for one in profiles["spectrograms_in_py_function"].advice] == ["input_bound"]
    told = profiles["windows_of_a_pydataset"].advice[0]
    assert (told.stage, told.headline) == ("generator", "Replace the Python generator")
    assert "generator or a PyDataset" in str(told.fix)
