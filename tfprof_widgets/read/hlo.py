"""HLO modules of compiled programs -> `HloModules`: their computations, instructions and buffers as columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import TraceError
from ..trace.arrays import Int32, Int64
from ..trace.capture_facts import all_decoded, decoded
from ..trace.stats import ranges
from ..trace.trace import StatKind, Trace, freeze
from .hlo_messages import (
    MAX_SIZE,
    MESSAGES,
    Convolution,
    DamagedInstructionsError,
    Dots,
    Frames,
    InstructionFields,
    Origins,
    Texts,
    convolutions_of,
    dots_of,
    layout_of,
    no_module,
    parse_module,
    shape_text,
    size_of,
)
from .protobuf import PADDING


class DamagedModulesError(Exception):
    """Modules of which instructions are damaged, by their place."""

    def __init__(self, places: list[int]) -> None:
        super().__init__(f"{len(places)} modules are damaged")
        self.places = places


@dataclass(frozen=True)
class OneModule:
    """A module, its instructions still serialised."""

    message: Any
    program_id: int
    host: str


def hlo_columns(modules: list[OneModule]) -> dict[str, Any]:
    """The fields of `HloModules`, but for `warnings`."""
    read = _Computations.of(modules)
    owner, n_of_computation = read.owner, read.n_instructions
    computation = np.repeat(np.arange(len(owner)), n_of_computation)
    try:
        fields = InstructionFields(read.content, read.size)
    except DamagedInstructionsError as error:
        raise DamagedModulesError(np.unique(owner[computation[error.rows]]).tolist()) from error
    offsets = np.append(0, np.cumsum(n_of_computation))
    module = owner[computation]
    instruction_ids = _Ids(module, fields.id)
    reader = np.repeat(np.arange(len(module)), fields.n_operands)
    operand = instruction_ids.before(module[reader], fields.operand_id, reader)
    operand_offsets = np.append(0, np.cumsum(fields.n_operands))
    dim_offsets, dims = fields.csr_of_shapes(lambda shape: shape.dimensions)
    called_offsets, called = _called(_Ids(owner, read.id), owner, computation, fields)
    frames, first_frame = _frames(modules)
    n_elements, n_bytes = fields.sizes(size_of)
    number = np.clip(fields.parameter_number, 0, 2**31 - 1)
    return {
        "program_id": np.array([module.program_id for module in modules], np.int64),
        "module_name": tuple(decoded(module.message.name) for module in modules),
        "host": tuple(module.host for module in modules),
        "computation_module": owner.astype(np.int32),
        "computation_name": tuple(all_decoded(read.name)),
        "root": instruction_ids.before(owner, read.root_id, offsets[1:]),
        "instruction_offsets": offsets,
        "computation": computation.astype(np.int32),
        "name": fields.name,
        "opcode": fields.opcode,
        "detail": fields.detail,
        "parameter": np.where(fields.opcode.is_in(("parameter",)), number, -1).astype(np.int32),
        **_origins(fields.origins, frames, first_frame, module),
        "dtype": fields.per_shape(lambda shape: shape.element_type, np.int32),
        "dim_offsets": dim_offsets,
        "dims": dims,
        "layout": fields.csr_of_shapes(layout_of)[1],
        "shape_text": Texts.coded(fields.shape.code, map(shape_text, fields.shapes)),
        "n_elements": n_elements,
        "n_bytes": n_bytes,
        "operand_offsets": operand_offsets,
        "operand": operand,
        "called_offsets": called_offsets,
        "called": called,
        "frames": frames,
        "dots": dots_of(fields),
        "convolutions": convolutions_of(fields, operand_offsets, operand),
        "window_elements": fields.window_elements,
    }


@dataclass(frozen=True)
class _Computations:
    """The computations of all modules, and their instructions still serialised, one after the other."""

    owner: Int64
    """Module of each."""
    id: Int64
    root_id: Int64
    n_instructions: Int64
    size: Int64
    """Of each instruction, in bytes."""
    name: list[bytes]
    content: bytes

    @classmethod
    def of(cls, modules: list[OneModule]) -> _Computations:
        """Take them from the messages one at a time: all objects at once would be searched for cycles again and again."""
        owner, ids, roots, n, names, contents = [], [], [], [], [], []
        size: list[int] = []
        for place, module in enumerate(modules):
            for one in module.message.computations:
                raws = one.instructions[:]
                owner.append(place)
                ids.append(one.id)
                roots.append(one.root_id)
                names.append(one.name)
                n.append(len(raws))
                contents.append(b"".join(raws))
                size += map(len, raws)

        def array(column: list[int]) -> Int64:
            return np.array(column, np.int64)

        return cls(
            owner=array(owner),
            id=array(ids),
            root_id=array(roots),
            n_instructions=array(n),
            size=array(size),
            name=names,
            content=b"".join((*contents, PADDING)),
        )


class _Ids:
    """Ids of the file, unique only within a module, in the order of the file."""

    def __init__(self, module: Int64, ids: Int64) -> None:
        self._n = len(ids) + 1
        ordered = np.sort(ids)  # `np.unique` hashes them first, which takes several times as long
        self._values = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ids)]]
        self._place = np.sort(self._key(module, ids) * self._n + np.arange(len(ids)))

    def _key(self, module: Int64, ids: Int64) -> Int64:
        return module * len(self._values) + np.searchsorted(self._values, ids)

    def before(self, module: Int64, ids: Int64, row: Int64) -> Int64:
        """The last row of an id among those before one, -1 for none."""
        if self._n == 1:
            return np.full(len(ids), -1, np.int64)
        key = self._key(module, ids)
        at = np.searchsorted(self._place, key * self._n + row) - 1
        found = np.divmod(self._place[at], self._n)
        known = self._values[np.minimum(np.searchsorted(self._values, ids), len(self._values) - 1)] == ids
        return np.where(known & (at >= 0) & (found[0] == key), found[1], -1)


def _called(ids: _Ids, owner: Int64, computation: Int64, fields: InstructionFields) -> tuple[Int64, Any]:
    """CSR: the computations that each instruction calls, of those before its own."""
    row = np.repeat(np.arange(len(computation)), fields.n_called)
    called = ids.before(owner[computation[row]], fields.called_id, computation[row])
    row, called = row[called >= 0], called[called >= 0]
    n_called = np.bincount(row, minlength=len(computation))
    return np.append(0, np.cumsum(n_called)), called.astype(np.int32)


def _origins(told: Origins, frames: Frames, first_frame: Int64, module: Int64) -> dict[str, Any]:
    """Name and type of each instruction's framework op, and file, line and frame that made it."""
    frame = first_frame[module] - 1 + told.stack_frame_id
    frame[(frame < first_frame[module]) | (frame >= first_frame[module + 1])] = -1
    # The metadata comes first, the frame is asked where that has no file.
    files = told.source_file
    asks = files.is_in(("",)) & (frame >= 0)
    source_file = Texts.coded(np.where(asks, len(files.distinct) + frame, files.code), (*files.distinct, *frames.file))
    line = np.where(asks, np.append(frames.line, np.int32(-1))[frame], told.source_line)  # -1 is the one put last
    return {
        "op_name": told.op_name,
        "op_type": told.op_type,
        "source_file": source_file,
        "source_line": np.where(source_file.is_in(("",)), -1, line),
        "frame": frame.astype(np.int32),
    }


def _frames(modules: list[OneModule]) -> tuple[Frames, Int64]:
    rows: list[tuple[int, str, int, str]] = []
    first = [0]
    for module in modules:
        index = module.message.stack_frame_index
        files, functions = ([decoded(text) for text in part] for part in (index.file_names, index.function_names))
        locations, n_frames = index.file_locations, len(index.stack_frames)
        for frame in index.stack_frames:
            at = frame.file_location_id - 1  # ids count from 1, 0 is none
            place = locations[at] if 0 <= at < len(locations) else None
            file = _item(files, place.file_name_id) if place is not None else ""
            function = _item(functions, place.function_name_id) if place is not None else ""
            parent = frame.parent_frame_id - 1
            parent = first[-1] + parent if 0 <= parent < n_frames else -1
            rows.append((parent, file, place.line if place is not None else -1, function))
        first.append(len(rows))
    caller, file_of, line, function_of = zip(*rows, strict=True) if rows else [()] * 4
    found = Frames(np.array(caller, np.int32), tuple(file_of), np.array(line, np.int32), tuple(function_of))
    return found, np.array(first, np.int64)


def _item(texts: list[str], id_: int) -> str:
    return texts[id_ - 1] if 0 < id_ <= len(texts) else ""


_STAT_NAMES = ("Hlo Proto", "HLO Proto", "hlo_proto")
NO_PROGRAM = -1
"""The program id of an event that names none."""
_PROGRAM = re.compile(r"\((\d+)\)\s*\Z")


@dataclass(frozen=True, eq=False, repr=False)
class HloModules:
    """Modules, computations and instructions as tables in the file's order; rows of one owner are contiguous."""

    program_id: Int64
    """One per module, as the events of the program name it."""
    module_name: tuple[str, ...]
    host: tuple[str, ...]

    computation_module: Int32
    computation_name: tuple[str, ...]
    root: Int64
    """The instruction with the computation's result, -1 where the file names none."""
    instruction_offsets: Int64
    """The instructions of computation `c` are rows `instruction_offsets[c]:instruction_offsets[c + 1]`."""

    computation: Int32
    name: Texts
    opcode: Texts
    """Such as `fusion`, `dot`, `convolution`, `reduce`."""
    detail: Texts
    """The kind of a fusion (`kLoop`, ...), the target of a custom call, else empty."""
    parameter: Int32
    """Which parameter of its computation a `parameter` is, -1 for all others."""
    op_name: Texts
    """The framework op of the instruction, "" where the file names none."""
    op_type: Texts
    source_file: Texts
    source_line: Int32
    """Of the user's program; "" and -1 where unknown."""
    frame: Int32
    """Row of `frames`: the innermost frame of the traceback, -1 where unknown."""
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
    """Of each result; of a tuple summed over its parts."""
    operand_offsets: Int64
    operand: Int64
    """CSR: the instructions whose results each one reads, -1 where the file does not hold it."""
    called_offsets: Int64
    called: Int32
    """CSR: computations that each one calls, always before its own: the graph of calls has no cycle."""

    frames: Frames
    dots: Dots
    convolutions: tuple[Convolution, ...]
    window_elements: Int64
    """Elements of an instruction's window, 1 without one."""
    warnings: tuple[str, ...] = ()
    """One sentence per module that could not be read."""

    def __post_init__(self) -> None:
        freeze(getattr(self, column.name) for column in fields(self))

    def __repr__(self) -> str:
        return f"HloModules({len(self.program_id)} modules, {len(self.name)} instructions)"

    @property
    def n_instructions(self) -> int:
        return len(self.name)

    @cached_property
    def module(self) -> Int32:
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
    """The 64-bit ids of TPU programs in two's complement, as in events."""
    return (value + 2**63) % 2**64 - 2**63


def program_of(name: str) -> int | None:
    """The program in the name of a module's metadata; None without one."""
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


_ALLOC, _FREE, _SHARE = range(3)


@dataclass(frozen=True)
class LiveBuffer:
    program_id: int
    instruction: str
    """"" where the file does not say."""
    part: tuple[int, ...]
    """Place in the instruction's tuple; empty where its result is an array."""
    kind: str
    """`temporary`, `parameter`, `output`, `constant`, or `unused` where nothing lives in the allocation."""
    n_bytes: int


def live_buffers(trace: Trace, programs: Collection[int]) -> list[LiveBuffer]:
    """The buffers of some programs, in the order of the file; none of a program whose module has no buffers."""
    from google.protobuf.message import DecodeError

    found: list[LiveBuffer] = []
    done = set()
    for _, name, blob in module_blobs(trace):
        program = program_of(name)
        if program is None or program not in programs or program in done:
            continue
        done.add(program)
        try:
            found += _of_module(program, MESSAGES["WithBuffers"].FromString(trace.blobs[blob]))
        except DecodeError:  # `HloModules.warnings` tells of it
            continue
    return found


def _of_module(program: int, module: Any) -> Iterator[LiveBuffer]:
    assignment = module.buffer_assignment
    names = {one.id: decoded(one.name) for part in module.hlo_module.computations for one in part.instructions}
    buffers = {one.id: one for one in assignment.logical_buffers}

    def live(buffer_id: int, kind: str, n_bytes: int) -> LiveBuffer:
        place = buffers[buffer_id].defined_at if buffer_id in buffers else None
        name, part = ("", ()) if place is None else (names.get(place.instruction_id, ""), tuple(place.shape_index))
        return LiveBuffer(program, name, part, kind, n_bytes)

    sizes = {id_: _size(one) for id_, one in buffers.items()}
    n_planned = n_live = 0
    for allocation in assignment.buffer_allocations:
        kind = _kind(allocation)
        if kind == "temporary":
            n_planned += _size(allocation)
        elif kind:
            first = allocation.assigned[0].logical_buffer_id if allocation.assigned else -1
            yield live(first, kind, _size(allocation))
    for heap in assignment.heap_simulator_traces:
        for buffer_id in _live_at_peak(heap.events, sizes):
            n_live += sizes[buffer_id]
            yield live(buffer_id, "temporary", sizes[buffer_id])
    if n_planned > n_live:
        yield LiveBuffer(program, "", (), "unused" if n_live else "temporary", min(n_planned - n_live, MAX_SIZE))


def _kind(allocation: Any) -> str:
    """What an allocation is for; "" for the stack of a thread."""
    if allocation.is_entry_computation_parameter:
        return "parameter"
    if allocation.is_constant:
        return "constant"
    if allocation.maybe_live_out:
        return "output"
    return "" if allocation.is_thread_local else "temporary"


def _size(one: Any) -> int:
    return max(0, min(int(one.size), MAX_SIZE))


def _live_at_peak(events: Any, sizes: dict[int, int]) -> list[int]:
    """The buffers that live when their sum is largest; a shared one lives until its last user ends."""
    peak, most, held = -1, 0, 0
    for at, (_, change) in enumerate(_changes(events, sizes)):
        held += change
        if held > most:
            peak, most = at, held
    alive: dict[int, None] = {}
    for at, (buffer_id, change) in enumerate(_changes(events, sizes)):
        if at > peak:
            break
        if change > 0:
            alive[buffer_id] = None
        elif change < 0:
            alive.pop(buffer_id, None)
    return list(alive)


def _changes(events: Any, sizes: dict[int, int]) -> Iterator[tuple[int, int]]:
    """For each event the buffer that it begins or ends, and by how much the heap grows."""
    owner: dict[int, int] = {}
    users: Counter[int] = Counter()
    for event in events:  # bounded by the size of the programs
        id_, grows = event.buffer_id, 0
        if event.kind == _SHARE:  # perhaps right after the other ended: an op that works in place
            owner[id_] = id_ = owner.get(event.share_with_canonical_id, event.share_with_canonical_id)
        if event.kind in (_ALLOC, _SHARE):
            users[id_] += 1
            grows = sizes.get(id_, 0) if users[id_] == 1 else 0
        elif event.kind == _FREE:
            id_ = owner.pop(id_, id_)
            users[id_] -= 1
            grows = 0 if users[id_] else -sizes.get(id_, 0)
        yield id_, grows
