"""Serialised instructions, one after the other -> a column of each of their fields, decoded together by NumPy.

Shapes, metadata, windows and configurations are the same in many instructions: protobuf reads each distinct one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...trace.bounds import decoded
from ...trace.stat_shapes import ranges
from ...trace.trace import Int64
from ..wire.field_rows import FieldRows
from ..wire.varints import PADDING, ByteView
from .messages import FIELDS_OF_INSTRUCTIONS, MESSAGES
from .shapes import MAX_SIZE
from .texts import Texts


class DamagedInstructionsError(Exception):
    """Instructions that protobuf refuses."""

    def __init__(self, rows: list[int]) -> None:
        super().__init__(f"{len(rows)} instructions are damaged")
        self.rows = rows


class Distinct:
    """A field of bytes: its distinct contents, the first one empty, and for each instruction which."""

    def __init__(self, fields: FieldRows, name: str) -> None:
        rows, begin, end = fields.content(FIELDS_OF_INSTRUCTIONS[name])
        content = fields.view.content
        raws = [content[low:high] for low, high in zip(begin.tolist(), end.tolist(), strict=True)]
        number = {raw: i for i, raw in enumerate(dict.fromkeys([b"", *raws]))}
        self.raws = list(number)
        self.code = np.zeros(len(fields.is_irregular), np.int64)
        self.code[rows] = np.fromiter(map(number.__getitem__, raws), np.int64, len(raws))

    def texts(self) -> Texts:
        """The field as texts; bytes that are no UTF-8 become escapes, which may make two the same."""
        return Texts.coded(self.code, map(decoded, self.raws))

    def messages(self, kind: str, is_irregular: Any) -> list[Any]:
        """The field as messages; notes the instructions whose is none."""
        from google.protobuf.message import DecodeError

        parse, found = MESSAGES[kind].FromString, []
        for code, raw in enumerate(self.raws):
            try:
                found.append(parse(raw))
            except DecodeError:
                found.append(parse(b""))
                is_irregular |= self.code == code
        return found


class InstructionFields:
    """The fields of all instructions of some modules, ids as they stand in the file."""

    def __init__(self, raws: Sequence[bytes]) -> None:
        """Decode serialised instructions.

        Raises:
            DamagedInstructionsError: some are none.
        """
        if len(irregular := np.flatnonzero(self._read(raws))):
            plain = {row: _plain(raws[row]) for row in irregular.tolist()}
            damaged = [row for row, raw in plain.items() if raw is None]
            if not damaged:
                odd = self._read([plain.get(row) or raw for row, raw in enumerate(raws)])
                damaged = np.flatnonzero(odd).tolist()
            if damaged:
                raise DamagedInstructionsError(damaged)

    def _read(self, raws: Sequence[bytes]) -> Any:
        """Take up all fields; which instructions are not to be read so."""
        self.raws = raws
        end = np.cumsum(np.fromiter(map(len, raws), np.int64, len(raws)))
        begin = np.append(0, end[:-1])[: len(raws)]
        fields = FieldRows(ByteView(b"".join((*raws, PADDING))), begin, end, FIELDS_OF_INSTRUCTIONS.values())
        odd, number = fields.is_irregular, FIELDS_OF_INSTRUCTIONS
        self.name, self.opcode = Distinct(fields, "name").texts(), Distinct(fields, "opcode").texts()
        self.shape, self.metadata = Distinct(fields, "shape"), Distinct(fields, "metadata")
        self.shapes = self.shape.messages("Shape", odd)
        self.origins = self.metadata.messages("OpMetadata", odd)
        self.parameter_number = fields.varint(number["parameter_number"])
        self.custom_call_target = Distinct(fields, "custom_call_target")
        self.detail = _either(Distinct(fields, "fusion_kind"), self.custom_call_target)
        self.backend_config = Distinct(fields, "backend_config")
        self.dot_dimensions = Distinct(fields, "dot_dimensions")
        self.dots = self.dot_dimensions.messages("DotDimensions", odd)
        window = Distinct(fields, "window")
        sizes = [_window_elements(one) for one in window.messages("Window", odd)]
        self.window_elements = np.array(sizes, np.int64)[window.code]
        Distinct(fields, "convolution_dimensions").messages("ConvolutionDimensions", odd)
        self.id = fields.varint(number["id"])
        self.n_operands, self.operand_id = fields.packed(number["operand_ids"])
        self.n_called, self.called_id = fields.packed(number["called_computation_ids"])
        for name in ("feature_group_count", "batch_group_count"):
            fields.varint(number[name])
        return odd

    def message(self, row: int) -> Any:
        """One instruction as protobuf reads it."""
        return MESSAGES["Instruction"].FromString(self.raws[row])

    def per_shape(self, function: Callable[[Any], Any], dtype: type) -> Any:
        """What a function says of the shape of each instruction."""
        return np.array([function(shape) for shape in self.shapes], dtype)[self.shape.code]

    def csr_of_shapes(self, function: Callable[[Any], Sequence[int]]) -> tuple[Int64, Int64]:
        """Where the whole numbers that a function gives of each instruction's shape begin, and these numbers."""
        found = [list(function(shape)) for shape in self.shapes]
        n = np.array([len(one) for one in found], np.int64)
        values = np.array([value for one in found for value in one], np.int64)
        first = np.cumsum(n) - n
        code = self.shape.code
        return np.append(0, np.cumsum(n[code])), values[ranges(first[code], n[code])]


def _plain(raw: bytes) -> bytes | None:
    """An instruction as protobuf writes it: known fields, each once; None where it is damaged."""
    from google.protobuf.message import DecodeError

    try:
        message = MESSAGES["Instruction"].FromString(raw)
    except DecodeError:
        return None
    message.DiscardUnknownFields()
    return bytes(message.SerializeToString())


def _either(first: Distinct, other: Distinct) -> Texts:
    """The one field where an instruction has it, else the other."""
    code = np.where(first.code > 0, first.code, len(first.raws) + other.code)
    return Texts.coded(code, map(decoded, first.raws + other.raws))


def _window_elements(window: Any) -> int:
    sizes: list[int] = [max(side.size, 1) for side in window.dimensions]
    return min(math.prod(sizes), MAX_SIZE)
