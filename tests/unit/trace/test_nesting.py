"""Nesting: depth, parent, span and self time against a brute-force reading of the rule, and the cases that bite."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfprof_widgets.trace import Nesting, nest


def nest_rows(*rows: tuple[int, int], scale: int = 1) -> Nesting:
    """Nest (start, end) rows of one line, given in order."""
    table = np.array(rows, np.int64).reshape(-1, 2) * scale
    return nest(np.zeros(len(table), np.int32), table[:, 0], table[:, 1] - table[:, 0])


def test_events_without_duration_have_no_children_and_lie_in_what_surrounds_them() -> None:
    nesting = nest_rows((0, 10), (5, 7), (5, 5), (5, 5), (7, 7), (10, 10))
    assert nesting.parent.tolist() == [-1, 0, 1, 1, 0, -1]
    assert nesting.self_ps.tolist() == [8, 2, 0, 0, 0, 0]


def test_an_outliving_event_cuts_the_span_it_starts_in_and_becomes_its_sibling() -> None:
    nesting = nest_rows((0, 20), (1, 10), (4, 8), (5, 15))
    assert nesting.parent.tolist() == [-1, 0, 1, 0]
    assert nesting.span_ps.tolist() == [20, 4, 1, 10]
    assert nesting.self_ps.tolist() == [6, 3, 1, 10]


def test_an_overlapping_line_leaves_the_lines_around_it_alone() -> None:
    line = np.repeat(np.array([0, 1, 2], np.int32), 3)
    start = np.array([0, 1, 2, 0, 3, 6, 0, 1, 2])
    end = np.array([9, 5, 3, 5, 9, 7, 9, 5, 3])
    nesting = nest(line, start, end - start)
    assert nesting.parent.tolist() == [-1, 0, 1, -1, -1, 4, -1, 6, 7]
    assert nesting.self_ps.tolist() == [5, 3, 1, 3, 5, 1, 5, 3, 1]


def test_times_too_wide_to_pack_with_their_line_nest_alike() -> None:
    rows = ((0, 7), (1, 5), (2, 3), (5, 7))
    wide, narrow = nest_rows(*rows, scale=2**57), nest_rows(*rows)
    line = np.full(len(rows), 9, np.int32)
    far = nest(line, np.array([a for a, _ in rows]) * 2**57, np.array([b - a for a, b in rows]) * 2**57)
    assert wide.parent.tolist() == narrow.parent.tolist() == far.parent.tolist() == [-1, 0, 1, 0]
    assert (far.self_ps == narrow.self_ps * 2**57).all()


events = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(0, 12)), max_size=14)


@given(events)
def test_every_instant_is_charged_to_the_event_that_started_last(rows: list[tuple[int, int, int]]) -> None:
    rows = sorted(rows, key=lambda row: (row[0], row[1], -row[2]))
    line, start, duration = np.array(rows, np.int64).reshape(-1, 3).T
    charged = np.zeros(len(rows), int)
    for one in range(3):
        for instant in range(40):
            active = np.flatnonzero((line == one) & (start <= instant) & (instant < start + duration))
            if len(active):
                charged[active.max()] += 1
    nesting = nest(line.astype(np.int32), start, duration)
    assert nesting.self_ps.tolist() == charged.tolist()
    has_parent = nesting.parent >= 0
    assert (nesting.depth[has_parent] == nesting.depth[nesting.parent[has_parent]] + 1).all()
    assert (nesting.depth[~has_parent] == 0).all()
    assert ((nesting.span_ps >= 0) & (nesting.span_ps <= duration)).all()
