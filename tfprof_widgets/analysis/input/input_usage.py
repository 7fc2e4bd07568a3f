"""Steps and tf.data -> how the wait for data spreads over the steps, and over the hosts.

step_waits(steps) -> DataFrame of STEP_COLUMNS; host_waits(pipelines, slowest_calls, waits) -> DataFrame of HOST_TYPES
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..table_types import Types, typed_table

STEP_COLUMNS = ["step", "name", "host", "start_ms", "step_time_ms", "input_ms", "input_ratio", "is_averaged"]
HOST_TYPES: Types = {
    "host": object,
    "n_pipelines": int,
    "n_calls": int,
    "n_slow_calls": int,
    "total_time_ms": float,
    "max_latency_us": float,
    "pipeline": int,
    "bottleneck": object,
    "long_name": object,
    "input_ratio": float,
}


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
        pipelines: see `TfData.pipelines`.
        slowest_calls: see `TfData.slowest_calls`; they say how slow a host is and why (semantics 8.5).
        waits: what `step_waits` returned.
    """
    rows = []
    counted = waits[waits["is_averaged"].astype(bool)]
    for host, own in pipelines[~pipelines["is_device"].astype(bool)].groupby("host", sort=False):  # one turn per host
        slowest = slowest_calls[slowest_calls["host"] == host].head(1)
        steps = counted[counted["host"] == host]
        time_ms = float(steps["step_time_ms"].sum())
        named = own["id"][own["name"].isin(slowest["pipeline"])]
        rows.append(
            {
                "host": host,
                "n_pipelines": len(own),
                "n_calls": int(own["n_calls"].sum()),
                "n_slow_calls": int(own["n_slow_calls"].sum()),
                "total_time_ms": float(own["total_time_ms"].sum()),
                "max_latency_us": float(own["max_latency_us"].max()),
                "pipeline": int(named.iloc[0]) if len(named) else -1,
                "bottleneck": str(slowest["bottleneck"].iloc[0]) if len(slowest) else "",
                "long_name": str(slowest["long_name"].iloc[0]) if len(slowest) else "",
                "input_ratio": float(steps["input_ms"].sum()) / time_ms if time_ms else float("nan"),
            }
        )
    frame = typed_table(rows, HOST_TYPES)
    return frame.sort_values("max_latency_us", ascending=False, kind="stable", ignore_index=True)
