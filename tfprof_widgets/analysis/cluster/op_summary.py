"""Ops of one host -> columns that travel: executions and time of each unit, and which framework ops it stands for.

summarize_ops(results) -> OpSummary
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...trace.trace import Bool, Float64, Int32, Int64
from ..base.matching import sum_by
from ..ops.ops import OpSums, op_sums
from .columns import interned
from .step_summary import step_kinds

if TYPE_CHECKING:
    from ..facts.facts import Facts

MAX_UNITS = 2_000
"""Of one host those with the most time of their own; that of the others is in one op a side, `OTHERS`."""
OTHERS = "other ops"
"""Name and type of an op that has the executions and times of those left out; no op of TensorFlow has a space in its name."""


@dataclass(frozen=True, eq=False, repr=False)
class OpSummary:
    """What ran on one host. Units are numbered ordinary ops first, then HLO ops, as in `Occurrences`."""

    n_all: int
    """How many units ran; where they are more than `MAX_UNITS`, the last ordinary ops are `OTHERS`."""
    name: tuple[str, ...]
    """One entry per framework op, as are the next: op `i` is unit `i` below `n_ordinary`, then follow those that only
    compiled programs ran, as in `OpShares`."""
    type: tuple[str, ...]
    is_device: Bool
    is_eager: Bool
    is_input: Bool
    """Whether tf.data ran it, see `OpScopes.is_input`."""
    source_file: tuple[str, ...]
    source_line: Int32
    n_ordinary: int
    sums: OpSums
    """One entry per unit, over the whole capture; of the HLO ops in the order of `HostSummary.hlo_ops`."""
    variant_unit: Int32
    variant_name: tuple[str, ...]
    variant_count: Int64
    """One entry per ordinary op of a device and kernel of it: the unit, the kernel's name, how often it ran. The most frequent
    kernel of all hosts together says how often the op was executed."""
    pair_hlo: Int32
    pair_op: Int32
    pair_ratio: Float64
    """One entry per HLO op (counted from 0) and framework op that it stands for, see `OpShares.ratio`."""
    kind_self_ps: Int64
    """Shape (units, numbers in `StepSummary.kind` and a last one for no step): own time by the kind of step."""
    kind_count: Int64
    """Executions likewise."""
    idle_ps: Mapping[str, int]
    """Of each side (`Device`, `Host`) on which anything was observed, as `Results.idle_ps`."""

    def __len__(self) -> int:
        return len(self.sums.count)


@dataclass(frozen=True)
class KeptUnits:
    """Which units travel, and where they go."""

    n_all: int
    ordinary: Int64
    """Units that are ordinary ops, ascending."""
    others: tuple[bool, ...]
    """For each entry `OTHERS`, which follow the ordinary ops, whether it is of devices."""
    hlo: Int64
    """Units that are HLO ops, ascending."""
    place: Int64
    """For each unit its number in the summary, -1 for one that did not run."""

    @property
    def n_ordinary(self) -> int:
        """How many ordinary ops the summary has."""
        return len(self.ordinary) + len(self.others)


def kept_units(results: Facts) -> KeptUnits:
    """Choose the units with the most time of their own, and those ordinary ops that chosen HLO ops stand for, too."""
    occurrences, shares = results.occurrences, results.op_shares
    n_units, n_ops = len(occurrences.name), occurrences.n_ops
    ran = np.unique(occurrences.op).astype(np.int64)
    is_kept = np.zeros(n_units, np.bool_)
    is_kept[ran] = True
    if len(ran) > MAX_UNITS:
        own = sum_by(occurrences.op, occurrences.self_ps, n_units)
        is_kept[ran[np.argsort(-own[ran], kind="stable")[MAX_UNITS:]]] = False
        paired = shares.op[is_kept[shares.unit] & (shares.unit >= n_ops)]
        is_kept[paired[paired < n_ops]] = True
    others = (True, False) if not is_kept[ran].all() else ()
    ordinary, hlo = np.flatnonzero(is_kept[:n_ops]), n_ops + np.flatnonzero(is_kept[n_ops:])
    place = np.full(n_units, -1, np.int64)
    place[ran] = len(ordinary) + np.where(occurrences.is_device[ran], 0, 1)
    place[ordinary] = np.arange(len(ordinary))
    place[hlo] = len(ordinary) + len(others) + np.arange(len(hlo))
    return KeptUnits(len(ran), ordinary, others, hlo, place)


def summarize_ops(results: Facts, units: KeptUnits) -> OpSummary:
    """Add the executions of each unit up."""
    occurrences, shares = results.occurrences, results.op_shares
    n_ops, n, n_more = occurrences.n_ops, units.n_ordinary + len(units.hlo), len(units.others)
    chosen = np.isin(shares.unit, units.hlo)
    compiled = np.unique(shares.op[chosen & (shares.op >= n_ops)]).astype(np.int64)
    op_place = np.full(len(shares), -1, np.int64)
    op_place[units.ordinary] = np.arange(len(units.ordinary))
    op_place[compiled] = units.n_ordinary + np.arange(len(compiled))
    listed = np.concatenate([units.ordinary, np.full(n_more, -1), compiled])

    def texts(values: tuple[str, ...], other: str) -> tuple[str, ...]:
        return interned(values[i] if i >= 0 else other for i in listed.tolist())

    def flags(values: Bool) -> Bool:
        chosen: Bool = np.append(values, False)[listed]
        return chosen

    is_device = flags(shares.is_device)
    is_device[len(units.ordinary) : units.n_ordinary] = units.others
    kind_self, kind_count = _by_kind(results)
    variants = _variants(results, units)
    idle, lanes = results.idle_ps, occurrences.lane_is_device
    return OpSummary(
        n_all=units.n_all,
        name=texts(shares.name, OTHERS),
        type=texts(shares.type, OTHERS),
        is_device=is_device,
        is_eager=flags(shares.is_eager),
        is_input=flags(results.op_scopes.is_input),
        source_file=texts(shares.source_file, ""),
        source_line=np.append(shares.source_line, np.int32(-1))[listed],
        n_ordinary=units.n_ordinary,
        sums=_added(op_sums(occurrences), units.place, n),
        variant_unit=variants[0],
        variant_name=variants[1],
        variant_count=variants[2],
        pair_hlo=(units.place[shares.unit[chosen]] - units.n_ordinary).astype(np.int32),
        pair_op=op_place[shares.op[chosen]].astype(np.int32),
        pair_ratio=shares.ratio[chosen],
        kind_self_ps=_rows_added(kind_self, units.place, n),
        kind_count=_rows_added(kind_count, units.place, n),
        idle_ps={
            side: ps
            for side, ps, is_there in (("Device", idle[1], lanes.any()), ("Host", idle[0], (~lanes).any()))
            if is_there
        },
    )


def _added(sums: OpSums, place: Int64, n: int) -> OpSums:
    """Sums of units by their number in the summary."""
    known = {column.name: getattr(sums, column.name) for column in fields(sums)}
    return OpSums(**{name: _rows_added(one, place, n) for name, one in known.items() if one is not None})


def _rows_added(values: npt.NDArray[Any], place: Int64, n: int) -> npt.NDArray[Any]:
    """Rows of units added up by their number in the summary."""
    rows = np.flatnonzero(place >= 0)
    total = np.zeros((n, *values.shape[1:]), values.dtype)
    np.add.at(total, place[rows], values[rows])
    return total


def _variants(results: Facts, units: KeptUnits) -> tuple[Int32, tuple[str, ...], Int64]:
    """Ordinary ops of devices by kernel: the unit, the kernel's name and how often it ran."""
    occurrences = results.occurrences
    is_listed = np.zeros(len(occurrences.name), np.bool_)
    is_listed[units.ordinary] = occurrences.is_device[units.ordinary]
    rows = np.flatnonzero(is_listed[occurrences.op])
    width = int(occurrences.variant[rows].max(initial=0)) + 1
    key, count = np.unique(
        occurrences.op[rows].astype(np.int64) * width + occurrences.variant[rows], return_counts=True
    )
    names = interned(results.trace.strings[i] for i in (key % width).tolist())
    return units.place[key // width].astype(np.int32), names, count.astype(np.int64)


def _by_kind(results: Facts) -> tuple[Int64, Int64]:
    """Own time and executions of each unit by the kind of step."""
    occurrences, kind = results.occurrences, step_kinds(results.steps)
    n_kinds, n_units = int(kind.max(initial=-1)) + 2, len(occurrences.name)
    of_step = np.append(kind, n_kinds - 1)
    at = occurrences.op.astype(np.int64) * n_kinds + of_step[results.steps.event_step[occurrences.event]]
    own = sum_by(at, occurrences.self_ps, n_units * n_kinds)
    count = np.bincount(at, minlength=n_units * n_kinds).astype(np.int64)
    return own.reshape(n_units, n_kinds), count.reshape(n_units, n_kinds)
