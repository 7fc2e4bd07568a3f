"""Steps and tf.data -> how the wait for data spreads over the steps, and over the hosts."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..base.table_types import Types, typed_table
from ..columns.registry import TABLES

INPUT_HIGH, INPUT_MODERATE = 0.20, 0.05
"""From these shares of the step time on, the wait for data limits the steps, or does so moderately."""
STEP_COLUMNS = list(TABLES["input_pipeline.steps"].names)
HOST_TYPES: Types = TABLES["input_pipeline.hosts"].types


def step_waits(steps: pd.DataFrame) -> pd.DataFrame:
    """How long each step waited for data; the columns are told in `InputPipeline.steps`.

    Args:
        steps: the `steps` table; columns of it that are missing are NaN, `is_averaged` is then true.
    """
    frame = steps.reindex(columns=[name for name in STEP_COLUMNS if name != "input_ratio"]).reset_index(drop=True)
    if "is_averaged" not in steps:
        frame["is_averaged"] = True
    time_ms = frame["step_time_ms"].to_numpy(np.float64)
    ratio = np.divide(frame["input_ms"].to_numpy(np.float64), time_ms, where=time_ms > 0, out=np.zeros(len(frame)))
    return frame.assign(input_ratio=ratio)[STEP_COLUMNS]


def host_waits(pipelines: pd.DataFrame, slowest_calls: pd.DataFrame, waits: pd.DataFrame) -> pd.DataFrame:
    """What tf.data did on each host, the most input-bound host first; the columns are told in `InputPipeline.hosts`.

    Args:
        pipelines: see `Pipelines.pipelines`.
        slowest_calls: see `Pipelines.slowest_calls`; they say how slow a host is and why (semantics 8.5).
        waits: what `step_waits` returned.
    """
    own = pipelines[~pipelines["is_device"].astype(bool)]
    sums = own.groupby("host", sort=False).agg(
        n_pipelines=("id", "size"),
        n_calls=("n_calls", "sum"),
        n_slow_calls=("n_slow_calls", "sum"),
        total_time_ms=("total_time_ms", "sum"),
        max_latency_us=("max_latency_us", "max"),
    )
    times = waits[waits["is_averaged"].astype(bool)].groupby("host")[["step_time_ms", "input_ms"]].sum()
    times = times.reindex(sums.index)
    number = {(host, name): row for host, name, row in own[["host", "name", "id"]].itertuples(index=False)}
    slowest = {row["host"]: row for row in slowest_calls.drop_duplicates("host").to_dict("records")}
    nothing = {"pipeline": "", "bottleneck": "", "long_name": ""}
    rows = []
    for host, *figures, time_ms, input_ms in zip(  # one turn per host
        sums.index, *(sums[name].tolist() for name in sums), times["step_time_ms"], times["input_ms"], strict=True
    ):
        call = slowest.get(host, nothing)
        rows.append(
            {
                "host": host,
                **dict(zip(sums.columns, figures, strict=True)),
                "pipeline": number.get((host, call["pipeline"]), -1),
                "bottleneck": call["bottleneck"],
                "long_name": call["long_name"],
                "input_ratio": input_ms / time_ms if time_ms else float("nan"),
            }
        )
    frame = typed_table(rows, HOST_TYPES)
    return frame.sort_values("max_latency_us", ascending=False, kind="stable", ignore_index=True)
