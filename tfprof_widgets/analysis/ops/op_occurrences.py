"""Trace -> every execution of every op.

A unit is what is executed: an ordinary op of TensorFlow, or one HLO op of a compiled program. Which framework ops an HLO op
stands for is told by `op_shares.py`.

Source: semantics 4.1, 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...trace.nesting import nest
from ...trace.trace import Bool, Int32, Int64, Trace, UInt8
from ..base.compute_units import ComputeUnit
from ..base.event_names import parsed_names
from ..base.grouping import Grouping, group_events
from ..base.launches import Launches, compute_launches, tried_kernels
from ..base.matching import unique_codes
from ..base.op_names import parse_op_names
from ..steps.step_spans import on_host, on_stream
from ..xla.hlo_tpu import TpuExecutions
from ..xla.hlo_units import HloExecutions, HloUnits, hlo_executions
from .eager_calls import EAGER_SCOPE, eager_calls, eager_launches, op_type_of_call
from .executions import device_executions
from .kernel_units import kernel_units


@dataclass(frozen=True, eq=False, repr=False)
class Units:
    """The table of what was executed: ordinary ops first, hosts before devices; then HLO ops likewise."""

    name: tuple[str, ...]
    type: tuple[str, ...]
    """Of an HLO op its category."""
    is_device: Bool
    is_eager: Bool
    """Whether the op was run eagerly: on a host any execution of it, on a device the first (semantics 4.1, 4.2)."""
    hlo: HloUnits
    """The HLO ops: its row `i` is unit `n_ops + i`."""

    @property
    def n_ops(self) -> int:
        """How many units are ordinary ops; those from there on are HLO ops."""
        return len(self.name) - len(self.hlo)


@dataclass(frozen=True, eq=False, repr=False)
class Occurrences(Units):
    """Executions of units, on streams of devices the kernels and copies of them: `op` is a row of the table of units."""

    op: Int32
    event: Int64
    """The event of the trace that each is."""
    line: Int32
    start_ps: Int64
    duration_ps: Int64
    span_ps: Int64
    """`duration_ps`, cut where a later op of the line starts inside it and outlives it."""
    parent: Int64
    """The execution that directly encloses it (a row of this table), -1 for none."""
    execution: Int32
    """The execution that each row is, or of a device a part of: there one op may run several kernels per execution."""
    kernel_unit: UInt8
    """For each the `ComputeUnit` of its kernel; unknown for what is none that the device described."""

    lane: Int32
    """For each execution what it keeps busy, a row of the table of lanes: a host thread or a whole device."""
    lane_line: Int32
    """The table of lanes, all that can be idle: the thread's line, or the first line of the device."""
    lane_is_device: Bool
    lane_first_ps: Int64
    lane_last_ps: Int64
    """From where to where each lane was observed: a thread from its first to its last op or event that names an op (such
    as an allocation for it), a device from its first to its last event of any kind."""

    def __len__(self) -> int:
        return len(self.op)

    @cached_property
    def is_first(self) -> Bool:
        """Whether it is the first of its execution; one in each."""
        first = np.zeros(len(self), np.bool_)
        first[np.unique(self.execution, return_index=True)[1]] = True
        return first

    @cached_property
    def self_ps(self) -> Int64:
        """`span_ps` less that of the direct children."""
        inner = self.parent >= 0
        own = self.span_ps.copy()
        np.subtract.at(own, self.parent[inner], self.span_ps[inner])
        return own


def op_occurrences(
    trace: Trace,
    *,
    grouping: Grouping | None = None,
    launches: Launches | None = None,
    hlo: HloExecutions | None = None,
    units: UInt8 | None = None,
) -> Occurrences:
    """Find every execution of an op.

    An event that runs an HLO op (see `hlo_units.py`) is an execution of that. Any other event of a host is an execution
    when its name parses as an op (semantics 1.7), it carries `tf_op` and is no allocation, or it is the call of an eager op
    that was not recorded itself and enqueued nothing (see `eager_calls.py`); any other one of a device when it carries
    `tf_op`, or such a call enqueued it. Executions nest within their thread, and on a TensorCore; kernels of a GPU do not
    nest, and several may be one execution (see `executions.py`).

    Args:
        trace: the trace.
        grouping: the result of `group_events(trace)`, for the eager flag, where the caller has it.
        launches: the result of `compute_launches(trace)`, likewise.
        hlo: the result of `hlo_executions(trace, launches)`, likewise.
        units: the result of `kernel_units(trace, hlo)`, likewise.

    Differs from XProf: a child that ends with its parent, or outlives it, makes nothing vanish (D4); allocations are not
    executions (D5); HLO ops on a host count, and so do eager ops of which only the call was recorded, which with
    TensorFlow 2.21 is every one. An execution is a run of an op, not a kernel (D15).
    """
    grouping = grouping or group_events(trace)
    launches = launches or compute_launches(trace)
    hlo = hlo or hlo_executions(trace, launches)
    units = kernel_units(trace, hlo) if units is None else units
    recorded = _host_rows(trace, hlo)
    calls = _eager_calls(trace, recorded, hlo)
    enqueued = eager_launches(trace, calls, launches)
    calls = np.setdiff1d(calls, enqueued.call)
    host, host_names, host_types = _with_calls(trace, recorded, calls, calls)
    device, device_names, device_types = _device_rows(trace, hlo, enqueued, tried_kernels(trace, launches))
    n_host_ops, n_ops = len(host_names), len(host_names) + len(device_names)
    host = _with_units(host, hlo.host_event, hlo.host_unit + n_ops, is_sorted=True)
    stream = _with_units(
        (device[0], device[1] + n_host_ops), hlo.stream_event, hlo.stream_unit + n_ops, is_sorted=False
    )
    rows = np.concatenate([host[0], stream[0], hlo.tpu.event])
    op = np.concatenate([host[1], stream[1], hlo.tpu_unit + n_ops]).astype(np.int32)
    nesting = nest(trace.line_id[host[0]], trace.start_ps[host[0]], trace.duration_ps[host[0]])
    n_flat = len(host[0]) + len(stream[0])
    execution = device_executions(trace, *stream, eager=enqueued, launches=launches, group=grouping.group_id)
    n_of_streams = int(execution.max(initial=-1)) + 1
    others = np.arange(n_of_streams, n_of_streams + len(rows) - len(execution))
    is_device = np.concatenate([np.arange(n_ops) >= n_host_ops, hlo.units.is_device])
    is_eager = _eager(op, grouping.is_eager[rows] | np.isin(rows, calls) | (enqueued.call_of(rows) >= 0), is_device)
    return Occurrences(
        op=op,
        event=rows,
        line=trace.line_id[rows],
        start_ps=np.concatenate([trace.start_ps[rows[:n_flat]], hlo.tpu.start_ps]),
        duration_ps=np.concatenate([trace.duration_ps[rows[:n_flat]], hlo.tpu.duration_ps]),
        span_ps=np.concatenate([nesting.span_ps, trace.duration_ps[stream[0]], hlo.tpu.span_ps]),
        parent=np.concatenate(
            [nesting.parent, np.full(len(stream[0]), -1), np.where(hlo.tpu.parent >= 0, hlo.tpu.parent + n_flat, -1)]
        ).astype(np.int64),
        name=host_names + device_names + hlo.units.name,
        type=host_types + device_types + hlo.units.category,
        is_device=is_device,
        is_eager=is_eager,
        execution=np.insert(others, len(host[0]), execution).astype(np.int32),
        hlo=hlo.units,
        kernel_unit=np.where(trace.has_stat("kernel_details")[rows], units[rows], ComputeUnit.UNKNOWN).astype(np.uint8),
        **_lanes(trace, host[0], np.concatenate([stream[0], hlo.tpu.event]), hlo.tpu),
    )


def _eager(op: Int32, is_eager: Bool, is_device: Bool) -> Bool:
    """For each op whether it is eager: on a host when any of its executions was, on a device when the first was."""
    eager = np.zeros(len(is_device), np.bool_)
    eager[op[is_eager]] = True
    used, first = np.unique(op, return_index=True)
    eager[used] = np.where(is_device[used], is_eager[first], eager[used])
    return eager


def _with_units(own: tuple[Int64, Int64], event: Int64, unit: Int64, *, is_sorted: bool) -> tuple[Int64, Int64]:
    """Executions of ordinary ops and of HLO ops together, as events and units; by event where that is asked for."""
    if not len(event):
        return own
    rows, units = np.concatenate([own[0], event]), np.concatenate([own[1], unit])
    order = np.argsort(rows, kind="stable") if is_sorted else np.arange(len(rows))
    return rows[order], units[order]


def _lanes(trace: Trace, host: Int64, device: Int64, tpu: TpuExecutions) -> dict[str, Any]:
    """The columns of `Occurrences` on lanes, of executions on hosts, then on devices."""
    is_active = on_host(trace) & trace.has_stat("tf_op")
    is_active[host] = True
    active = np.flatnonzero(is_active)
    threads, first, last = _extent(trace, trace.line_id[active], active)
    streams = np.flatnonzero(on_stream(trace))
    planes, device_first, device_last = _extent(trace, trace.plane_id[streams], streams)
    own = np.searchsorted(threads, trace.line_id[host])
    device_own = np.searchsorted(planes, trace.plane_id[device]) + len(threads)
    cores = np.searchsorted(planes, np.array(tpu.planes, np.int64))
    device_first[cores], device_last[cores] = tpu.first_ps, tpu.last_ps
    return {
        "lane": np.concatenate([own, device_own]).astype(np.int32),
        "lane_line": np.concatenate([threads, _first_lines(trace)[planes]]).astype(np.int32),
        "lane_is_device": np.arange(len(threads) + len(planes)) >= len(threads),
        "lane_first_ps": np.concatenate([first, device_first]),
        "lane_last_ps": np.concatenate([last, device_last]),
    }


_Rows = tuple[tuple[Int64, Int64], tuple[str, ...], tuple[str, ...]]


def _host_rows(trace: Trace, hlo: HloExecutions) -> _Rows:
    """Events of host threads that are ordinary ops, the op of each, and names and types of the ops."""
    candidate = on_host(trace) & ~trace.on_lines([line.is_derived for line in trace.lines])
    candidate[hlo.host_event] = False
    staged = trace.has_stat("_ipl_stage_id")
    parsed = parsed_names(trace)
    place = np.cumsum(np.bincount(trace.name_id, minlength=len(trace.strings)) > 0) - 1
    code = np.where(candidate & ~staged, place[trace.name_id], -1)
    code[code >= 0] = np.where(parsed.is_op, np.arange(len(parsed.name)), -1)[code[code >= 0]]
    names, types = list(parsed.name), list(parsed.type)

    tf_op = trace.string_stat("tf_op")
    tf_op[trace.names_matching(("MemoryAllocation", "MemoryDeallocation"))] = -1
    rows = np.flatnonzero(candidate & ~staged & (code < 0) & (tf_op >= 0))
    texts, inverse = unique_codes(tf_op[rows])
    by_stat = parse_op_names([trace.strings[i] for i in texts.tolist()])
    code[rows] = np.where([bool(name) for name in by_stat.name], len(names) + np.arange(len(texts)), -1)[inverse]
    names, types = names + list(by_stat.name), types + list(by_stat.type)

    # An instrumented stage is an op of its category, whatever its name; without a category it is none (semantics 4.1.1).
    category = trace.string_stat("_ipl_stage_cat")
    rows = np.flatnonzero(candidate & staged & (category >= 0))
    pairs, inverse = np.unique(np.stack([trace.name_id[rows], category[rows]], axis=1), axis=0, return_inverse=True)
    code[rows] = len(names) + inverse.reshape(-1)
    names += [trace.strings[name] for name, _ in pairs.tolist()]
    types += [trace.strings[kind] for _, kind in pairs.tolist()]
    rows = np.flatnonzero(code >= 0)
    return _number(rows, code[rows], names, types)


def _eager_calls(trace: Trace, ops: _Rows, hlo: HloExecutions) -> Int64:
    """The eager calls that stand for an op."""
    is_recorded = np.zeros(trace.n_events, np.bool_)
    is_recorded[ops[0][0]] = True
    is_recorded[hlo.host_event] = True
    return eager_calls(trace, is_recorded)


def _with_calls(trace: Trace, ops: _Rows, rows: Int64, calls: Int64) -> _Rows:
    """Ops of one side and events that run what an eager call says, in their order; `calls` has the call of each of `rows`."""
    if not len(calls):
        return ops
    ids, called = unique_codes(trace.name_id[calls])
    kinds = [op_type_of_call(trace.strings[i]) for i in ids.tolist()]
    rows = np.concatenate([ops[0][0], rows])
    code = np.concatenate([ops[0][1], called + len(ops[1])])
    order = np.argsort(rows, kind="stable")
    return _number(rows[order], code[order], [*ops[1], *(EAGER_SCOPE + kind for kind in kinds)], [*ops[2], *kinds])


def _number(rows: Int64, code: Int64, names: list[str], types: list[str]) -> _Rows:
    """Give executions whose names are equal one number; the type is that of the first execution that has one.

    Args:
        rows: the event of each execution.
        code: index of each into `names` and `types`.
        names: op names, which may repeat.
        types: op types.
    """
    first = np.full(len(names), -1, np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    used = np.flatnonzero(first >= 0)
    met = used[np.argsort(first[used])]
    number: dict[str, int] = {}
    ops = [number.setdefault(names[key], len(number)) for key in met.tolist()]
    op_of_code = np.zeros(len(names), np.int64)
    op_of_code[met] = ops
    op_types = [""] * len(number)
    for op, key in zip(ops, met.tolist(), strict=True):
        op_types[op] = op_types[op] or types[key]
    return (rows, op_of_code[code]), tuple(number), tuple(op_types)


def _device_rows(trace: Trace, hlo: HloExecutions, enqueued: Launches, tried: Int64) -> _Rows:
    """Events of device streams that are no HLO op and name the op they run for, or that an eager call enqueued."""
    tf_op = trace.string_stat("tf_op")
    candidate = on_stream(trace)
    candidate[hlo.stream_event] = False
    candidate[tried] = False
    if hlo.tpu.planes:
        candidate &= ~np.isin(trace.plane_id, hlo.tpu.planes)
    rows = np.flatnonzero(candidate & (tf_op >= 0))
    keys, inverse = unique_codes(tf_op[rows])
    parsed = parse_op_names([trace.strings[key] for key in keys.tolist()])
    is_named = np.array([bool(name) for name in parsed.name], np.bool_)[inverse]
    names, types = list(parsed.name), [kind or "unknown" for kind in parsed.type]
    ops = _number(rows[is_named], inverse[is_named], names, types)
    is_called = candidate[enqueued.event]
    is_called[np.isin(enqueued.event, ops[0][0])] = False
    return _with_calls(trace, ops, enqueued.event[is_called], enqueued.call[is_called])


def _first_lines(trace: Trace) -> Int64:
    """For each plane its first line."""
    first = np.full(len(trace.planes), -1, np.int64)
    for index in range(len(trace.lines) - 1, -1, -1):
        first[trace.lines[index].plane] = index
    return first


def _extent(trace: Trace, owner: npt.NDArray[np.integer], rows: Int64) -> tuple[Int64, Int64, Int64]:
    """The owners that occur, and from where to where their events reach."""
    owners = np.flatnonzero(np.bincount(owner)) if len(owner) else np.empty(0, np.int64)
    code = np.searchsorted(owners, owner)
    first = np.full(len(owners), np.iinfo(np.int64).max)
    last = np.full(len(owners), np.iinfo(np.int64).min)
    np.minimum.at(first, code, trace.start_ps[rows])
    np.maximum.at(last, code, trace.ends(rows))
    return owners.astype(np.int64), first, last
