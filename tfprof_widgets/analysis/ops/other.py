"""Executions of XLA ops, copies and functions -> the `hlo_ops`, `copies` and `tf_functions` tables."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...errors import TfProfError
from ...read.hlo import read_hlo_modules
from ...trace.arrays import Bool, Float64, Int32, Int64
from ...trace.trace import Trace, nest
from ..common import (
    PS_PER_MS,
    PS_PER_US,
    Stretches,
    dense_codes,
    first_of,
    sum_by,
    table_of_arrays,
    text_column,
    typed_table,
)
from ..names import framework_op
from ..steps.spans import SpanType, on_host, on_stream
from ..steps.steps import TracedSteps
from ..summaries import MOST, OWNER, travels, united
from ..table import table
from ..xla.programs import HloGraph, HloGraphs, expressions
from ..xla.units import HloUnits
from .executions import Occurrences
from .ops import op_sums, ranked
from .shares import OpShares

COPIES = table(
    """
    copies: the copies of one tensor, direction and kind of memory on GPUs, most exposed time first
        direction        text   `host to device`, `device to host`, `device to device` or `host to host`
        source           text   memory read: `pageable`, `pinned`, `device`, ...; empty where the trace does not tell
        destination      text   memory written, likewise
        op               text   that made the tensor, else the one that copies; empty where the trace names none
        read_by          text   the op that reads the tensor, empty where the trace does not tell
        tensor           text   TensorFlow's name of the edge between the two, empty where there is none
        occurrences      int    copies
        bytes            int    of all of them, 0 where the trace does not tell
        bytes_per_copy   float  the mean; NaN where the trace does not tell [bytes]
        total_time_ms    float  on the device
        gb_per_s         float  bytes over that time, 10^9 a second; NaN where the trace does not tell [GB/s]
        hidden_time_ms   float  the part beside kernels of the same device
        exposed_time_ms  float  the part in which no kernel ran there
        round_trips      int    copies that bring back in a step what was copied to the host, or what was made of it there

    Hidden time runs beside a kernel of the same device, exposed time does not: only that makes the training
    longer. Empty where no GPU copied anything.
    """,
    browser="*",
    file="copies",
    of_facts=lambda facts: compute_copy_runs(facts.trace, facts.steps, facts.event_op, facts.op_shares),
    of_hosts=lambda sums: sums.every["copies"],
)
COPY_SUMS = ("occurrences", "bytes", "total_time_ms", "hidden_time_ms", "exposed_time_ms", "round_trips")
COPY_KEY = ("direction", "source", "destination", "op", "read_by", "tensor")
OTHER_COPIES = "other copies"
travels(
    "copies",
    lambda facts: facts.copies[[*COPY_KEY, *COPY_SUMS]],
    most="copies",
    rest=lambda rest: [{**dict.fromkeys(COPY_KEY, ""), "op": OTHER_COPIES, **rest[[*COPY_SUMS]].sum()}],
    did="copied more tensors",
    told=f"the {{}} with the most exposed time are listed, the others are in the row {OTHER_COPIES!r}",
)

HLO_OPS = table(
    """
    hlo_ops: an op of an XLA program, devices before the host, most self time first
        rank                    int    the row, from 1
        program_id              int    of the program, -1 where the trace does not say
        module                  text   the program's name
        category                text   such as `convolution fusion`
        name                    text   of the instruction
        expression              text   the instruction as HLO text
        op_name                 text   the framework op it was compiled from, empty without
        op_type                 text   the type of that op, empty without
        device                  text   the side it ran on, `Device` or `Host`
        *self_times
        flops                   float  float operations of one execution; NaN where nothing is known [float operations]
        bytes_accessed          float  bytes that one execution reads and writes; NaN where nothing is known [bytes]
        flop_rate_gflops        float  arithmetic over total time; NaN where nothing is known
        memory_bandwidth_gibps  float  bytes accessed over total time; NaN where nothing is known
        source                  text   `file:line` that made it, empty where nothing tells

    These are the ops that XLA compiled, as of `jit_compile=True`; times are microseconds over the whole capture.
    `hlo_graph(name)` has what a fusion is made of. Empty where no compiled program ran.
    """,
    browser="""
    module category name expression op_name op_type device flops bytes_accessed source +program_id:text +family:int
    +is_users:bool
    """,
    file="hlo_ops",
    read="hlo_ops.frame",
)
travels("hlo_ops", lambda facts: _of_units(facts.hlo_ops, facts.travelling_units.hlo))

TF_FUNCTIONS = table(
    """
    overview.tf_functions: a `tf.function` that was called
        function           text   its name
        compiler           text   `xla`, `other` or `mixed`, empty for eager calls alone
        tracing_count      int    how often it was traced since the process began
        eager_calls        int    calls that ran it as Python
        concrete_calls     int    calls of a concrete function
        traced_calls       int    calls that traced it
        not_traced_calls   int    calls that ran a graph that was there
        self_time_ms       float  time of all its calls, without those of other functions inside
        expensive_time_ms  float  the part of traced and eager calls
        expensive_ratio    float  that as part of the whole
    """,
    of_facts=lambda facts: compute_tf_functions(facts.trace),
    of_hosts=lambda sums: merge_tf_functions(sums.every["tf_functions"]),
)
travels("tf_functions", lambda facts: facts.tf_functions)

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


class _Details(NamedTuple):
    source: str
    destination: str
    size: int


def compute_copy_runs(trace: Trace, steps: TracedSteps, event_op: Int32, op_shares: OpShares) -> pd.DataFrame:
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
    key = list(COPY_KEY)
    return pd.MultiIndex.from_frame(copies[key].astype(object)).get_indexer(pd.MultiIndex.from_frame(runs[key]))


def copy_events(trace: Trace, steps: TracedSteps) -> Bool:
    return np.isin(steps.span_type, list(_DIRECTIONS)) & on_stream(trace)


def copy_table(frame: pd.DataFrame) -> pd.DataFrame:
    """The table `copies`: rows of its columns `COPY_KEY` and `COPY_SUMS`, those of one tensor and way added up."""
    if frame.empty:
        return typed_table([], COPIES.types)
    sums = frame.groupby(list(COPY_KEY), as_index=False, sort=False)[list(COPY_SUMS)].sum()
    n_bytes, seconds = sums["bytes"].to_numpy(np.float64), sums["total_time_ms"].to_numpy(np.float64) / 1e3
    is_told = (n_bytes > 0) & (seconds > 0)
    sums["bytes_per_copy"] = np.where(n_bytes > 0, n_bytes / sums["occurrences"], np.nan)
    sums["gb_per_s"] = np.divide(n_bytes, seconds * 1e9, out=np.full(len(sums), np.nan), where=is_told)
    order = np.lexsort((-n_bytes, -sums["exposed_time_ms"].to_numpy(np.float64)))
    texts = {name: text_column(sums[name]) for name in COPY_KEY}
    return sums.assign(**texts).iloc[order][list(COPIES.types)].reset_index(drop=True)


def _read_details(text: str) -> _Details:
    """Read `kind_src:pageable kind_dst:device size:4 dest:0 async:1`; older profilers tell the size alone."""
    kinds = {side: kind for side, kind in _KIND.findall(text) if kind != "unknown"}
    size = _SIZE.search(text)
    return _Details(kinds.get("src", ""), kinds.get("dst", ""), int(size[1]) if size else 0)


def _texts(trace: Trace, key: str, rows: Int64) -> list[str]:
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
    """For each copy to a device 1 where it brings back, in one step, what was copied to the host or made there of that."""
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


@dataclass(frozen=True, eq=False, repr=False)
class HloOps:
    frame: pd.DataFrame
    """The columns `HLO_OPS`; empty where no compiled program ran."""
    unit_row: Int32
    """For each unit of `occurrences` its row of `frame`, -1 for ordinary ops."""


def compute_hlo_ops(occurrences: Occurrences, shares: OpShares) -> HloOps:
    """Facts per HLO op, by self time; `flops` and `bytes_accessed` are of one execution, ours (`xla/programs.py`) where the trace
    has none. Differs from XProf: hosts too, compiled ops alone, shares without idle time."""
    units, n_ops = occurrences.hlo, occurrences.n_ops
    n_units = len(occurrences.name)
    if not len(units):
        return HloOps(typed_table([], HLO_OPS.types), np.full(n_units, -1, np.int32))
    sums = op_sums(occurrences)
    frame = _told(units).assign(
        occurrences=sums.count[n_ops:],
        n_done=sums.n_done[n_ops:],
        total_ps=sums.total_ps[n_ops:],
        self_ps=sums.self_ps[n_ops:],
        flops=shares.flops[n_ops:],
        bytes_accessed=shares.bytes_accessed[n_ops:],
    )
    return hlo_table(frame, n_ops)


def hlo_table(frame: pd.DataFrame, n_ops: int) -> HloOps:
    total, own = (frame[name].to_numpy(np.int64) for name in ("total_ps", "self_ps"))
    n_done, executed = frame["n_done"].to_numpy(), np.maximum(frame["occurrences"].to_numpy(np.int64), 1)
    seconds = np.where(total > 0, total / 1e12, np.nan)
    frame = frame.assign(
        total_time_us=total / PS_PER_US,
        avg_time_us=total / PS_PER_US / executed,
        total_self_time_us=own / PS_PER_US,
        avg_self_time_us=own / PS_PER_US / executed,
        flop_rate_gflops=frame["flops"].to_numpy(np.float64) * n_done / seconds / 1e9,
        memory_bandwidth_gibps=frame["bytes_accessed"].to_numpy(np.float64) * n_done / seconds / 2**30,
    )
    order = np.lexsort((pd.factorize(frame["name"], sort=True)[0], -own, frame["device"] != "Device"))
    unit_row = np.full(n_ops + len(frame), -1, np.int32)
    unit_row[n_ops + order] = np.arange(len(order))
    return HloOps(frame=ranked(frame.iloc[order].reset_index(drop=True))[list(HLO_OPS.names)], unit_row=unit_row)


def instructions_of(hlo_ops: HloOps, units: HloUnits) -> Int64:
    """For each row of the `hlo_ops` table its instruction, a row of the modules; -1 where the trace does not hold it."""
    found = np.full(len(units), -1, np.int64)
    found[hlo_ops.unit_row[len(hlo_ops.unit_row) - len(units) :]] = units.instruction
    return found


def hlo_op_graph(hlo_ops: HloOps, units: HloUnits, name: str) -> HloGraph:
    """The whole graph of the HLO op of a name that comes first in the table."""
    rows = np.flatnonzero(hlo_ops.frame["name"] == name)
    if not len(rows):
        raise TfProfError(f"no HLO op named {name!r} ran: see hlo_ops for those that did")
    known = [row for row in instructions_of(hlo_ops, units)[rows].tolist() if row >= 0]
    if not known:
        raise TfProfError(f"what {name!r} is made of is not known, as the trace does not hold its program")
    return HloGraphs(units.modules).of(known[0], most=units.modules.n_instructions)


def _told(units: HloUnits) -> pd.DataFrame:
    """The columns that describe each HLO op."""
    op_name, op_type = _framework_ops(units)
    return pd.DataFrame(
        {
            "program_id": units.program_id,
            "module": text_column(units.module),
            "category": text_column(units.category),
            "name": text_column(units.name),
            "expression": text_column(_expressions(units)),
            "op_name": text_column(op_name),
            "op_type": text_column(op_type),
            "device": text_column(np.where(units.is_device, "Device", "Host").tolist()),
            "source": text_column(_sources(units)),
        }
    )


def _framework_ops(units: HloUnits) -> tuple[list[str], list[str]]:
    """Name and type of the framework op in each instruction's metadata, else of the one that its event names."""
    modules = units.modules
    known = np.flatnonzero(units.instruction >= 0)
    known = known[~modules.op_name.is_in(("",))[units.instruction[known]]]
    instruction = units.instruction[known]
    code, n = dense_codes(modules.op_name.code[instruction], modules.op_type.code[instruction])
    distinct = instruction[first_of(code, n)].tolist()
    found = [framework_op(modules.op_name[row], modules.op_type[row]) for row in distinct] + [("", "")]
    of_unit = np.full(len(units), n, np.int64)
    of_unit[known] = code
    for unit in np.flatnonzero((of_unit == n) & _is_told(units.provenance)).tolist():  # of TPUs
        of_unit[unit] = len(found)
        found.append(framework_op(*units.provenance[unit].rpartition(":")[::2]))
    at = of_unit.tolist()
    return [found[i][0] for i in at], [found[i][1] for i in at]


def _expressions(units: HloUnits) -> list[str]:
    """The text of each op as its event has it, else of its instruction, else its name."""
    texts = expressions(units.modules, np.where(_is_told(units.expression), -1, units.instruction))
    return [told or text or name for told, text, name in zip(units.expression, texts, units.name, strict=True)]


def _is_told(texts: tuple[str, ...]) -> Bool:
    return np.array([text != "" for text in texts], np.bool_)


def _sources(units: HloUnits) -> list[str]:
    """`file:line` of each op as its event has it, else its instruction."""
    texts, modules = list(units.source), units.modules
    asked = np.flatnonzero((units.instruction >= 0) & ~_is_told(units.source))
    asked = asked[~modules.source_file.is_in(("",))[units.instruction[asked]]]
    rows = units.instruction[asked]
    code, n = dense_codes(modules.source_file.code[rows], modules.source_line[rows])
    lines = [f"{modules.source_file[row]}:{modules.source_line[row]}" for row in rows[first_of(code, n)].tolist()]
    for unit, line in zip(asked.tolist(), code.tolist(), strict=True):
        texts[unit] = lines[line]
    return texts


_MODES = ("eager", "concrete", "traced", "not_traced")
_COMPILERS = ("", "xla", "other")


def compute_tf_functions(trace: Trace) -> pd.DataFrame:
    rows = np.flatnonzero(on_host(trace) & (trace.string_stat("tf_function_call") >= 0))
    own = nest(trace.line_id[rows], trace.start_ps[rows], trace.duration_ps[rows]).self_ps
    texts, code = np.unique(trace.string_stat("tf_function_call")[rows], return_inverse=True)
    modes = [_mode(trace.strings[text]) for text in texts.tolist()]
    mode = np.array([_MODES.index(name) for name, _ in modes], np.int64)[code]
    compiler = np.array([_COMPILERS.index(kind) for _, kind in modes], np.int64)[code]
    names, function = np.unique(trace.name_id[rows], return_inverse=True)
    n = len(names)
    is_compiled_by = np.zeros((n, len(_COMPILERS)), np.bool_)
    is_compiled_by[function, compiler] = True
    calls = np.bincount(function * len(_MODES) + mode, minlength=n * len(_MODES)).reshape(n, len(_MODES))
    costly = np.isin(mode, (_MODES.index("eager"), _MODES.index("traced")))
    whole, expensive = sum_by(function, own, n), sum_by(function[costly], own[costly], n)
    count = np.zeros(n, np.int64)
    np.maximum.at(count, function, trace.int_stat("tracing_count")[rows])
    columns = {
        "function": np.array([trace.strings[i] for i in names.tolist()], np.object_),
        "compiler": np.array([_compiler(compress(_COMPILERS, used)) for used in is_compiled_by.tolist()], np.object_),
        "tracing_count": count,
        **{f"{name}_calls": calls[:, i] for i, name in enumerate(_MODES)},
        "self_time_ms": whole / PS_PER_MS,
        "expensive_time_ms": expensive / PS_PER_MS,
        "expensive_ratio": expensive / np.maximum(whole, 1),
    }
    order = np.argsort(-expensive, kind="stable")
    return table_of_arrays({name: column[order] for name, column in columns.items()})


def _mode(text: str) -> tuple[str, str]:
    """`traced-nonXla` -> `traced`, `other`."""
    kind, _, compiler = text.partition("-")
    mode = {"traced": "traced", "notTraced": "not_traced", "concrete": "concrete"}.get(kind, "eager")
    return mode, {"xla": "xla", "nonXla": "other"}.get(compiler, "")


def _compiler(kinds: Iterable[str]) -> str:
    """What those that are known have in common."""
    found = {kind for kind in kinds if kind}
    return "mixed" if len(found) > 1 else "".join(found)


def merge_tf_functions(every: pd.DataFrame) -> pd.DataFrame:
    """Calls of functions of all hosts, those of one name added up."""
    frame = every.drop(columns=OWNER)
    sums = {name: "sum" for name in frame.columns if name.endswith(("_calls", "_time_ms"))}
    found = frame.groupby("function", sort=True, as_index=False).agg(
        {"compiler": _compiler, "tracing_count": "max", **sums}
    )
    found["expensive_ratio"] = found["expensive_time_ms"] / found["self_time_ms"].where(found["self_time_ms"] > 0, 1)
    found = found[list(frame.columns)].astype(frame.dtypes.to_dict())
    return found.sort_values("expensive_time_ms", ascending=False, kind="stable").reset_index(drop=True)


_HLO_KEY = ["device", "program_id", "module", "name"]
_TOLD = ("program_id", "module", "category", "name", "expression", "op_name", "op_type", "device", "source")
CUT = "…"


@dataclass(frozen=True, eq=False, repr=False)
class MergedHlo:
    frame: pd.DataFrame
    """One row per HLO op of a program and side, by appearance: `HLO_OPS_COLUMNS` without ranks and ratios, and times in ps."""
    row: Int64
    """For each HLO op of each host the row of `frame`."""

    def table(self, n_ordinary: int) -> HloOps:
        """The `hlo_ops` table; HLO ops are units `n_ordinary`, `n_ordinary + 1`, ..."""
        return hlo_table(self.frame.assign(n_done=self.frame["occurrences"]), n_ordinary)

    def units(self, trace: Trace) -> HloUnits:
        """The same as units, without instructions, as their programs did not travel."""
        frame = self.frame
        return HloUnits(
            modules=read_hlo_modules(trace, programs=()),
            is_device=(frame["device"] == "Device").to_numpy(np.bool_),
            program_id=frame["program_id"].to_numpy(np.int64),
            module=tuple(frame["module"]),
            name=tuple(frame["name"]),
            category=tuple(frame["category"]),
            instruction=np.full(len(frame), -1, np.int64),
            provenance=("",) * len(frame),
            expression=tuple(frame["expression"]),
            source=tuple(frame["source"]),
            flops=frame["flops"].to_numpy(np.float64),
            bytes_accessed=frame["bytes_accessed"].to_numpy(np.float64),
        )


def _of_units(hlo_ops: HloOps, units: Int64) -> pd.DataFrame:
    """The rows of some units, with their times in whole picoseconds and their texts not longer than a reader needs."""
    frame = hlo_ops.frame.iloc[hlo_ops.unit_row[units]].reset_index(drop=True)
    return frame[list(_TOLD)].assign(
        expression=pd.Series([_shortened(text) for text in frame["expression"].tolist()], dtype=object),
        occurrences=frame["occurrences"],
        total_ps=_ps(frame["total_time_us"]),
        self_ps=_ps(frame["total_self_time_us"]),
        flops=frame["flops"],
        bytes_accessed=frame["bytes_accessed"],
    )


def _shortened(text: str) -> str:
    return text if len(text) <= MOST.expression else f"{text[: MOST.expression]}{CUT}"


def n_shortened(texts: Iterable[str]) -> int:
    return sum(len(text) > MOST.expression for text in texts)


def _ps(column: pd.Series[float]) -> Int64:
    times: Int64 = np.rint(column.to_numpy(np.float64) * PS_PER_US).astype(np.int64)
    return times


def merge_hlo(every: pd.DataFrame) -> MergedHlo:
    """Unite HLO ops of equal program, module, name and side; figures of one execution are averages."""
    sums = dict.fromkeys(("occurrences", "total_ps", "self_ps"), "sum")
    told = dict.fromkeys((name for name in _TOLD if name not in _HLO_KEY), "first")
    frame, code = united(every, _HLO_KEY, told | sums)
    frame, count = frame[[*_TOLD, *sums]], every["occurrences"].to_numpy(np.int64)
    for name in ("flops", "bytes_accessed"):
        frame[name] = _average(code, every[name].to_numpy(np.float64), count, len(frame))
    return MergedHlo(frame, code)


def _average(code: Int64, value: Float64, count: Int64, n: int) -> Float64:
    known = ~np.isnan(value)
    weight = np.bincount(code[known], weights=count[known], minlength=n)
    total = np.bincount(code[known], weights=value[known] * count[known], minlength=n)
    return np.where(weight > 0, total / np.maximum(weight, 1), np.nan)
