"""Instructions of HLO modules -> the bytes that one execution of each is estimated to move.

Our estimates from shapes, for traces that carry no figures of their own; where XLA's HloCostAnalysis is simple they are its:

- operands plus result, of a call of a library without the room that it works in. What only renames moves none.
- a slice reads what it gives, an update reads and writes what it changes; a scatter reads what it adds to as well.
- a fusion moves its operands and its result; of an operand that it only slices the slices, of a result that it only updates
  what it changes.
- a convolution whose stride is beyond its window reads what the window meets.

What stays in a cache moves, too: a rate beyond that of the device's memory is one of its cache.
"""

from __future__ import annotations

import numpy as np

from ...formats.hlo.modules import HloModules
from ...formats.hlo.parts import Convolution
from ...trace.trace import Bool, Float64, Int64

FREE = ("bitcast", "constant", "get-tuple-element", "parameter", "tuple", "after-all", "opt-barrier", "add-dependency")
"""Opcodes that only rename."""
_SLICES = ("slice", "dynamic-slice", "gather")
_UPDATE = "dynamic-update-slice"


def estimate_bytes(modules: HloModules) -> Float64:
    """The bytes of every instruction of every module; see the module's docstring for the rules."""
    opcode = modules.opcode
    own = modules.n_bytes.astype(np.float64)
    own[modules.dots.instruction] = modules.dots.n_bytes
    for one in modules.convolutions:
        own[one.instruction] = one.n_bytes
    reader, _, operand = _reads(modules)
    n_bytes = own + np.bincount(reader, weights=modules.n_bytes[operand], minlength=len(own))
    for convolution in modules.convolutions:
        n_bytes[convolution.instruction] -= _skipped_bytes(modules, convolution)
    sliced, updated, added = opcode.is_in(_SLICES), opcode.is_in((_UPDATE,)), _is_scatter(modules)
    n_bytes[sliced] = 2 * own[sliced]
    for rows, slot in ((np.flatnonzero(updated), 1), (np.flatnonzero(added), 2)):
        update = _operand(modules, rows, slot)
        own[rows] = np.where(update >= 0, np.minimum(modules.n_bytes[update], own[rows]), own[rows])
    n_bytes[updated] = 2 * own[updated]
    n_bytes[added] -= 2 * (modules.n_bytes[added] - own[added])
    fused = np.flatnonzero(opcode.is_in(("fusion",)) & (np.diff(modules.called_offsets) == 1))
    n_bytes[fused] -= _spared_bytes(modules, own)[modules.called[modules.called_offsets[fused]]]
    n_bytes[opcode.is_in(FREE)] = 0.0
    return np.maximum(n_bytes, 0.0)  # of a damaged module a parameter may be larger than what stands for it


def _is_scatter(modules: HloModules) -> Bool:
    """Which add one array to parts of another."""
    return np.asarray(modules.opcode.is_in(("scatter",)) & (np.diff(modules.operand_offsets) == 3))


def _skipped_bytes(modules: HloModules, convolution: Convolution) -> float:
    """What a convolution does not read of its input: with a stride beyond the window some of it meets none."""
    (data,) = first_operand(modules, np.array([convolution.instruction])).tolist()
    if data < 0 or not convolution.reads_input:
        return 0.0
    met = 1.0
    for side in convolution.window:
        if side.size < side.stride and side.base_dilation == 1 and side.input_size > 0:
            met *= min(side.size * side.output_size / side.input_size, 1.0)
    return (1 - met) * float(modules.n_bytes[data])


def _spared_bytes(modules: HloModules, written: Float64) -> Float64:
    """Of the parameters and the result of each computation what it neither reads nor writes."""
    n = modules.n_instructions
    reader, is_first, operand = _reads(modules)
    added = _is_scatter(modules)
    updated = modules.opcode.is_in((_UPDATE,)) | added
    is_slice = is_first & (modules.opcode.is_in(_SLICES) | added)[reader]
    is_update = is_first & updated[reader]
    is_read_whole = np.bincount(operand[~(is_slice | is_update)], minlength=n) > 0
    is_read_partly = np.bincount(operand[is_slice | is_update], minlength=n) > 0
    slices = np.bincount(operand[is_slice], weights=written[reader[is_slice]], minlength=n)
    spared: Float64 = np.where(is_read_partly & ~is_read_whole, np.maximum(modules.n_bytes - slices, 0), 0.0)
    spared[~modules.opcode.is_in(("parameter",))] = 0.0
    results = np.unique(np.append(modules.root[modules.root >= 0], operand[_is_root_tuple(modules)[reader]]))
    updates = results[updated[results]]
    spared[updates] = modules.n_bytes[updates].astype(np.float64) - written[updates]
    return np.asarray(np.bincount(modules.computation, weights=spared, minlength=len(modules.root)), np.float64)


def _is_root_tuple(modules: HloModules) -> Bool:
    is_root = np.zeros(modules.n_instructions, np.bool_)
    is_root[modules.root[modules.root >= 0]] = True
    return np.asarray(is_root & modules.opcode.is_in(("tuple",)))


def _reads(modules: HloModules) -> tuple[Int64, Bool, Int64]:
    """Every pair of an instruction and an operand that the file holds: the one, whether the other is its first, the other."""
    reader = np.repeat(np.arange(modules.n_instructions), np.diff(modules.operand_offsets))
    is_first = np.arange(len(reader)) == modules.operand_offsets[reader]
    held = modules.operand >= 0
    return reader[held], is_first[held], modules.operand[held]


def first_operand(modules: HloModules, rows: Int64) -> Int64:
    """The first operand of each of some instructions, -1 where it has none or the file does not hold it."""
    return _operand(modules, rows, 0)


def last_operand(modules: HloModules, rows: Int64) -> Int64:
    """The last operand of each of some instructions, -1 where it has none or the file does not hold it."""
    return _operand(modules, rows, modules.operand_offsets[rows + 1] - modules.operand_offsets[rows] - 1)


def _operand(modules: HloModules, rows: Int64, slot: int | Int64) -> Int64:
    at = modules.operand_offsets[rows] + slot
    has = (at < modules.operand_offsets[rows + 1]) & (at >= modules.operand_offsets[rows])
    found = np.full(len(rows), -1, np.int64)
    found[has] = modules.operand[at[has]]
    return found
