"""Time covered by spans that overlap: the same as counting instant by instant."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfprof_widgets.analysis import Stretches

SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)), min_size=1, max_size=20)


@given(SPANS, st.lists(st.tuples(st.integers(-5, 80), st.integers(-5, 80)), max_size=10))
def test_what_lies_within_a_span_is_counted_once(
    spans: list[tuple[int, int]], spans_asked: list[tuple[int, int]]
) -> None:
    start = np.array([low for low, _ in spans], np.int64)
    end = start + np.array([length for _, length in spans], np.int64)
    covered = {instant for low, length in spans for instant in range(low, low + length)}
    stretches = Stretches.of(start, end)
    assert (stretches.start[1:] > stretches.end[:-1]).all()
    low, high = np.sort(np.array(spans_asked, np.int64).reshape(-1, 2), axis=1).T
    expected = [sum(a <= instant < b for instant in covered) for a, b in zip(low, high, strict=True)]
    assert stretches.within(low, high).tolist() == expected
