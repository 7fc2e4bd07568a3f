"""All events -> the rows that a first picture of the whole capture needs: the longest of each track and pixel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..store.trace import Trace

Int64 = npt.NDArray[np.int64]


def sample_events(trace: Trace, *, n_wanted: int) -> Int64:
    """Choose at most `n_wanted` rows, ascending, that look like all of them when the whole capture is on the screen.

    Each (line, depth) is cut into equal bins of time, as many as the wanted number allows, and each bin keeps its longest
    event. So no track that has events is empty, and a gap that is wider than a bin stays a gap.
    """
    if trace.n_events <= n_wanted:
        return np.arange(trace.n_events)
    depth = trace.nesting.depth.astype(np.int64)
    track = trace.line_id.astype(np.int64) * (int(depth.max()) + 1) + depth
    begin, end = int(trace.start_ps.min()), int(trace.end_ps.max())
    n_tracks = len(np.unique(track))
    n_bins = 1 << max(0, (4 * n_wanted // n_tracks).bit_length() - 1)  # tracks are seldom full: begin generously
    while True:
        bins = (trace.start_ps - begin) // max(1, -(-(end - begin + 1) // n_bins))
        longest = _longest_of_each(track * n_bins + bins, trace.duration_ps)
        if len(longest) <= n_wanted:
            return longest
        if n_bins == 1:  # more tracks than rows
            return np.sort(longest[np.argsort(-trace.duration_ps[longest], kind="stable")[:n_wanted]])
        n_bins //= 2


def _longest_of_each(key: Int64, duration_ps: Int64) -> Int64:
    """For each distinct key the row of the longest duration, of equals the first; ascending."""
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.append(True, key[order[1:]] != key[order[:-1]]))
    duration = duration_ps[order]
    longest = np.maximum.reduceat(duration, starts)
    is_longest = np.flatnonzero(duration == np.repeat(longest, np.diff(np.append(starts, len(key)))))
    return np.sort(order[is_longest[np.searchsorted(is_longest, starts)]])
