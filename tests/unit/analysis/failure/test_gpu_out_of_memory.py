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


def test_what_to_try_is_told_before_how_to_see_more(profile: Profile) -> None:
    failure = profile.memory_failure
    assert failure is not None
    smaller, half, see_more = failure.actions
    assert smaller.words == "Halve the batch size, if 256, the first dimension of that tensor, is your batch size."
    assert smaller.code == "batch_size = 128"
    assert half.code == 'keras.mixed_precision.set_global_policy("mixed_float16")'
    assert "it had ended 29.5 s before" in see_more.words
    assert "selection" not in see_more.words, "there was none"


@pytest.mark.parametrize("text", ["report", "text"])
def test_texts_say_what_happened_and_nothing_else(profile: Profile, text: str) -> None:
    failure = profile.memory_failure
    assert failure is not None
    told: str = getattr(profile, text)()
    assert " ".join(told.split()).replace("&#91;", "[").count(failure.sentence) == 1
    for word in ("a step", "VarIsInitializedOp", "ops by", "Advice", "advice", "growing", "rising_memory", "bound:"):
        assert word not in told, word
