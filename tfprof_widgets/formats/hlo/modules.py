"""HLO modules of compiled programs -> `HloModules`: their computations and instructions as frozen columns.

    read_hlo_modules(trace, programs={111}) -> HloModules

Profilers keep one serialised module per program in the metadata of the plane `/host:metadata`.
Source: semantics 1.4; xla/service/hlo.proto of OpenXLA.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from ...errors import TraceError
from ...trace.nesting import freeze
from ...trace.stat_shapes import ranges
from ...trace.trace import Int32, Int64, StatKind, Trace
from .columns import DamagedModulesError, OneModule, hlo_columns
from .messages import no_module, parse_module
from .parts import Convolution, Dots, Frames
from .texts import Texts

_STAT_NAMES = ("Hlo Proto", "HLO Proto", "hlo_proto")
NO_PROGRAM = -1
"""The program id of an event that names none."""
_PROGRAM = re.compile(r"\((\d+)\)\s*\Z")


@dataclass(frozen=True, eq=False, repr=False)
class HloModules:
    """Modules, their computations and their instructions, each a table of columns; rows of one owner are contiguous.

    Instructions are in the order of the file: operands before their users, called computations before their callers.
    """

    program_id: Int64
    """One per module, as the events of the program name it."""
    module_name: tuple[str, ...]
    host: tuple[str, ...]
    """The host whose profiler recorded the module."""

    computation_module: Int32
    """One per computation: its module."""
    computation_name: tuple[str, ...]
    root: Int64
    """The instruction that gives the computation's result, -1 where the file names none."""
    instruction_offsets: Int64
    """The instructions of computation `c` are rows `instruction_offsets[c]:instruction_offsets[c + 1]`."""

    computation: Int32
    """One per instruction: its computation."""
    name: Texts
    opcode: Texts
    """Such as `fusion`, `dot`, `convolution`, `reduce`."""
    detail: Texts
    """The kind of a fusion (`kLoop`, ...), the target of a custom call, else empty."""
    parameter: Int32
    """Which parameter of its computation a `parameter` is, -1 for all others."""
    op_name: Texts
    """The framework op that the instruction was made for, as the file has it; empty where it names none."""
    op_type: Texts
    source_file: Texts
    source_line: Int32
    """Where the user's program asked for it; "" and -1 unknown."""
    frame: Int32
    """Row of `frames`: the innermost frame of the traceback, -1 unknown."""
    dtype: Int32
    """Values of XLA's `PrimitiveType`; 13 is a tuple."""
    dim_offsets: Int64
    dims: Int64
    """CSR: the dimensions of each result; none for scalars and tuples."""
    layout: Int64
    """As long as `dims`: the dimensions from minor to major."""
    shape_text: Texts
    """Each result as XLA writes it: type, dimensions and layout."""
    n_elements: Int64
    n_bytes: Int64
    """Size of each result; of a tuple summed over its parts."""
    operand_offsets: Int64
    operand: Int64
    """CSR: the instructions whose results each one reads, -1 where the file does not hold it."""
    called_offsets: Int64
    called: Int32
    """CSR: the computations that each one calls, only such as come before its own: the graph of calls has no cycle."""

    frames: Frames
    dots: Dots
    convolutions: tuple[Convolution, ...]
    window_elements: Int64
    """How many elements the window of an instruction holds, 1 without a window."""
    warnings: tuple[str, ...] = ()
    """One sentence per module that could not be read."""

    def __post_init__(self) -> None:
        """Make the columns read-only."""
        freeze(getattr(self, column.name) for column in fields(self))

    def __repr__(self) -> str:
        return f"HloModules({len(self.program_id)} modules, {len(self.name)} instructions)"

    @property
    def n_instructions(self) -> int:
        """How many instructions there are in all modules."""
        return len(self.name)

    @cached_property
    def module(self) -> Int32:
        """For each instruction its module."""
        return self.computation_module[self.computation]

    @cached_property
    def _by_name(self) -> tuple[Int64, Int64]:
        """Instructions by module and name, and these two as one number."""
        key = self.module * len(self.name.distinct) + self.name.code
        order = np.argsort(key, kind="stable")
        return order, key[order]

    @cached_property
    def _module_of(self) -> dict[tuple[int, str], int]:
        found: dict[tuple[int, str], int] = {}
        for row, (program, name) in enumerate(zip(self.program_id.tolist(), self.module_name, strict=True)):
            found.setdefault((program, name), row)
            if program != NO_PROGRAM:
                found.setdefault((program, ""), row)
            found.setdefault((NO_PROGRAM, name), row)
        return found

    @cached_property
    def _read_by(self) -> tuple[Int64, Int64]:
        """Positions in the operand table by the instruction they read, and where each instruction's begin."""
        order = np.argsort(self.operand, kind="stable")
        return order, np.searchsorted(self.operand[order], np.arange(self.n_instructions + 1))

    @cached_property
    def levels(self) -> tuple[Int64, ...]:
        """The computations, first those that call none, then those that call only such, and so on."""
        caller = np.repeat(self.computation, np.diff(self.called_offsets))
        level = np.zeros(len(self.root), np.int64)
        while True:  # as often as calls are nested
            deeper = np.zeros_like(level)
            np.maximum.at(deeper, caller, level[self.called] + 1)
            if np.array_equal(level, deeper):
                break
            level = deeper
        order = np.argsort(level, kind="stable")
        return tuple(np.split(order, np.flatnonzero(np.diff(level[order])) + 1))

    def rows_of(self, computations: Int64) -> Int64:
        """The instructions of some computations."""
        first = self.instruction_offsets[computations]
        return ranges(first, self.instruction_offsets[computations + 1] - first)

    def readers(self, row: int) -> list[tuple[int, int]]:
        """The instructions that read the result of one, and as which of their operands, in the order of the file."""
        order, offsets = self._read_by
        found = order[offsets[row] : offsets[row + 1]]
        owners = np.searchsorted(self.operand_offsets, found, side="right") - 1
        return list(zip(owners.tolist(), (found - self.operand_offsets[owners]).tolist(), strict=True))

    def operands(self, row: int) -> list[int]:
        """The instructions whose results one reads, in their order; -1 where the file does not hold it."""
        found: list[int] = self.operand[self.operand_offsets[row] : self.operand_offsets[row + 1]].tolist()
        return found

    def callees(self, row: int) -> list[int]:
        """The computations that an instruction calls."""
        found: list[int] = self.called[self.called_offsets[row] : self.called_offsets[row + 1]].tolist()
        return found

    def within(self, row: int) -> Iterator[int]:
        """An instruction, then those of the computations that it calls, and that these call, each once."""
        todo, seen = [row], set[int]()
        while todo:
            yield (one := todo.pop())
            for computation in self.callees(one):
                if computation not in seen:
                    seen.add(computation)
                    todo += range(*self.instruction_offsets[computation : computation + 2].tolist())

    def find(self, program_id: int, module_name: str, name: str) -> int:
        """The row of an instruction, -1 when the trace holds no such one; the module of that name is preferred."""
        return int(self.find_all(np.array([program_id]), Texts.of([module_name]), Texts.of([name]))[0])

    def find_all(self, program_id: Int64, module_name: Texts, name: Texts) -> Int64:
        """The same for each row of three columns."""
        values, program = np.unique(program_id, return_inverse=True)
        pairs, pair = np.unique(program * max(len(module_name.distinct), 1) + module_name.code, return_inverse=True)
        told = [
            (int(values[one // len(module_name.distinct)]), module_name.distinct[one % len(module_name.distinct)])
            for one in pairs.tolist()
        ]
        code = np.array([self.name.code_of(text) for text in name.distinct], np.int64)[name.code]
        found = np.full(len(code), -1, np.int64)
        for keys in (told, [(one, "") for one, _ in told]):
            module = np.array([self._module_of.get(key, -1) for key in keys], np.int64)[pair]
            asked = np.flatnonzero((found < 0) & (module >= 0) & (code >= 0))
            found[asked] = self._last_of(module[asked], code[asked])
        return found

    def _last_of(self, module: Int64, name_code: Int64) -> Int64:
        """The last instruction of a module with a name, -1 for none."""
        order, keys = self._by_name
        key = module * len(self.name.distinct) + name_code
        at = np.searchsorted(keys, key, side="right") - 1
        return np.where((at >= 0) & (keys[at] == key), order[at], -1) if len(keys) else np.full(len(key), -1, np.int64)


def read_hlo_modules(trace: Trace, *, programs: Collection[int] | None = None) -> HloModules:
    """Decode the modules that a trace carries.

    Args:
        trace: the trace.
        programs: only those of these programs; None for all.

    Returns:
        Modules in the order of the file. A module that cannot be read is left out and named in `warnings`: a damaged
        module costs the names of its ops, never the analysis.
    """
    found: list[OneModule] = []
    sources: list[tuple[str, int]] = []
    problems: list[str] = []
    done: set[tuple[int, int]] = set()
    for host, name, blob in module_blobs(trace):
        program = program_of(name)
        if programs is not None and program is not None and program not in programs:
            continue
        try:
            module = parse_module(trace.blobs[blob])
        except TraceError as error:
            problems.append(_told(name, error))
            continue
        program = signed_id(module.id) if program is None else program
        if (programs is None or program in programs) and (program, blob) not in done:
            found.append(OneModule(module, program, host))
            sources.append((name, blob))
        done.add((program, blob))
    while True:
        try:
            return HloModules(**hlo_columns(found), warnings=tuple(problems))
        except DamagedModulesError as error:
            for place in reversed(error.places):
                found.pop(place)
                name, blob = sources.pop(place)
                problems.append(_told(name, no_module(trace.blobs[blob])))


def _told(name: str, problem: TraceError) -> str:
    return f"The compiled program {name or '?'} could not be read, so its ops have no names: {problem}"


def signed_id(value: int) -> int:
    """TPU programs have ids of 64 bits; they are kept as events have them, in two's complement."""
    return (value + 2**63) % 2**64 - 2**63


def program_of(name: str) -> int | None:
    """The program that the name of a module's metadata tells; None where it tells none."""
    told = _PROGRAM.search(name)
    return signed_id(int(told[1])) if told and len(told[1]) <= 20 else None


def module_blobs(trace: Trace) -> Iterator[tuple[str, str, int]]:
    """Host, metadata name and blob of each module; several windows of one process bring the same ones."""
    keys = [trace.string_ids[name] for name in _STAT_NAMES if name in trace.string_ids]
    rows = np.flatnonzero(np.isin(trace.metadata_stat_key, keys) & (trace.metadata_stat_kind == StatKind.BYTES))
    owners = np.searchsorted(trace.metadata_stat_offsets, rows, side="right") - 1
    seen: set[tuple[str, str, int]] = set()
    for row, owner in zip(rows.tolist(), owners.tolist(), strict=True):  # bounded by the number of programs
        plane = int(trace.metadata_plane_id[owner])
        host = trace.planes[plane].host if plane >= 0 else ""
        key = (host, trace.strings[trace.metadata_name_id[owner]], int(trace.metadata_stat_bits[row]))
        if key not in seen:
            seen.add(key)
            yield key
