"""Serialised HLO instructions -> a column for each of their fields, decoded together by NumPy."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, overload

import numpy as np

from ..errors import TraceError
from ..trace.arrays import Bool, Int32, Int64
from ..trace.capture_facts import all_decoded
from ..trace.stats import ranges
from ..trace.trace import freeze
from .protobuf import PADDING, ByteView, FieldRows, Messages, alike

# Text is declared as bytes: one name that is not UTF-8 must not cost the module. Literals and layouts of tiles are left out:
# they are the bulk of a module and say nothing about cost. Buffers are read apart, when asked for.
MESSAGES = Messages(
    "tfprof_widgets.hlo",
    """
Layout: minor_to_major 1 int64 repeated
Shape: element_type 2 int32, dimensions 3 int64 repeated, tuple_shapes 4 Shape repeated, layout 5 Layout
OpMetadata: op_type 1 bytes, op_name 2 bytes, source_file 3 bytes, source_line 4 int32, stack_frame_id 15 int32
WindowDimension: size 1 int64, stride 2 int64, padding_low 3 int64, padding_high 4 int64,
    window_dilation 5 int64, base_dilation 6 int64
Window: dimensions 1 WindowDimension repeated
ConvolutionDimensions: input_batch 7 int64, input_feature 8 int64, output_batch 9 int64,
    output_feature 10 int64, input_spatial 11 int64 repeated, output_spatial 12 int64 repeated
DotDimensions: lhs_contracting 1 int64 repeated
Instruction: name 1 bytes, opcode 2 bytes, shape 3 Shape, metadata 7 OpMetadata, parameter_number 9 int64,
    fusion_kind 11 bytes, window 15 Window, convolution_dimensions 16 ConvolutionDimensions,
    custom_call_target 28 bytes, dot_dimensions 30 DotDimensions, id 35 int64, operand_ids 36 int64 repeated,
    called_computation_ids 38 int64 repeated, backend_config 43 bytes, feature_group_count 50 int64,
    batch_group_count 58 int64
Computation: name 1 bytes, instructions 2 bytes repeated, id 5 int64, root_id 6 int64
FileLocation: file_name_id 1 int32, function_name_id 2 int32, line 3 int32
StackFrame: file_location_id 1 int32, parent_frame_id 2 int32
StackFrameIndex: file_names 1 bytes repeated, function_names 2 bytes repeated,
    file_locations 3 FileLocation repeated, stack_frames 4 StackFrame repeated
Module: name 1 bytes, computations 3 Computation repeated, id 5 int64, stack_frame_index 17 StackFrameIndex
Wrapped: hlo_module 1 Module
Place: shape_index 3 int64 repeated, instruction_id 4 int64
LogicalBuffer: id 1 int64, size 2 int64, defined_at 3 Place
Assigned: logical_buffer_id 1 int64
Allocation: size 2 int64, is_thread_local 3 bool, is_entry_computation_parameter 5 bool, maybe_live_out 7 bool,
    assigned 9 Assigned repeated, is_constant 12 bool
HeapEvent: kind 1 int32, buffer_id 2 int64, share_with_canonical_id 5 int64
HeapTrace: events 1 HeapEvent repeated
Buffers: logical_buffers 1 LogicalBuffer repeated, buffer_allocations 3 Allocation repeated,
    heap_simulator_traces 4 HeapTrace repeated
NamedInstruction: name 1 bytes, id 35 int64
NamedComputation: instructions 2 NamedInstruction repeated
NamedModule: computations 3 NamedComputation repeated
WithBuffers: hlo_module 1 NamedModule, buffer_assignment 3 Buffers
Snapshot: hlo 1 Wrapped
""",
)
"""The instructions of a computation are so many that NumPy decodes them."""
FIELDS = {kind: {name: number for name, number, _ in fields} for kind, fields in MESSAGES.schema.items()}


def parse_module(data: bytes) -> Any:
    """The Module message of a blob, be it an HloProto (what profilers write), a bare HloModuleProto or an HloSnapshot."""
    from google.protobuf.message import DecodeError

    for kind in ("Wrapped", "Module", "Snapshot"):
        try:
            message = MESSAGES[kind].FromString(data)
        except DecodeError:
            continue
        message = message.hlo if kind == "Snapshot" else message
        module = message if kind == "Module" else message.hlo_module
        if module.computations:
            return module
    raise no_module(data)


def no_module(data: bytes) -> TraceError:
    return TraceError(f"{len(data)} bytes that start with {data[:8].hex(' ')} hold no HLO module: capture it again.")


@dataclass(frozen=True, eq=False, repr=False)
class Frames:
    """Frames of tracebacks: `parent` is the caller's row, -1 for the outermost."""

    parent: Int32 = field(default_factory=lambda: np.empty(0, np.int32))
    file: tuple[str, ...] = ()
    line: Int32 = field(default_factory=lambda: np.empty(0, np.int32))
    function: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze(getattr(self, column.name) for column in fields(self))

    def stack(self, frame: int) -> tuple[tuple[str, int, str], ...]:
        """File, line and function from `frame` outwards; empty for -1."""
        found: list[tuple[str, int, str]] = []
        while 0 <= frame < len(self.file) and len(found) < len(self.file):  # a damaged file may hold a cycle
            found.append((self.file[frame], int(self.line[frame]), self.function[frame]))
            frame = int(self.parent[frame])
        return tuple(found)


@dataclass(frozen=True, eq=False, repr=False)
class Dots:
    """What each `dot`, or call of cuBLAS, sums over."""

    instruction: Int64
    n_elements: Int64
    n_bytes: Int64
    """Of the product: a call of cuBLAS has room to work in as a second result."""
    offsets: Int64
    lhs_contracting: Int64
    """CSR: dimensions of the first operand."""

    def __post_init__(self) -> None:
        freeze(getattr(self, column.name) for column in fields(self))


@dataclass(frozen=True)
class WindowDimension:
    """How a window slides along one spatial dimension."""

    size: int
    stride: int
    padding_low: int
    window_dilation: int
    base_dilation: int
    input_size: int
    output_size: int


@dataclass(frozen=True)
class Convolution:
    """How a `convolution`, or a call of cuDNN, slides its kernel. The gradients of one cost as many operations as it."""

    instruction: int
    window: tuple[WindowDimension, ...]
    input_features: int
    """Of one group."""
    output_features: int
    batch: int
    """Of one group."""
    n_bytes: int
    """Of the result: a call of cuDNN has room to work in as a second one."""
    reads_input: bool
    """Whether its first operand is what the window slides over: not of a gradient of that."""
    is_base_dilated: bool
    is_window_dilated: bool


TUPLE = 13
MAX_SIZE = 2**62
_MAX_PARTS = 50
_TYPES = {
    1: ("pred", 8), 2: ("s8", 8), 3: ("s16", 16), 4: ("s32", 32), 5: ("s64", 64), 6: ("u8", 8), 7: ("u16", 16),
    8: ("u32", 32), 9: ("u64", 64), 10: ("f16", 16), 11: ("f32", 32), 12: ("f64", 64), 14: ("opaque", 0),
    15: ("c64", 64), 16: ("bf16", 16), 17: ("token", 0), 18: ("c128", 128), 19: ("f8e5m2", 8), 20: ("f8e4m3fn", 8),
    21: ("s4", 4), 22: ("u4", 4), 23: ("f8e4m3b11fnuz", 8), 24: ("f8e5m2fnuz", 8), 25: ("f8e4m3fnuz", 8), 26: ("s2", 2),
    27: ("u2", 2), 28: ("f8e4m3", 8), 29: ("f8e3m4", 8), 30: ("s1", 1), 31: ("u1", 1), 32: ("f4e2m1fn", 4),
    33: ("f8e8m0fnu", 8),
}  # fmt: skip
"""Name and bits of an element of each `PrimitiveType` of xla_data.proto."""


def size_of(shape: Any) -> tuple[int, int]:
    """Elements and bytes of a shape, at most `MAX_SIZE`; those of a tuple are summed over its parts."""
    if shape.element_type == TUPLE:
        sizes = [size_of(part) for part in shape.tuple_shapes]  # as deep as protobuf allows messages to nest: 100
        return min(sum(size[0] for size in sizes), MAX_SIZE), min(sum(size[1] for size in sizes), MAX_SIZE)
    bits = _TYPES.get(shape.element_type, ("", 0))[1]
    n_elements = 1 if bits else 0
    for dim in shape.dimensions:
        n_elements = min(n_elements * max(dim, 0), MAX_SIZE)
    return n_elements, min(-(-n_elements * bits // 8), MAX_SIZE)


def layout_of(shape: Any) -> Sequence[int]:
    """The dimensions from minor to major; in C order where the file does not say."""
    minor: Sequence[int] = shape.layout.minor_to_major
    n_dims = len(shape.dimensions)
    return minor if len(minor) == n_dims else range(n_dims - 1, -1, -1)


def shape_text(shape: Any) -> str:
    """The text of a shape; a tuple of hundreds of parts says how many it leaves out."""
    if shape.element_type != TUPLE:
        layout = layout_of(shape)
        name = _TYPES.get(shape.element_type, ("?", 0))[0]
        return f"{name}[{','.join(map(str, shape.dimensions))}]" + (
            f"{{{','.join(map(str, layout))}}}" if len(layout) else ""
        )
    parts = [shape_text(part) for part in shape.tuple_shapes[:_MAX_PARTS]]
    n_parts = len(shape.tuple_shapes)
    if n_parts > _MAX_PARTS:
        parts.append(f"... {_MAX_PARTS} of {n_parts} parts")
    return f"({', '.join(parts)})"


@dataclass(frozen=True, eq=False, repr=False)
class Texts(Sequence[str]):
    """Texts by row. As a sequence of strings it costs an object a row: analyses of many rows use `code`."""

    code: Int64
    """Which of the distinct ones each row has."""
    distinct: tuple[str, ...]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        return cls.coded(np.arange(len(texts)), texts)

    @classmethod
    def coded(cls, code: Int64, texts: Iterable[str]) -> Texts:
        """Those of a table that may hold a text several times."""
        texts = tuple(texts)
        number = dict.fromkeys(texts)
        if len(number) == len(texts):
            return cls(code, texts)
        place = dict(zip(number, range(len(number)), strict=True))
        distinct = np.fromiter(map(place.__getitem__, texts), np.int64, len(texts))
        return cls(distinct[code], tuple(place))

    def __post_init__(self) -> None:
        self.code.flags.writeable = False

    def __len__(self) -> int:
        return len(self.code)

    def __iter__(self) -> Iterator[str]:
        return map(self.distinct.__getitem__, self.code.tolist())

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> tuple[str, ...]: ...
    def __getitem__(self, row: int | slice) -> str | tuple[str, ...]:
        return tuple(self.at(self.code[row])) if isinstance(row, slice) else self.distinct[int(self.code[row])]

    def at(self, code: Int64) -> list[str]:
        return list(map(self.distinct.__getitem__, code.tolist()))

    def is_in(self, texts: Collection[str]) -> Bool:
        return np.array([one in texts for one in self.distinct], np.bool_)[self.code]

    def code_of(self, text: str) -> int:
        """The code of a text, -1 where no row has it."""
        return self._codes.get(text, -1)

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {text: code for code, text in enumerate(self.distinct)}


class DamagedInstructionsError(Exception):
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
        content = self._view.content
        return [content[low:high] for low, high in zip(self._begin.tolist(), self._end.tolist(), strict=True)]

    def texts(self, code: Int64 | None = None) -> Texts:
        """The field as texts, of each message, or of each of `code`; bytes that are no UTF-8 become escapes."""
        return Texts.coded(self.code if code is None else self.code[code], all_decoded(self.raws))

    def fields(self, wanted: Collection[int]) -> FieldRows:
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
        first = distinct("fusion_kind")
        code = np.where(first.code > 0, first.code, len(first.raws) + self.custom_call_target.code)
        self.detail = Texts.coded(code, all_decoded(first.raws + self.custom_call_target.raws))
        self.backend_config = distinct("backend_config")
        self.dot_dimensions = distinct("dot_dimensions")
        self.dots = self.dot_dimensions.messages("DotDimensions", odd)
        window = distinct("window")
        windows = window.messages("Window", odd)
        sizes = [min(math.prod(max(side.size, 1) for side in one.dimensions), MAX_SIZE) for one in windows]
        self.window_elements = np.array(sizes, np.int64)[window.code]
        distinct("convolution_dimensions").messages("ConvolutionDimensions", odd)
        self.id = fields.varint(number["id"])
        self.n_operands, self.operand_id = fields.packed(number["operand_ids"])
        self.n_called, self.called_id = fields.packed(number["called_computation_ids"])
        for name in ("feature_group_count", "batch_group_count"):
            fields.varint(number[name])
        return odd

    def message(self, row: int) -> Any:
        return MESSAGES["Instruction"].FromString(self._raw(row))

    def _raw(self, row: int) -> bytes:
        return self._content[self._begin[row] : self._end[row]]

    def per_shape(self, function: Callable[[Any], Any], dtype: type) -> Any:
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


_CUBLAS = b"__cublas$"
_CUDNN = b"__cudnn$conv"
_INPUT_GRADIENT = b"__cudnn$convBackwardInput"
_FILTER_GRADIENT = b"__cudnn$convBackwardFilter"
_MAX_DIMS = 2**31


def first_result(shape: Any) -> Any:
    """The shape of what an instruction gives, of several results of the first: the others are room that a library works in."""
    return shape.tuple_shapes[0] if shape.element_type == TUPLE and shape.tuple_shapes else shape


def dots_of(fields: InstructionFields) -> Dots:
    """All matrix products that say what they sum over."""
    is_dot, is_call = fields.opcode.is_in(("dot",)), _calls(fields, _CUBLAS)
    rows = np.flatnonzero(is_dot | is_call)
    n_dots, config = len(fields.dots), fields.backend_config
    told: list[Sequence[int] | None] = [one.lhs_contracting for one in fields.dots]
    told += [None] * len(config.raws)
    for code in np.unique(config.code[is_call]).tolist():
        told[n_dots + code] = _contracted_by_cublas(config.raws[code])
    code = np.where(is_dot, fields.dot_dimensions.code, n_dots + config.code)[rows]
    is_told = np.array([one is not None for one in told], np.bool_)[code]
    rows, code = rows[is_told], code[is_told]
    kept = [[dim for dim in one or () if 0 <= dim < _MAX_DIMS] for one in told]
    n = np.array([len(one) for one in kept], np.int64)
    dims = np.array([dim for one in kept for dim in one], np.int64)
    first = np.cumsum(n) - n
    n_elements, n_bytes = fields.sizes(lambda shape: size_of(first_result(shape)), rows)
    return Dots(
        instruction=rows,
        n_elements=n_elements,
        n_bytes=n_bytes,
        offsets=np.append(0, np.cumsum(n[code])),
        lhs_contracting=dims[ranges(first[code], n[code])],
    )


def _calls(fields: InstructionFields, library: bytes) -> Bool:
    target = fields.custom_call_target
    is_of_it = np.array([raw.startswith(library) for raw in target.raws], np.bool_)
    return fields.opcode.is_in(("custom-call",)) & is_of_it[target.code]


def _contracted_by_cublas(config: bytes) -> tuple[int, ...] | None:
    """The dimensions of the first operand that a call sums over; None where unknown."""
    try:
        told = json.loads(config)
        gemm = told.get("gemm_backend_config", told)
        return tuple(int(dim) for dim in gemm["dot_dimension_numbers"]["lhs_contracting_dimensions"])
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        OverflowError,
        RecursionError,
    ):  # of another version, or damaged
        return None


def convolutions_of(fields: InstructionFields, offsets: Int64, operand: Int64) -> tuple[Convolution, ...]:
    """All convolutions whose operands are known; those of instruction `i` are `operand[offsets[i]:offsets[i + 1]]`."""
    found = []
    for row in np.flatnonzero(fields.opcode.is_in(("convolution",)) | _calls(fields, _CUDNN)).tolist():
        read = operand[offsets[row] : offsets[row + 1]].tolist()
        shapes = [fields.shapes[fields.shape.code[one]] if one >= 0 else None for one in read]
        instruction = fields.message(row)
        sides = _convolved(instruction, shapes)
        if sides is not None:
            found.append(_convolution(row, instruction, *sides))
    return tuple(found)


def _is_input_gradient(instruction: Any) -> bool:
    """Whether cuDNN computes the gradient of a convolution's input: of input and output it then reads the output."""
    found: bool = instruction.custom_call_target.startswith(_INPUT_GRADIENT)
    return found


def _convolved(instruction: Any, operands: Sequence[Any]) -> tuple[Any, Any] | None:
    """Input and output of a convolution as dimensions, of a gradient of one those of the convolution itself."""
    target = instruction.custom_call_target
    is_call = instruction.opcode == b"custom-call" and target.startswith(_CUDNN)
    if not is_call and instruction.opcode != b"convolution":
        return None
    result = first_result(instruction.shape)
    data, other = (*operands[:2], None, None)[:2]
    if is_call and _is_input_gradient(instruction):
        data, result = result, data
    elif is_call and target.startswith(_FILTER_GRADIENT):
        result = other
    return None if data is None or result is None else (data.dimensions, result.dimensions)


def _convolution(row: int, instruction: Any, base: Any, output: Any) -> Convolution:
    numbers = instruction.convolution_dimensions
    sides = instruction.window.dimensions
    window = tuple(
        WindowDimension(
            size=side.size,
            stride=max(side.stride, 1),
            padding_low=side.padding_low,
            window_dilation=max(side.window_dilation, 1),
            base_dilation=max(side.base_dilation, 1),
            input_size=_dim(base, _dim(numbers.input_spatial, i, -1)),
            output_size=_dim(output, _dim(numbers.output_spatial, i, -1)),
        )
        for i, side in enumerate(sides)
    )
    return Convolution(
        instruction=row,
        window=window,
        input_features=_dim(base, numbers.input_feature) // max(instruction.feature_group_count, 1),
        output_features=_dim(output, numbers.output_feature),
        batch=_dim(base, numbers.input_batch) // max(instruction.batch_group_count, 1),
        n_bytes=size_of(first_result(instruction.shape))[1],
        reads_input=not _is_input_gradient(instruction),
        is_base_dilated=any(side.base_dilation > 1 for side in sides),
        is_window_dilated=any(side.window_dilation > 1 for side in sides),
    )


def _dim(dims: Any, index: int, default: int = 0) -> int:
    return int(dims[index]) if 0 <= index < len(dims) else default
