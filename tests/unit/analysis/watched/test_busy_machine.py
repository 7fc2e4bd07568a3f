"""Samples of the machine -> whether other processes are why steps wait."""

from __future__ import annotations

import numpy as np
import pytest

from tfprof_widgets.analysis import Machine
from tfprof_widgets.trace import SAMPLE_COLUMNS

S = 1_000_000_000


def machine(*phases: tuple[float, float]) -> Machine:
    """Of two cores, ten samples a phase of the load of all cores and of this process, of one core, in per cent."""
    made = Machine(n_cores=2)
    for i, (cpu, own) in enumerate(np.repeat(phases, 10, axis=0)):
        row = np.full(len(SAMPLE_COLUMNS), np.nan)
        row[[SAMPLE_COLUMNS.index(name) for name in ("time_ns", "cpu_pct", "process_cpu_pct")]] = (i + 1) * S, cpu, own
        made.add(row)
    return made


@pytest.mark.parametrize(
    ("before", "since", "expected"),
    [
        ((50.0, 90.0), (100.0, 60.0), True),  # others came
        ((100.0, 100.0), (100.0, 15.0), False),  # it waits, and others take what it leaves
        ((50.0, 100.0), (8.0, 15.0), False),  # it waits on a quiet machine
        ((90.0, 60.0), (95.0, 60.0), False),  # as before
    ],
)
def test_others_are_blamed_for_a_wait_where_they_take_more_than_it_leaves(
    before: tuple[float, float], since: tuple[float, float], expected: bool
) -> None:
    assert machine(before, since).is_busier((10 * S, None)) is expected
