"""Executions on GPUs -> those that compute on numbers of so many bits that the peaks of their units are not theirs.

Source: semantics 19.1.
"""

from __future__ import annotations

import re

import numpy as np

from ...formats.hlo.modules import HloModules
from ...trace.trace import Bool, Int64, Trace
from ..base.event_names import named_like
from ..ops.kernel_units import SIXTY_FOUR
from ..ops.op_occurrences import Occurrences

_EIGHT_BITS = re.compile(r"e[45]m[23]|fp8|int8|_[iu]8[iu]8|imma|i8816|i16832|nvjet(?:_sm\d+)?_[qr]")
_PRODUCTS = ("dot", "convolution", "custom-call")
_NARROW = (2, 6, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 32)
"""Types of HLO of 8 bits or fewer: integers and floats."""
_WIDE = (12, 18)
"""float64 and complex128."""


def of_other_width(trace: Trace, occurrences: Occurrences, rows: Int64) -> tuple[Bool, Bool]:
    """For some executions whether the kernel is one of a product of 8 bits or fewer, by its name; and whether the op computes in
    such a width or on 64 bits, by its program, or without one on 64 bits by the name of its kernel."""
    event = occurrences.event[rows]
    narrow, wide = (named_like(trace, event, pattern) for pattern in (_EIGHT_BITS, SIXTY_FOUR))
    unit = occurrences.op[rows] - occurrences.n_ops
    instruction = np.append(occurrences.hlo.instruction, -1)[np.where(unit >= 0, unit, -1)]
    ran, place = np.unique(instruction, return_inverse=True)
    modules = occurrences.hlo.modules
    told = np.array([row >= 0 and _is_of_other_width(modules, row) for row in ran.tolist()], np.bool_)[place]
    return narrow, np.where(instruction >= 0, told, wide)


def _is_of_other_width(modules: HloModules, row: int) -> bool:
    """Whether an instruction, or one of those that it calls, is of 64 bits, or a product of 8 or fewer."""
    for one in modules.within(row):
        if modules.dtype[one] in _WIDE:
            return True
        operands = modules.operands(one) if modules.opcode[one] in _PRODUCTS else []
        if operands and operands[0] >= 0 and modules.dtype[operands[0]] in _NARROW:
            return True
    return False
