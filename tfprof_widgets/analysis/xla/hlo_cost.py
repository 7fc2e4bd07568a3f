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
from ...formats.hlo.parts import WindowDimension
from ...trace.stat_shapes import ranges
from ...trace.trace import Float64, Int64
from .hlo_bytes import FREE, estimate_bytes, first_operand, last_operand
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
    opcode = modules.opcode
    flops = np.zeros(modules.n_instructions)
    simple = opcode.is_in(ELEMENTWISE - TRANSCENDENTAL - {"constant", "map", "rng"})
    flops[simple] = modules.n_elements[simple]
    dots = modules.dots
    flops[dots.instruction] = 2.0 * dots.n_elements * _contracted(modules)
    for convolution in modules.convolutions:
        multiplied = _positions if opcode[convolution.instruction] == "convolution" else _places
        positions = math.prod(multiplied(side) for side in convolution.window)
        features = float(convolution.input_features) * convolution.output_features
        flops[convolution.instruction] = 2.0 * features * convolution.batch * positions
    unknown = opcode.is_in(("custom-call",))
    unknown[dots.instruction] = False
    unknown[[one.instruction for one in modules.convolutions]] = False
    flops[unknown] = np.nan
    in_elements = _first_elements(modules)
    _add_called(modules, flops, in_elements)
    np.clip(flops, 0.0, _MOST, out=flops)  # a damaged module must not make a share of infinity
    work = _work(modules, np.nan_to_num(flops), in_elements)
    return HloCosts(flops=flops, bytes_accessed=estimate_bytes(modules), work=work)


def _contracted(modules: HloModules) -> Float64:
    """How many elements each dot sums over; none where the file does not hold its first operand."""
    dots = modules.dots
    operand = first_operand(modules, dots.instruction)
    owner = np.repeat(np.arange(len(operand)), np.diff(dots.offsets))
    first, n_dims = (
        (modules.dim_offsets[np.maximum(operand + at, 0)] for at in (0, 1)) if len(operand) else (operand,) * 2
    )
    n_dims = n_dims - first
    is_there = (dots.lhs_contracting < n_dims[owner]) & (operand[owner] >= 0)
    owner, dim = owner[is_there], dots.lhs_contracting[is_there]
    size = np.where(operand >= 0, 1.0, 0.0)
    np.multiply.at(size, owner, modules.dims[first[owner] + dim].astype(np.float64))
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
    first = first_operand(modules, np.arange(modules.n_instructions))
    held = np.append(modules.n_elements, 0)
    return held[first].astype(np.float64)


def _add_called(modules: HloModules, flops: Float64, in_elements: Float64) -> None:
    """Flops of instructions that call computations, of each behind those of the computations."""
    of_computation = np.zeros(len(modules.root))
    n_called = np.diff(modules.called_offsets)
    for computations in modules.levels:
        rows = modules.rows_of(computations)
        callers = rows[n_called[rows] > 0]
        called = modules.called[ranges(modules.called_offsets[callers], n_called[callers])]
        owner = np.repeat(np.arange(len(callers)), n_called[callers])
        inner = np.bincount(owner, of_computation[called], minlength=len(callers)).astype(np.float64)
        flops[callers] = _with_called(modules, callers, inner, flops[callers], in_elements[callers])
        n_rows = modules.instruction_offsets[computations + 1] - modules.instruction_offsets[computations]
        owner = np.repeat(np.arange(len(computations)), n_rows)
        of_computation[computations] = np.bincount(owner, flops[rows], minlength=len(computations))


def _with_called(modules: HloModules, rows: Int64, inner: Float64, own: Float64, in_elements: Float64) -> Float64:
    """Flops of some instructions, given those of one execution of what they call, their own and the elements they read."""
    n_elements = modules.n_elements[rows]
    n_parts = np.maximum((modules.operand_offsets[rows + 1] - modules.operand_offsets[rows]) // 2, 1)
    added = last_operand(modules, rows)  # of a scatter, a value that it adds each
    times = {
        _INLINE: np.ones(len(rows)),
        ("reduce",): np.maximum(in_elements - n_elements / n_parts, 0.0),
        ("reduce-window",): (modules.window_elements[rows] - 1) * n_elements / n_parts,
        ("scatter",): modules.n_elements[np.where(added < 0, rows, added)],
        ("map", "all-reduce", "reduce-scatter", "select-and-scatter"): n_elements,
    }
    found = own.copy()
    for opcodes, factor in times.items():
        is_it = modules.opcode.is_in(opcodes)[rows]
        found[is_it] = (inner * factor)[is_it]
    return found


def _work(modules: HloModules, flops: Float64, in_elements: Float64) -> Float64:
    elements = np.where(modules.opcode.is_in(("reduce", "reduce-window")), in_elements, modules.n_elements)
    work: Float64 = np.where(modules.opcode.is_in(_WORKLESS), 0.0, np.maximum(flops, elements))
    return work
