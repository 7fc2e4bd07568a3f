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
from ...trace.trace import Int32, Int64, StatKind, Trace
from .columns import HloColumns, signed_id
from .messages import parse_module
from .parts import Convolution, Dot, Frames

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
    name: tuple[str, ...]
    opcode: tuple[str, ...]
    """Such as `fusion`, `dot`, `convolution`, `reduce`."""
    detail: tuple[str, ...]
    """The kind of a fusion (`kLoop`, ...), the target of a custom call, else empty."""
    parameter: Int32
    """Which parameter of its computation a `parameter` is, -1 for all others."""
    op_name: tuple[str, ...]
    """The framework op that the instruction was made for, as the file has it; empty where it names none."""
    op_type: tuple[str, ...]
    source_file: tuple[str, ...]
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
    tuple_text: tuple[str, ...]
    """The shape as text where it is a tuple, else empty."""
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
    dots: tuple[Dot, ...]
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
    def _row_of_name(self) -> dict[tuple[int, str], int]:
        return {key: row for row, key in enumerate(zip(self.module.tolist(), self.name, strict=True))}

    @cached_property
    def _module_of(self) -> dict[tuple[int, str], int]:
        found: dict[tuple[int, str], int] = {}
        for row, (program, name) in enumerate(zip(self.program_id.tolist(), self.module_name, strict=True)):
            found.setdefault((program, name), row)
            found.setdefault((program, ""), row)
            found.setdefault((NO_PROGRAM, name), row)
        return found

    @cached_property
    def _read_by(self) -> tuple[Int64, Int64]:
        """Positions in the operand table by the instruction they read, and where each instruction's begin."""
        order = np.argsort(self.operand, kind="stable")
        return order, np.searchsorted(self.operand[order], np.arange(self.n_instructions + 1))

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
        keys = (
            ((program_id, module_name), (program_id, "")) if program_id != NO_PROGRAM else ((NO_PROGRAM, module_name),)
        )
        for key in keys:
            module = self._module_of.get(key, -1)
            if module >= 0 and (row := self._row_of_name.get((module, name), -1)) >= 0:
                return row
        return -1


def read_hlo_modules(trace: Trace, *, programs: Collection[int] | None = None) -> HloModules:
    """Decode the modules that a trace carries.

    Args:
        trace: the trace.
        programs: only those of these programs; None for all.

    Returns:
        Modules in the order of the file. A module that cannot be read is left out and named in `warnings`: a damaged
        module costs the names of its ops, never the analysis.
    """
    columns = HloColumns()
    warnings: list[str] = []
    done: set[tuple[int, int]] = set()
    for host, name, blob in module_blobs(trace):
        program = program_of(name)
        if programs is not None and program is not None and program not in programs:
            continue
        try:
            module = parse_module(trace.blobs[blob])
            program = signed_id(module.id) if program is None else program
            if (programs is None or program in programs) and (program, blob) not in done:
                columns.add(module, program_id=program, host=host)
        except TraceError as error:
            warnings.append(f"The compiled program {name or '?'} could not be read, so its ops have no names: {error}")
            continue
        done.add((program, blob))
    return HloModules(**columns.arrays(), warnings=tuple(warnings))


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
