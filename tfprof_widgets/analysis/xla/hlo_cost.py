"""Instructions of HLO modules -> estimated flops of one execution each; their bytes are in `hlo_bytes.py`.

These are our estimates from shapes, for traces that carry no figures of their own. They follow XLA's HloCostAnalysis where
that is simple:

- `dot`: 2 x elements of the result x elements summed over.
- `convolution`: 2 x features in x features out x batch x the positions at which the window lies on data, per dimension.
- calls of cuBLAS and cuDNN: as the `dot` and the `convolution` that they do, which multiply padding as well; what else a
  custom call does is not known.
- `reduce`: one flop per element that vanishes (for each part of a variadic one); `reduce-window`: one per element of the
  window but the first; `scatter`: one per element that it adds; all times the flops of the reducer.
- element-wise opcodes: one flop per element of the result; those that XLA counts as transcendental (`exp`, `tanh`, ...): none.
- `fusion`, `call`: the sum over the called computation. Everything else: none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...formats.hlo.modules import HloModules
from ...formats.hlo.parts import Dot, WindowDimension
from ...trace.trace import Bool, Float64, Int64
from .hlo_bytes import FREE, estimate_bytes
from .hlo_category import ELEMENTWISE, TRANSCENDENTAL

_INLINE = ("fusion", "call", "async-start")
_WORKLESS = (*FREE, "broadcast", "iota", "reshape", "partition-id", "replica-id")
_MAX_POSITIONS = 10_000_000
_MOST = 1e30


@dataclass(frozen=True, eq=False)
class HloCosts:
    """One entry per instruction, for one execution."""

    flops: Float64
    """NaN where a call is made of which nobody knows what it computes."""
    bytes_accessed: Float64
    work: Float64
    """What a fused instruction costs in proportion to others of its fusion: its flops, at least one per element of its
    result (of its first operand for a reduction) unless it only renames or repeats data."""


def estimate_costs(modules: HloModules) -> HloCosts:
    """The costs of every instruction of every module; see the module's docstring for the rules."""
    opcode = np.array(modules.opcode, dtype=object)
    flops = np.zeros(modules.n_instructions)
    simple = np.isin(opcode, list(ELEMENTWISE - TRANSCENDENTAL - {"constant", "map", "rng"}))
    flops[simple] = modules.n_elements[simple]
    for dot in modules.dots:
        flops[dot.instruction] = 2.0 * dot.n_elements * _contracted(modules, dot.instruction, dot)
    for convolution in modules.convolutions:
        multiplied = _positions if opcode[convolution.instruction] == "convolution" else _places
        positions = math.prod(multiplied(side) for side in convolution.window)
        features = float(convolution.input_features) * convolution.output_features
        flops[convolution.instruction] = 2.0 * features * convolution.batch * positions
    unknown = opcode == "custom-call"
    unknown[[one.instruction for one in modules.dots + modules.convolutions]] = False
    flops[unknown] = np.nan
    in_elements = _first_elements(modules)
    _add_called(modules, opcode, flops, in_elements)
    np.clip(flops, 0.0, _MOST, out=flops)  # a damaged module must not make a share of infinity
    work = _work(modules, opcode, np.nan_to_num(flops), in_elements)
    return HloCosts(flops=flops, bytes_accessed=estimate_bytes(modules), work=work)


def _contracted(modules: HloModules, row: int, dot: Dot) -> float:
    first = modules.operand_offsets[row]
    operand = int(modules.operand[first]) if first < modules.operand_offsets[row + 1] else -1
    if operand < 0:
        return 0.0
    dims = modules.dims[modules.dim_offsets[operand] : modules.dim_offsets[operand + 1]]
    size = 1.0
    for dim in dot.lhs_contracting:
        size *= float(dims[dim]) if 0 <= dim < len(dims) else 1.0
    return size


def _places(side: WindowDimension) -> float:
    """How often an element of the window is multiplied, padding included."""
    return float(max(side.size, 0)) * max(side.output_size, 0)


def _positions(side: WindowDimension) -> float:
    """How often an element of the window meets an element of the input, over all places of the window."""
    if side.size * side.output_size > _MAX_POSITIONS or side.size <= 0 or side.output_size <= 0:
        return _places(side)  # no real layer is as long
    place = np.arange(side.output_size)[:, None] * side.stride + np.arange(side.size) * side.window_dilation
    at = place - side.padding_low
    on_data = (at >= 0) & (at % side.base_dilation == 0) & (at // side.base_dilation < side.input_size)
    return float(np.count_nonzero(on_data))


def _first_elements(modules: HloModules) -> Float64:
    """Elements of the first operand of each instruction."""
    elements = np.zeros(modules.n_instructions)
    has = np.flatnonzero(np.diff(modules.operand_offsets) > 0)
    first = modules.operand[modules.operand_offsets[has]]
    elements[has] = np.where(first >= 0, modules.n_elements[first], 0) if len(first) else 0
    return elements


def _add_called(modules: HloModules, opcode: Int64, flops: Float64, in_elements: Float64) -> None:
    """Flops of instructions that call computations; called ones come first in the file, so one pass suffices."""
    callers = np.flatnonzero(np.diff(modules.called_offsets) > 0)
    low, high = modules.instruction_offsets[:-1], modules.instruction_offsets[1:]
    for row in callers.tolist():  # bounded by the size of the programs
        called = modules.called[modules.called_offsets[row] : modules.called_offsets[row + 1]].tolist()
        inner = sum(float(flops[low[one] : high[one]].sum()) for one in called)
        kind = opcode[row]
        n_parts = max((modules.operand_offsets[row + 1] - modules.operand_offsets[row]) // 2, 1)
        if kind in _INLINE:
            flops[row] = inner
        elif kind == "reduce":
            flops[row] = inner * max(in_elements[row] - modules.n_elements[row] / n_parts, 0.0)
        elif kind == "reduce-window":
            flops[row] = inner * (modules.window_elements[row] - 1) * modules.n_elements[row] / n_parts
        elif kind == "scatter":  # one a value that it adds, as the last operand has them
            added = next(reversed(modules.operands(row)), -1)
            flops[row] = inner * modules.n_elements[row if added < 0 else added]
        elif kind == "map" or kind in ("all-reduce", "reduce-scatter", "select-and-scatter"):
            flops[row] = inner * modules.n_elements[row]


def _work(modules: HloModules, opcode: Int64, flops: Float64, in_elements: Float64) -> Float64:
    elements = np.where(np.isin(opcode, ["reduce", "reduce-window"]), in_elements, modules.n_elements)
    work: Float64 = np.where(_is(opcode, _WORKLESS), 0.0, np.maximum(flops, elements))
    return work


def _is(opcode: Int64, names: tuple[str, ...]) -> Bool:
    return np.asarray(np.isin(opcode, list(names)))
