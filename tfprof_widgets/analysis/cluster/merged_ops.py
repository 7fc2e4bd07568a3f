"""Ops of each host -> the ops of all: the table of units, their totals, and those of each host.

merge_ops(summaries, kind_offsets, hlo) -> MergedOps
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...formats.hlo.parts import Frames
from ...trace.trace import Bool, Int64
from ..base.matching import sum_by
from ..ops.op_shares import OpShares, dominant_ops
from ..ops.ops import OpSums
from .columns import joined
from .merged_hlo import MergedHlo
from .op_summary import OpSummary


@dataclass(frozen=True, eq=False, repr=False)
class MergedOps:
    """The units of all hosts and what they stand for, numbered as those of one trace: ordinary ops, then HLO ops."""

    n_ordinary: int
    shares: OpShares
    is_input: Bool
    """For each framework op."""
    sums: OpSums
    """For each unit, of all hosts."""
    host: Int64
    """One entry per unit of a host, by host: its number, the unit, and its count and times there."""
    unit: Int64
    count: Int64
    total_ps: Int64
    self_ps: Int64
    kind: Int64
    """One entry per unit and kind of step of a host in which it ran: a number in `MergedSteps.kind_offsets`, the unit, its own
    time and executions then."""
    kind_unit: Int64
    kind_self_ps: Int64
    kind_count: Int64


def merge_ops(summaries: Sequence[OpSummary], kind_offsets: Int64, hlo: MergedHlo) -> MergedOps:
    """Unite ops of one side and name, and HLO ops as they are united in `hlo`.

    Args:
        summaries: of all hosts.
        kind_offsets: as `MergedSteps.kind_offsets`.
        hlo: their HLO ops.
    """
    names = _Names()
    ops = names.add_all(summaries)
    n = names.n_ordinary + len(hlo.frame)
    units = [
        np.append(op[: one.n_ordinary], names.n_ordinary + rows)
        for one, op, rows in zip(summaries, ops, hlo.rows, strict=True)
    ]
    kinds = [
        _kinds(one, unit, int(offset)) for one, unit, offset in zip(summaries, units, kind_offsets[:-1], strict=True)
    ]
    unit = joined(units, np.int64)
    return MergedOps(
        n_ordinary=names.n_ordinary,
        shares=names.shares(_pairs(summaries, ops, hlo), hlo),
        is_input=np.array(names.is_input, np.bool_),
        sums=_sums(summaries, units, n),
        host=np.repeat(np.arange(len(summaries)), [len(one) for one in units]),
        unit=unit,
        count=joined([one.sums.count for one in summaries], np.int64),
        total_ps=joined([one.sums.total_ps for one in summaries], np.int64),
        self_ps=joined([one.sums.self_ps for one in summaries], np.int64),
        kind=joined([one[0] for one in kinds], np.int64),
        kind_unit=joined([one[1] for one in kinds], np.int64),
        kind_self_ps=joined([one[2] for one in kinds], np.int64),
        kind_count=joined([one[3] for one in kinds], np.int64),
    )


class _Names:
    """The table of framework ops, growing host by host; what is told of an op is what the first host tells that ran it."""

    def __init__(self) -> None:
        self.name: list[str] = []
        self.type: list[str] = []
        self.is_device: list[bool] = []
        self.is_eager: list[bool] = []
        self.is_input: list[bool] = []
        self.source: list[tuple[str, int]] = []
        self.n_ordinary = 0
        self._number: tuple[dict[str, int], dict[str, int]] = ({}, {})

    def add_all(self, summaries: Sequence[OpSummary]) -> list[Int64]:
        """The number of each op of each host: ordinary ops of any host come first."""
        ordinary = [self._add(one, range(one.n_ordinary)) for one in summaries]
        self.n_ordinary = len(self.name)
        compiled = [self._add(one, range(one.n_ordinary, len(one.name))) for one in summaries]
        return [np.array([*own, *more], np.int64) for own, more in zip(ordinary, compiled, strict=True)]

    def _add(self, ops: OpSummary, rows: range) -> list[int]:
        found = []
        is_device, is_eager, is_input = ops.is_device.tolist(), ops.is_eager.tolist(), ops.is_input.tolist()
        for i in rows:  # one turn per op of each host
            name = ops.name[i]
            row = self._number[is_device[i]].setdefault(name, len(self.name))
            found.append(row)
            if row == len(self.name):
                self.name.append(name)
                self.type.append(ops.type[i])
                self.is_device.append(is_device[i])
                self.is_eager.append(is_eager[i])
                self.is_input.append(is_input[i])
                self.source.append((ops.source_file[i], int(ops.source_line[i])))
                continue
            # As in one trace: any eager execution on a CPU makes an op eager, on a device the first one tells.
            self.is_eager[row] |= is_eager[i] and not is_device[i]
            self.is_input[row] &= is_input[i]
            self.type[row] = self.type[row] or ops.type[i]
            if not self.source[row][0]:
                self.source[row] = (ops.source_file[i], int(ops.source_line[i]))
        return found

    def shares(self, pairs: tuple[Int64, Int64, np.ndarray], hlo: MergedHlo) -> OpShares:
        """The table, with who stands for whom.

        Args:
            pairs: HLO op, framework op and ratio of each pair.
            hlo: the HLO ops.
        """
        every, unknown = np.arange(self.n_ordinary), np.full(self.n_ordinary, np.nan)
        unit, op = np.append(every, self.n_ordinary + pairs[0]), np.append(every, pairs[1])
        ratio = np.append(np.ones(self.n_ordinary), pairs[2])
        return OpShares(
            name=tuple(self.name),
            type=tuple(self.type),
            is_device=np.array(self.is_device, np.bool_),
            is_eager=np.array(self.is_eager, np.bool_),
            source_file=tuple(file for file, _ in self.source),
            source_line=np.array([line for _, line in self.source], np.int32),
            frame=np.full(len(self.name), -1, np.int32),
            frames=Frames(),
            unit=unit.astype(np.int32),
            op=op.astype(np.int32),
            ratio=ratio,
            dominant=dominant_ops(unit, op, ratio, self.n_ordinary + len(hlo.frame)),
            is_identity=hlo.frame.empty,
            flops=np.append(unknown, hlo.frame["flops"].to_numpy(np.float64)),
            bytes_accessed=np.append(unknown, hlo.frame["bytes_accessed"].to_numpy(np.float64)),
        )


def _pairs(summaries: Sequence[OpSummary], ops: Sequence[Int64], hlo: MergedHlo) -> tuple[Int64, Int64, np.ndarray]:
    """Who stands for whom, sorted by HLO op: of one that several hosts ran, what the first one tells."""
    row = joined([rows[one.pair_hlo] for one, rows in zip(summaries, hlo.rows, strict=True)], np.int64)
    op = joined([own[one.pair_op] for one, own in zip(summaries, ops, strict=True)], np.int64)
    ratio = joined([one.pair_ratio for one in summaries], np.float64)
    host = np.repeat(np.arange(len(summaries)), [len(one.pair_hlo) for one in summaries])
    first = np.full(len(hlo.frame), len(summaries))
    np.minimum.at(first, row, host)
    kept = np.flatnonzero(host == first[row])
    kept = kept[np.argsort(row[kept], kind="stable")]
    return row[kept], op[kept], ratio[kept]


def _sums(summaries: Sequence[OpSummary], units: Sequence[Int64], n: int) -> OpSums:
    unit, parts = joined(units, np.int64), [one.sums for one in summaries]

    def whole(name: str) -> Int64:
        return sum_by(unit, joined([getattr(part, name) for part in parts], np.int64), n)

    def real(name: str) -> np.ndarray:
        return np.bincount(unit, weights=joined([getattr(part, name) for part in parts], np.float64), minlength=n)

    count = whole("count")
    kernels: dict[tuple[int, str], int] = {}
    for one, own in zip(summaries, units, strict=True):
        columns = own[one.variant_unit].tolist(), one.variant_name, one.variant_count.tolist()
        for place, name, executions in zip(*columns, strict=True):
            kernels[place, name] = kernels.get((place, name), 0) + executions
    for place in {place for place, _ in kernels}:
        count[place] = 0
    for (place, _), executions in kernels.items():
        count[place] = max(int(count[place]), executions)
    return OpSums(
        count=count,
        n_done=real("n_done"),
        total_ps=whole("total_ps"),
        self_ps=whole("self_ps"),
        kernel_ns=real("kernel_ns"),
        tensor_ns=real("tensor_ns"),
    )


def _kinds(summary: OpSummary, unit: Int64, offset: int) -> tuple[Int64, Int64, Int64, Int64]:
    row, kind = np.nonzero(summary.kind_count)
    return kind + offset, unit[row], summary.kind_self_ps[row, kind], summary.kind_count[row, kind]
