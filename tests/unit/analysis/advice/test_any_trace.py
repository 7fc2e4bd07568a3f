"""Advice on traces that nobody would record: no rule fails, and what it says can be shown."""

from __future__ import annotations

import math

import pytest

from tests.fuzz.test_fuzz_results import random_trace
from tfprof_widgets.analysis.results import Results


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_a_random_trace_gets_advice_that_can_be_shown(first: int) -> None:
    for number in range(first, first + 20):
        results = Results(random_trace(number))
        known = set(results.ops["name"]) | set(results.trace.strings)
        for one in results.advice:
            assert 0 <= one.gain_ratio <= 1
            assert all(math.isfinite(value) for value in one.evidence.values() if not isinstance(value, str))
            assert set(one.selection.op_names) <= known
            assert one.selection.step is None or 0 <= one.selection.step < len(results.steps)
            assert list(one.selection.time_range_ns) == sorted(one.selection.time_range_ns)
