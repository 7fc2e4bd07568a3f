"""XLA programs -> graphs, texts and categories of ops, and flops of instructions, estimated from shapes (semantics 12.2)."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import add

import numpy as np
import pandas as pd

from ...read.hlo import HloModules
from ...read.hlo_messages import Convolution, Texts, WindowDimension
from ...trace.arrays import Float64, Int64
from ...trace.stats import ranges
from ...trace.trace import Trace
from ..common import dense_codes, first_of, text_column
from ..events import nearest_marked
from ..names import framework_op
from .costs import FREE, estimate_bytes, first_operand, last_operand

TRANSCENDENTAL = frozenset(
    [
        *("atan2", "cbrt", "cosine", "erf", "exponential", "exponential-minus-one", "log", "log-plus-one"),
        *("logistic", "power", "rsqrt", "sine", "sqrt", "tan", "tanh"),
    ]
)
"""Element-wise opcodes that XLA counts as transcendental, not as flops."""
ELEMENTWISE = TRANSCENDENTAL | frozenset(
    [
        *("abs", "add", "and", "bitcast-convert", "ceil", "clamp", "clz", "compare", "complex", "constant"),
        *("convert", "count-leading-zeros", "divide", "floor", "imag", "is-finite", "map", "maximum"),
        *("minimum", "multiply", "negate", "not", "or", "popcnt", "real", "reduce-precision", "remainder"),
        *("rng", "round-nearest-afz", "round-nearest-even", "select", "shift-left", "shift-right-arithmetic"),
        *("shift-right-logical", "sign", "stochastic-convert", "subtract", "xor"),
    ]
)
_FORMATTING = frozenset(("copy", "dynamic-reshape", "reshape", "transpose"))
_FUSIONS = {"kLoop": "loop fusion", "kInput": "input fusion", "kOutput": "output fusion", "kCustom": "custom fusion"}
_LEADING = {
    "convolution": frozenset(("convolution",)),
    "dot": frozenset(("dot", "ragged-dot", "scaled-dot")),
    "reduce": frozenset(("reduce", "reduce-window", "select-and-scatter", "sort")),
    "non-fusion elementwise": ELEMENTWISE - {"bitcast-convert", "constant", "convert"} | {"rng-bit-generator"},
}
"""What a fusion does, by the opcodes in it: the first of these, else it moves data."""
_NUMBER = re.compile(r"(\.[\w]*\d)+$")
_OPCODE_IN_NAME = re.compile(r"(^|[_.-])(fusion|convolution|dot|copy|reduce|custom-call|while|all-reduce)([_.-]|$)")


def categories(modules: HloModules, rows: Int64, names: Texts) -> list[str]:
    """The category of HLO ops, given their instructions, -1 where the trace has none, and their names."""
    kind = np.where(
        rows >= 0, np.append(modules.opcode.code * len(modules.detail.distinct) + modules.detail.code, -1)[rows], -1
    )
    kinds, of_row = np.unique(kind, return_inverse=True)
    told = [
        _category(modules, *divmod(one, len(modules.detail.distinct))) if one >= 0 else "" for one in kinds.tolist()
    ]
    guessed = [guessed_category(name) for name in names.distinct]
    code = np.where(rows >= 0, of_row, len(told) + names.code)
    found = list(map((told + guessed).__getitem__, code.tolist()))
    dilated = {one.instruction: _dilated(one) for one in modules.convolutions}  # a program has few
    for at in np.flatnonzero(np.isin(rows, list(dilated))).tolist():
        found[at] = dilated[int(rows[at])] if found[at] == "convolution" else found[at]
    return found


def _category(modules: HloModules, opcode_code: int, detail_code: int) -> str:
    opcode = modules.opcode.distinct[opcode_code]
    if opcode == "fusion":
        return _FUSIONS.get(modules.detail.distinct[detail_code], "unknown fusion")
    if opcode in _FORMATTING:
        return "data formatting"
    return "non-fusion elementwise" if opcode in ELEMENTWISE else opcode


def guessed_category(name: str) -> str:
    """What the name of an HLO op says of its opcode, where the trace has no module for it."""
    bare = _NUMBER.sub("", name)
    if found := _OPCODE_IN_NAME.search(bare):
        return found[2]
    return bare or "unknown"


def leading_categories(modules: HloModules, rows: Int64, told: Sequence[str]) -> list[str]:
    """The categories of HLO ops, of a fusion that of its leading instruction: a product, else a reduction, and so on."""
    names = [*_LEADING, "data formatting"]
    rank = np.full(modules.n_instructions, len(names) - 1)
    for place, opcodes in reversed([*enumerate(_LEADING.values())]):
        rank[modules.opcode.is_in(opcodes)] = place
    leading = np.full(len(modules.root), len(names) - 1)
    np.minimum.at(leading, modules.computation, rank)
    is_fusion = modules.opcode.is_in(("fusion",)) & (np.diff(modules.called_offsets) == 1)
    known = np.flatnonzero((rows >= 0) & np.append(is_fusion, False)[rows])
    found = [*told]
    for at, place in zip(
        known.tolist(), leading[modules.called[modules.called_offsets[rows[known]]]].tolist(), strict=True
    ):
        found[at] = names[place]
    return found


def _dilated(one: Convolution) -> str:
    return "convolution" + " base-dilated" * one.is_base_dilated + " window-dilated" * one.is_window_dilated


_WORKLESS = (*FREE, "broadcast", "iota", "reshape", "partition-id", "replica-id")
_MAX_POSITIONS = 10_000_000
_MOST = 1e30


@dataclass(frozen=True, eq=False)
class HloCosts:
    """One entry per instruction, for one execution."""

    flops: Float64
    """NaN where a call is made of which nobody knows what it computes."""
    bytes_accessed: Float64
    work: Float64
    """A fused instruction's cost beside others: its flops, at least one per element of its result, 0 if it only renames."""


def estimate_costs(modules: HloModules) -> HloCosts:
    """The costs of every instruction of every module, as in semantics 12.2."""
    opcode = modules.opcode
    flops = np.zeros(modules.n_instructions)
    simple = opcode.is_in(ELEMENTWISE - TRANSCENDENTAL - {"constant", "map", "rng"})
    flops[simple] = modules.n_elements[simple]
    dots = modules.dots
    flops[dots.instruction] = 2.0 * dots.n_elements * _contracted(modules)
    for convolution in modules.convolutions:
        multiplied = _positions if opcode[convolution.instruction] == "convolution" else _places
        positions = math.prod(multiplied(side) for side in convolution.window)
        features = float(convolution.input_features) * convolution.output_features
        flops[convolution.instruction] = 2.0 * features * convolution.batch * positions
    unknown = opcode.is_in(("custom-call",))
    unknown[dots.instruction] = False
    unknown[[one.instruction for one in modules.convolutions]] = False
    flops[unknown] = np.nan
    first = first_operand(modules, np.arange(modules.n_instructions))
    held = np.append(modules.n_elements, 0)
    in_elements = held[first].astype(np.float64)
    _add_called(modules, flops, in_elements)
    np.clip(flops, 0.0, _MOST, out=flops)  # a damaged module must not make a share of infinity
    elements = np.where(modules.opcode.is_in(("reduce", "reduce-window")), in_elements, modules.n_elements)
    work = np.where(modules.opcode.is_in(_WORKLESS), 0.0, np.maximum(np.nan_to_num(flops), elements))
    return HloCosts(flops=flops, bytes_accessed=estimate_bytes(modules), work=work)


def _contracted(modules: HloModules) -> Float64:
    """How many elements each dot sums over; none where the file does not hold its first operand."""
    dots = modules.dots
    operand = first_operand(modules, dots.instruction)
    owner = np.repeat(np.arange(len(operand)), np.diff(dots.offsets))
    first, n_dims = (
        (modules.dim_offsets[np.maximum(operand + at, 0)] for at in (0, 1)) if len(operand) else (operand,) * 2
    )
    n_dims = n_dims - first
    is_there = (dots.lhs_contracting < n_dims[owner]) & (operand[owner] >= 0)
    owner, dim = owner[is_there], dots.lhs_contracting[is_there]
    size = np.where(operand >= 0, 1.0, 0.0)
    np.multiply.at(size, owner, modules.dims[first[owner] + dim].astype(np.float64))
    return size


def _places(side: WindowDimension) -> float:
    """How often an element of the window is multiplied, padding included."""
    return float(max(side.size, 0)) * max(side.output_size, 0)


def _positions(side: WindowDimension) -> float:
    """How often an element of the window meets an element of the input, over all places of the window."""
    if side.size * side.output_size > _MAX_POSITIONS or side.size <= 0 or side.output_size <= 0:
        return _places(side)  # no real layer is as long
    place = np.arange(side.output_size)[:, None] * side.stride + np.arange(side.size) * side.window_dilation
    at = place - side.padding_low
    on_data = (at >= 0) & (at % side.base_dilation == 0) & (at // side.base_dilation < side.input_size)
    return float(np.count_nonzero(on_data))


def _add_called(modules: HloModules, flops: Float64, in_elements: Float64) -> None:
    """Flops of instructions that call computations, of each behind those of the computations."""
    of_computation = np.zeros(len(modules.root))
    n_called = np.diff(modules.called_offsets)
    for computations in modules.levels:
        rows = modules.rows_of(computations)
        callers = rows[n_called[rows] > 0]
        called = modules.called[ranges(modules.called_offsets[callers], n_called[callers])]
        owner = np.repeat(np.arange(len(callers)), n_called[callers])
        inner = np.bincount(owner, of_computation[called], minlength=len(callers)).astype(np.float64)
        flops[callers] = _with_called(modules, callers, inner, flops[callers], in_elements[callers])
        n_rows = modules.instruction_offsets[computations + 1] - modules.instruction_offsets[computations]
        owner = np.repeat(np.arange(len(computations)), n_rows)
        of_computation[computations] = np.bincount(owner, flops[rows], minlength=len(computations))


def _with_called(modules: HloModules, rows: Int64, inner: Float64, own: Float64, in_elements: Float64) -> Float64:
    """Flops of some instructions, given those of one execution of what they call, their own and the elements they read."""
    n_elements = modules.n_elements[rows]
    n_parts = np.maximum((modules.operand_offsets[rows + 1] - modules.operand_offsets[rows]) // 2, 1)
    added = last_operand(modules, rows)  # of a scatter, a value that it adds each
    times = {
        _INLINE: np.ones(len(rows)),
        ("reduce",): np.maximum(in_elements - n_elements / n_parts, 0.0),
        ("reduce-window",): (modules.window_elements[rows] - 1) * n_elements / n_parts,
        ("scatter",): modules.n_elements[np.where(added < 0, rows, added)],
        ("map", "all-reduce", "reduce-scatter", "select-and-scatter"): n_elements,
    }
    found = own.copy()
    for opcodes, factor in times.items():
        is_it = modules.opcode.is_in(opcodes)[rows]
        found[is_it] = (inner * factor)[is_it]
    return found


MOST_NODES = 60
"""More are not read in a drawing; what is nearest to the result, or to the op, stays."""
_LEVELS = 2
_INLINE = ("fusion", "call", "async-start")


@dataclass(frozen=True, eq=False, repr=False)
class HloGraph:
    """Instructions and what reads what; every column has one entry per node, what is read before what reads it."""

    row: tuple[int, ...]
    name: tuple[str, ...]
    """Of a fusion's parameter the operand outside that it stands for."""
    opcode: tuple[str, ...]
    shape: tuple[str, ...]
    op_name: tuple[str, ...]
    """The framework op in the instruction's metadata, empty where it names none."""
    reads: tuple[tuple[int, ...], ...]
    """The nodes whose results each one reads."""
    work_ratio: Float64
    """Of the estimated work of the fusion; NaN around an op."""
    n_nodes: int
    """How many there are, with those that are left out."""
    centre: int
    """The node that all others are around; -1 inside a fusion."""

    @property
    def frame(self) -> pd.DataFrame:
        """One row per node: `name`, `opcode`, `shape`, `op_name`, `work_ratio`, and the names that it `reads`."""
        return pd.DataFrame(
            {
                "name": text_column(self.name),
                "opcode": text_column(self.opcode),
                "shape": text_column(self.shape),
                "op_name": text_column(self.op_name),
                "work_ratio": self.work_ratio,
                "reads": pd.Series([tuple(self.name[node] for node in nodes) for nodes in self.reads], dtype=object),
            }
        )


class HloGraphs:
    def __init__(self, modules: HloModules) -> None:
        self._modules = modules

    @cached_property
    def _costs(self) -> HloCosts:
        return estimate_costs(self._modules)

    def of(self, row: int, *, most: int = MOST_NODES) -> HloGraph:
        """The graph of an instruction: of one that is made of others these, else two levels of operands and of readers."""
        computation, outside = self._inside(row)
        if computation < 0:
            near = self._around(row)
            return self._graph(near[:most], {}, n_nodes=len(near), centre=row)
        low, high = self._modules.instruction_offsets[computation : computation + 2].tolist()
        root = int(self._modules.root[computation])
        rows = list(range(low, high))
        kept = rows if high - low <= most else self._sources(root if root >= 0 else high - 1, most)
        graph = self._graph(kept, outside, n_nodes=high - low, centre=-1)
        work = self._costs.work[low:high].sum()
        if work > 0:
            graph.work_ratio[:] = self._costs.work[list(graph.row)] / work
        return graph

    def _inside(self, row: int) -> tuple[int, dict[int, str]]:
        """The computation that an instruction is made of, -1 for none, and the operand that each of its parameters is."""
        modules = self._modules
        computation, outside = -1, dict[int, str]()
        while row >= 0 and modules.opcode[row] in _INLINE and (called := modules.callees(row)):
            computation = called[0]  # before its caller in the file: this ends
            operands = [outside.get(one, modules.name[one]) if one >= 0 else "?" for one in modules.operands(row)]
            inner = range(*modules.instruction_offsets[computation : computation + 2].tolist())
            number = {one: int(modules.parameter[one]) for one in inner}
            outside = {one: operands[at] for one, at in number.items() if 0 <= at < len(operands)}
            others = [one for one, at in number.items() if at < 0]
            row = others[0] if len(others) == 1 else -1
        return computation, outside

    def _sources(self, row: int, most: int) -> list[int]:
        found = {row: None}
        edge = [row]
        while edge and len(found) < most:
            edge = [one for one in dict.fromkeys(o for row in edge for o in self._operands(row)) if one not in found]
            found |= dict.fromkeys(edge)
        return list(found)[:most]

    def _around(self, row: int) -> list[int]:
        """An instruction, its operands and theirs, its readers and theirs; the nearest first."""
        found = {row: None}
        above, below = [row], [row]
        for _ in range(_LEVELS):
            above = list(dict.fromkeys(one for row in above for one in self._operands(row)))
            below = list(dict.fromkeys(one for row in below for one, _ in self._modules.readers(row)))
            found |= dict.fromkeys((*above, *below))
        return list(found)

    def _operands(self, row: int) -> list[int]:
        return [one for one in self._modules.operands(row) if one >= 0]

    def _graph(self, rows: list[int], outside: dict[int, str], *, n_nodes: int, centre: int) -> HloGraph:
        modules, rows = self._modules, sorted(rows)
        node = {row: i for i, row in enumerate(rows)}
        names = (modules.op_name[row] for row in rows)
        return HloGraph(
            row=tuple(rows),
            name=tuple(outside.get(row, modules.name[row]) for row in rows),
            opcode=tuple(modules.opcode[row] for row in rows),
            shape=tuple(modules.shape_text[row] for row in rows),
            op_name=tuple(
                framework_op(name, modules.op_type[row])[0] if name else ""
                for row, name in zip(rows, names, strict=True)
            ),
            reads=tuple(tuple(node[one] for one in dict.fromkeys(self._operands(row)) if one in node) for row in rows),
            work_ratio=np.full(len(rows), np.nan),
            n_nodes=n_nodes,
            centre=node.get(centre, -1),
        )


_MAX_VISITED = 500
"""A copy has few readers; beyond so many the nearest name says nothing any more."""


class Neighbours:
    """Walks the flow of data of modules, into fusions too."""

    def __init__(self, modules: HloModules) -> None:
        self._modules = modules

    def named(self, row: int) -> int:
        """The nearest reader of its result that has a name, in the order of the file; else the nearest it reads from."""
        found = self._search(row, self._readers)
        return found if found >= 0 else self._search(row, self._sources)

    def _search(self, row: int, step: Callable[[int], list[int]]) -> int:
        seen, waiting = {row}, deque([row])
        while waiting and len(seen) <= _MAX_VISITED:
            for near in step(waiting.popleft()):
                if near in seen:
                    continue
                if self._modules.op_name[near] and self._modules.opcode[near] not in ("parameter", *_INLINE):
                    return near
                seen.add(near)
                waiting.append(near)
        return -1

    @cached_property
    def _caller(self) -> dict[int, int]:
        """For each computation the last instruction that inlines it."""
        modules = self._modules
        n_called = np.where(modules.opcode.is_in(_INLINE), np.diff(modules.called_offsets), 0)
        rows = np.repeat(np.arange(len(n_called)), n_called)
        called = modules.called[ranges(modules.called_offsets[:-1], n_called)]
        return dict(zip(called.tolist(), rows.tolist(), strict=True))

    def _readers(self, row: int) -> list[int]:
        """Instructions that read a result; of a fusion the ones inside it that do, and behind its root those after it."""
        modules = self._modules
        found = []
        for reader, number in modules.readers(row):
            found += self._parameters(reader, number) or [reader]
        computation = int(modules.computation[row])
        if row == modules.root[computation] and computation in self._caller:
            found.append(self._caller[computation])
        return found

    def _parameters(self, row: int, number: int) -> list[int]:
        """The parameters of the computations which an instruction inlines that hold its operand `number`."""
        modules = self._modules
        if modules.opcode[row] not in _INLINE:
            return []
        found = []
        for computation in modules.callees(row):
            low, high = modules.instruction_offsets[computation : computation + 2].tolist()
            found += [inner for inner in range(low, high) if modules.parameter[inner] == number]
        return found

    def _sources(self, row: int) -> list[int]:
        modules = self._modules
        found = []
        for one in modules.operands(row):
            if one < 0:
                continue
            called = modules.callees(one) if modules.opcode[one] in _INLINE else []
            inner = [int(modules.root[computation]) for computation in called]
            found += [root for root in inner if root >= 0] or [one]
        return found


_APPLIED = ("to_apply",) * 2
_CALLED = {
    "fusion": ("calls",) * 2,
    "async-start": ("calls",) * 2,
    "while": ("body", "condition"),
    "conditional": ("branch",) * 2,
}
"""What the first computation that an instruction calls is to it, and all others."""
_MAX_OPERANDS = 50
"""A fusion may read hundreds of values; its text says how many it leaves out."""


def expressions(modules: HloModules, rows: Int64) -> list[str]:
    """The texts of some instructions, "" for row -1; constants, windows and configurations are left out."""
    texts = [""] * len(rows)
    known = np.flatnonzero(rows >= 0)
    for at, text in zip(known.tolist(), _texts(modules, rows[known]), strict=True):
        texts[at] = text
    return texts


def _texts(modules: HloModules, rows: Int64) -> list[str]:
    parts = (
        modules.name.at(modules.name.code[rows]),
        modules.shape_text.at(modules.shape_text.code[rows]),
        modules.opcode.at(modules.opcode.code[rows]),
        _operands(modules, rows),
        _details(modules, rows),
        _computations(modules, rows),
    )
    return [
        f"%{name} = {shape} {opcode}({operands}){detail}{called}"
        for name, shape, opcode, operands, detail, called in zip(*parts, strict=True)
    ]


def _operands(modules: HloModules, rows: Int64) -> list[str]:
    first = modules.operand_offsets[rows]
    n = modules.operand_offsets[rows + 1] - first
    kept = np.minimum(n, _MAX_OPERANDS)
    operand = modules.operand[ranges(first, kept)]
    shown = np.where(operand >= 0, 1, 0)
    code, n_codes = dense_codes(shown, modules.shape_text.code[operand] * shown, modules.name.code[operand] * shown)
    one_each = operand[first_of(code, n_codes)].tolist()
    texts = [f"{modules.shape_text[one]} %{modules.name[one]}" if one >= 0 else "?" for one in one_each]
    found = _joined(", ", [texts[i] for i in code.tolist()], kept)
    for row in np.flatnonzero(n > _MAX_OPERANDS).tolist():
        found[row] += f", ... {_MAX_OPERANDS} of {n[row]} operands"
    return found


def _details(modules: HloModules, rows: Int64) -> list[str]:
    is_fusion = modules.opcode.is_in(("fusion",))[rows]
    distinct = modules.detail.distinct
    kinds = [f", kind={one}" if one else "" for one in distinct]
    targets = [f', custom_call_target="{one}"' if one else "" for one in distinct]
    code = modules.detail.code[rows] + np.where(is_fusion, 0, len(distinct))
    return list(map((kinds + targets).__getitem__, code.tolist()))


def _computations(modules: HloModules, rows: Int64) -> list[str]:
    first = modules.called_offsets[rows]
    n = np.minimum(modules.called_offsets[rows + 1] - first, _MAX_OPERANDS)
    place = np.minimum(ranges(np.zeros_like(n), n), len(_APPLIED) - 1)
    keys = [f", {key}=%" for opcode in modules.opcode.distinct for key in _CALLED.get(opcode, _APPLIED)]
    key = (np.repeat(modules.opcode.code[rows], n) * len(_APPLIED) + place).tolist()
    names = map(modules.computation_name.__getitem__, modules.called[ranges(first, n)].tolist())
    return _joined("", list(map(add, map(keys.__getitem__, key), names)), n)


def _joined(between: str, texts: list[str], n: Int64) -> list[str]:
    """The first `n[0]` texts as one, the next `n[1]`, and so on."""
    end = np.cumsum(n)
    found = np.full(len(n), "", object)
    is_one = n == 1
    found[is_one] = np.array(texts, object)[end[is_one] - 1]
    many = np.flatnonzero(n > 1)
    ends = zip((end - n)[many].tolist(), end[many].tolist(), strict=True)
    found[many] = [between.join(texts[low:high]) for low, high in ends]
    texts = found.tolist()
    return texts


_SWITCHED_OFF = "WARNING: CommandBuffer disabled when profiling"
_KEEP = "--xla_enable_command_buffers_during_profiling=true"


@dataclass(frozen=True)
class GraphsSwitchedOff:
    """CUDA graphs that ran as single kernels."""

    n_graphs: int
    n_calls: int
    """Calls of the driver that made up for them."""
    n_calls_in_all: int

    @property
    def notice(self) -> str:
        """What a reader of the times has to know; empty where every graph ran as one."""
        if not self.n_graphs:
            return ""
        return (
            f"A profiler made XLA launch {self.n_graphs:,} CUDA graphs kernel by kernel: {self.n_calls:,} of "
            f"{self.n_calls_in_all:,} calls of the driver. Without one, launching costs less than is shown here. To keep the "
            f"graphs, set XLA_FLAGS={_KEEP} before TensorFlow starts."
        )


def graphs_switched_off(trace: Trace) -> GraphsSwitchedOff:
    """Count them; zeros where XLA switched nothing off, or compiled nothing."""
    is_off = trace.names_matching((_SWITCHED_OFF,))
    calls = np.flatnonzero(
        trace.on_planes([plane.is_host for plane in trace.planes]) & trace.has_stat("correlation_id")
    )
    inside = nearest_marked(trace.nesting.parent, is_off)[calls] >= 0 if is_off.any() else np.zeros(0, np.bool_)
    return GraphsSwitchedOff(int(is_off.sum()), int(inside.sum()), len(calls))
