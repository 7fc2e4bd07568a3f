"""Instructions -> what they multiply: a `dot` or convolution of their own, or one that XLA has cuBLAS or cuDNN do.

Source: the backend configurations in xla/service/gpu/backend_configs.proto of OpenXLA, which a custom call carries as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...trace.stat_shapes import ranges
from ...trace.trace import Bool, Int64
from .instructions import InstructionFields
from .parts import Convolution, Dots, WindowDimension
from .shapes import TUPLE, size_of

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
    """Which instructions call functions of a library."""
    target = fields.custom_call_target
    is_of_it = np.array([raw.startswith(library) for raw in target.raws], np.bool_)
    found: Bool = fields.opcode.is_in(("custom-call",)) & is_of_it[target.code]
    return found


def _contracted_by_cublas(config: bytes) -> tuple[int, ...] | None:
    """The dimensions of the first operand that a call sums over; None where it does not say."""
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
    """Input and output of a convolution as dimensions, of a gradient of one those of the convolution itself.

    Args:
        instruction: the message.
        operands: the shapes of its operands, None for one that the file does not hold.

    Returns:
        None where the instruction is no convolution, or an operand is missing.
    """
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
