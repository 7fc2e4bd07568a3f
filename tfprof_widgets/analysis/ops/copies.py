"""Copies on streams of GPUs -> a row each, and the table `copies`: which way, of what, how fast, what hid behind kernels.

Source: semantics 4.6.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Int32, Int64, Trace
from ..base.matching import dense_codes, sum_by
from ..base.stretches import Stretches
from ..base.table_types import Types, text_column, typed_table
from ..base.units import PS_PER_MS
from ..columns.registry import TABLES
from ..steps.step_spans import SpanType, on_stream
from ..steps.steps import TracedSteps
from .op_shares import OpShares

_TYPES: Types = TABLES["copies"].types
_DIRECTIONS = {
    SpanType.HOST_TO_DEVICE: "host to device",
    SpanType.DEVICE_TO_HOST: "device to host",
    SpanType.DEVICE_TO_DEVICE: "device to device",
    SpanType.HOST_TO_HOST: "host to host",
}
_KIND = re.compile(r"kind_(src|dst):(\w+)")
_SIZE = re.compile(r"\bsize:([0-9]{1,15})\b")
_NO_TENSOR = "copy"
"""What TensorFlow calls the edge of a copy that Python asked for."""
COPY_SUMS = ("occurrences", "bytes", "total_time_ms", "hidden_time_ms", "exposed_time_ms", "round_trips")
"""Columns that add up."""
COPY_KEY = ("direction", "source", "destination", "op", "read_by", "tensor")
"""Columns that tell rows apart."""


class _Details(NamedTuple):
    source: str
    destination: str
    size: int


def compute_copy_runs(trace: Trace, steps: TracedSteps, event_op: Int32, op_shares: OpShares) -> pd.DataFrame:
    """Find the copies of all devices.

    Args:
        trace: the trace.
        steps: its steps, with what each event is for.
        event_op: for each event the framework op that it runs for, -1 for none.
        op_shares: these ops.

    Returns:
        One row per copy, in the order of the trace: its `event`, `COPY_KEY` and `COPY_SUMS`; none where no GPU copied anything.
    """
    is_copy = copy_events(trace, steps)
    rows = np.flatnonzero(is_copy)
    details = _texts(trace, "memcpy_details", rows)
    told = {text: _read_details(text) for text in set(details)}
    maker, reader, edge = (_texts(trace, key, rows) for key in ("from", "to", "edge_name"))
    ops = np.append(np.array(op_shares.name, np.object_), "")[event_op[rows]]
    n_bytes = np.array([told[text].size for text in details], np.int64)
    hidden = _hidden_ps(trace, rows, is_copy)
    return pd.DataFrame(
        {
            "event": rows,
            "direction": [_DIRECTIONS[SpanType(kind)] for kind in steps.span_type[rows].tolist()],
            "source": [told[text].source for text in details],
            "destination": [told[text].destination for text in details],
            "op": [made or op for made, op in zip(maker, ops.tolist(), strict=True)],
            "read_by": reader,
            "tensor": [name if name != _NO_TENSOR else "" for name in edge],
            "occurrences": 1,
            "bytes": n_bytes,
            "total_time_ms": trace.duration_ps[rows] / PS_PER_MS,
            "hidden_time_ms": hidden / PS_PER_MS,
            "exposed_time_ms": (trace.duration_ps[rows] - hidden) / PS_PER_MS,
            "round_trips": _returns(trace, steps, rows, maker, reader),
        }
    )


def copy_rows(copies: pd.DataFrame, runs: pd.DataFrame) -> Int64:
    """For each of the copies its row in the table `copies`."""
    key = list(COPY_KEY)
    return pd.MultiIndex.from_frame(copies[key].astype(object)).get_indexer(pd.MultiIndex.from_frame(runs[key]))


def copy_events(trace: Trace, steps: TracedSteps) -> Bool:
    """Which events are copies on streams of devices."""
    return np.isin(steps.span_type, list(_DIRECTIONS)) & on_stream(trace)


def copy_table(frame: pd.DataFrame) -> pd.DataFrame:
    """The table `copies`: rows of its columns `COPY_KEY` and `COPY_SUMS`, those of one tensor and way added up."""
    if frame.empty:
        return typed_table([], _TYPES)
    sums = frame.groupby(list(COPY_KEY), as_index=False, sort=False)[list(COPY_SUMS)].sum()
    n_bytes, seconds = sums["bytes"].to_numpy(np.float64), sums["total_time_ms"].to_numpy(np.float64) / 1e3
    is_told = (n_bytes > 0) & (seconds > 0)
    sums["bytes_per_copy"] = np.where(n_bytes > 0, n_bytes / sums["occurrences"], np.nan)
    sums["gb_per_s"] = np.divide(n_bytes, seconds * 1e9, out=np.full(len(sums), np.nan), where=is_told)
    order = np.lexsort((-n_bytes, -sums["exposed_time_ms"].to_numpy(np.float64)))
    texts = {name: text_column(sums[name]) for name in COPY_KEY}
    return sums.assign(**texts).iloc[order][list(_TYPES)].reset_index(drop=True)


def _read_details(text: str) -> _Details:
    """Read `kind_src:pageable kind_dst:device size:4 dest:0 async:1`; older profilers tell the size alone."""
    kinds = {side: kind for side, kind in _KIND.findall(text) if kind != "unknown"}
    size = _SIZE.search(text)
    return _Details(kinds.get("src", ""), kinds.get("dst", ""), int(size[1]) if size else 0)


def _texts(trace: Trace, key: str, rows: Int64) -> list[str]:
    """A text of each of the events, "" for none."""
    return [trace.strings[text] if text >= 0 else "" for text in trace.string_stat(key)[rows].tolist()]


def _hidden_ps(trace: Trace, rows: Int64, is_copy: Bool) -> Int64:
    """For how long each copy ran beside a kernel of its device."""
    is_kernel = on_stream(trace) & ~is_copy & ~trace.has_stat("Memset_details")
    hidden = np.zeros(len(rows), np.int64)
    plane = trace.plane_id[rows]
    for one in np.unique(plane).tolist():  # bounded by devices
        own = trace.events_of_plane(one)
        kernels = own.start + np.flatnonzero(is_kernel[own])
        computing = Stretches.of(trace.start_ps[kernels], trace.ends(kernels))
        copies = np.flatnonzero(plane == one)
        hidden[copies] = computing.within(trace.start_ps[rows[copies]], trace.ends(rows[copies]))
    return hidden


def _returns(trace: Trace, steps: TracedSteps, rows: Int64, maker: list[str], reader: list[str]) -> Int64:
    """For each copy to a device 1 where it brings back, in one step, what was copied to the host, or what was made of it there.

    That is so where an op on the host read a tensor of the device and made this one, or the same op made both.
    """
    kind, step = steps.span_type[rows], steps.event_step[rows].astype(np.int64)
    numbers: dict[str, int] = {"": 0}
    made, read = (
        np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64) for names in (maker, reader)
    )
    out = np.flatnonzero((kind == SpanType.DEVICE_TO_HOST) & (step >= 0))
    back = np.flatnonzero((kind == SpanType.HOST_TO_DEVICE) & (step >= 0) & (made > 0))
    # Each copy to the host is offered under the op that made its tensor and the one that reads it.
    offered = np.concatenate([made[out], read[out]])
    code, n = dense_codes(np.concatenate([offered, made[back]]), np.concatenate([step[out], step[out], step[back]]))
    end = trace.ends(rows[np.concatenate([out, out])])
    first = np.full(n, np.iinfo(np.int64).max, np.int64)
    np.minimum.at(first, code[: len(offered)], np.where(offered > 0, end, np.iinfo(np.int64).max))
    returned = first[code[len(offered) :]] <= trace.start_ps[rows[back]]
    return sum_by(back, returned.astype(np.int64), len(rows))
