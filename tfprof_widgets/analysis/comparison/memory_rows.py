"""Allocators of one run -> rows to compare: bytes and allocations step by step."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..facts.facts import Facts
from .quantities import Quantities
from .run_cells import RunCells

PEAK = "peak_bytes"
SCATTER = 0.13
"""How much bytes of one program differ between runs (standard deviation, as a part), however alike its steps are: as ops run
in another order, other buffers are in use at once or can be taken over. Measured on CPUs."""
_METRICS = {PEAK: "bytes", "allocated_bytes": "bytes a step", "n_allocations": "allocations a step"}


def memory_rows(facts: Facts, cells: RunCells) -> Quantities:
    """Each allocator three times: `allocator, metric, unit`.

    `peak_bytes` is the most in use during a step (typical over steps), the others are per step. Without steps they are
    those of the whole capture.
    """
    memory = facts.memory
    rows: list[tuple[str, str, str]] = []
    values, seen = [], []
    for allocator in memory.allocators:  # one turn per allocator
        by_step = memory.steps(allocator) if cells.has_steps else _whole(facts, allocator)
        cell = cells.of_steps(by_step["step"].to_numpy(np.int64))
        for metric, unit in _METRICS.items():
            rows.append((allocator, metric, unit if cells.has_steps else unit.removesuffix(" a step")))
            values.append(cells.sums(np.zeros(len(cell), np.int64), cell, by_step[metric].to_numpy(np.float64), 1)[0])
            seen.append(float(len(np.unique(cell[cell >= 0])) / len(cells)))
    labels = pd.DataFrame(rows, columns=["allocator", "metric", "unit"]).astype(object)
    return Quantities.of(
        labels,
        [row[:2] for row in rows],
        np.stack(values) if values else np.zeros((0, len(cells))),
        seen=np.array(seen, np.float64),
    )


def _whole(facts: Facts, allocator: str) -> pd.DataFrame:
    """The columns of `MemoryProfile.steps` that are compared, of the whole capture as one step."""
    timeline, summary = facts.memory.timeline(allocator), facts.memory.summary
    made = timeline[timeline["event"] == "allocation"]
    peak = summary.loc[summary["allocator"] == allocator, "peak_bytes"].iloc[0]
    allocated = made["allocation_bytes"].sum()
    return pd.DataFrame([{"step": 0, PEAK: peak, "allocated_bytes": allocated, "n_allocations": len(made)}])
