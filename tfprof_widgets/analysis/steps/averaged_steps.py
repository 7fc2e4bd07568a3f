"""Steps -> which of them the averages are over, and a sentence on the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Int64
from ..base.units import PS_PER_MS
from ..base.wording import milliseconds, plural
from .step_names import kinds_of

MIN_STEPS = 3
"""Of fewer steps nobody can tell what is usual; rules about what recurs say nothing then."""
_OUTLIER = 3.0
"""The first step of a session is left out of averages when it takes more than this many medians of the others."""
_COMPILING = 0.1
"""A step that spends this share of its time compiling is left out, wherever it lies."""
_MOST_NAMED = 3
"""Of more steps that compile only their number is told."""
_PAUSE = 10.0
"""A loop of steps begins anew, such as another `fit`, where the time since the last step is so many usual ones, and"""
_MIN_PAUSE_MS = 1.0
"""at least this."""
_TRAINS = "train"
"""The kind of steps that a capture of a training is about, however long it validates."""


class Averaged(NamedTuple):
    """Which steps count."""

    is_averaged: Bool
    left_out: str
    """Why not all; "" where all do."""
    compiles_again: Bool
    """Which are left out as they compile, although no loop begins with them."""


def choose_steps(
    frame: pd.DataFrame,
    *,
    coordinators: Collection[str] = (),
    has_failed: bool = False,
    epoch_starts: Bool | None = None,
) -> Averaged:
    """Leave out what is not typical: incomplete steps, other kinds of steps, those that compile, a first one that is an outlier.

    Args:
        frame: the `steps` table.
        coordinators: hosts whose steps are not the training's (semantics 2.7).
        has_failed: whether memory ran out, and nobody asks how long a usual step takes. No step counts then: the last one
            holds the 10 s for which TensorFlow waits for memory, and what came before may be building the model.
        epoch_starts: for each step whether it is known to be the first of an epoch. Where every tenth step was captured, say, as
            many of those may be among them as of all others.
    """
    if has_failed:
        none = np.zeros(len(frame), np.bool_)
        return Averaged(none, "No step is averaged, as memory ran out." if len(frame) else "", none)
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
    compiles = _compiles(frame)
    again = np.zeros(len(frame), np.bool_)
    for host in sorted(set(frame["host"][averaged])):  # bounded by the number of hosts
        own = np.flatnonzero(averaged & (frame["host"] == host).to_numpy())
        reasons += _leave_out_unusual(frame, own, compiles, averaged, again)
    if epoch_starts is not None and is_selection(frame, averaged):
        others = averaged & ~epoch_starts
        if MIN_STEPS <= others.sum() < averaged.sum():
            reasons.append(f"{plural(int(averaged.sum() - others.sum()), 'step')} at the begin of an epoch")
            averaged = others
    sentences = _sentence(reasons), _still_compiling(int((averaged & compiles).sum()), int(averaged.sum()))
    return Averaged(averaged, " ".join(filter(None, sentences)), again)


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


def _still_compiling(n: int, n_averaged: int) -> str:
    """That averaged steps compile, as most do or no other was captured."""
    if not n:
        return ""
    if n < n_averaged:
        return f"{n} of the {n_averaged} averaged steps compile."
    return "All averaged steps compile." if n > 1 else "The only averaged step compiles."


def _compiles(frame: pd.DataFrame) -> Bool:
    compile_ms = frame["compile_ms"].to_numpy()
    found: Bool = (compile_ms > 0) & (compile_ms >= _COMPILING * frame["step_time_ms"].to_numpy())
    return found


def _leave_out_unusual(frame: pd.DataFrame, own: Int64, compiles: Bool, averaged: Bool, again: Bool) -> Iterator[str]:
    """Take steps of one host out of `averaged` that compile, unless most do, and first ones that take long, and say why; set
    `again` for those that compile although no loop begins with them."""
    session = frame["session"].to_numpy()[own]
    parts = [own[session == one].tolist() for one in sorted(set(session.tolist()))]
    begins = {part[0] for at, part in enumerate(parts) if len(part) > 1 or not at}
    of_loops = {step for part in parts for step in _first_of_loops(frame, part)}
    is_begin = np.isin(own, [*begins, *of_loops])
    compiling, later = own[compiles[own]], own[~is_begin]
    if 2 * np.count_nonzero(compiles[later]) > len(later):  # it is what a step does
        compiling = own[compiles[own] & is_begin]
    if len(compiling) < len(own):
        averaged[compiling] = False
        again[np.setdiff1d(compiling, own[is_begin])] = True
        yield from _compile_words(frame, compiling.tolist(), of_loops)
    for at, (first, *others) in enumerate(parts):
        others = [step for step in others or (own.tolist() if not at else ()) if averaged[step] and step != first]
        time_ms = frame["step_time_ms"].to_numpy()
        if averaged[first] and others and time_ms[first] > _OUTLIER * np.median(time_ms[others]):
            averaged[first] = False
            yield f"step {first} ({milliseconds(time_ms[first])}, warm-up)"


def _compile_words(frame: pd.DataFrame, steps: list[int], of_loops: Collection[int]) -> Iterator[str]:
    """Of steps that compile and are left out: `step 0 (1.03 s, compiles)`; of many how many they are."""
    named = [step for step in steps if step not in of_loops]
    for step in named[: len(named) if len(named) <= _MOST_NAMED else 1]:
        yield f"step {step} ({milliseconds(frame['step_time_ms'].iloc[step])}, compiles)"
    if len(named) > _MOST_NAMED:
        yield f"{len(named) - 1} more that compile"
    if n := len(steps) - len(named):
        yield f"{plural(n, 'step')} that {'compile' if n > 1 else 'compiles'} at the begin of a loop"


def _first_of_loops(frame: pd.DataFrame, steps: list[int]) -> list[int]:
    """Of steps of one session, in order of time, those that come after a pause as between two calls of `fit`."""
    start_ps, duration_ps = (frame[name].to_numpy(np.int64)[steps] for name in ("start_ps", "duration_ps"))
    pause_ms = (start_ps[1:] - (start_ps + duration_ps)[:-1]) / PS_PER_MS
    usual_ms = float(np.median(pause_ms)) if len(pause_ms) else 0.0
    found = np.flatnonzero(pause_ms >= max(_PAUSE * usual_ms, _MIN_PAUSE_MS)) + 1
    return [steps[at] for at in found.tolist()]
