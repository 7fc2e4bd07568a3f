"""Profiles of one training with different numbers of workers -> `Scaling`: how well it scales, as a table and a chart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from .analysis.common import number, percent, plural, typed_table
from .analysis.facts import Facts
from .analysis.hosts.hosts import TRAINING_ROLES
from .analysis.hosts.workers import EXCHANGE
from .analysis.table import TableProperty, table
from .export.document import BarRow, bar_table
from .profiles import Profile
from .trace.arrays import Bool

SCALING = table("""
    scaling(profiles).frame: a run, the fewest workers first
        n_workers               int    hosts that train
        step_time_ms            float  the mean; NaN without steps
        speedup                 float  samples per second over those of the first row that has any
        efficiency_ratio        float  that over what as many workers would give at best
        communication_ratio     float  part of the step time in which hosts wait in an exchange
        largest_exchange        text   type of the exchange with the most time, empty without any
        largest_exchange_ratio  float  its part of the step time
        n_steps                 int    that are averaged
        n_missing               int    hosts that could not be read or captured
        title                   text   of the profile
""")


GlobalBatch = Literal["grows", "fixed"]

_WORTH_A_WORD = 0.01
_MISSING = 0.01
"""With a larger share of hosts missing, a run's number of workers is unknown."""
_NEARLY_ALL = 0.9


@dataclass(frozen=True)
class ScalingRun:
    title: str
    facts: Facts
    n_missing: int = 0


def scaling_frame(runs: Sequence[ScalingRun], *, global_batch: GlobalBatch = "grows") -> pd.DataFrame:
    """Compare runs of one training by how many workers they had."""
    rows = sorted(map(_row, runs), key=lambda row: row["n_workers"])
    frame = typed_table(rows, {name: kind for name, kind in SCALING.types.items() if name in rows[0]})
    time, n = frame["step_time_ms"].to_numpy(np.float64), frame["n_workers"].to_numpy(np.float64)
    time = np.where(is_compared(frame), time, np.nan)
    first = int(np.argmax(time > 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        more = n / n[first]
        speedup = time[first] / time * (more if global_batch == "grows" else 1.0)
        frame["speedup"] = speedup
        frame["efficiency_ratio"] = speedup / more
    return frame[list(SCALING.names)]


def is_compared(frame: pd.DataFrame) -> Bool:
    """For each run whether so few of its hosts are missing that its number of workers is known within 1 %."""
    return (frame["n_missing"] <= _MISSING * frame["n_workers"]).to_numpy(np.bool_)


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
    """The type of exchange with the most exposed time on training hosts, and its part of all types'."""
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


@dataclass(frozen=True, eq=False)
class Scaling:
    """How a training scales with its workers: what `scaling` gives, shown as bars in a notebook, elsewhere as text."""

    _frame: pd.DataFrame
    sentence: str
    """The run with the most workers against the one with the fewest, in a sentence."""
    global_batch: GlobalBatch
    """`"grows"` or `"fixed"`: whether all workers together take more in a step the more they are, or always as much."""
    notices: tuple[str, ...] = ()
    """What makes the runs hard to compare, a sentence each; mostly empty."""

    frame = TableProperty("scaling(profiles).frame", lambda self: self._frame)

    def __repr__(self) -> str:
        return f"<Scaling: {self.sentence}>"

    def __str__(self) -> str:
        rows = self.frame.to_string(index=False, float_format=lambda value: f"{value:,.4g}")
        return "\n".join([self.sentence, rows, *self.notices])

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"text/plain": str(self), "text/html": _page(self)}


def scaling(profiles: Iterable[Profile], *, global_batch: GlobalBatch = "grows") -> Scaling:
    """Compare runs of one training with different numbers of workers: what more workers win, and where the rest goes.

    Args:
        profiles: at least two, captured or loaded, in any order. Hosts that train are counted; parameter servers and
            coordinators are not.
        global_batch: what all workers together take in a step: it `"grows"` with their number, as each keeps its own
            batch, or is `"fixed"`, divided among them.

    Returns:
        The comparison: `.frame` is the table, `.sentence` says it in words.

    Raises:
        TypeError: one of them is no `Profile`.
        ValueError: there are fewer than two, or `global_batch` is neither.
        CaptureError: one of them is still being captured.
        TraceError: the data of one of them is not there, or cannot be read.

    Examples:
        >>> tfprof.scaling([before, after]).sentence
        'All runs have 1 worker: how it scales cannot be told.'
    """
    runs = [*profiles]
    for one in runs:
        if not isinstance(one, Profile):
            raise TypeError(
                f"tfprof.scaling(profiles) compares profiles, and one is a {type(one).__name__}: "
                "give what `tfprof.load(path)` or `tfprof.capture_remote(addresses)` made"
            )
    if len(runs) < 2:
        raise ValueError(f"tfprof.scaling(profiles) compares at least two profiles, and {len(runs)} was given.")
    if global_batch not in get_args(GlobalBatch):
        raise ValueError(f"global_batch={global_batch!r} is neither 'grows' nor 'fixed'.")
    frame = scaling_frame(
        [ScalingRun(one.title, one.run.results, one.run.n_missing_hosts) for one in runs], global_batch=global_batch
    )
    return Scaling(frame, scaling_sentence(frame), global_batch, tuple(_notices(frame)))


def _notices(frame: pd.DataFrame) -> Iterator[str]:
    for row, compared in zip(frame.to_dict("records"), is_compared(frame).tolist(), strict=True):
        run = f"the run {row['title'] or 'without a title'}"
        if not row["n_steps"]:
            yield f"{run[0].upper()}{run[1:]} has no steps of workers."
        if row["n_missing"]:
            missing = f"{plural(row['n_missing'], 'host')} of {run} could not be read or captured"
            effect = "it is compared without" if compared else f"{_UNKNOWN}, so it is not compared"
            yield f"{missing}: {effect}."


_UNKNOWN = "how many workers it had is not known"
_COLUMNS = ("workers", "ms a step", "speed-up", "efficiency", "communication", "largest exchange")


def _page(scaling: Scaling) -> str:
    """A bar per run, the speed-up, and a line at the best possible for its workers; HTML without scripts."""
    runs = scaling.frame.to_dict("records")
    first = next((run["n_workers"] for run in runs if math.isfinite(run["speedup"])), runs[0]["n_workers"])
    ends = [value for run in runs for value in (run["speedup"], run["n_workers"] / first) if math.isfinite(value)]
    batch = "grows with the workers" if scaling.global_batch == "grows" else "is divided among them"
    return bar_table(
        scaling.sentence,
        _COLUMNS,
        [_bar_row(run, run["n_workers"] / first) for run in runs],
        longest=max(ends, default=1.0),
        notices=(
            f"The global batch {batch}; the line marks what as many workers could give at best.",
            *scaling.notices,
        ),
    )


def _bar_row(run: dict[Any, Any], at_best: float) -> BarRow:
    exchange = run["largest_exchange"]
    cells = (
        "no steps" if math.isnan(run["step_time_ms"]) else number(run["step_time_ms"]),
        "" if math.isnan(run["speedup"]) else number(run["speedup"]),
        "" if math.isnan(run["efficiency_ratio"]) else percent(run["efficiency_ratio"]),
        "" if math.isnan(run["communication_ratio"]) else percent(run["communication_ratio"]),
        f"{exchange} {percent(run['largest_exchange_ratio'])}" if exchange else "none",
    )
    return BarRow(f"{run['n_workers']:,}", cells, run["speedup"], (at_best, at_best), title=str(run["title"]))
