"""`IteratorCalls` -> what each root call waited for: the calls below it, level by level, and who held it up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Int64
from ..base.matching import children_of, rows_below, sum_by

MAX_LEVELS = 100
"""Deeper calls are ignored, as in XProf (semantics 8.4)."""


@dataclass(frozen=True)
class Waits:
    """One entry per call."""

    root_call: Int64
    """The root call below which it lies, -1 when its element was not fetched during the capture."""
    is_blocking: Bool
    """Whether it overlaps in time with its consumer, and so on up to the root: it was waited for."""
    is_exact: Bool
    """Whether XProf has every link between it and the root."""
    self_ps: Int64
    """Its duration minus the time covered by the calls it made or waited for; never negative."""
    window_ps: Int64
    """The part of its duration in which the root call, and all between, were waiting."""
    wait_ps: Int64
    """The part of its self time in which the root call, and all between, were waiting."""
    xprof_self_ps: Int64
    """Its duration minus the sum of its children's overlaps, by XProf's links; negative when children run in parallel."""


def find_waits(start_ps: Int64, end_ps: Int64, parent: Int64, is_root: Bool, is_extra_link: Bool) -> Waits:
    """Walk from the root calls down.

    Args:
        start_ps: begin of each call.
        end_ps: end of each call.
        parent: the call that waited for it, -1 for none.
        is_root: whether a call is one of a pipeline's outermost iterator; links above it are not followed.
        is_extra_link: whether the link to its parent is one that XProf does not have.
    """
    n = len(start_ps)
    parent = np.where(is_root, -1, parent)
    order, offsets = children_of(parent)
    root_call = np.where(is_root, np.arange(n), -1)
    blocking, exact = is_root.copy(), is_root.copy()
    low, high = start_ps.copy(), end_ps.copy()  # the window in which the root call waits for this one
    level = np.flatnonzero(is_root)
    for _ in range(MAX_LEVELS):
        level = rows_below(order, offsets, level)
        if not len(level):
            break
        up = parent[level]
        root_call[level] = root_call[up]
        exact[level] = exact[up] & ~is_extra_link[level]
        blocking[level] = blocking[up] & (
            np.minimum(end_ps[level], end_ps[up]) > np.maximum(start_ps[level], start_ps[up])
        )
        low[level] = np.maximum(start_ps[level], low[up])
        high[level] = np.minimum(end_ps[level], high[up])
    in_tree = root_call >= 0
    window = np.where(in_tree & blocking, np.maximum(high - low, 0), 0)
    waited = covered_ps(parent, low, high, low, high, in_tree & blocking)
    return Waits(
        root_call=root_call,
        is_blocking=blocking,
        is_exact=exact,
        self_ps=end_ps - start_ps - covered_ps(parent, start_ps, end_ps, start_ps, end_ps, np.ones(n, np.bool_)),
        window_ps=window,
        wait_ps=window - waited,
        xprof_self_ps=end_ps - start_ps - _xprof_overlap_ps(start_ps, end_ps, parent, is_extra_link),
    )


def _xprof_overlap_ps(start_ps: Int64, end_ps: Int64, parent: Int64, is_extra_link: Bool) -> Int64:
    """For each row the sum of its overlaps with its children, as if those were disjoint."""
    child = np.flatnonzero((parent >= 0) & ~is_extra_link)
    up = parent[child]
    overlap = np.minimum(end_ps[child], end_ps[up]) - np.maximum(start_ps[child], start_ps[up])
    return sum_by(up, np.maximum(overlap, 0), len(parent))


def covered_ps(
    parent: Int64, start_ps: Int64, end_ps: Int64, parent_start_ps: Int64, parent_end_ps: Int64, counts: Bool
) -> Int64:
    """For each row how much of its own span the union of its children's spans covers; only children that count."""
    n = len(parent)
    child = np.flatnonzero((parent >= 0) & counts)
    up = parent[child]
    begin = np.maximum(start_ps[child], parent_start_ps[up])
    end = np.maximum(np.minimum(end_ps[child], parent_end_ps[up]), begin)
    order = np.lexsort((begin, up))
    up, begin, end = up[order], begin[order], end[order]
    reached = pd.Series(end).groupby(up).cummax().to_numpy(np.int64)
    before = np.empty(len(up), np.int64)
    before[:1] = np.iinfo(np.int64).min
    before[1:] = np.where(up[1:] == up[:-1], reached[:-1], np.iinfo(np.int64).min)
    return sum_by(up, np.maximum(end - np.maximum(begin, before), 0), n)
