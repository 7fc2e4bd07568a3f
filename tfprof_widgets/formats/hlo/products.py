"""An instruction -> what it multiplies: a `dot` or convolution of its own, or one that XLA has cuBLAS or cuDNN do.

Source: the backend configurations in xla/service/gpu/backend_configs.proto of OpenXLA, which a custom call carries as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .shapes import TUPLE

_CUBLAS = b"__cublas$"
_CUDNN = b"__cudnn$conv"
_INPUT_GRADIENT = b"__cudnn$convBackwardInput"
_FILTER_GRADIENT = b"__cudnn$convBackwardFilter"


def first_result(shape: Any) -> Any:
    """The shape of what an instruction gives, of several results of the first: the others are room that a library works in."""
    return shape.tuple_shapes[0] if shape.element_type == TUPLE and shape.tuple_shapes else shape


def contracted(instruction: Any) -> tuple[int, ...] | None:
    """The dimensions of the first operand that a matrix product sums over; None where it is none, or does not say."""
    if instruction.opcode == b"dot":
        return tuple(instruction.dot_dimensions.lhs_contracting)
    if not (instruction.opcode == b"custom-call" and instruction.custom_call_target.startswith(_CUBLAS)):
        return None
    try:
        config = json.loads(instruction.backend_config)
        gemm = config.get("gemm_backend_config", config)
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


def is_input_gradient(instruction: Any) -> bool:
    """Whether cuDNN computes the gradient of a convolution's input: of input and output it then reads the output."""
    found: bool = instruction.custom_call_target.startswith(_INPUT_GRADIENT)
    return found


def convolved(instruction: Any, operands: Sequence[Any]) -> tuple[Any, Any] | None:
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
    if is_call and is_input_gradient(instruction):
        data, result = result, data
    elif is_call and target.startswith(_FILTER_GRADIENT):
        result = other
    return None if data is None or result is None else (data.dimensions, result.dimensions)
