"""Facts of runs with different numbers of workers -> how well the training scales, as a table and a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from ...trace.trace import Bool
from ..base.table_types import Types, typed_table
from ..base.wording import number, percent, plural
from ..columns.registry import TABLES
from ..facts.totals import Totals
from ..hosts.roles import TRAINING_ROLES
from ..hosts.workers import EXCHANGE

GlobalBatch = Literal["grows", "fixed"]

SCALING_TYPES: Types = TABLES["scaling(profiles).frame"].types
_WORTH_A_WORD = 0.01
_MISSING = 0.01
"""With more hosts missing than this share of the workers, nobody knows how many workers a run had."""
_NEARLY_ALL = 0.9


@dataclass(frozen=True)
class ScalingRun:
    """One run of a training."""

    title: str
    facts: Totals
    n_missing: int = 0
    """Hosts that took part and could not be read or captured."""


def scaling_frame(runs: Sequence[ScalingRun], *, global_batch: GlobalBatch = "grows") -> pd.DataFrame:
    """Compare runs of one training by how many workers they had.

    Args:
        runs: at least one.
        global_batch: what all workers together take in a step: it `"grows"` with their number, as each keeps its own batch,
            or is `"fixed"`, divided among them.

    Returns:
        One row per run, the fewest workers first, with the columns told in `columns/runs.py`. In `largest_exchange_ratio` types
        that run at once share the time that they take together. NaN where a run has no steps; `speedup` and
        `efficiency_ratio` also where too many hosts are missing, see `is_compared`.
    """
    rows = sorted(map(_row, runs), key=lambda row: row["n_workers"])
    frame = typed_table(rows, {name: kind for name, kind in SCALING_TYPES.items() if name in rows[0]})
    time, n = frame["step_time_ms"].to_numpy(np.float64), frame["n_workers"].to_numpy(np.float64)
    time = np.where(is_compared(frame), time, np.nan)
    first = int(np.argmax(time > 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        more = n / n[first]
        speedup = time[first] / time * (more if global_batch == "grows" else 1.0)
        frame["speedup"] = speedup
        frame["efficiency_ratio"] = speedup / more
    return frame[list(SCALING_TYPES)]


def is_compared(frame: pd.DataFrame) -> Bool:
    """For each run whether so few of its hosts are missing that its number of workers is known within 1 %."""
    found: Bool = (frame["n_missing"] <= _MISSING * frame["n_workers"]).to_numpy(np.bool_)
    return found


def _row(run: ScalingRun) -> dict[str, Any]:
    facts = run.facts
    hosts = facts.hosts
    training = hosts[hosts["role"].isin(TRAINING_ROLES) & (hosts["n_steps"] > 0)]["host"].tolist()
    steps = facts.steps.frame
    steps = steps[facts.is_averaged & steps["host"].isin(training).to_numpy(np.bool_)]
    total_ms = float(steps["step_time_ms"].sum())
    waiting = float(steps[f"{EXCHANGE}_ms"].sum()) / total_ms if total_ms else np.nan
    exchange, share = _largest(facts.communication, training)
    return {
        "n_workers": max(len(training), 1),
        "step_time_ms": float(steps["step_time_ms"].mean()) if len(steps) else np.nan,
        "communication_ratio": waiting,
        "largest_exchange": exchange,
        "largest_exchange_ratio": share * waiting if total_ms else 0.0,
        "n_steps": len(steps),
        "n_missing": run.n_missing,
        "title": run.title,
    }


def _largest(communication: pd.DataFrame, training: Sequence[str]) -> tuple[str, float]:
    """The type of exchange with the most exposed time on hosts that train, and what part of that of all types it has.

    Exchanges that run at once count each, so only that part is known, not how long a step waited for one type alone.
    """
    own = communication[communication["host"].isin(list(training))]
    if own.empty:
        return "", 0.0
    exposed = own.groupby("type")["exposed_time_us"].sum()
    total = float(exposed.sum())
    return str(exposed.idxmax()), float(exposed.max()) / total if total else 0.0


def scaling_sentence(frame: pd.DataFrame) -> str:
    """`4 workers give 2.6 times the throughput of 1; 31 % of step time is RecvTensor.`"""
    if frame["n_workers"].nunique() < 2 and is_compared(frame).all():
        return f"All runs have {plural(int(frame['n_workers'].iloc[0]), 'worker')}: how it scales cannot be told."
    known = frame[frame["speedup"].notna()]
    if known["n_workers"].nunique() < 2:
        what = "steps" if is_compared(frame).all() else "steps and all their hosts"
        return f"Fewer than two runs have {what}: how it scales cannot be told."
    first, last = known.iloc[0], known.iloc[-1]
    text = (
        f"{plural(int(last['n_workers']), 'worker')} give {number(float(last['speedup']))} times the throughput of "
        f"{int(first['n_workers'])} ({percent(float(last['efficiency_ratio']))} efficiency)"
    )
    share, exchange = float(last["communication_ratio"]), str(last["largest_exchange"])
    if share < _WORTH_A_WORD:
        return f"{text}; next to nothing of the step time is communication."
    of_all = float(last["largest_exchange_ratio"])
    if exchange and of_all >= _NEARLY_ALL * share:
        return f"{text}; {percent(share)} of step time is {exchange}."
    part = f", {'most of it' if of_all > share / 2 else 'the largest part'} {exchange}" if exchange else ""
    return f"{text}; {percent(share)} of step time is communication{part}."
