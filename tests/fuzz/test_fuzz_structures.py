"""Traces of broken structure give a Profile or a TfProfError, in time and memory that their bytes allow."""

from __future__ import annotations

import sys

import pytest

from tests.fuzz.open_structures import run_case
from tests.fuzz.structures import structure

N_IN_EVERY_RUN = 24
FOUND = ((3, 80155), (3, 94610))
"""Cases of long runs that broke the rule: frames in no file, times whose sums no whole number holds."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names of files as Linux has them")


def test_a_slice_of_the_structures_is_shown_or_refused() -> None:
    n_profiles = sum(run_case(structure(0, number), is_shown=number % 10 == 0) for number in range(N_IN_EVERY_RUN))
    assert 0.3 * N_IN_EVERY_RUN < n_profiles < 0.98 * N_IN_EVERY_RUN  # both outcomes are reached


@pytest.mark.parametrize(("seed", "number"), FOUND)
def test_a_case_that_was_found_is_shown_or_refused(seed: int, number: int) -> None:
    run_case(structure(seed, number), is_shown=True)
