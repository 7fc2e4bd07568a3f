"""Time covered by spans that overlap: the same as counting instant by instant."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfprof_widgets.analysis.base.stretches import covered_before, union

SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)), min_size=1, max_size=20)


@given(SPANS, st.lists(st.integers(-5, 80), max_size=10))
def test_what_lies_before_a_moment_is_counted_once(spans: list[tuple[int, int]], moments: list[int]) -> None:
    start = np.array([low for low, _ in spans], np.int64)
    end = start + np.array([length for _, length in spans], np.int64)
    covered = {instant for low, length in spans for instant in range(low, low + length)}
    low, high = union(start, end)
    assert (low[1:] > high[:-1]).all()
    expected = [sum(instant < moment for instant in covered) for moment in moments]
    assert covered_before(low, high, np.array(moments, np.int64)).tolist() == expected
