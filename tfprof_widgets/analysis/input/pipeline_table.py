"""`Usage` -> one row per tf.data pipeline with what to do about it, and XProf's bottleneck of each slowest call."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...trace.trace import Float64, Int64, Trace
from ..base.iterator_names import WRAPPERS
from ..base.matching import sum_by
from ..base.table_types import Types, typed_table
from ..base.units import PS_PER_MS, PS_PER_US, US_PER_MS
from ..base.wording import plural
from ..columns.registry import TABLES
from .iterator_table import FILL_SHARE, chain_below, slowest_inputs
from .pipeline_executions import SLOW_CALL_PS
from .pipeline_usage import Usage
from .suggestions import Place, suggest

_NEEDED = ["name", "long_name", "params", "wait_time_ms", "fill_time_ms", "parent_id", "self_time_ms", "calls"]
_Row = dict[Hashable, Any]
"""A row of a table by its columns."""
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
    n, of_node = usage.nodes.n_pipelines, usage.nodes.pipeline
    found = np.flatnonzero(iterators["is_bottleneck"].to_numpy())
    bottleneck = np.full(n, -1, np.int64)
    bottleneck[of_node[found]] = found
    latencies = _Latencies.of(usage)
    fill_ms = np.bincount(of_node, iterators["fill_time_ms"].to_numpy(np.float64), minlength=n)
    figures = {"is_device": usage.nodes.is_device, **latencies.columns(), "fill_time_ms": fill_ms}
    columns: dict[Hashable, Any] = {"id": range(n), "name": _names(usage), "host": usage.host}
    columns |= {name: column.tolist() for name, column in figures.items()}
    held_up = _HeldUp.of(iterators, of_node, n)
    rows = zip(
        (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)),
        bottleneck.tolist(),
        latencies.n_counted.tolist(),
        latencies.counted_ps.tolist(),
        strict=True,
    )
    told = [
        pipeline | held_up.by(row, pipeline, n_counted, counted_ps) for pipeline, row, n_counted, counted_ps in rows
    ]
    return pd.DataFrame(told, columns=list(PIPELINE_TYPES))


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


@dataclass(frozen=True)
class _Latencies:
    """What the calls of the outermost iterator of each pipeline took."""

    n_calls: Int64
    n_slow: Int64
    total_ps: Int64
    min_ps: Int64
    max_ps: Int64
    n_counted: Int64
    """How many of them count for the bottleneck, and how long those took."""
    counted_ps: Int64

    @classmethod
    def of(cls, usage: Usage) -> _Latencies:
        n, roots = usage.nodes.n_pipelines, np.flatnonzero(usage.is_root)
        pipeline, took = usage.pipeline[roots], usage.duration_ps[roots]
        shortest, longest = np.full(n, np.iinfo(np.int64).max), np.zeros(n, np.int64)
        np.minimum.at(shortest, pipeline, took)
        np.maximum.at(longest, pipeline, took)
        counted, is_slow = usage.is_counted[roots], took > SLOW_CALL_PS
        n_calls, n_slow, n_counted = (
            np.bincount(part, minlength=n) for part in (pipeline, pipeline[is_slow], pipeline[counted])
        )
        total, of_counted = sum_by(pipeline, took, n), sum_by(pipeline[counted], took[counted], n)
        return cls(n_calls, n_slow, total, np.where(n_calls, shortest, 0), longest, n_counted, of_counted)

    def columns(self) -> dict[str, Int64 | Float64]:
        """Those of the table."""
        return {
            "n_calls": self.n_calls,
            "n_slow_calls": self.n_slow,
            "total_time_ms": self.total_ps / PS_PER_MS,
            "avg_latency_us": self.total_ps // np.maximum(self.n_calls, 1) / PS_PER_US,
            "min_latency_us": self.min_ps / PS_PER_US,
            "max_latency_us": self.max_ps / PS_PER_US,
            "startup_time_ms": (self.total_ps - self.counted_ps) / PS_PER_MS,
            "steady_latency_us": self.counted_ps / np.maximum(self.n_counted, 1) / PS_PER_US,
        }


@dataclass(frozen=True)
class _HeldUp:
    """Says what holds a pipeline up."""

    iterators: list[_Row]
    """The rows of the table, as far as they are needed here."""
    slowest_input: Int64
    with_cache: frozenset[int]
    """Pipelines that have a cache."""
    most_ms: Float64
    """For each pipeline the longest `wait_time_ms` of what works on its critical path."""

    @classmethod
    def of(cls, iterators: pd.DataFrame, of_node: Int64, n_pipelines: int) -> _HeldUp:
        on_path = np.flatnonzero(iterators["on_critical_path"].to_numpy(np.bool_) & ~iterators["name"].isin(WRAPPERS))
        most_ms = np.full(n_pipelines, np.nan)
        np.fmax.at(most_ms, of_node[on_path], iterators["wait_time_ms"].to_numpy(np.float64)[on_path])
        rows = iterators[_NEEDED].to_dict("records")
        cached = of_node[iterators["name"].str.contains("Cache", regex=False).to_numpy(np.bool_)]
        return cls(rows, slowest_inputs(iterators), frozenset(cached.tolist()), most_ms)

    def by(self, row: int, pipeline: _Row, n_counted: int, counted_ps: int) -> dict[str, object]:
        """The columns about the bottleneck of one pipeline, given its other columns and the calls that count."""
        if row < 0:
            told = (
                "no iterator of it was waited for."
                if pipeline["n_calls"]
                else "no call of its outermost iterator ended during the capture; capture more steps."
            )
            summary = f"{pipeline['name']}: {told}"
            advice, name, wait_ms = "", "", 0.0
        else:
            entry = self.iterators[row]
            name = str(entry["long_name"])
            wait_ms, summary = self._cost(entry, pipeline, n_counted, counted_ps)
            # Below 50 us a call the pipeline keeps up, whatever its largest part is.
            is_slow = counted_ps > SLOW_CALL_PS * n_counted or wait_ms == entry["fill_time_ms"]
            advice = suggest(str(entry["name"]), entry["params"], self._place(row, pipeline)) if is_slow else ""
        return {
            "bottleneck": row,
            "bottleneck_name": name,
            "bottleneck_time_ms": wait_ms,
            "suggestion": advice,
            "summary": summary,
        }

    def _place(self, row: int, pipeline: _Row) -> Place:
        entry, parent = self.iterators[row], int(self.iterators[row]["parent_id"])
        size = entry["params"].get("batch_size")
        n_elements = entry["calls"] * size if isinstance(size, int) else 0
        return Place(
            is_device=bool(pipeline["is_device"]),
            inputs=tuple(str(self.iterators[one]["name"]) for one in chain_below(self.slowest_input, row)),
            consumer=str(self.iterators[parent]["name"]) if parent >= 0 else "",
            has_cache=pipeline["id"] in self.with_cache,
            element_us=US_PER_MS * entry["self_time_ms"] / n_elements if n_elements else 0.0,
        )

    def _cost(self, entry: _Row, pipeline: _Row, n_counted: int, counted_ps: int) -> tuple[float, str]:
        """How long the training waited because of a bottleneck, and a sentence that says why."""
        fill_ms, wait_ms = entry["fill_time_ms"], entry["wait_time_ms"]
        whole_ms, total_ms = pipeline["total_time_ms"], counted_ps / PS_PER_MS
        if fill_ms > FILL_SHARE * whole_ms:
            part = f"{time_text(US_PER_MS * fill_ms)} of the {time_text(US_PER_MS * whole_ms)}"
            summary = (
                f"{entry['name']} fills its buffer before the first batch: {part} that the training waited for data."
            )
            return fill_ms, summary
        most_ms = float(self.most_ms[pipeline["id"]])
        n_calls = plural(n_counted, "call")
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
