"""HLO ops of each host -> the HLO ops of all.

summarize_hlo(hlo_ops, units) -> PackedFrame
merge_hlo(every) -> MergedHlo
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...formats.hlo.modules import read_hlo_modules
from ...trace.trace import Float64, Int64, Trace
from ..base.units import PS_PER_US
from ..ops.hlo_ops import HloOps, hlo_table
from ..xla.hlo_units import HloUnits
from .columns import PackedFrame, united

_KEY = ["device", "program_id", "module", "name"]
_TOLD = ("program_id", "module", "category", "name", "expression", "op_name", "op_type", "device", "source")
MAX_EXPRESSION = 500
"""Characters of an HLO op's text that travel; a longer one ends in `CUT`."""
CUT = "…"


@dataclass(frozen=True, eq=False, repr=False)
class MergedHlo:
    """The HLO ops of all hosts."""

    frame: pd.DataFrame
    """One row per HLO op of a program and side, in order of first appearance: the columns of `HLO_OPS_COLUMNS` without ranks
    and ratios, and `self_ps`, `total_ps`."""
    row: Int64
    """For each HLO op of each host the row of `frame`."""

    def table(self, n_ordinary: int) -> HloOps:
        """The `hlo_ops` table; HLO ops are units `n_ordinary`, `n_ordinary + 1`, ..."""
        return hlo_table(self.frame.assign(n_done=self.frame["occurrences"]), n_ordinary)

    def units(self, trace: Trace) -> HloUnits:
        """The same as units; nothing is known of the programs that they are of, so no instruction is."""
        frame = self.frame
        return HloUnits(
            modules=read_hlo_modules(trace, programs=()),
            is_device=(frame["device"] == "Device").to_numpy(np.bool_),
            program_id=frame["program_id"].to_numpy(np.int64),
            module=tuple(frame["module"]),
            name=tuple(frame["name"]),
            category=tuple(frame["category"]),
            instruction=np.full(len(frame), -1, np.int64),
            provenance=("",) * len(frame),
            expression=tuple(frame["expression"]),
            source=tuple(frame["source"]),
            flops=frame["flops"].to_numpy(np.float64),
            bytes_accessed=frame["bytes_accessed"].to_numpy(np.float64),
        )


def summarize_hlo(hlo_ops: HloOps, units: Int64) -> PackedFrame:
    """The rows of some units, with their times in whole picoseconds and their texts not longer than a reader needs."""
    frame = hlo_ops.frame.iloc[hlo_ops.unit_row[units]].reset_index(drop=True)
    return PackedFrame.of(
        frame[list(_TOLD)].assign(
            expression=pd.Series([_shortened(text) for text in frame["expression"].tolist()], dtype=object),
            occurrences=frame["occurrences"],
            total_ps=_ps(frame["total_time_us"]),
            self_ps=_ps(frame["total_self_time_us"]),
            flops=frame["flops"],
            bytes_accessed=frame["bytes_accessed"],
        )
    )


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_EXPRESSION else f"{text[:MAX_EXPRESSION]}{CUT}"


def n_shortened(texts: Iterable[str]) -> int:
    """How many of the texts that travelled are cut."""
    return sum(len(text) > MAX_EXPRESSION for text in texts)


def _ps(column: pd.Series[float]) -> Int64:
    times: Int64 = np.rint(column.to_numpy(np.float64) * PS_PER_US).astype(np.int64)
    return times


def merge_hlo(every: pd.DataFrame) -> MergedHlo:
    """Unite HLO ops of one program, module, name and side; figures of one execution are averages over all.

    What an HLO op stands for is what its own host's file says. In one trace of all hosts the first program of an id and name
    would be asked, though programs of several hosts may differ in what XLA made of them.
    """
    sums = dict.fromkeys(("occurrences", "total_ps", "self_ps"), "sum")
    told = dict.fromkeys((name for name in _TOLD if name not in _KEY), "first")
    frame, code = united(every, _KEY, told | sums)
    frame, count = frame[[*_TOLD, *sums]], every["occurrences"].to_numpy(np.int64)
    for name in ("flops", "bytes_accessed"):
        frame[name] = _average(code, every[name].to_numpy(np.float64), count, len(frame))
    return MergedHlo(frame, code)


def _average(code: Int64, value: Float64, count: Int64, n: int) -> Float64:
    known = ~np.isnan(value)
    weight = np.bincount(code[known], weights=count[known], minlength=n)
    total = np.bincount(code[known], weights=value[known] * count[known], minlength=n)
    return np.where(weight > 0, total / np.maximum(weight, 1), np.nan)
