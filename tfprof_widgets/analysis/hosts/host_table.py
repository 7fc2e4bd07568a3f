"""Hosts of a trace and their steps -> the table `hosts`.

host_table(facts, frame) -> DataFrame
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ..base.table_types import Types, typed_table
from ..columns.registry import TABLES
from .roles import HostFacts, roles

HOSTS_TYPES: Types = TABLES["hosts"].types


def host_table(facts: Sequence[HostFacts], frame: pd.DataFrame, paths: Sequence[str] = ()) -> pd.DataFrame:
    """Put what is known of each host side by side.

    Args:
        facts: of the hosts, in the order of the trace.
        frame: the `steps` table.
        paths: of the files that the hosts came from; empty where nobody knows.

    Returns:
        One row per host: `host`; `role`, `worker`, `chief`, `parameter server` or `coordinator`; `n_steps`; `step_time_ms`,
        the mean, NaN without steps; `n_events`; `path`, "" where nobody knows; `task`, such as `/job:worker/replica:0/task:1`,
        "" where nothing names it.
    """
    times: dict[str, list[float]] = {one.host: [] for one in facts}
    for host, ms in zip(frame["host"].tolist(), frame["step_time_ms"].tolist(), strict=True):
        times.setdefault(host, []).append(ms)
    rows = [
        {
            "host": one.host,
            "role": role,
            "n_steps": len(times[one.host]),
            "step_time_ms": float(np.mean(times[one.host])) if len(times[one.host]) else float("nan"),
            "n_events": one.n_events,
            "path": path,
            "task": one.task,
        }
        for one, role, path in zip(facts, roles(facts), paths or [""] * len(facts), strict=True)
    ]
    return typed_table(rows, HOSTS_TYPES)
