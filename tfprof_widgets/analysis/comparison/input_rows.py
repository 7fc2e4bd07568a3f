"""tf.data iterators and step-time categories of one run -> rows to compare."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..base.units import PS_PER_MS
from ..facts.facts import Facts
from ..steps.steps import STEP_CATEGORIES
from .quantities import Quantities, numbered
from .run_cells import RunCells

_WAITING = ("input", "other", "output")
"""Categories in which a step waits: for data, or for nobody knows what."""


def iterator_rows(facts: Facts, cells: RunCells) -> Quantities:
    """Iterators by their place in the pipeline: `name, long_name`; own time, without that of the calls they waited for."""
    tf_data = facts.tf_data
    frame, calls, n = tf_data.iterators, tf_data.calls, len(tf_data.iterators)
    row, cell = calls["iterator"].to_numpy(np.int64), cells.of_events(calls["event"].to_numpy(np.int64))
    runs = cells.sums(row, cell, np.ones(len(row)), n)
    is_root = frame["parent_id"].to_numpy(np.int64) < 0
    return Quantities.of(
        frame[["name", "long_name"]],
        numbered([tuple(name.split("::")) for name in frame["long_name"]]),
        cells.sums(row, cell, calls["self_ps"].to_numpy(np.int64) / PS_PER_MS, n),
        count=runs @ cells.n_steps / cells.n_steps.sum(),
        seen=(runs > 0).mean(axis=1),
        is_waiting=is_root | frame["is_async"].to_numpy(np.bool_),
    )


def category_rows(facts: Facts, cells: RunCells) -> Quantities:
    """What the step time is made of: `category`. No rows without steps."""
    labels = pd.DataFrame({"category": pd.Series(STEP_CATEGORIES, dtype=object)})
    if not cells.has_steps:
        return Quantities.of(labels[:0], [], np.zeros((0, len(cells))))
    ms = facts.steps.frame[[f"{name}_ms" for name in STEP_CATEGORIES]].to_numpy(np.float64)
    step, category = np.indices(ms.shape).reshape(2, -1)
    return Quantities.of(
        labels,
        [(name,) for name in STEP_CATEGORIES],
        cells.sums(category, cells.of_steps(step), ms.reshape(-1), len(STEP_CATEGORIES)),
        seen=np.ones(len(labels)),
        is_device=np.array([name.startswith("device_") for name in STEP_CATEGORIES], np.bool_),
        is_waiting=np.array([name in _WAITING for name in STEP_CATEGORIES], np.bool_),
    )
