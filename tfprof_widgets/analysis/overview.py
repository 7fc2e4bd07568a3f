"""Steps and ops -> the overview: how long a step takes, how stable it is, what limits it, on what machine.

    compute_overview(trace, steps, occurrences) -> Overview

Source: semantics 3.5, 3.6, 5.1, 5.2, 10.2, 10.3.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..store.trace import Bool, Trace
from .environment import Environment, compute_environment
from .matching import sum_by
from .op_occurrences import Occurrences
from .steps import STEP_CATEGORIES, Steps
from .units import PS_PER_MS
from .verdict import judge
from .wording import number, percent, plural

N_TOP_OPS = 10
_OUTLIER = 3.0
"""The first step of a session is left out of averages when it takes more than this many medians of the others."""
_COMPILING = 0.1
"""A first step that spends this share of its time compiling is left out too."""


@dataclass(frozen=True, eq=False, repr=False)
class Overview:
    """The figures a reader wants first. Without steps, times and ratios of steps are 0 and `verdict` says why."""

    n_steps: int
    n_steps_averaged: int
    step_time_avg_ms: float
    step_time_std_ms: float
    """Sample standard deviation, 0 for a single step."""
    step_time_min_ms: float
    step_time_max_ms: float
    is_averaged: Bool
    """For each step whether the averages include it."""
    left_out: str
    """Which steps the averages leave out and why; empty where all are in."""
    is_inferred: bool
    """Whether any step was inferred rather than marked."""
    breakdown: pd.DataFrame
    """`category`, `ms` (average a step), `std_ms`, `ratio` (of the step time), in the order of `STEP_CATEGORIES`."""
    limiter: str
    """The category that limits the steps, empty where there are none."""
    verdict: str
    """One sentence."""
    verdict_detail: str
    """What else the breakdown says, and what the averages are over; or, without steps, what to do."""
    busy_ratio: float
    """Share of the step time in which the device (on a machine without one: the CPU) computes."""
    compute_16bit_ratio: float
    """Share of 16-bit kernels in device compute time; nan where no device computed."""
    compute_32bit_ratio: float
    host_time_ratio: float
    """Share of op time spent on the host; with `device_time_ratio` it adds up to 1, or both are 0 without ops."""
    device_time_ratio: float
    host_eager_ratio: float
    """Share of eagerly run ops in the op time of the host."""
    device_eager_ratio: float
    top_ops: pd.DataFrame
    """The ops that took most time of their own within the averaged steps (the whole trace where there are none): `name`,
    `type`, `device` (`Device`, `Host`), `occurrences`, `self_time_ms`, `self_time_ms_per_step`, `self_time_ratio` (of all
    op time on that side)."""
    environment: Environment

    def __repr__(self) -> str:
        return f"Overview({plural(self.n_steps, 'step')}: {self.verdict})"


def compute_overview(trace: Trace, steps: Steps, occurrences: Occurrences) -> Overview:
    """Sum a capture up.

    Differs from XProf: averages are over all complete steps but a first one that compiles or is an outlier, not over all
    but the first and last (D3); bfloat16 is 16-bit (D9); host and device shares are of time, not of counts (D10).
    """
    frame = steps.frame
    averaged, left_out = _choose(frame)
    chosen = frame[averaged]
    times = chosen["step_time_ms"]
    average = float(times.mean()) if len(times) else 0.0
    breakdown = _breakdown(chosen, average)
    has_device = bool(chosen["device_compute_ms"].sum() > 0)
    verdict = judge(dict(zip(breakdown["category"], breakdown["ms"], strict=True)), average, has_device=has_device)
    sentence, detail = verdict.sentence, _detail(frame, breakdown, verdict.limiter, left_out)
    if not len(frame):
        sentence, detail = _without_steps(trace)
    ratio = dict(zip(breakdown["category"], breakdown["ratio"], strict=True))
    computed = steps.compute_16bit_ps + steps.compute_32bit_ps
    sides = _sides(occurrences)
    return Overview(
        n_steps=len(frame),
        n_steps_averaged=len(times),
        step_time_avg_ms=average,
        step_time_std_ms=float(times.std(ddof=1)) if len(times) > 1 else 0.0,
        step_time_min_ms=float(times.min()) if len(times) else 0.0,
        step_time_max_ms=float(times.max()) if len(times) else 0.0,
        is_averaged=averaged,
        left_out=left_out,
        is_inferred=bool((frame["source"] == "inferred").any()),
        breakdown=breakdown,
        limiter=verdict.limiter,
        verdict=sentence,
        verdict_detail=detail,
        busy_ratio=ratio["device_compute" if has_device else "host_compute"],
        compute_16bit_ratio=steps.compute_16bit_ps / computed if computed else float("nan"),
        compute_32bit_ratio=steps.compute_32bit_ps / computed if computed else float("nan"),
        host_time_ratio=sides[0],
        device_time_ratio=sides[1],
        host_eager_ratio=sides[2],
        device_eager_ratio=sides[3],
        top_ops=_top_ops(occurrences, steps, averaged),
        environment=compute_environment(trace),
    )


def _choose(frame: pd.DataFrame) -> tuple[Bool, str]:
    """Which steps the averages are over, and a sentence on the others."""
    averaged = frame["is_complete"].to_numpy(np.bool_).copy()
    reasons = [plural(int((~averaged).sum()), "incomplete step")] if not averaged.all() else []
    kinds = np.array([name.rstrip("0123456789").rstrip() for name in frame["name"]], dtype=object)
    if len(set(kinds[averaged])) > 1:
        time = frame["step_time_ms"][averaged].groupby(kinds[averaged]).sum()
        main = time.idxmax()
        for kind, count in Counter(kinds[averaged & (kinds != main)].tolist()).items():
            reasons.append(plural(count, f"{kind} step" if kind else "unnamed step"))
        averaged &= kinds == main
    time_ms, compile_ms = frame["step_time_ms"].to_numpy(), frame["compile_ms"].to_numpy()
    for _, session in frame[averaged].groupby(["host", "session"]):
        first, others = session.index[0], session.index[1:]
        if not len(others):
            continue
        compiles = compile_ms[first] >= _COMPILING * time_ms[first]
        if compiles or time_ms[first] > _OUTLIER * np.median(time_ms[others]):
            averaged[first] = False
            why = "compiles" if compiles else "is an outlier"
            reasons.append(f"step {first} ({number(time_ms[first])} ms, {why})")
    return averaged, f"Left out of averages: {', '.join(reasons)}." if reasons else ""


def _breakdown(chosen: pd.DataFrame, average: float) -> pd.DataFrame:
    columns = chosen[[f"{category}_ms" for category in STEP_CATEGORIES]]
    ms = columns.mean().to_numpy() if len(columns) else np.zeros(len(STEP_CATEGORIES))
    std = columns.std(ddof=1).to_numpy() if len(columns) > 1 else np.zeros(len(STEP_CATEGORIES))
    ratio = ms / average if average else np.zeros(len(STEP_CATEGORIES))
    return pd.DataFrame({"category": list(STEP_CATEGORIES), "ms": ms, "std_ms": std, "ratio": ratio})


def _detail(frame: pd.DataFrame, breakdown: pd.DataFrame, limiter: str, left_out: str) -> str:
    rest = breakdown[(breakdown["category"] != limiter) & (breakdown["ratio"] >= 0.01)]
    rest = rest.sort_values("ratio", ascending=False, kind="stable").head(3)
    figures = zip(rest["category"].tolist(), rest["ms"].tolist(), rest["ratio"].tolist(), strict=True)
    parts = [f"{name.replace('_', ' ')} {number(ms)} ms ({percent(ratio)})" for name, ms, ratio in figures]
    sentences = [f"Then {', '.join(parts)}."] if parts else []
    if left_out:
        sentences.append(left_out)
    if (frame["source"] == "inferred").any():
        sentences.append("Steps are inferred from repeated calls; nobody marked them.")
    return " ".join(sentences)


def _without_steps(trace: Trace) -> tuple[str, str]:
    if not trace.n_events:
        return "Nothing was recorded.", "The capture holds no events: no TensorFlow op ran while it was on."
    return (
        "No steps found: nothing in this capture was marked as a step, and no call on the main thread repeats.",
        "Mark steps with `for batch in tfprof.trace_steps(dataset): ...` or `with tfprof.step(i): ...`.",
    )


def _sides(occurrences: Occurrences) -> tuple[float, float, float, float]:
    """Host and device shares of op time, and of each the share of eager ops."""
    own = sum_by(occurrences.op, occurrences.self_ps, len(occurrences.name))
    device, eager = occurrences.is_device, occurrences.is_eager
    host_ps, device_ps = int(own[~device].sum()), int(own[device].sum())
    both = host_ps + device_ps

    def share(part: int, whole: int) -> float:
        return part / whole if whole else 0.0

    return (
        share(host_ps, both),
        share(device_ps, both),
        share(int(own[~device & eager].sum()), host_ps),
        share(int(own[device & eager].sum()), device_ps),
    )


def _top_ops(occurrences: Occurrences, steps: Steps, averaged: Bool) -> pd.DataFrame:
    n_ops, n_averaged = len(occurrences.name), int(averaged.sum())
    inside = np.ones(len(occurrences), np.bool_)
    if n_averaged:
        inside = np.append(averaged, False)[steps.event_step[occurrences.event]]
    own = sum_by(occurrences.op[inside], occurrences.self_ps[inside], n_ops)
    count = np.bincount(occurrences.op[inside], minlength=n_ops)
    side = sum_by(occurrences.is_device.astype(np.int64), own, 2)
    top = np.flatnonzero(own > 0)
    top = top[np.argsort(-own[top], kind="stable")][:N_TOP_OPS]
    return pd.DataFrame(
        {
            "name": pd.Series([occurrences.name[i] for i in top.tolist()], dtype=object),
            "type": pd.Series([occurrences.type[i] for i in top.tolist()], dtype=object),
            "device": pd.Series(np.where(occurrences.is_device[top], "Device", "Host"), dtype=object),
            "occurrences": count[top],
            "self_time_ms": own[top] / PS_PER_MS,
            "self_time_ms_per_step": own[top] / PS_PER_MS / max(n_averaged, 1),
            "self_time_ratio": own[top] / np.maximum(side[occurrences.is_device[top].astype(np.int64)], 1),
        }
    )
