"""Messages of HLO modules -> the columns of `HloModules`, all modules together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...trace.bounds import all_decoded, decoded
from ...trace.trace import Int64
from ..wire.varints import PADDING
from .instructions import DamagedInstructionsError, InstructionFields, Origins
from .parts import Frames
from .products import convolutions_of, dots_of
from .shapes import layout_of, shape_text, size_of
from .texts import Texts


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
    """The fields of `HloModules`, but for `warnings`.

    Raises:
        DamagedModulesError: protobuf refuses instructions of some.
    """
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
        "parameter": _parameters(fields),
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
    """For each its module."""
    id: Int64
    root_id: Int64
    n_instructions: Int64
    size: Int64
    """Of each instruction, in bytes."""
    name: list[bytes]
    content: bytes

    @classmethod
    def of(cls, modules: list[OneModule]) -> _Computations:
        """Take them from the messages, one at a time: objects for all at once would be searched for cycles again and again."""
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
        key: Int64 = module * len(self._values) + np.searchsorted(self._values, ids)
        return key

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


def _parameters(fields: InstructionFields) -> Any:
    number = np.clip(fields.parameter_number, 0, 2**31 - 1)
    return np.where(fields.opcode.is_in(("parameter",)), number, -1).astype(np.int32)


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
    """The frames of all modules, and where those of each begin."""
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
