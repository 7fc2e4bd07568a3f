"""Steps -> which of them the averages are over, and a sentence on the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import numpy as np
import pandas as pd

from ...trace.trace import Bool
from ..base.units import PS_PER_MS
from ..base.wording import milliseconds, plural
from .step_names import kinds_of

MIN_STEPS = 3
"""Of fewer steps nobody can tell what is usual; rules about what recurs say nothing then."""
_OUTLIER = 3.0
"""The first step of a session is left out of averages when it takes more than this many medians of the others."""
_COMPILING = 0.1
"""A first step that spends this share of its time compiling is left out too."""
_PAUSE = 10.0
"""A loop of steps begins anew, such as another `fit`, where the time since the last step is so many usual ones, and"""
_MIN_PAUSE_MS = 1.0
"""at least this."""
_TRAINS = "train"
"""The kind of steps that a capture of a training is about, however long it validates."""


def choose_steps(
    frame: pd.DataFrame,
    *,
    coordinators: Collection[str] = (),
    has_failed: bool = False,
    epoch_starts: Bool | None = None,
) -> tuple[Bool, str]:
    """Leave out what is not typical: incomplete steps, other kinds of steps, a first one that compiles or is an outlier.

    Args:
        frame: the `steps` table.
        coordinators: hosts whose steps are not the training's (semantics 2.7).
        has_failed: whether memory ran out, and nobody asks how long a usual step takes. No step counts then: the last one
            holds the 10 s for which TensorFlow waits for memory, and what came before may be building the model.
        epoch_starts: for each step whether it is known to be the first of an epoch. Where every tenth step was captured, say, as
            many of those may be among them as of all others.
    """
    if has_failed:
        return np.zeros(len(frame), np.bool_), "No step is averaged, as memory ran out." if len(frame) else ""
    averaged = frame["is_complete"].to_numpy(np.bool_).copy()
    reasons = [plural(int((~averaged).sum()), "incomplete step")] if not averaged.all() else []
    coordinating = frame["host"].isin(list(coordinators)).to_numpy(np.bool_)
    if (averaged & coordinating).any():
        reasons.append(f"{plural(int((averaged & coordinating).sum()), 'step')} of hosts that do not train")
        averaged &= ~coordinating
    kinds = kinds_of(frame["name"])
    if len(set(kinds[averaged])) > 1:
        time = frame["step_time_ms"][averaged].groupby(kinds[averaged]).sum()
        main = _TRAINS if _TRAINS in time.index else time.idxmax()
        for kind, count in Counter(kinds[averaged & (kinds != main)].tolist()).items():
            reasons.append(plural(count, f"{kind} step" if kind else "unnamed step"))
        averaged &= kinds == main
    reasons += _slow_first_steps(frame, averaged)
    if epoch_starts is not None and is_selection(frame, averaged):
        others = averaged & ~epoch_starts
        if MIN_STEPS <= others.sum() < averaged.sum():
            reasons.append(f"{plural(int(averaged.sum() - others.sum()), 'step')} at the begin of an epoch")
            averaged = others
    return averaged, _sentence(reasons)


def is_selection(frame: pd.DataFrame, averaged: Bool) -> bool:
    """Whether the averaged steps lie in windows of their own, as of `every=`."""
    return bool(averaged.any()) and 2 * frame["session"][averaged].nunique() > averaged.sum() >= MIN_STEPS


def _sentence(reasons: list[str]) -> str:
    """`Step 0 (1.03 s, warm-up) and 2 test steps are excluded.`"""
    if not reasons:
        return ""
    *most, last = sorted(reasons, key=lambda reason: not reason.startswith("step "))
    said = f"{', '.join(most)} and {last}" if most else last
    is_one = not most and last.startswith(("step ", "1 "))
    return f"{said[0].upper()}{said[1:]} {'is' if is_one else 'are'} excluded."


def _slow_first_steps(frame: pd.DataFrame, averaged: Bool) -> list[str]:
    """Take the first step of each session out of `averaged` where it is not like the others, and say why."""
    reasons = []
    time_ms, compile_ms = frame["step_time_ms"].to_numpy(), frame["compile_ms"].to_numpy()
    sessions: dict[tuple[str, int], list[int]] = {}
    of_step = zip(frame["host"].tolist(), frame["session"].tolist(), averaged.tolist(), strict=True)
    for step, (host, session, counts) in enumerate(of_step):
        if counts:
            sessions.setdefault((host, session), []).append(step)
    is_compiling = compile_ms >= _COMPILING * time_ms
    for _, (first, *others) in sorted(sessions.items()):
        if not others:
            continue
        if is_compiling[first] or time_ms[first] > _OUTLIER * np.median(time_ms[others]):
            averaged[first] = False
            why = "compiles" if is_compiling[first] else "warm-up"
            reasons.append(f"step {first} ({milliseconds(time_ms[first])}, {why})")
        begins = [step for step in _first_of_loops(frame, [first, *others]) if is_compiling[step]]
        averaged[begins] = False
        if begins:
            reasons.append(
                f"{plural(len(begins), 'step')} that {'compile' if len(begins) > 1 else 'compiles'} at the begin of a loop"
            )
    return reasons


def _first_of_loops(frame: pd.DataFrame, steps: list[int]) -> list[int]:
    """Of steps of one session, in order of time, those that come after a pause as between two calls of `fit`."""
    start_ps, duration_ps = (frame[name].to_numpy(np.int64)[steps] for name in ("start_ps", "duration_ps"))
    pause_ms = (start_ps[1:] - (start_ps + duration_ps)[:-1]) / PS_PER_MS
    usual_ms = float(np.median(pause_ms)) if len(pause_ms) else 0.0
    found = np.flatnonzero(pause_ms >= max(_PAUSE * usual_ms, _MIN_PAUSE_MS)) + 1
    return [steps[at] for at in found.tolist()]
