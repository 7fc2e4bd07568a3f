"""Units that ran -> the framework ops that they stand for, and in which proportion.

An ordinary op stands for itself. An HLO op stands for the framework op in its metadata; a fusion for those of all
instructions fused into it: its time is shared over the instructions of its computation that name a framework op, in
proportion to their estimated work (`HloCosts.work`): flops, at least one per element of the result, nothing for what only
renames or repeats data (parameters, constants, bitcasts, broadcasts). Instructions that XLA added without a name count for
nobody, so the named ones carry them. An op that several fusions recompute gets a share of each: recomputing costs.
An HLO op of which no part has a name, such as a copy into another layout, works for the op that reads its result: it
stands for the nearest op with a name that does, or else for the nearest whose result it reads (`hlo_neighbours.py`).

Differs from XProf: it charges a whole fusion to the framework op of its root, and shows no compiled op of a host at all.

Source: semantics 4.2, 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ...formats.hlo.modules import HloModules
from ...formats.hlo.parts import Frames
from ...trace.trace import Bool, Float64, Int32, Int64
from ..base.framework_names import framework_op
from ..xla.hlo_cost import HloCosts, estimate_costs
from ..xla.hlo_neighbours import Neighbours
from ..xla.hlo_units import HloUnits
from .op_occurrences import Occurrences

Values = TypeVar("Values", Bool, Int64, Float64)

_INLINE = ("fusion", "call", "async-start")


@dataclass(frozen=True, eq=False, repr=False)
class OpShares:
    """The table of framework ops (one entry each in `name`, `type`, `is_device`, `is_eager`) and who stands for them.

    Framework op `i` is unit `i` as long as that is an ordinary op; then follow those that only compiled programs ran.
    """

    name: tuple[str, ...]
    """As in the traced graph; an HLO op that belongs to no framework op is one of its own, under its HLO name."""
    type: tuple[str, ...]
    """Op type; of an HLO op that belongs to no framework op its category."""
    is_device: Bool
    is_eager: Bool
    source_file: tuple[str, ...]
    source_line: Int32
    """Where the compiled program says that the op was made; "" and -1 unknown, as for all ordinary ops."""
    frame: Int32
    """The innermost frame of its traceback, a row of `frames`; -1 unknown."""
    frames: Frames

    unit: Int32
    op: Int32
    ratio: Float64
    """One row per pair, sorted by unit: `ratio` of unit `unit` is framework op `op`. The ratios of a unit add up to 1."""
    dominant: Int32
    """For each unit the framework op with its largest share."""
    is_identity: bool
    """Whether every unit is an ordinary op: no compiled program ran."""

    flops: Float64
    bytes_accessed: Float64
    """For each unit, of one execution: as the trace says, else estimated (see `hlo_cost.py`); NaN for ordinary ops."""

    def __len__(self) -> int:
        return len(self.name)

    def spread(self, of_unit: Int64 | Float64) -> Int64 | Float64:
        """Amounts of units, spread over the framework ops that they stand for; the first axis is that of the units."""
        if self.is_identity:
            return of_unit
        total = np.zeros((len(self), *of_unit.shape[1:]), np.float64)
        np.add.at(total, self.op, (of_unit[self.unit].T * self.ratio).T)
        return total

    def largest(self, of_unit: Values) -> Values:
        """For each framework op the largest value among the units that stand for it, 0 at least."""
        if self.is_identity:
            return of_unit
        most = np.zeros((len(self), *of_unit.shape[1:]), of_unit.dtype)
        np.maximum.at(most, self.op, of_unit[self.unit])
        return most


def compute_op_shares(occurrences: Occurrences) -> OpShares:
    """Name the framework ops of every unit; see the module's docstring for the rule.

    Args:
        occurrences: the result of `op_occurrences(trace)`.
    """
    n_ops, n_units = occurrences.n_ops, len(occurrences.name)
    table = _Table(occurrences)
    unit, op, ratio = [np.arange(n_ops, dtype=np.int64)], [np.arange(n_ops, dtype=np.int64)], [np.ones(n_ops)]
    units = occurrences.hlo
    costs = estimate_costs(units.modules)
    fusions = _Fusions(units.modules, costs)
    for row in range(len(units)):  # bounded by the size of the programs
        keys, weights = fusions.shares(int(units.instruction[row]))
        found = [table.of_key(units, row, fusions, key) for key in keys] or [table.of_unit(units, row)]
        unit.append(np.full(len(found), n_ops + row, np.int64))
        op.append(np.array(found, np.int64))
        ratio.append(np.array(weights or [1.0]))
    pairs = np.concatenate(unit), np.concatenate(op), np.concatenate(ratio)
    flops, n_bytes = _costs(units, costs)
    return OpShares(
        **table.columns(),
        frames=units.modules.frames,
        unit=pairs[0].astype(np.int32),
        op=pairs[1].astype(np.int32),
        ratio=pairs[2],
        dominant=dominant_ops(*pairs, n_units),
        is_identity=not len(units),
        flops=np.concatenate([np.full(n_ops, np.nan), flops]),
        bytes_accessed=np.concatenate([np.full(n_ops, np.nan), n_bytes]),
    )


def dominant_ops(unit: Int64, op: Int64, ratio: Float64, n_units: int) -> Int32:
    """`OpShares.dominant` of its rows."""
    order = np.lexsort((op, -ratio, unit))
    first = np.flatnonzero(np.diff(unit[order], prepend=-1))
    dominant = np.empty(n_units, np.int32)
    dominant[unit[order[first]]] = op[order[first]]
    return dominant


def _costs(units: HloUnits, costs: HloCosts) -> tuple[Float64, Float64]:
    known = units.instruction >= 0
    found = []
    for told, estimate in ((units.flops, costs.flops), (units.bytes_accessed, costs.bytes_accessed)):
        column = told.copy()
        missing = known & np.isnan(column)
        column[missing] = estimate[units.instruction[missing]]
        found.append(column)
    return found[0], found[1]


class _Fusions:
    """What the instructions of modules stand for; a key is an instruction that names a framework op, one for each name."""

    def __init__(self, modules: HloModules, costs: HloCosts) -> None:
        self.modules = modules
        self._costs = costs
        self._neighbours = Neighbours(modules)
        self._key_of_name: dict[tuple[str, str], int] = {}
        self._of_computation: dict[int, dict[int, float]] = {}

    def key(self, row: int) -> int:
        """The first instruction met that names the same framework op; -1 where this one names none."""
        name = self.modules.op_name[row]
        return self._key_of_name.setdefault((name, self.modules.op_type[row]), row) if name else -1

    def shares(self, row: int) -> tuple[list[int], list[float]]:
        """Keys of an instruction and their ratios, which add up to 1; empty when neither it nor any part of it has a name."""
        if row < 0:
            return [], []
        work = self._work_of(row)
        total = sum(work.values())
        if total > 0:
            found = {key: part / total for key, part in work.items() if part > 0}
        else:
            key = self.key(row) if self.key(row) >= 0 else max(work, default=-1)
            found = {key: 1.0} if key >= 0 else {}
        if not found and (neighbour := self._neighbours.named(row)) >= 0:
            found = {self.key(neighbour): 1.0}
        return list(found), list(found.values())

    def _work_of(self, row: int) -> dict[int, float]:
        """Work by key of one instruction; of a fusion that of all its instructions."""
        modules = self.modules
        called = modules.called[modules.called_offsets[row] : modules.called_offsets[row + 1]].tolist()
        if modules.opcode[row] in _INLINE and called:
            found: dict[int, float] = {}
            for computation in called:
                for key, part in self._work_in(computation).items():
                    found[key] = found.get(key, 0.0) + part
            if found:
                return found
        key = self.key(row)
        return {key: float(self._costs.work[row])} if key >= 0 else {}

    def _work_in(self, computation: int) -> dict[int, float]:
        """Work by key of a whole computation. A called one comes earlier in its file, so the depth is bounded by its size."""
        known = self._of_computation.get(computation)
        if known is not None:
            return known
        found: dict[int, float] = {}
        low, high = self.modules.instruction_offsets[computation : computation + 2].tolist()
        for row in range(low, high):
            for key, part in self._work_of(row).items():
                found[key] = found.get(key, 0.0) + part
        self._of_computation[computation] = found
        return found


class _Table:
    """The table of framework ops, growing."""

    def __init__(self, occurrences: Occurrences) -> None:
        n_ops = occurrences.n_ops
        self._name, self._type = list(occurrences.name[:n_ops]), list(occurrences.type[:n_ops])
        self._is_device = occurrences.is_device[:n_ops].tolist()
        self._is_eager = occurrences.is_eager[:n_ops].tolist()
        self._source: list[tuple[str, int, int]] = [("", -1, -1)] * n_ops
        self._rows: dict[tuple[bool, str], int] = {}
        for row, key in enumerate(zip(self._is_device, self._name, strict=True)):
            self._rows.setdefault(key, row)

    def of_key(self, units: HloUnits, unit: int, fusions: _Fusions, key: int) -> int:
        """The row of the framework op that instruction `key` names, on the side of `unit`."""
        modules = fusions.modules
        name, kind = framework_op(modules.op_name[key], modules.op_type[key])
        source = modules.source_file[key], int(modules.source_line[key]), int(modules.frame[key])
        return self._row(bool(units.is_device[unit]), name, kind, source)

    def of_unit(self, units: HloUnits, unit: int) -> int:
        """The row for an HLO op whose instruction names nothing: what its event says, else the HLO op itself."""
        file, _, line = units.source[unit].rpartition(":")
        source = (file, int(line), -1) if file and line.isdecimal() and len(line) < 9 else ("", -1, -1)
        name, kind = units.name[unit], units.category[unit]
        if units.provenance[unit]:
            name, kind = framework_op(*_split(units.provenance[unit]))
        return self._row(bool(units.is_device[unit]), name, kind, source)

    def _row(self, is_device: bool, name: str, kind: str, source: tuple[str, int, int]) -> int:
        row = self._rows.setdefault((is_device, name), len(self._name))
        if row == len(self._name):
            self._name.append(name)
            self._type.append(kind)
            self._is_device.append(is_device)
            self._is_eager.append(False)
            self._source.append(source)
        elif not self._source[row][0]:
            self._source[row] = source
        return row

    def columns(self) -> dict[str, Any]:
        """The fields of `OpShares` that describe framework ops."""
        return {
            "name": tuple(self._name),
            "type": tuple(self._type),
            "is_device": np.array(self._is_device, np.bool_),
            "is_eager": np.array(self._is_eager, np.bool_),
            "source_file": tuple(file for file, _, _ in self._source),
            "source_line": np.array([line for _, line, _ in self._source], np.int32),
            "frame": np.array([frame for _, _, frame in self._source], np.int32),
        }


def _split(provenance: str) -> tuple[str, str]:
    name, _, kind = provenance.rpartition(":")
    return (name, kind) if name else (provenance, "")
