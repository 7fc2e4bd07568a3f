"""All events -> the rows that a first picture of the whole capture needs: the longest of each track and pixel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..store.trace import Trace


def sample_events(trace: Trace, *, n_wanted: int) -> npt.NDArray[np.int64]:
    """Choose at most `n_wanted` rows, ascending, that look like all of them when the whole capture is on the screen.

    Each (line, depth) is cut into equal bins of time, as many as the wanted number allows, and each bin keeps its longest
    event. So no track that has events is empty, and a gap that is wider than a bin stays a gap.
    """
    if trace.n_events <= n_wanted:
        return np.arange(trace.n_events)
    depth = trace.nesting.depth.astype(np.int64)
    track = trace.line_id.astype(np.int64) * (int(depth.max()) + 1) + depth
    longest_first = np.argsort(-trace.duration_ps, kind="stable")
    begin, end = int(trace.start_ps.min()), int(trace.end_ps.max())
    n_tracks = len(np.unique(track))
    n_bins = 1 << max(0, (4 * n_wanted // n_tracks).bit_length() - 1)  # tracks are seldom full: begin generously
    while True:
        bins = (trace.start_ps - begin) // max(1, -(-(end - begin + 1) // n_bins))
        key = (track * n_bins + bins)[longest_first]
        _, first = np.unique(key, return_index=True)
        if len(first) <= n_wanted or n_bins == 1:
            return np.sort(longest_first[np.sort(first)[:n_wanted]])
        n_bins //= 2
