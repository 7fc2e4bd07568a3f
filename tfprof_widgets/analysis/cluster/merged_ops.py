"""Ops of each host -> the ops of all: the table of units, their totals, and those of each host.

merge_ops(every, hlo) -> MergedOps
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...formats.hlo.parts import Frames
from ...trace.trace import Bool, Int64
from ..ops.op_shares import OpShares, dominant_ops
from ..ops.ops import OpSums
from .columns import OWNER, united
from .merged_hlo import MergedHlo
from .op_summary import SUMS, UNIT_NS


@dataclass(frozen=True, eq=False, repr=False)
class MergedOps:
    """The units of all hosts and what they stand for, numbered as those of one trace: ordinary ops, then HLO ops."""

    n_ordinary: int
    shares: OpShares
    is_input: Bool
    """For each framework op."""
    sums: OpSums
    """For each unit, of all hosts."""
    units: pd.DataFrame
    """One row per unit of a host: the host's number, `owner`, the unit, and its sums there."""
    kinds: pd.DataFrame
    """One row per unit and kind of step of a host in which it ran: `owner`, `kind`, `unit`, its own time and executions."""


def merge_ops(every: Mapping[str, pd.DataFrame], hlo: MergedHlo) -> MergedOps:
    """Unite ops of one side and name, and HLO ops as they are united in `hlo`; `every` is a `Stack`."""
    ops = every["ops"]
    is_ordinary = ops["is_ordinary"].to_numpy(np.bool_)
    order = np.argsort(~is_ordinary, kind="stable")  # ordinary ops of any host come first
    table, own = _united(ops.iloc[order])
    number = np.full(len(ops) + 1, -1, np.int64)
    number[order] = own
    n = int(number[:-1][is_ordinary].max(initial=-1)) + 1
    unit_of_hlo = np.append(n + hlo.row, -1)
    units = every["units"]
    op = units["op"].to_numpy()
    units = units.assign(unit=np.where(op >= 0, number[op], unit_of_hlo[units["hlo"]]))
    pairs, kinds = every["pairs"], every["kinds"]
    sums = units.groupby("unit")[[*SUMS, *UNIT_NS]].sum().reindex(np.arange(n + len(hlo.frame)), fill_value=0)
    return MergedOps(
        n_ordinary=n,
        shares=_shares(table, n, hlo, pairs.assign(unit=unit_of_hlo[pairs["hlo"]], op=number[pairs["op"]])),
        is_input=table["is_input"].to_numpy(np.bool_),
        sums=OpSums(**{name: sums[name].to_numpy() for name in SUMS}, unit_ns=sums[list(UNIT_NS)].to_numpy()),
        units=units,
        kinds=kinds.assign(unit=units["unit"].to_numpy()[kinds["unit"]]),
    )


def _united(ops: pd.DataFrame) -> tuple[pd.DataFrame, Int64]:
    """The table of framework ops in order of first appearance, and the row of it of each op; what is told of an op is what the
    first host tells that ran it."""
    # As in one trace: any eager execution on a CPU makes an op eager, on a device the first one tells.
    ops = ops.assign(is_eager_on_host=ops["is_eager"] & ~ops["is_device"])
    ops["source"] = [
        (file, line) if file else "" for file, line in zip(ops["source_file"], ops["source_line"], strict=True)
    ]
    told = dict.fromkeys(("type", "is_eager", "source"), "first")
    table, own = united(ops, ["is_device", "name"], {**told, "is_eager_on_host": "any", "is_input": "all"})
    return table.assign(is_eager=table["is_eager"] | table["is_eager_on_host"]), own


def _shares(table: pd.DataFrame, n_ordinary: int, hlo: MergedHlo, pairs: pd.DataFrame) -> OpShares:
    """The table, with who stands for whom: of an HLO op that several hosts ran, what the first one tells."""
    source = [one or ("", -1) for one in table["source"]]
    pairs = pairs[pairs[OWNER] == pairs.groupby("unit")[OWNER].transform("min")].sort_values("unit", kind="stable")
    every, unknown = np.arange(n_ordinary), np.full(n_ordinary, np.nan)
    unit, op = np.append(every, pairs["unit"]), np.append(every, pairs["op"])
    ratio = np.append(np.ones(n_ordinary), pairs["ratio"])
    return OpShares(
        name=tuple(table["name"]),
        type=tuple(table["type"]),
        is_device=table["is_device"].to_numpy(np.bool_),
        is_eager=table["is_eager"].to_numpy(np.bool_),
        source_file=tuple(file for file, _ in source),
        source_line=np.array([line for _, line in source], np.int32),
        frame=np.full(len(table), -1, np.int32),
        frames=Frames(),
        unit=unit.astype(np.int32),
        op=op.astype(np.int32),
        ratio=ratio,
        dominant=dominant_ops(unit, op, ratio, n_ordinary + len(hlo.frame)),
        is_identity=hlo.frame.empty,
        flops=np.append(unknown, hlo.frame["flops"].to_numpy(np.float64)),
        bytes_accessed=np.append(unknown, hlo.frame["bytes_accessed"].to_numpy(np.float64)),
    )
