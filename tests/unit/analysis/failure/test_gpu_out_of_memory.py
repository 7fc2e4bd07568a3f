"""A real training that ran out of a GPU's memory after its capture had ended: what happened is said, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tfprof_widgets.profiles import Profile


@pytest.fixture(scope="module")
def profile(capture_of: Callable[[str], Path]) -> Profile:
    found = tfprof.load(str(capture_of("h100_oom").parents[3]))
    assert isinstance(found, Profile)
    return found


def test_the_request_and_the_layer_are_told_and_no_line_of_keras(profile: Profile) -> None:
    failure = profile.memory_failure
    assert failure is not None
    assert failure.requested_bytes == 400 * 2**20
    assert (failure.shape, failure.dtype, failure.device) == ((256, 256, 40, 40), "float", "GPU:0")
    assert failure.layer == "resnet50_1/conv2_block1_3_conv_1"
    assert (failure.line, failure.code) == ("", ""), "the capture took a file of Keras for the user's"
    assert failure.sentence == (
        "Out of memory: convolution of layer resnet50_1/conv2_block1_3_conv_1 asked for 400 MiB on GPU:0 for a tensor of "
        "float [256,256,40,40]. When the capture ended, 29.5 s before, 2.79 GiB of 3.00 GiB were free, at most 2.65 GiB in one "
        "piece."
    )


def test_what_to_try_is_told_before_how_to_see_more(profile: Profile) -> None:
    failure = profile.memory_failure
    assert failure is not None
    smaller, half, see_more = failure.actions
    assert smaller.words == "Halve the batch size, if 256, the first dimension of that tensor, is your batch size."
    assert smaller.code == "batch_size = 128"
    assert half.code == 'keras.mixed_precision.set_global_policy("mixed_float16")'
    assert "it had ended 29.5 s before" in see_more.words
    assert "selection" not in see_more.words, "there was none"


def test_checks_whether_variables_have_been_made_are_no_steps(profile: Profile) -> None:
    assert profile.steps.empty, "428 of them cover 0.3 ms of 12.8 s"


def test_there_is_no_figure_of_steps_no_advice_and_no_finding(profile: Profile) -> None:
    failure, overview = profile.memory_failure, profile.overview
    assert failure is not None
    assert overview.verdict == failure.sentence
    assert overview.step_time_avg_ms == overview.busy_ratio == 0
    assert len(profile.advice) == len(overview.next_steps) == len(overview.findings) == 0
    assert "out of memory" in repr(profile)


@pytest.mark.parametrize("text", ["report", "text"])
def test_texts_say_what_happened_and_nothing_else(profile: Profile, text: str) -> None:
    failure = profile.memory_failure
    assert failure is not None
    told: str = getattr(profile, text)()
    assert " ".join(told.split()).replace("&#91;", "[").count(failure.sentence) == 1
    for word in ("a step", "VarIsInitializedOp", "ops by", "Advice", "advice", "growing", "rising_memory", "bound:"):
        assert word not in told, word
