"""Steps and tf.data -> how the wait for data spreads over the steps, and over the hosts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ...trace.trace import Float64
from ..base.matching import sum_by
from ..base.table_types import Types, typed_table
from ..columns.registry import TABLES

INPUT_HIGH, INPUT_MODERATE = 0.20, 0.05
"""From these shares of the step time on, the wait for data limits the steps, or does so moderately."""
MIN_WAIT_MS = 0.3
"""Handing a ready batch over takes 0.05 to 0.3 ms, the more the busier the machine: waking a thread. Steps so short that this is
a large share of them need larger batches, not a faster pipeline."""
LONG_WAIT_MS = 50.0
"""Waits that come in few steps, such as at the begin of each file, count where they are longer than a busy machine makes a thread
wait for a core, and come twice."""
OFTEN = 0.25
"""A pipeline that works ahead fills its buffer while the training computes; where the training has to wait long in so many steps
all the same, it is emptied faster than it is filled. A busy machine makes single steps wait."""
STEP_COLUMNS = list(TABLES["input_pipeline.steps"].names)
HOST_TYPES: Types = TABLES["input_pipeline.hosts"].types


def limits_steps(wait_ms: Float64, time_ms: Float64) -> bool:
    """Whether steps wait for data for longer than handing ready batches over takes, and more than by chance.

    Args:
        wait_ms: for each step.
        time_ms: how long each took.
    """
    whole_ms = float(time_ms.sum())
    if not whole_ms or float(wait_ms.sum()) < INPUT_MODERATE * whole_ms:
        return False
    is_usual = float(np.median(wait_ms)) >= max(MIN_WAIT_MS, INPUT_MODERATE * float(np.median(time_ms)))
    is_repeated = int((wait_ms >= LONG_WAIT_MS).sum()) >= 2
    return is_usual or is_repeated or waits_often(wait_ms, time_ms)


def waits_often(wait_ms: Float64, time_ms: Float64) -> bool:
    """Whether many steps wait long; arguments as of `limits_steps`."""
    least_ms = max(MIN_WAIT_MS, INPUT_HIGH * float(np.median(time_ms))) if len(time_ms) else 0.0
    return bool(len(time_ms)) and float((wait_ms >= least_ms).mean()) >= OFTEN


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
    if own.empty:
        return typed_table([], HOST_TYPES)
    hosts = {host: row for row, host in enumerate(dict.fromkeys(own["host"]))}
    row = np.array([hosts[host] for host in own["host"]], np.int64)  # one turn per pipeline
    slowest_us = np.full(len(hosts), -np.inf)
    np.maximum.at(slowest_us, row, own["max_latency_us"].to_numpy(np.float64))
    columns = ("host", "pipeline", "bottleneck", "long_name")
    calls = list(zip(*(slowest_calls[name].tolist() for name in columns), strict=True))
    slowest = {host: call for host, *call in reversed(calls)}  # of several of one host the first
    number = dict(zip(zip(own["host"], own["name"], strict=True), own["id"].tolist(), strict=True))
    named = [slowest.get(host, ["", "", ""]) for host in hosts]
    frame = pd.DataFrame(
        {
            "host": list(hosts),
            "n_pipelines": np.bincount(row),
            **{name: sum_by(row, own[name].to_numpy(np.int64), len(hosts)) for name in ("n_calls", "n_slow_calls")},
            "total_time_ms": np.bincount(row, own["total_time_ms"].to_numpy(np.float64)),
            "max_latency_us": slowest_us,
            "pipeline": [number.get((host, call[0]), -1) for host, call in zip(hosts, named, strict=True)],
            "bottleneck": [call[1] for call in named],
            "long_name": [call[2] for call in named],
            "input_ratio": _input_ratios(hosts, waits),
        }
    )[list(HOST_TYPES)]
    return frame.sort_values("max_latency_us", ascending=False, kind="stable", ignore_index=True)


def _input_ratios(hosts: Mapping[str, int], waits: pd.DataFrame) -> Float64:
    """The part of the time of its averaged steps for which each host waits for data; NaN where it has none."""
    averaged = waits[waits["is_averaged"].astype(bool)]
    host = averaged["host"].map(hosts).fillna(len(hosts)).to_numpy(np.int64)
    time_ms, input_ms = (
        np.bincount(host, averaged[name].fillna(0.0).to_numpy(np.float64), len(hosts))[: len(hosts)]
        for name in ("step_time_ms", "input_ms")
    )
    ratio: Float64 = np.divide(input_ms, time_ms, out=np.full(len(hosts), np.nan), where=time_ms != 0)
    return ratio
