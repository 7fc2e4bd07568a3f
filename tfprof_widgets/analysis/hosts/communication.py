"""Trace -> what its hosts exchanged, and how much of it ran beside their computation.

compute_communication(trace, steps) -> DataFrame
training_first(frame, others) -> DataFrame
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from ...trace.stat_shapes import ranges
from ...trace.trace import Bool, Int64, Trace
from ..base.data_threads import within_data
from ..base.hosts import host_of_plane, hosts_of
from ..base.op_names import parse_op_names
from ..base.stretches import Stretches
from ..base.table_types import Types, text_column, typed_table
from ..base.units import PS_PER_US
from ..columns.registry import TABLES
from ..steps.exchange_pieces import computes_on_host
from ..steps.exchanges import EXCHANGE_KINDS, RECEIVE, find_exchanges
from ..steps.step_spans import SpanType, on_stream
from ..steps.steps import TracedSteps

COMMUNICATION_TYPES: Types = TABLES["communication"].types
COMMUNICATION_COLUMNS = tuple(COMMUNICATION_TYPES)
COMMUNICATION_KINDS = (*EXCHANGE_KINDS, "device_collective")
_DEVICE = len(EXCHANGE_KINDS)
_WAITED_FOR = "_Recv"


def compute_communication(trace: Trace, steps: TracedSteps) -> pd.DataFrame:
    """Sum up the exchanges of each host.

    What a host exchanges is exposed while none of its ops computes, on the host or on a device; what a device exchanges,
    while no other kernel computes on that device. During a step only ops that a step led to compute, as for its time; what
    tf.data reads ahead never does.

    Args:
        trace: the trace.
        steps: its steps, for `time_ratio`.

    Returns:
        One row per host, kind and name, most exposed time first: `host`; `kind`, of `COMMUNICATION_KINDS`; `name`, of the op,
        tensor or kernel; `occurrences`; `total_time_us`; `exposed_time_us`; `overlap_ratio`, the part of the total time that
        is not exposed; `time_ratio`, what of the step time of the host was exposed in its steps; `bytes` in all, 0 where
        nobody tells; `type`, of the op, such as `CollectiveReduceV2`, or of what stands for one. Exchanges that run at the
        same time count each. Empty where nothing was exchanged.
    """
    spans = _spans(trace, steps)
    if not len(spans["event"]):
        return typed_table([], COMMUNICATION_TYPES)
    return _table(trace, steps, spans)


def _spans(trace: Trace, steps: TracedSteps) -> dict[str, Int64]:
    """The exchanges with what of each is exposed."""
    types = steps.span_type
    own = find_exchanges(trace)
    stream = on_stream(trace)
    device = np.flatnonzero(stream & (types == SpanType.COLLECTIVES))
    spans = {
        "event": np.append(own.event, device),
        "kind": np.append(own.kind.astype(np.int64), np.full(len(device), _DEVICE)),
        "name": np.append(own.name, trace.name_id[device]),
        "start": np.append(own.start_ps, trace.start_ps[device]),
        "end": np.append(own.end_ps, trace.ends(device)),
    }
    computing = computes_on_host(trace, types) & _is_of_training(trace, steps)
    computing |= stream & ((types == SpanType.COMPUTE_32) | (types == SpanType.COMPUTE_16))
    return spans | _exposed(trace, steps, spans, computing)


def _is_of_training(trace: Trace, steps: TracedSteps) -> Bool:
    """For each event whether it may be what an exchange hides behind: work of a step, as in `exchange_pieces`; where no step
    runs, all but what tf.data does."""
    found: Bool = steps.is_work | ((steps.event_step < 0) & ~within_data(trace))
    return found


def _exposed(trace: Trace, steps: TracedSteps, spans: dict[str, Int64], computing: Bool) -> dict[str, Int64]:
    """Of each exchange how much is exposed, in all and within steps; and the row of its host."""
    row = {host: i for i, host in enumerate(hosts_of(trace))}
    of_plane = host_of_plane(trace)
    plane = trace.plane_id[spans["event"]].astype(np.int64)
    host = of_plane[plane]
    exposed, in_steps = np.zeros(len(host), np.int64), np.zeros(len(host), np.int64)
    busy_plane = trace.plane_id[computing].astype(np.int64)
    low, high = trace.start_ps[computing], trace.ends(np.flatnonzero(computing))
    frame = steps.frame
    step_low = frame["start_ps"].to_numpy(np.int64)
    step_high = step_low + frame["duration_ps"].to_numpy(np.int64)
    step_host = frame["host"].map(row).to_numpy(np.int64)
    is_device = spans["kind"] == _DEVICE
    for one in np.unique(host).tolist():  # bounded by hosts, then by their devices
        stretches = Stretches.of(step_low[step_host == one], step_high[step_host == one])
        for of_device in [-1, *np.unique(plane[is_device & (host == one)]).tolist()]:
            rows = np.flatnonzero((host == one) & (~is_device if of_device < 0 else is_device & (plane == of_device)))
            if not len(rows):
                continue
            is_busy = of_plane[busy_plane] == one if of_device < 0 else busy_plane == of_device
            busy = Stretches.of(low[is_busy], high[is_busy])
            start, end = spans["start"][rows], spans["end"][rows]
            exposed[rows] = (end - start) - busy.within(start, end)
            in_steps[rows] = stretches.within(start, end) - _common(busy, stretches).within(start, end)
    return {"host": host, "exposed": exposed, "in_steps": in_steps}


def _common(one: Stretches, other: Stretches) -> Stretches:
    """Where both are."""
    first = np.searchsorted(other.end, one.start, side="right")
    n = np.maximum(np.searchsorted(other.start, one.end, side="left") - first, 0)
    mine, theirs = np.repeat(np.arange(len(n)), n), ranges(first, n)
    return Stretches(np.maximum(one.start[mine], other.start[theirs]), np.minimum(one.end[mine], other.end[theirs]))


def _table(trace: Trace, steps: TracedSteps, spans: dict[str, Int64]) -> pd.DataFrame:
    hosts = hosts_of(trace)
    n_bytes = trace.int_stat("output_bytes")[spans["event"]] if "output_bytes" in trace.string_ids else 0
    sums = pd.DataFrame(
        {
            "host": spans["host"],
            "kind": spans["kind"],
            "name": spans["name"],
            "occurrences": 1,
            "total": spans["end"] - spans["start"],
            "exposed": spans["exposed"],
            "in_steps": spans["in_steps"],
            "bytes": n_bytes,
        }
    )
    sums = sums.groupby(["host", "kind", "name"], as_index=False).sum()
    step_ps = steps.frame.groupby("host")["duration_ps"].sum()
    of_host = np.array([int(step_ps.get(host, 0)) for host in hosts], np.int64)[sums["host"]]
    texts = [trace.strings[i] for i in sums["name"].tolist()]
    parsed = parse_op_names(texts)
    is_wait = [kind == RECEIVE and ":" not in text for kind, text in zip(sums["kind"].tolist(), texts, strict=True)]
    types = [
        _WAITED_FOR if wait else kind or text for wait, kind, text in zip(is_wait, parsed.type, texts, strict=True)
    ]
    total, exposed = sums["total"].to_numpy(np.float64), sums["exposed"].to_numpy(np.float64)
    frame = pd.DataFrame(
        {
            "host": text_column(hosts[i] for i in sums["host"]),
            "kind": text_column(COMMUNICATION_KINDS[i] for i in sums["kind"]),
            "name": text_column(parsed.name),
            "occurrences": sums["occurrences"].to_numpy(np.int64),
            "total_time_us": total / PS_PER_US,
            "exposed_time_us": exposed / PS_PER_US,
            "overlap_ratio": np.where(total > 0, 1 - exposed / np.maximum(total, 1), 0.0),
            "time_ratio": np.where(of_host > 0, sums["in_steps"] / np.maximum(of_host, 1), 0.0),
            "bytes": sums["bytes"].to_numpy(np.int64),
            "type": text_column(types),
        }
    )
    return training_first(frame)


def training_first(frame: pd.DataFrame, others: Collection[str] = ()) -> pd.DataFrame:
    """The same rows, most exposed time first; those of `others`, hosts that do not train, after all of those that do.

    A parameter server waits as long as nobody has work for it: its time is none that the training loses.
    """
    is_other = frame["host"].isin(list(others)).to_numpy(np.bool_)
    order = np.lexsort((-frame["exposed_time_us"].to_numpy(), is_other))
    return frame.iloc[order].reset_index(drop=True)
