"""Memory of one host -> what travels: the summary of each allocator, who held its memory at the peak, and bytes by op.

summarize_memory(memory) -> MemorySummary
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ...errors import TfProfError
from ...trace.trace import Int64
from ..layers.layer_memory import OpMemory, memory_by_op
from ..memory.memory import MemoryProfile
from ..memory.memory_growth import MemoryGrowth
from .columns import PackedFrame, interned

MAX_PEAK_ROWS = 100
"""Of one allocator those that held most; the others are one row, `OTHERS`."""
MAX_OPS = 1_000
"""That allocated most; the others are one op, `OTHERS`."""
OTHERS = "other ops"


@dataclass(frozen=True, eq=False, repr=False)
class MemorySummary:
    """The memory of one host."""

    summary: PackedFrame
    """As `MemoryProfile.summary`; times after the host's own origin."""
    peaks: Mapping[str, PackedFrame]
    """For each allocator as `MemoryProfile.peak`."""
    held: Mapping[str, PackedFrame]
    """For each allocator as `MemoryProfile.held_at_peak`."""
    growth: Mapping[str, MemoryGrowth]
    """For each allocator as `MemoryProfile.growth`."""
    by_op: OpMemory
    n_ops: int
    """How many ops allocated memory; `by_op` has `MAX_OPS` of them and the others as one."""
    remedy: str | None
    """Why little or nothing was recorded; None where all is there."""


def summarize_memory(memory: MemoryProfile) -> MemorySummary:
    """Keep what does not need every allocation."""
    by_op = memory_by_op(memory)
    return MemorySummary(
        summary=PackedFrame.of(memory.summary),
        peaks={name: PackedFrame.of(_short(memory.peak(name))) for name in memory.allocators},
        held={name: PackedFrame.of(_short(memory.held_at_peak(name))) for name in memory.allocators},
        growth={name: memory.growth(name) for name in memory.allocators},
        by_op=_few(by_op),
        n_ops=len(by_op.name),
        remedy=memory.remedy,
    )


def _short(peak: pd.DataFrame) -> pd.DataFrame:
    """The first rows, and one of the others."""
    if len(peak) <= MAX_PEAK_ROWS:
        return peak
    rest = peak.iloc[MAX_PEAK_ROWS:]
    name = f"{OTHERS} ({len(rest):,} of {len(peak):,} rows)"
    total = int(rest["total_bytes"].sum())
    row = dict.fromkeys(peak.columns, "") | {
        "op": name,
        "allocation_bytes": total,
        "requested_bytes": int((rest["requested_bytes"] * rest["occurrences"]).sum()),
        "occurrences": 1,
        "total_bytes": total,
    }
    return pd.concat([peak.iloc[:MAX_PEAK_ROWS], pd.DataFrame([row])], ignore_index=True).astype(peak.dtypes.to_dict())


def _few(used: OpMemory) -> OpMemory:
    """The ops that allocated most, and all others as one."""
    n = len(used.name)
    order = np.argsort(-used.allocated_bytes, kind="stable")
    kept, rest = np.sort(order[:MAX_OPS]), order[MAX_OPS:]
    more = [OTHERS] if n > MAX_OPS else []

    def few(column: Int64) -> Int64:
        return np.append(column[kept], np.array([column[rest].sum()] * len(more), np.int64))

    return replace(
        used,
        name=interned([*(used.name[i] for i in kept.tolist()), *more]),
        type=interned([*(used.type[i] for i in kept.tolist()), *more]),
        allocated_bytes=few(used.allocated_bytes),
        peak_bytes=few(used.peak_bytes),
    )


def no_events(what: str, host: str, call: str) -> TfProfError:
    """The error of a reduced profile for what needs the events of a host."""
    return TfProfError(f"a reduced profile has no {what}: open one host in full, prof.host({host!r}){call}")
