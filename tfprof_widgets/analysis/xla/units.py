"""Trace -> executions of XLA ops: thunks on the host, kernels and TPU ops on devices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...read.hlo import NO_PROGRAM, HloModules, read_hlo_modules
from ...read.hlo_messages import Texts
from ...trace.arrays import Bool, Float64, Int64
from ...trace.trace import StatKind, Trace
from ..common import dense_codes, distinct, first_of
from ..events import Launches, compute_launches, tried_kernels
from ..steps.spans import on_host, on_stream
from .costs import TpuExecutions, tpu_executions
from .programs import categories


@dataclass(frozen=True, eq=False, repr=False)
class HloUnits:
    """HLO ops that ran, first those of hosts, then those of devices; every column has one entry per op."""

    modules: HloModules
    """The programs that ran, as far as the trace holds them."""
    is_device: Bool
    program_id: Int64
    """-1 where the trace does not say."""
    module: tuple[str, ...]
    name: tuple[str, ...]
    category: tuple[str, ...]
    instruction: Int64
    """The instruction, a row of `modules`; -1 where the trace does not hold it."""
    provenance: tuple[str, ...]
    """The framework op as the event itself names it (`name:type`), else empty."""
    expression: tuple[str, ...]
    """The op's HLO text where the event carries it, else empty."""
    source: tuple[str, ...]
    """`file:line` where the event carries it, else empty."""
    flops: Float64
    bytes_accessed: Float64
    """Of one execution, on average, where the trace carries them; NaN elsewhere."""

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True, eq=False, repr=False)
class HloExecutions:
    """Events that run an HLO op, by event; and the ops."""

    units: HloUnits
    host_event: Int64
    host_unit: Int64
    stream_event: Int64
    """On streams of GPUs, where nothing nests."""
    stream_unit: Int64
    tpu: TpuExecutions
    tpu_unit: Int64


def hlo_executions(trace: Trace, launches: Launches | None = None) -> HloExecutions:
    """Every execution of an HLO op: events with `hlo_op`, the last of parts between `::`, without `end: <name>`. Differs from
    XProf: ops on hosts count, and those whose instruction the trace does not hold."""
    keyed = distinct(trace.keyed_stats("hlo_op").event)
    text = trace.string_stat("hlo_op")
    keyed = keyed[text[keyed] >= 0]
    host = keyed[on_host(trace)[keyed]] if len(keyed) else keyed
    tpu = tpu_executions(trace)
    stream = keyed[on_stream(trace)[keyed]] if len(keyed) else keyed
    if len(stream):
        stream = np.setdiff1d(stream, tried_kernels(trace, launches or compute_launches(trace)))
    if tpu.planes:
        stream = stream[~np.isin(trace.plane_id[stream], tpu.planes)]
    derived = np.array([line.is_derived for line in trace.lines], np.bool_)
    host = host[~derived[trace.line_id[host]]] if len(host) else host
    return _numbered(trace, host, stream, tpu)


def _numbered(trace: Trace, host: Int64, stream: Int64, tpu: TpuExecutions) -> HloExecutions:
    """Give each op of a program and side one number, in order of first appearance."""
    rows = np.concatenate([host, stream])
    if not len(rows) and not len(tpu.name):
        e, f = np.empty(0, np.int64), np.empty(0)
        units = HloUnits(
            read_hlo_modules(trace, programs=()), np.empty(0, np.bool_), e, (), (), (), e, (), (), (), f, f
        )
        return HloExecutions(units, e, e, e, e, tpu, e)
    columns, names = _key_columns(trace, rows, n_host=len(host))
    code, n_units = dense_codes(*columns)
    first = first_of(code, n_units)
    order = np.argsort(first, kind="stable")
    place = np.empty(n_units, np.int64)
    place[order] = np.arange(n_units)
    unit = place[code]
    keys = columns[:, first[order]].T
    programs = set(keys[:, 1].tolist()) | set(tpu.program_id.tolist())
    modules = read_hlo_modules(trace, programs=None if NO_PROGRAM in programs else programs)
    table = _keyed_units(trace, keys, names, modules, _means(trace, rows, unit, len(keys)))
    return HloExecutions(
        units=_joined(modules, table, tpu),
        host_event=host,
        host_unit=unit[: len(host)],
        stream_event=stream,
        stream_unit=unit[len(host) :],
        tpu=tpu,
        tpu_unit=tpu.unit + len(keys),
    )


def _key_columns(trace: Trace, rows: Int64, *, n_host: int) -> tuple[Int64, list[str]]:
    """Side, program, module name and op of each execution; the module as an index into the strings, the op into the names."""
    is_device = np.arange(len(rows)) >= n_host
    program = trace.int_stat("program_id", default=NO_PROGRAM)[rows]
    module = trace.string_stat("hlo_module")[rows]
    texts, inverse = np.unique(trace.string_stat("hlo_op")[rows], return_inverse=True)
    numbers: dict[str, int] = {}
    ops = [numbers.setdefault(trace.strings[text].rpartition("::")[2], len(numbers)) for text in texts.tolist()]
    op = np.array(ops, np.int64)[inverse.reshape(-1)]
    return np.stack([is_device, program, module, op]).astype(np.int64), list(numbers)


_Means = tuple[Float64, Float64]


def _means(trace: Trace, rows: Int64, unit: Int64, n_units: int) -> _Means:
    """Flops and bytes of one execution of each op, from the stats of its events."""
    return tuple(_mean_stat(trace, key, rows, unit, n_units) for key in ("flops", "bytes_accessed"))  # type: ignore[return-value]


def _mean_stat(trace: Trace, key: str, rows: Int64, unit: Int64, n_units: int) -> Float64:
    found = trace.keyed_stats(key)
    events, kind, bits = found.event, found.kind, found.bits
    if not len(events) or not n_units:
        return np.full(n_units, np.nan)
    column = np.full(trace.n_events, np.nan)
    real = kind == StatKind.DOUBLE
    whole = (kind == StatKind.INT64) | (kind == StatKind.UINT64)
    column[events[real]] = bits[real].view(np.float64)
    column[events[whole]] = bits[whole].view(np.int64)
    value = column[rows]
    known = np.isfinite(value) & (value >= 0)
    n = np.bincount(unit[known], minlength=n_units)
    total = np.bincount(unit[known], weights=value[known], minlength=n_units)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


@dataclass(frozen=True)
class _Table:
    """The columns of `HloUnits` for the ops that events name by `hlo_op`."""

    is_device: Bool
    program_id: Int64
    module: Texts
    name: Texts
    category: list[str]
    instruction: Int64
    means: _Means


def _keyed_units(trace: Trace, keys: Int64, op_names: list[str], modules: HloModules, means: _Means) -> _Table:
    name = Texts.coded(keys[:, 3], op_names)
    texts, code = np.unique(keys[:, 2], return_inverse=True)
    told = Texts.coded(code.reshape(-1), [trace.strings[text] if text >= 0 else "" for text in texts.tolist()])
    row = modules.find_all(keys[:, 1], told, name)
    is_untold = told.is_in(("",)) & (row >= 0)
    of_row = np.append(modules.module, 0)[row]  # -1 for none is the entry put last
    code = np.where(is_untold, len(told.distinct) + of_row, told.code)
    module = Texts.coded(code, (*told.distinct, *modules.module_name))
    return _Table(keys[:, 0] == 1, keys[:, 1], module, name, categories(modules, row, name), row, means)


def _joined(modules: HloModules, table: _Table, tpu: TpuExecutions) -> HloUnits:
    n_tpu, empty = len(tpu.name), ("",) * len(table.name)
    name = Texts.of(tpu.name)
    found = modules.find_all(tpu.program_id, Texts.of(tpu.module), name)
    tpu_categories = (told or known for told, known in zip(tpu.category, categories(modules, found, name), strict=True))
    return HloUnits(
        modules=modules,
        is_device=np.concatenate([table.is_device, np.ones(n_tpu, np.bool_)]),
        program_id=np.concatenate([table.program_id, tpu.program_id]),
        module=(*table.module, *tpu.module),
        name=(*table.name, *tpu.name),
        category=(*table.category, *tpu_categories),
        instruction=np.concatenate([table.instruction, found]),
        provenance=(*empty, *tpu.provenance),
        expression=(*empty, *tpu.expression),
        source=(*empty, *tpu.source),
        flops=np.concatenate([table.means[0], tpu.flops]),
        bytes_accessed=np.concatenate([table.means[1], tpu.bytes_accessed]),
    )
