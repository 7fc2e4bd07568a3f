"""Serialised instructions, one after the other -> a column of each of their fields, decoded together by NumPy.

Shapes, metadata, windows and configurations are the same in many instructions: protobuf reads each distinct one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...trace.bounds import all_decoded
from ...trace.stat_shapes import ranges
from ...trace.trace import Bool, Int64
from ..wire.contents import alike
from ..wire.field_rows import FieldRows
from ..wire.varints import PADDING, ByteView
from .messages import FIELDS, MESSAGES
from .shapes import MAX_SIZE
from .texts import Texts


class DamagedInstructionsError(Exception):
    """Instructions that protobuf refuses."""

    def __init__(self, rows: list[int]) -> None:
        super().__init__(f"{len(rows)} instructions are damaged")
        self.rows = rows


class Distinct:
    """A field of bytes: its distinct contents, the first one empty, and for each message which."""

    def __init__(self, fields: FieldRows, number: int) -> None:
        rows, begin, end = fields.content(number)
        begin, end = np.append(0, begin), np.append(0, end)
        code, first = alike(fields.view, begin, end)
        self._view, self._begin, self._end = fields.view, begin[first], end[first]
        self.code = np.zeros(len(fields.is_irregular), np.int64)
        self.code[rows] = code[1:]

    @cached_property
    def raws(self) -> list[bytes]:
        """The contents."""
        content = self._view.content
        return [content[low:high] for low, high in zip(self._begin.tolist(), self._end.tolist(), strict=True)]

    def texts(self, code: Int64 | None = None) -> Texts:
        """The field as texts, of each message, or of each of `code`; bytes that are no UTF-8 become escapes."""
        return Texts.coded(self.code if code is None else self.code[code], all_decoded(self.raws))

    def fields(self, wanted: Collection[int]) -> FieldRows:
        """The fields of the contents, which are messages."""
        return FieldRows(self._view, self._begin, self._end, wanted)

    def messages(self, kind: str, is_irregular: Bool) -> list[Any]:
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


class Origins:
    """What the metadata of instructions says of the framework op that each was made for, one entry per instruction."""

    def __init__(self, metadata: Distinct, is_irregular: Bool) -> None:
        """Decode distinct metadata; notes the instructions whose is none."""
        code, number = metadata.code, FIELDS["OpMetadata"]
        fields = metadata.fields(number.values())
        self.op_name, self.op_type, self.source_file = (
            Distinct(fields, number[name]).texts(code) for name in ("op_name", "op_type", "source_file")
        )
        self.source_line, self.stack_frame_id = (
            fields.varint(number[name]).astype(np.int32)[code] for name in ("source_line", "stack_frame_id")
        )
        is_irregular |= fields.is_irregular[code]


class InstructionFields:
    """The fields of all instructions of some modules, ids as they stand in the file."""

    def __init__(self, content: bytes, size: Int64) -> None:
        """Decode serialised instructions.

        Args:
            content: they, one after the other, then `PADDING`.
            size: how many bytes each has.

        Raises:
            DamagedInstructionsError: some are none.
        """
        if len(irregular := np.flatnonzero(self._read(content, size))):
            plain = {row: _plain(self._raw(row)) for row in irregular.tolist()}
            damaged = [row for row, raw in plain.items() if raw is None]
            if not damaged:
                raws = [plain.get(row) or self._raw(row) for row in range(len(size))]
                size = np.fromiter(map(len, raws), np.int64, len(raws))
                damaged = np.flatnonzero(self._read(b"".join((*raws, PADDING)), size)).tolist()
            if damaged:
                raise DamagedInstructionsError(damaged)

    def _read(self, content: bytes, size: Int64) -> Bool:
        """Take up all fields; which instructions are not to be read so."""
        self._content, self._end = content, np.cumsum(size)
        self._begin = self._end - size
        number = FIELDS["Instruction"]
        fields = FieldRows(ByteView(content), self._begin, self._end, number.values())
        odd = fields.is_irregular

        def distinct(name: str) -> Distinct:
            return Distinct(fields, number[name])

        self.name, self.opcode = distinct("name").texts(), distinct("opcode").texts()
        self.shape = distinct("shape")
        self.shapes = self.shape.messages("Shape", odd)
        self.origins = Origins(distinct("metadata"), odd)
        self.parameter_number = fields.varint(number["parameter_number"])
        self.custom_call_target = distinct("custom_call_target")
        self.detail = _either(distinct("fusion_kind"), self.custom_call_target)
        self.backend_config = distinct("backend_config")
        self.dot_dimensions = distinct("dot_dimensions")
        self.dots = self.dot_dimensions.messages("DotDimensions", odd)
        window = distinct("window")
        sizes = [_window_elements(one) for one in window.messages("Window", odd)]
        self.window_elements = np.array(sizes, np.int64)[window.code]
        distinct("convolution_dimensions").messages("ConvolutionDimensions", odd)
        self.id = fields.varint(number["id"])
        self.n_operands, self.operand_id = fields.packed(number["operand_ids"])
        self.n_called, self.called_id = fields.packed(number["called_computation_ids"])
        for name in ("feature_group_count", "batch_group_count"):
            fields.varint(number[name])
        return odd

    def message(self, row: int) -> Any:
        """One instruction as protobuf reads it."""
        return MESSAGES["Instruction"].FromString(self._raw(row))

    def _raw(self, row: int) -> bytes:
        return self._content[self._begin[row] : self._end[row]]

    def per_shape(self, function: Callable[[Any], Any], dtype: type) -> Any:
        """What a function says of the shape of each instruction."""
        return np.array([function(shape) for shape in self.shapes], dtype)[self.shape.code]

    def sizes(
        self, function: Callable[[Any], tuple[int, int]], rows: Int64 | slice = slice(None)
    ) -> tuple[Int64, Int64]:
        """The two numbers that a function says of the shape of each instruction, or of each of some."""
        shapes, code = np.unique(self.shape.code[rows], return_inverse=True)
        told = np.array([function(self.shapes[shape]) for shape in shapes.tolist()], np.int64).reshape(-1, 2)
        return told[code, 0], told[code, 1]

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
    return Texts.coded(code, all_decoded(first.raws + other.raws))


def _window_elements(window: Any) -> int:
    sizes: list[int] = [max(side.size, 1) for side in window.dimensions]
    return min(math.prod(sizes), MAX_SIZE)
