"""tf.data calls and iterators -> the single executions of a pipeline: which were slow, and where one spent its time.

An execution is one call of a pipeline's outermost iterator with all the calls that were made for it.

Source: semantics 8.4. Differs from XProf: the bottleneck of an execution is the iterator for whose own work its root call
waited longest; there it is the largest self time, which counts work that the root call did not wait for.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Int64
from ..base.iterator_names import WRAPPERS
from ..base.matching import sum_by
from ..base.units import PS_PER_MS, PS_PER_US
from ..columns.registry import TABLES

SLOW_CALL_PS = 50_000_000
"""A call longer than 50 us keeps its consumer waiting (semantics 8.4)."""
EXECUTION_COLUMNS = list(TABLES["input_pipeline.executions"].names)


def executions(calls: pd.DataFrame, iterators: pd.DataFrame, pipeline: int) -> pd.DataFrame:
    """All executions of a pipeline, slowest first; the columns are told in `TfData.executions`."""
    is_root = (calls["root_call"] == np.arange(len(calls))) & (calls["pipeline"] == pipeline)
    roots = np.flatnonzero(is_root)
    latency, start = calls["duration_ps"].to_numpy()[roots], calls["start_ps"].to_numpy()[roots]
    roots = roots[np.lexsort((start, -latency))]
    bottleneck, wait_ps = _bottlenecks(calls, roots, _works(iterators))
    names = np.append(iterators["long_name"].to_numpy(object), "")
    latency = calls["duration_ps"].to_numpy()[roots]
    return pd.DataFrame(
        {
            "rank": np.arange(len(roots)),
            "start_ms": calls["start_ps"].to_numpy()[roots] / PS_PER_MS,
            "latency_us": latency / PS_PER_US,
            "is_slow": latency > SLOW_CALL_PS,
            "is_startup": calls["is_startup"].to_numpy(np.bool_)[roots],
            "bottleneck": bottleneck,
            "bottleneck_name": names[bottleneck],
            "bottleneck_time_us": wait_ps / PS_PER_US,
            "root_call": roots,
        },
        columns=EXECUTION_COLUMNS,
    )


def _works(iterators: pd.DataFrame) -> Bool:
    """Of each iterator whether it may hold up who waits for it."""
    works: Bool = ~iterators["name"].isin(WRAPPERS).to_numpy(np.bool_)
    return works


def _bottlenecks(calls: pd.DataFrame, roots: Int64, works: Bool) -> tuple[Int64, Int64]:
    """For each root call the iterator that it waited for longest (-1 for none) and for how long."""
    n_iterators = len(works)
    place = np.full(len(calls) + 1, -1, np.int64)
    place[roots] = np.arange(len(roots))
    execution = place[calls["root_call"].to_numpy()]
    is_waited = (calls["wait_ps"].to_numpy() > 0) & works[calls["iterator"].to_numpy()]
    rows = np.flatnonzero((execution >= 0) & is_waited)
    key = execution[rows] * max(n_iterators, 1) + calls["iterator"].to_numpy()[rows]
    pairs, inverse = np.unique(key, return_inverse=True)
    total = sum_by(inverse.reshape(-1), calls["wait_ps"].to_numpy()[rows], len(pairs))
    order = np.lexsort((-total, pairs // max(n_iterators, 1)))
    found, first = np.unique(pairs[order] // max(n_iterators, 1), return_index=True)
    bottleneck, wait_ps = np.full(len(roots), -1, np.int64), np.zeros(len(roots), np.int64)
    bottleneck[found] = pairs[order][first] % max(n_iterators, 1)
    wait_ps[found] = total[order][first]
    return bottleneck, wait_ps


def execution(calls: pd.DataFrame, iterators: pd.DataFrame, root_call: int) -> pd.DataFrame:
    """The iterators that took part in one execution, with the numbers of that execution."""
    part = calls[calls["root_call"] == root_call]
    sums = part.groupby("iterator").agg(
        start_ps=("start_ps", "min"),
        total_ps=("duration_ps", "sum"),
        self_ps=("self_ps", "sum"),
        wait_ps=("wait_ps", "sum"),
        n_calls=("start_ps", "size"),
        is_blocking=("is_blocking", "any"),
    )
    rows = sums.index.to_numpy(np.int64)
    held_ps = np.where(_works(iterators)[rows], sums["wait_ps"].to_numpy(), 0)
    longest = int(held_ps.argmax())
    is_longest = np.arange(len(rows)) == longest
    return iterators.iloc[rows].assign(
        start_ms=sums["start_ps"].to_numpy() / PS_PER_MS,
        total_time_ms=sums["total_ps"].to_numpy() / PS_PER_MS,
        self_time_ms=sums["self_ps"].to_numpy() / PS_PER_MS,
        wait_time_ms=sums["wait_ps"].to_numpy() / PS_PER_MS,
        calls=sums["n_calls"].to_numpy(),
        on_critical_path=sums["is_blocking"].to_numpy(),
        is_bottleneck=is_longest & (held_ps > 0),
    )
