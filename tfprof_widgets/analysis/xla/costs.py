"""XLA ops -> estimated flops and bytes of one execution on GPUs and TPUs from shapes (semantics 12.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...read.hlo import NO_PROGRAM, HloModules
from ...read.hlo_messages import Convolution
from ...trace.arrays import Bool, Float64, Int32, Int64
from ...trace.stats import ranges
from ...trace.trace import StatKind, Trace, nest
from ..common import dense_codes, first_of
from ..steps.categories import on_core_line, tensor_cores
from ..steps.spans import on_stream

FREE = ("bitcast", "constant", "get-tuple-element", "parameter", "tuple", "after-all", "opt-barrier", "add-dependency")
"""Opcodes that only rename."""
_SLICES = ("slice", "dynamic-slice", "gather")
_UPDATE = "dynamic-update-slice"


def estimate_bytes(modules: HloModules) -> Float64:
    """The bytes of every instruction of every module, as in semantics 12.2."""
    opcode = modules.opcode
    own = modules.n_bytes.astype(np.float64)
    own[modules.dots.instruction] = modules.dots.n_bytes
    for one in modules.convolutions:
        own[one.instruction] = one.n_bytes
    reader, _, operand = _reads(modules)
    n_bytes = own + np.bincount(reader, weights=modules.n_bytes[operand], minlength=len(own))
    for convolution in modules.convolutions:
        n_bytes[convolution.instruction] -= _skipped_bytes(modules, convolution)
    sliced, updated, added = opcode.is_in(_SLICES), opcode.is_in((_UPDATE,)), _is_scatter(modules)
    n_bytes[sliced] = 2 * own[sliced]
    for rows, slot in ((np.flatnonzero(updated), 1), (np.flatnonzero(added), 2)):
        update = _operand(modules, rows, slot)
        own[rows] = np.where(update >= 0, np.minimum(modules.n_bytes[update], own[rows]), own[rows])
    n_bytes[updated] = 2 * own[updated]
    n_bytes[added] -= 2 * (modules.n_bytes[added] - own[added])
    fused = np.flatnonzero(opcode.is_in(("fusion",)) & (np.diff(modules.called_offsets) == 1))
    n_bytes[fused] -= _spared_bytes(modules, own)[modules.called[modules.called_offsets[fused]]]
    n_bytes[opcode.is_in(FREE)] = 0.0
    return np.maximum(n_bytes, 0.0)  # of a damaged module a parameter may be larger than what stands for it


def _is_scatter(modules: HloModules) -> Bool:
    """Which add one array to parts of another."""
    return np.asarray(modules.opcode.is_in(("scatter",)) & (np.diff(modules.operand_offsets) == 3))


def _skipped_bytes(modules: HloModules, convolution: Convolution) -> float:
    """What a convolution does not read of its input: with a stride beyond the window some of it meets none."""
    (data,) = first_operand(modules, np.array([convolution.instruction])).tolist()
    if data < 0 or not convolution.reads_input:
        return 0.0
    met = 1.0
    for side in convolution.window:
        if side.size < side.stride and side.base_dilation == 1 and side.input_size > 0:
            met *= min(side.size * side.output_size / side.input_size, 1.0)
    return (1 - met) * float(modules.n_bytes[data])


def _spared_bytes(modules: HloModules, written: Float64) -> Float64:
    """Of the parameters and the result of each computation what it neither reads nor writes."""
    n = modules.n_instructions
    reader, is_first, operand = _reads(modules)
    added = _is_scatter(modules)
    updated = modules.opcode.is_in((_UPDATE,)) | added
    is_slice = is_first & (modules.opcode.is_in(_SLICES) | added)[reader]
    is_update = is_first & updated[reader]
    is_read_whole = np.bincount(operand[~(is_slice | is_update)], minlength=n) > 0
    is_read_partly = np.bincount(operand[is_slice | is_update], minlength=n) > 0
    slices = np.bincount(operand[is_slice], weights=written[reader[is_slice]], minlength=n)
    spared: Float64 = np.where(is_read_partly & ~is_read_whole, np.maximum(modules.n_bytes - slices, 0), 0.0)
    spared[~modules.opcode.is_in(("parameter",))] = 0.0
    results = np.unique(np.append(modules.root[modules.root >= 0], operand[_is_root_tuple(modules)[reader]]))
    updates = results[updated[results]]
    spared[updates] = modules.n_bytes[updates].astype(np.float64) - written[updates]
    return np.asarray(np.bincount(modules.computation, weights=spared, minlength=len(modules.root)), np.float64)


def _is_root_tuple(modules: HloModules) -> Bool:
    is_root = np.zeros(modules.n_instructions, np.bool_)
    is_root[modules.root[modules.root >= 0]] = True
    return np.asarray(is_root & modules.opcode.is_in(("tuple",)))


def _reads(modules: HloModules) -> tuple[Int64, Bool, Int64]:
    """Every pair of an instruction and an operand that the file holds: the one, whether the other is its first, the other."""
    reader = np.repeat(np.arange(modules.n_instructions), np.diff(modules.operand_offsets))
    is_first = np.arange(len(reader)) == modules.operand_offsets[reader]
    held = modules.operand >= 0
    return reader[held], is_first[held], modules.operand[held]


def first_operand(modules: HloModules, rows: Int64) -> Int64:
    """The first operand of each of some instructions, -1 where it has none or the file does not hold it."""
    return _operand(modules, rows, 0)


def last_operand(modules: HloModules, rows: Int64) -> Int64:
    """The last operand of each of some instructions, -1 where it has none or the file does not hold it."""
    return _operand(modules, rows, modules.operand_offsets[rows + 1] - modules.operand_offsets[rows] - 1)


def _operand(modules: HloModules, rows: Int64, slot: int | Int64) -> Int64:
    at = modules.operand_offsets[rows] + slot
    has = (at < modules.operand_offsets[rows + 1]) & (at >= modules.operand_offsets[rows])
    found = np.full(len(rows), -1, np.int64)
    found[has] = modules.operand[at[has]]
    return found


INLINE = ("fusion", "call", "async-start")


@dataclass(frozen=True, eq=False, repr=False)
class NamedWork:
    """Work by owner and name, each pair once; ordered by owner, and within one as its instructions are met."""

    owner: Int64
    name: Int64
    work: Float64
    row: Int64
    """The first instruction of that name that is met."""


class WorkByName:
    """The names inside instructions of modules."""

    def __init__(self, modules: HloModules, work: Float64) -> None:
        """Add up `work`, that of each instruction, for every computation."""
        self._modules, self._work = modules, work
        code, self.n_names = dense_codes(modules.op_name.code, modules.op_type.code)
        self.name = np.where(modules.op_name.is_in(("",)), -1, code)
        """For each instruction its name, -1 for none."""
        self._is_made: Bool = modules.opcode.is_in(INLINE) & (np.diff(modules.called_offsets) > 0)
        n = len(modules.root)
        self._first, self._n = np.zeros(n, np.int64), np.zeros(n, np.int64)
        e = np.empty(0, np.int64)
        self._known = NamedWork(e, e, np.empty(0), e)
        for computations in modules.levels:
            rows = modules.rows_of(computations)
            owner = np.repeat(np.arange(len(computations)), np.diff(modules.instruction_offsets)[computations])
            self._take_up(computations, self.of(owner, rows))

    def _take_up(self, computations: Int64, found: NamedWork) -> None:
        n = np.bincount(found.owner, minlength=len(computations))
        self._first[computations], self._n[computations] = len(self._known.name) + np.cumsum(n) - n, n
        parts = ((getattr(one, part) for one in (self._known, found)) for part in ("owner", "name", "work", "row"))
        self._known = NamedWork(*(np.concatenate(list(part)) for part in parts))

    def of(self, owner: Int64, rows: Int64) -> NamedWork:
        """The names inside some instructions, added up by owner; owners ascend."""
        known, modules = self._known, self._modules
        made = np.flatnonzero(self._is_made[rows])
        n_called = np.diff(modules.called_offsets)[rows[made]]
        called = modules.called[ranges(modules.called_offsets[rows[made]], n_called)]
        inside = ranges(self._first[called], self._n[called])
        place = np.repeat(np.repeat(made, n_called), self._n[called])
        is_own = np.bincount(place, minlength=len(rows)) == 0
        own = np.flatnonzero(is_own & (self.name[rows] >= 0))
        place = np.concatenate([own, place])
        order = np.argsort(place, kind="stable")
        owner = owner[place][order]
        name = np.concatenate([self.name[rows[own]], known.name[inside]])[order]
        work = np.concatenate([self._work[rows[own]], known.work[inside]])[order]
        row = np.concatenate([rows[own], known.row[inside]])[order]
        pair, n_pairs = dense_codes(owner, name)
        first = first_of(pair, n_pairs)
        total = np.bincount(pair, work, n_pairs).astype(np.float64)
        order = np.argsort(first)
        first = first[order]
        return NamedWork(owner[first], name[first], total[order], row[first])


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
    """What TensorCores ran, in the device's own times with the core's first op where its event is, loops without bodies. Differs
    from XProf: an op without `symbol_id` stays, by its name."""
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
