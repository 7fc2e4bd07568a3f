"""TensorCore planes -> executions of HLO ops: the events of the line `XLA Ops`, described by their metadata.

Source: semantics 4.2.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...formats.hlo.modules import NO_PROGRAM
from ...trace.nesting import nest
from ...trace.trace import Float64, Int32, Int64, StatKind, Trace
from ..steps.step_spans import on_stream
from ..steps.tpu_categories import on_core_line, tensor_cores

_LONGEST_PS = 2**60
"""Beyond what a trace holds; such a time is damage."""


@dataclass(frozen=True, eq=False, repr=False)
class TpuExecutions:
    """Executions by line and start, and the ops that ran, in order of first appearance."""

    event: Int64
    start_ps: Int64
    duration_ps: Int64
    span_ps: Int64
    parent: Int64
    """The execution around it, an index into this table; -1 for none."""
    unit: Int64
    """The op, an index into the columns below."""

    program_id: Int64
    module: tuple[str, ...]
    name: tuple[str, ...]
    expression: tuple[str, ...]
    category: tuple[str, ...]
    provenance: tuple[str, ...]
    source: tuple[str, ...]
    flops: Float64
    bytes_accessed: Float64
    """Of one execution, NaN where the trace does not carry it."""

    planes: tuple[int, ...] = ()
    """The planes with a line `XLA Ops`: on them nothing else is an op."""
    first_ps: tuple[int, ...] = ()
    last_ps: tuple[int, ...] = ()
    """For each of the planes the extent of its ops and steps."""


def tpu_executions(trace: Trace) -> TpuExecutions:
    """Find what TensorCores ran.

    An op's time is the device's own (`device_offset_ps`, `device_duration_ps`) where both are there, moved so that the
    first op of a core starts where its event does; ops that contain others, such as loops, keep only the rest as their own.

    Differs from XProf: an op without `symbol_id` is kept and told from others by its name.
    """
    if not tensor_cores(trace):
        return _NONE
    events = np.flatnonzero(on_core_line(trace, "XLA Ops") & on_stream(trace) & (trace.n_occurrences == 0))
    if not len(events):
        return _NONE
    start, duration = _device_times(trace, events)
    order = np.lexsort((-duration, start, trace.line_id[events]))
    events, start, duration = events[order], start[order], duration[order]
    nesting = nest(trace.line_id[events], start, duration)
    unit, metadata = _units(trace, events)
    planes, first, last = _extents(trace, events, start, start + duration)
    names = [_hlo_name(trace, row) for row in metadata.tolist()]
    return TpuExecutions(
        event=events,
        start_ps=start,
        duration_ps=duration,
        span_ps=nesting.span_ps,
        parent=nesting.parent.astype(np.int64),
        unit=unit,
        program_id=np.array(_ids(trace, "program_id", metadata, default=NO_PROGRAM), np.int64),
        module=_texts(trace, "hlo_module", metadata),
        name=tuple(names),
        expression=tuple(trace.strings[trace.metadata_name_id[row]] for row in metadata.tolist()),
        category=_texts(trace, "hlo_category", metadata),
        provenance=_texts(trace, "tf_op", metadata),
        source=_texts(trace, "source", metadata),
        flops=_amounts(trace, "flops", metadata),
        bytes_accessed=_amounts(trace, "bytes_accessed", metadata),
        planes=planes,
        first_ps=first,
        last_ps=last,
    )


def _device_times(trace: Trace, events: Int64) -> tuple[Int64, Int64]:
    """Start and duration of events by the device's clock where they carry it, on the trace's clock."""
    missing = np.iinfo(np.int64).min
    offset = trace.int_stat("device_offset_ps", default=missing)[events]
    length = trace.int_stat("device_duration_ps", default=missing)[events]
    told = (offset >= 0) & (length >= 0) & (offset < _LONGEST_PS) & (length < _LONGEST_PS)
    start, duration = trace.start_ps[events].copy(), trace.duration_ps[events].copy()
    duration[told] = length[told]
    plane = trace.plane_id[events]
    for one in np.unique(plane[told]).tolist():  # bounded by the number of devices
        own = np.flatnonzero(told & (plane == one))
        earliest = own[np.argmin(offset[own])]
        start[own] = offset[own] + (trace.start_ps[events[earliest]] - offset[earliest])
    return start, duration


def _units(trace: Trace, events: Int64) -> tuple[Int64, Int64]:
    """The number of each event's op, and for each op the metadata row that describes it."""
    used, of_event = np.unique(trace.metadata_id[events].astype(np.int32), return_inverse=True)
    program = _ids(trace, "program_id", used, default=NO_PROGRAM)
    symbol = _ids(trace, "symbol_id", used, default=0)
    numbers: dict[tuple[object, ...], int] = {}
    metadata: list[int] = []
    codes = []
    for row, key in zip(used.tolist(), zip(program, symbol, strict=True), strict=True):
        # Cores of one chip describe the same op each in a row of its own.
        whole = key if key[1] else (*key, _hlo_name(trace, row))
        codes.append(numbers.setdefault(whole, len(numbers)))
        if len(metadata) < len(numbers):
            metadata.append(row)
    return np.array(codes, np.int64)[of_event.reshape(-1)], np.array(metadata, np.int64)


def _hlo_name(trace: Trace, row: int) -> str:
    shown = int(trace.display_name_id[row])
    name = trace.strings[shown if shown >= 0 else trace.metadata_name_id[row]]
    return name.partition(" = ")[0].strip().lstrip("%")


def _extents(
    trace: Trace, events: Int64, start: Int64, end: Int64
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The planes of the ops, and from where to where their ops and steps reach."""
    steps = np.flatnonzero(on_core_line(trace, "Steps"))
    plane = np.concatenate([trace.plane_id[events], trace.plane_id[steps]])
    low = np.concatenate([start, trace.start_ps[steps]])
    high = np.concatenate([end, trace.ends(steps)])
    planes = np.unique(trace.plane_id[events]).tolist()
    return (
        tuple(planes),
        tuple(int(low[plane == one].min()) for one in planes),
        tuple(int(high[plane == one].max()) for one in planes),
    )


def _texts(trace: Trace, key: str, metadata: Int64) -> tuple[str, ...]:
    """The text of a stat of metadata rows, empty where they have none."""
    rows, owners = _stat_rows(trace, key)
    is_text = trace.metadata_stat_kind[rows] == StatKind.STRING
    column = np.full(len(trace.display_name_id), -1, np.int64)
    column[owners[is_text]] = trace.metadata_stat_bits[rows[is_text]].astype(np.int64)
    return tuple(trace.strings[text] if text >= 0 else "" for text in column[metadata].tolist())


def _ids(trace: Trace, key: str, metadata: Int64 | Int32, *, default: int) -> list[int]:
    """The whole number that a stat of metadata rows is, exact; `default` where they have none."""
    found = {row: value for row, value in _values(trace, key) if isinstance(value, int)}
    return [found.get(row, default) for row in metadata.tolist()]


def _amounts(trace: Trace, key: str, metadata: Int64) -> Float64:
    """The number that a stat of metadata rows is, NaN where they have none that can be an amount."""
    found = {row: float(value) for row, value in _values(trace, key)}
    column = np.array([found.get(row, np.nan) for row in metadata.tolist()], np.float64)
    return np.where(np.isfinite(column) & (column >= 0), column, np.nan)


def _values(trace: Trace, key: str) -> Iterator[tuple[int, float | int]]:
    rows, owners = _stat_rows(trace, key)
    for row, owner in zip(rows.tolist(), owners.tolist(), strict=True):  # bounded by the size of the programs
        kind, bits = trace.metadata_stat_kind[row], trace.metadata_stat_bits[row]
        if kind == StatKind.DOUBLE:
            yield owner, float(bits.view(np.float64))
        elif kind in (StatKind.INT64, StatKind.UINT64):
            yield owner, int(bits.view(np.int64))


def _stat_rows(trace: Trace, key: str) -> tuple[Int64, Int64]:
    """Rows of the metadata stat table with this key, and the metadata rows that they belong to."""
    rows = np.flatnonzero(trace.metadata_stat_key == trace.string_ids.get(key, -1))
    return rows, np.searchsorted(trace.metadata_stat_offsets, rows, side="right") - 1


_E = np.empty(0, np.int64)
_NONE = TpuExecutions(_E, _E, _E, _E, _E, _E, _E, (), (), (), (), (), (), np.empty(0), np.empty(0))
