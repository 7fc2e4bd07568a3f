"""`Usage` -> one row per tf.data pipeline with what to do about it, and XProf's bottleneck of each slowest call."""

from __future__ import annotations

from typing import cast

import numpy as np
import pandas as pd

from ...trace.trace import Int64, StatValue, Trace
from ..base.matching import sum_by
from ..base.table_types import Types, typed_table
from ..base.units import PS_PER_MS, PS_PER_US, US_PER_MS
from ..base.wording import plural
from ..columns.registry import TABLES
from .iterator_table import FILL_SHARE, slowest_below
from .pipeline_executions import SLOW_CALL_PS
from .pipeline_usage import Usage
from .suggestions import NOTHING, Place, suggest

PIPELINE_TYPES: Types = TABLES["input_pipeline.pipelines"].types
SLOWEST_TYPES: Types = {
    "host": object,
    "pipeline": object,
    "max_latency_us": float,
    "bottleneck": object,
    "long_name": object,
    "self_time_us": float,
}


def pipeline_table(usage: Usage, iterators: pd.DataFrame) -> pd.DataFrame:
    """One row per pipeline; the columns are told in `Pipelines.pipelines`."""
    names, root_calls = _names(usage), _root_calls(usage)
    bottleneck = np.full(usage.nodes.n_pipelines, -1, np.int64)
    found = np.flatnonzero(iterators["is_bottleneck"].to_numpy())
    bottleneck[usage.nodes.pipeline[found]] = found
    rows = []
    for k in range(usage.nodes.n_pipelines):  # one turn per pipeline
        roots = root_calls[k]
        latency, counted = usage.duration_ps[roots], usage.duration_ps[roots[usage.is_counted[roots]]]
        row = {"id": k, "name": names[k], "host": usage.host[k], "is_device": bool(usage.nodes.is_device[k])}
        row |= _latencies(latency, counted)
        row["fill_time_ms"] = float(iterators["fill_time_ms"][iterators["pipeline"] == k].sum())
        rows.append(row | _held_up_by(iterators, int(bottleneck[k]), row, counted))
    return typed_table(rows, PIPELINE_TYPES)


def _root_calls(usage: Usage) -> list[Int64]:
    """For each pipeline the calls of its outermost iterator."""
    roots = np.flatnonzero(usage.is_root)
    roots = roots[np.argsort(usage.pipeline[roots], kind="stable")]
    return np.split(roots, np.searchsorted(usage.pipeline[roots], np.arange(1, usage.nodes.n_pipelines)))


def _names(usage: Usage) -> list[str]:
    """`Host:k` and `Device:k`, each counted from 0 in order of first use (XProf's order is that of a hash map)."""
    is_device = usage.nodes.is_device
    number = np.where(is_device, np.cumsum(is_device), np.cumsum(~is_device)) - 1
    kinds = ["Device" if device else "Host" for device in is_device]
    return [f"{kind}:{k}" for kind, k in zip(kinds, number.tolist(), strict=True)]


def _latencies(latency: Int64, counted: Int64) -> dict[str, object]:
    n, total = len(latency), int(latency.sum())
    return {
        "n_calls": n,
        "n_slow_calls": int((latency > SLOW_CALL_PS).sum()),
        "total_time_ms": total / PS_PER_MS,
        "avg_latency_us": (total // n) / PS_PER_US if n else 0.0,
        "min_latency_us": int(latency.min()) / PS_PER_US if n else 0.0,
        "max_latency_us": int(latency.max()) / PS_PER_US if n else 0.0,
        "startup_time_ms": (total - int(counted.sum())) / PS_PER_MS,
        "steady_latency_us": float(counted.mean()) / PS_PER_US if len(counted) else 0.0,
    }


def _held_up_by(iterators: pd.DataFrame, row: int, pipeline: dict[str, object], counted: Int64) -> dict[str, object]:
    """The columns about the bottleneck of one pipeline."""
    if row < 0:
        summary = f"{pipeline['name']}: no call of its outermost iterator ended during the capture; capture more steps."
        advice, name, wait_ms = NOTHING, "", 0.0
    else:
        entry = iterators.iloc[row]
        name = str(entry["long_name"])
        wait_ms, summary = _cost(iterators, entry, cast("float", pipeline["total_time_ms"]), counted)
        params = cast("dict[str, StatValue]", entry["params"])
        place = Place(
            is_device=bool(pipeline["is_device"]), inputs=tuple(iterators["name"].iloc[slowest_below(iterators, row)])
        )
        # Below 50 us a call the pipeline keeps up, whatever its largest part is.
        is_slow = float(counted.mean()) > SLOW_CALL_PS or wait_ms == entry["fill_time_ms"]
        advice = suggest(str(entry["name"]), params, place) if is_slow else NOTHING
    return {
        "bottleneck": row,
        "bottleneck_name": name,
        "bottleneck_time_ms": wait_ms,
        "suggestion": advice.text,
        "suggestion_code": advice.code,
        "summary": summary,
    }


def _cost(iterators: pd.DataFrame, entry: pd.Series, whole_ms: float, counted: Int64) -> tuple[float, str]:
    """How long the training waited because of a bottleneck, and a sentence that says why."""
    fill_ms, wait_ms, total_ms = float(entry["fill_time_ms"]), float(entry["wait_time_ms"]), counted.sum() / PS_PER_MS
    if fill_ms > FILL_SHARE * whole_ms:
        part = f"{time_text(US_PER_MS * fill_ms)} of the {time_text(US_PER_MS * whole_ms)}"
        summary = f"{entry['name']} fills its buffer before the first batch: {part} that the training waited for data."
        return fill_ms, summary
    on_path = iterators["on_critical_path"] & (iterators["pipeline"] == entry["pipeline"])
    most_ms = float(iterators.loc[on_path, "wait_time_ms"].max())
    n_calls = plural(len(counted), "call")
    part = f"{time_text(US_PER_MS * most_ms)} of {time_text(US_PER_MS * total_ms)} in {n_calls}"
    if wait_ms < most_ms:  # it is the work of a prefetch's thread, see `iterator_table`
        return most_ms, f"{entry['name']} kept the processor busy while the training waited in a prefetch: {part}."
    return wait_ms, f"{entry['name']} accounts for {100 * wait_ms / total_ms:.0f} % of the wait for data: {part}."


def time_text(microseconds: float) -> str:
    """A time with three significant digits and its unit."""
    if microseconds < 999.5:
        value, unit = microseconds, "µs"
    elif microseconds < 999.5e3:
        value, unit = microseconds / 1e3, "ms"
    else:
        value, unit = microseconds / 1e6, "s"
    digits = 2 if value < 9.995 else (1 if value < 99.95 else 0)
    return f"{value:.{digits}f} {unit}"


def slowest_calls(trace: Trace, usage: Usage) -> pd.DataFrame:
    """The bottleneck of the slowest call of each host pipeline, by XProf's own links and sums.

    Source: semantics 8.4 and 8.5. A pipeline in which nothing took any time has no row.
    """
    names, root_calls, rows = _names(usage), _root_calls(usage), []
    waits, duration = usage.waits, usage.duration_ps
    waited = np.flatnonzero((waits.root_call >= 0) & waits.is_exact & waits.is_blocking)
    waited = waited[np.argsort(waits.root_call[waited], kind="stable")]
    for k in np.flatnonzero(~usage.nodes.is_device).tolist():  # one turn per pipeline
        roots = root_calls[k]
        if not len(roots):
            continue
        slowest = roots[np.argmax(duration[roots])]
        seen = waited[slice(*np.searchsorted(waits.root_call[waited], [slowest, slowest + 1]))]
        iterator, place = np.unique(usage.calls.iterator[seen], return_inverse=True)
        own = sum_by(place.reshape(-1), waits.xprof_self_ps[seen], len(iterator))
        if own.max(initial=0) <= 0:
            continue
        event = int(usage.calls.event[seen[place.reshape(-1) == np.argmax(own)][0]])
        long_name = trace.strings[trace.name_id[event]]
        rows.append(
            {
                "host": usage.host[k],
                "pipeline": names[k],
                "max_latency_us": int(duration[slowest]) / PS_PER_US,
                "bottleneck": long_name.rsplit("::", 1)[-1],
                "long_name": long_name,
                "self_time_us": int(own.max()) / PS_PER_US,
            }
        )
    frame = typed_table(rows, SLOWEST_TYPES)
    return frame.sort_values("max_latency_us", ascending=False, kind="stable", ignore_index=True)
