"""Memory of one host -> what travels: the summary of each allocator, who held its memory at the peak, and bytes by op.

summarize_memory(memory, by_op) -> tables
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial

import numpy as np
import pandas as pd

from ...errors import TfProfError
from ..base.table_types import Types, typed_table
from ..columns.registry import TABLES
from ..layers.layer_memory import OpMemory
from ..memory.memory import MemoryProfile
from ..memory.memory_growth import MemoryGrowth
from .columns import PackedFrame, with_rest

MAX_PEAK_ROWS = 100
"""Of one allocator those that held most; the others are one row, `OTHERS`."""
MAX_OPS = 1_000
"""That allocated most; the others are one op, `OTHERS`."""
OTHERS = "other ops"
OP_COLUMNS = ["name", "type", "allocated_bytes", "peak_bytes"]
PEAK_TYPES: Types = TABLES["memory.peak"].types


def summarize_memory(memory: MemoryProfile, by_op: OpMemory) -> dict[str, PackedFrame]:
    """Keep what does not need every allocation.

    Returns:
        `memory`, as `MemoryProfile.summary`, with the columns of `MemoryProfile.growth`; `peaks` and `held`, as
        `MemoryProfile.peak` and `held_at_peak`, with the allocator's row of `memory`; `memory_ops`, the columns of `OpMemory`;
        and `memory_peak`, its other figures, one row where any memory was recorded.
    """
    growths = [memory.growth(name) for name in memory.allocators]
    order = np.argsort(-by_op.allocated_bytes, kind="stable")
    ops = pd.DataFrame({name: getattr(by_op, name) for name in OP_COLUMNS}, columns=OP_COLUMNS)
    ops = with_rest(ops.iloc[np.append(np.sort(order[:MAX_OPS]), order[MAX_OPS:])], MAX_OPS, _other_ops)
    top = {name: [getattr(by_op, name)] for name in ("allocator", "before_capture_bytes", "stack_bytes")}
    tables = {
        "memory": memory.summary.assign(**pd.DataFrame(growths, columns=[one.name for one in fields(MemoryGrowth)])),
        "peaks": _of_allocators(memory, memory.peak),
        "held": _of_allocators(memory, memory.held_at_peak),
        "memory_ops": ops,
        "memory_peak": pd.DataFrame(top).assign(peak_bytes=_peak_of(memory, by_op.allocator))[: len(memory.allocators)],
    }
    return {name: PackedFrame.of(frame) for name, frame in tables.items()}


def _peak_of(memory: MemoryProfile, allocator: str) -> int:
    own = memory.summary["allocator"] == allocator
    return int(memory.summary.loc[own, "peak_bytes"].sum())


def _of_allocators(memory: MemoryProfile, table: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    """The first rows of a table of each allocator, and one of the others."""
    frames = [
        with_rest(table(name), MAX_PEAK_ROWS, partial(_other_rows, n_all=len(table(name)))).assign(allocator=row)
        for row, name in enumerate(memory.allocators)
    ]
    return pd.concat(frames, ignore_index=True) if frames else typed_table((), {**PEAK_TYPES, "allocator": int})


def _other_rows(rest: pd.DataFrame, *, n_all: int) -> dict[str, object]:
    total = int(rest["total_bytes"].sum())
    return dict.fromkeys(rest.columns, "") | {
        "op": f"{OTHERS} ({len(rest):,} of {n_all:,} rows)",
        "allocation_bytes": total,
        "requested_bytes": int((rest["requested_bytes"] * rest["occurrences"]).sum()),
        "occurrences": 1,
        "total_bytes": total,
    }


def _other_ops(rest: pd.DataFrame) -> dict[str, object]:
    return {"name": OTHERS, "type": OTHERS, **rest[["allocated_bytes", "peak_bytes"]].sum()}


def no_events(what: str, host: str, call: str) -> TfProfError:
    """The error of a reduced profile for what needs the events of a host."""
    return TfProfError(f"a reduced profile has no {what}: open one host in full, prof.host({host!r}){call}")
