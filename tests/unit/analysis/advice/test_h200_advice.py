"""Captures that an H200 made of programs with known faults -> the cause comes first, as it does on a CPU.

Each is `h200/NAME.tar.xz`, a saved profile; b21 and b25 of the foreign programs, four of `tests/nightly/diagnosis`, and six
whose fix was measured on the same machine.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

import tfprof_widgets as tfprof

SAVED = Path(__file__).parent / "h200"
FIRST = {
    # rule, gain, and words of the title
    "iter_each_step": ("new_iterator", 0.53, "17 of 17 steps make an iterator of their own"),
    "returns_in_a_while_loop": ("graph_loop", 0.73, "(functions.py:112) of at least 256 iterations"),
    "search_over_learning_rates": ("compilation", 0.91, "is made anew 2 times"),
    "spectrograms_in_py_function": ("input_bound", 0.60, "runs in Python"),
    "windows_of_a_pydataset": ("idle_border", 0.77, "while the input runs Python for 13.3 ms"),
    "xla_shapes": ("retracing", 0.97, "with compiling by XLA"),
}


MEASURED = {
    # rule, what its fix won, and words of the title
    "one_hot_labels": (
        "many_passes",
        0.65,
        "33 elementwise ops take 6.60 of 12.0 ms a step (55 %) of the GPU, 6.04 ms of that in the loss",
    ),
    "instance_norm": ("many_passes", 0.55, "499 elementwise ops take 12.9 of 30.1 ms a step (43 %) of the GPU"),
    "float_images": ("h2d_bound", 0.60, "162 MiB a step at 5.80 GB/s"),
    "depthwise": (
        "inefficient_op",
        0.54,
        "The 7 x 7 convolutions of 4 layers, functional/depthwise_conv2d_3 (gp.py:180) above all, take 26.5",
    ),
    "scatter": ("h2d_bound", 0.36, "The GPU waits 8.45 of 25.3 ms a step (33 %) for copies from the host"),
    "narrow_channels": ("h2d_bound", 0.40, "64.0 MiB a step"),
}


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tfprof.Profile]:
    found = {}
    for name in (*FIRST, *MEASURED):
        folder = tmp_path_factory.mktemp(name)
        with tarfile.open(SAVED / f"{name}.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        found[name] = tfprof.load(folder)
    return found


@pytest.mark.parametrize("name", FIRST)
def test_the_cause_comes_before_what_any_small_step_shows(name: str, profiles: dict[str, tfprof.Profile]) -> None:
    rule, gain, words = FIRST[name]
    first = profiles[name].advice[0]
    assert (first.rule, first.gain_ratio) == (rule, pytest.approx(gain, abs=0.006)), first
    assert words in first.title
    assert first.severity == "high"


@pytest.mark.parametrize("name", MEASURED)
def test_the_first_card_promises_what_its_fix_won(name: str, profiles: dict[str, tfprof.Profile]) -> None:
    rule, won, words = MEASURED[name]
    first = profiles[name].advice[0]
    assert (first.rule, first.severity) == (rule, "high")
    assert words in first.title
    assert won * 2 / 3 <= first.gain_ratio <= won * 4 / 3


def test_products_on_tensor_cores_whose_sides_do_not_suit_them_are_named(profiles: dict[str, tfprof.Profile]) -> None:
    second = profiles["narrow_channels"].advice[1]
    assert second.rule == "tensor_core_unused"
    assert (
        "with sides that are no multiples of 8: MatMul at gp.py:276, on 8192x2047 and 2047x2047, above all"
        in second.title
    )


def test_a_fix_speaks_of_a_dataset_where_there_is_one(profiles: dict[str, tfprof.Profile]) -> None:
    assert "prefetch_to_device" in profiles["float_images"].advice[0].fix.words
    words = profiles["scatter"].advice[0].fix.words
    assert "dataset" not in words and "Tensors of int32" in words


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
