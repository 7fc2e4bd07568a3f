"""Counters -> what the timeline draws of them: their names in the meta object, an outline at once, every value as a section."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ...analysis.results import AnyResults
from ...analysis.timeline.counters import Counters
from .sampling import longest_of_runs
from .wire import Rows, Table

Int64 = npt.NDArray[np.int64]

MAX_COUNTERS = 200
"""Of a trace with more the first so many are drawn, and the timeline says of how many."""
SAMPLE_ROWS = 8_000
"""In the first pack; some 100 KB."""
_KEPT_OF_BIN = 4
_NEVER = np.iinfo(np.int64).max


def counter_meta(results: AnyResults) -> dict[str, Any]:
    """`counters`: name, unit, kind, extremes and first value of each; `n_counters`: how many the capture has."""
    counters = results.counters.counters
    return {
        "counters": [
            {
                "name": counter.name,
                "unit": counter.unit,
                "kind": counter.kind,
                "min": float(counter.value.min()),
                "max": float(counter.value.max()),
                "before": None if math.isnan(counter.before) else counter.before,
            }
            for counter in counters[:MAX_COUNTERS]
        ],
        "n_counters": len(counters),
    }


def counter_table(results: AnyResults, rows: Rows = slice(None)) -> Table:
    """Every value: `counter` (index into the meta object's `counters`), `time_ps`, `value`; by counter, then time."""
    return _table(results.counters, rows)


def counter_intervals(results: AnyResults) -> tuple[Int64, Int64]:
    """From when to when each value of `counter_table` held: until the next of its counter."""
    owner, time, _ = _columns(results.counters)
    until = np.append(time[1:], _NEVER)[: len(time)]
    return time, np.where(np.append(owner[1:] == owner[:-1], [False])[: len(time)], until, _NEVER)


def counter_sample(results: AnyResults) -> Table:
    """Columns of `counter_table`; of each bin of time the first, last, smallest and largest value: the outline is exact."""
    return _table(results.counters, sample_rows(results.counters, n_wanted=SAMPLE_ROWS))


def n_counter_rows(counters: Counters) -> int:
    """How many values the counters that are drawn have."""
    return int(counters.offsets[min(MAX_COUNTERS, len(counters.counters))])


def _columns(
    counters: Counters, rows: Rows = slice(None)
) -> tuple[npt.NDArray[np.integer], Int64, npt.NDArray[np.float64]]:
    """Number of the counter, time and value of some rows, which ascend: no column as long as all values is made for few."""
    at = np.arange(n_counter_rows(counters))[rows] if isinstance(rows, slice) else rows
    # Those of a counter are one slice.
    offsets = counters.offsets[: min(MAX_COUNTERS, len(counters.counters)) + 1]
    edges = np.searchsorted(at, offsets)
    shown = [
        (counter, at[low:high] - begin)
        for counter, begin, low, high in zip(counters.counters, offsets[:-1], edges[:-1], edges[1:], strict=False)
        if high > low
    ]
    time = np.concatenate([np.empty(0, np.int64), *(counter.time_ps[own] for counter, own in shown)])
    value = np.concatenate([np.empty(0), *(counter.value[own] for counter, own in shown)])
    return np.repeat(np.arange(len(offsets) - 1), np.diff(edges)), time, value


def _table(counters: Counters, rows: Rows) -> Table:
    owner, time, value = _columns(counters, rows)
    return Table({"counter": (owner, "u2"), "time_ps": (time.astype(np.float64), "f8"), "value": (value, "f8")})


def sample_rows(counters: Counters, *, n_wanted: int) -> Int64:
    """At most some `n_wanted` rows, ascending, from which the extremes of every bin of time can be drawn."""
    n_rows, n_counters = n_counter_rows(counters), min(MAX_COUNTERS, len(counters.counters))
    if n_rows <= n_wanted:
        return np.arange(n_rows)
    owner, time, value = _columns(counters)
    sizes = np.diff(counters.offsets[: n_counters + 1])
    is_long = sizes > n_wanted // n_counters
    n_bins = max(1, (n_wanted - int(sizes[~is_long].sum())) // (_KEPT_OF_BIN * int(is_long.sum())))
    begin, end = int(time.min()), int(time.max())
    key = owner * n_bins + (time - begin) // max(1, -(-(end - begin + 1) // n_bins))
    starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    ends = np.append(starts[1:], n_rows) - 1
    return np.unique(np.concatenate([starts, ends, longest_of_runs(key, value), longest_of_runs(key, -value)]))
