"""A hundred faults at random moments lose no more than is said, and never the next capture."""

from __future__ import annotations

import random

import pytest

from tests.nightly.trainings.faults import FAULTS, run_faults, table

N_FAULTS = 100


@pytest.mark.tensorflow
def test_no_fault_loses_more_than_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    seed = random.randrange(2**32)
    outcomes = run_faults(max(N_FAULTS, len(FAULTS)), seed)
    with capsys.disabled():
        print(f"\n{len(outcomes)} faults, seed {seed}\n{table(outcomes)}")
    assert [one for one in outcomes if not (one.is_within and one.next_works)] == [], f"seed {seed}"
