"""Steps host by host -> their part of a pack: the table `worker_steps`, the names of the hosts, and who holds them up."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...analysis.hosts.workers import Workers
from ...analysis.steps.steps import STEP_CATEGORIES
from .wire import Rows, Table


def worker_step_table(workers: Workers, rows: Rows) -> Table:
    """One row per aligned step and host: `host` in `worker_hosts`, `step` among the aligned ones, `row` in the steps table."""
    frame = workers.frame.iloc[rows]
    place = {host: i for i, host in enumerate(workers.hosts)}
    columns: dict[str, tuple[npt.ArrayLike, str]] = {
        "host": (np.array([place[host] for host in frame["host"]], np.int64), "i4"),
        "step": (frame["step"].to_numpy(np.int64), "i4"),
        "row": (frame["own_step"].to_numpy(np.int64), "i4"),
        "step_time_ms": (frame["step_time_ms"].to_numpy(np.float64), "f8"),
    }
    columns |= {f"{category}_ms": (frame[f"{category}_ms"].to_numpy(np.float64), "f8") for category in STEP_CATEGORIES}
    return Table(columns)


def worker_meta(workers: Workers) -> dict[str, Any]:
    """`worker_hosts`; in `worker_note` what was left out and why; in `workers_wait` whether they wait for each other."""
    return {
        "worker_hosts": list(workers.hosts),
        "worker_note": workers.note,
        "workers_wait": workers.wait_for_each_other,
    }


MOST_STRAGGLERS = 100
"""So many are listed, the costliest first; the meta says of how many."""


def straggler_meta(stragglers: pd.DataFrame) -> dict[str, Any]:
    """`stragglers`, as rows of `compute_stragglers`, and `n_stragglers`, of how many."""
    return {
        "stragglers": stragglers.iloc[:MOST_STRAGGLERS].to_dict("records"),
        "n_stragglers": len(stragglers),
    }
