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
        by_step = memory.steps(allocator)
        cell = cells.of_steps(by_step["step"].to_numpy(np.int64))
        whole = _whole(facts, allocator)
        for metric, unit in _METRICS.items():
            rows.append((allocator, metric, unit if cells.has_steps else unit.removesuffix(" a step")))
            zeros = np.zeros(len(by_step), np.int64)
            if cells.has_steps:
                values.append(cells.sums(zeros, cell, by_step[metric].to_numpy(np.float64), 1)[0])
                seen.append(float(len(np.unique(cell[cell >= 0])) / len(cells)))
            else:
                values.append(np.array([whole[metric]]))
                seen.append(1.0)
    labels = pd.DataFrame(rows, columns=["allocator", "metric", "unit"]).astype(object)
    return Quantities.of(
        labels,
        [row[:2] for row in rows],
        np.stack(values) if values else np.zeros((0, len(cells))),
        seen=np.array(seen, np.float64),
    )


def _whole(facts: Facts, allocator: str) -> dict[str, float]:
    timeline, summary = facts.memory.timeline(allocator), facts.memory.summary
    made = timeline[timeline["event"] == "allocation"]
    return {
        PEAK: float(summary.loc[summary["allocator"] == allocator, "peak_bytes"].iloc[0]),
        "allocated_bytes": float(made["allocation_bytes"].sum()),
        "n_allocations": float(len(made)),
    }
