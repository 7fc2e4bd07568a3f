"""Events of a trace -> all their stats: those that their metadata tells of every event of a kind, then their own."""

from __future__ import annotations

import numpy as np

from .stat_shapes import AnyInt, Int32, Int64, ranges
from .stat_table import Stats
from .trace import Trace


def whole_stats(trace: Trace, events: AnyInt) -> Stats:
    """All stats of some events as columns; where a name is there twice, `Trace.stats_of` takes the last."""
    own = trace.stats.of(events)
    metadata = trace.metadata_id[events]
    n_told = np.diff(trace.metadata_stat_offsets)[metadata]
    if not n_told.any():
        return own
    taken = ranges(trace.metadata_stat_offsets[metadata], n_told)
    order = np.argsort(np.concatenate([_owners(n_told), _owners(own.n)]), kind="stable")
    return Stats(
        own.n + n_told,
        np.concatenate([trace.metadata_stat_key[taken], own.key])[order],
        np.concatenate([trace.metadata_stat_kind[taken], own.kind])[order],
        np.concatenate([trace.metadata_stat_bits[taken], own.bits])[order],
    )


def _owners(n: Int64) -> Int64:
    return np.repeat(np.arange(len(n)), n)


def last_of_each_name(stats: Stats) -> Stats:
    """The stats of each event without those that a later one of the same name replaces."""
    if not len(stats.key):
        return stats
    event = _owners(stats.n)
    kept = _last_rows(event, stats.key)
    n = np.bincount(event[kept], minlength=len(stats.n))
    return Stats(n, stats.key[kept], stats.kind[kept], stats.bits[kept])


def _last_rows(event: Int64, key: Int32) -> Int64:
    """Rows without those that a later one of the same event and name replaces, in their order."""
    pair = event * (int(key.max()) + 1) + key
    order = np.argsort(pair, kind="stable")
    ordered = pair[order]
    is_last = np.append(ordered[1:] != ordered[:-1], True)
    return np.arange(len(key)) if is_last.all() else np.sort(order[is_last], kind="stable")
