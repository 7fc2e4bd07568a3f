"""Steps of several hosts -> which step of each is the same step of the training.

align_most(frame, rows) -> rows of the same steps, host by host, and which hosts they are of
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ...trace.stat_shapes import ranges
from ...trace.trace import Bool, Int64
from ..base.matching import all_matches

_MEETS = 0.5
"""Clocks that agree let aligned steps overlap for at least this part of their time, whatever the phase of the steps."""
_AGREES = 0.25
"""Step times that differ by less than this part of what they do by another alignment speak for this one."""
_FEW_STEPS = 5
"""Of fewer steps in common nobody can tell by their times."""
_SHARE = 0.5
"""A host with less than this part of the steps that hosts usually have would cut all others."""


def align_most(frame: pd.DataFrame, rows: Sequence[Int64]) -> tuple[list[Int64], Bool]:
    """Align the steps of the hosts as `align_steps` does, without the few that would cut them by more than half.

    A host whose capture began late, ended early or was of another time has hardly a step in common with the others, and what
    all have in common would be next to nothing. It is left out if most hosts remain.

    Returns:
        What `align_steps` has of the hosts that are compared, and for each host whether it is.

    Differs from XProf: it keeps every host, and of the steps what all of them have (semantics 2.7).
    """
    every = np.ones(len(rows), np.bool_)
    aligned = align_steps(frame, rows)
    usual = float(np.median([len(own) for own in rows])) if len(rows) > 2 else 0.0
    if len(rows) <= 2 or len(aligned[0]) >= _SHARE * usual:
        return aligned, every
    kept = np.array([len(own) >= _SHARE * usual for own in rows], np.bool_)
    some = [own for own, is_kept in zip(rows, kept.tolist(), strict=True) if is_kept]
    first = np.array(_offsets(frame, some), np.int64)  # places among the steps of the host that leads
    past = first + [len(own) for own in some]
    low, high = np.median(first), np.median(past)
    kept[kept] = np.minimum(past, high) - np.maximum(first, low) >= _SHARE * (high - low)
    if kept.all() or 2 * kept.sum() <= len(rows):
        return aligned, every
    more = align_steps(frame, [own for own, is_kept in zip(rows, kept.tolist(), strict=True) if is_kept])
    return (more, kept) if len(aligned[0]) < _SHARE * len(more[0]) else (aligned, every)


def align_steps(frame: pd.DataFrame, rows: Sequence[Int64]) -> list[Int64]:
    """Of each host the steps that have a counterpart everywhere, equally many and in the same order.

    The host whose steps span the least time leads. Every other one is shifted by the whole number of steps that makes its
    steps overlap the leader's longest; of equals 0, 1, 2, ... before -1, -2, ....

    Clocks of machines may disagree by more than a step, and then the wrong steps overlap. Where the steps of both hosts
    were marked with numbers (`train 17`), the shift at which equal numbers meet is taken instead if the overlap says
    nothing (steps overlap for less than half of their time), or if step times speak for it: hosts that train together
    wait for each other, so that the same step is as long on all of them. Numbers alone do not decide, as each program
    counts as it likes; and where hosts exchange nothing, only steps that never meet go by them.

    Args:
        frame: the `steps` table.
        rows: of each host its rows, by start.

    Differs from XProf: it goes by overlap alone (semantics 2.7).
    """
    if len(rows) < 2 or not all(len(own) for own in rows):
        return [*rows] if len(rows) < 2 else [own[:0] for own in rows]
    offsets = _offsets(frame, rows)
    low = max(offsets)
    high = min(len(own) + offset for own, offset in zip(rows, offsets, strict=True))
    return [own[low - offset : max(high, low) - offset] for own, offset in zip(rows, offsets, strict=True)]


def _offsets(frame: pd.DataFrame, rows: Sequence[Int64]) -> list[int]:
    """For each host by how many steps it is shifted; of hosts with steps."""
    start = frame["start_ps"].to_numpy(np.int64)
    duration = frame["duration_ps"].to_numpy(np.int64)
    end = start + duration
    number = _numbers(frame)
    waits = frame["device_collectives_ms"].to_numpy(np.float64) > 0
    chief = min(rows, key=lambda own: int(end[own].max() - start[own].min()))
    offsets = []
    for own in rows:  # one turn per host
        if own is chief:
            offsets.append(0)
            continue
        offset, overlap = _offset(start[own], end[own], start[chief], end[chief])
        named = _offset_of_numbers(number[own], number[chief])
        if named is not None and named != offset and len(_pairs(own, chief, named)[0]):
            met = duration[_pairs(own, chief, offset)[0]].sum()
            # Programs that exchange nothing have numbers and a pace of their own each.
            is_of_one = overlap == 0 or (waits[own].any() and waits[chief].any())
            if is_of_one and (overlap < _MEETS * met or _is_better(duration, own, chief, named, offset)):
                offset = named
        offsets.append(offset)
    return offsets


def _numbers(frame: pd.DataFrame) -> Int64:
    """A code for each marked step, equal where the names are; -1 for what nobody marked."""
    code = pd.factorize(frame["name"])[0].astype(np.int64)
    code[(frame["source"] != "marker").to_numpy(np.bool_)] = -1
    return code


def _pairs(own: Int64, chief: Int64, offset: int) -> tuple[Int64, Int64]:
    """The steps of two hosts that meet at a shift."""
    low, high = max(0, -offset), min(len(own), len(chief) - offset)
    return own[low : max(low, high)], chief[low + offset : max(low, high) + offset]


def _is_better(duration: Int64, own: Int64, chief: Int64, offset: int, than: int) -> bool:
    """Whether step times at one shift agree far better than at another."""
    differences = []
    for shift, n_steps in ((offset, _FEW_STEPS), (than, 1)):
        mine, theirs = _pairs(own, chief, shift)
        if len(mine) < n_steps:
            return False
        differences.append(float(np.median(np.abs(duration[mine] - duration[theirs]))))
    return differences[0] < _AGREES * differences[1]


def _offset_of_numbers(own: Int64, chief: Int64) -> int | None:
    """The shift at which most equal numbers meet; None where the two have none in common."""
    mine = np.flatnonzero(own >= 0)
    order = np.argsort(chief, kind="stable")
    which, theirs = all_matches(own[mine], chief[order])
    shift = order[theirs] - mine[which]
    if not len(shift):
        return None
    shifts, count = np.unique(shift, return_counts=True)
    best = np.lexsort((np.abs(shifts), -count))[0]
    return int(shifts[best])


def _offset(start: Int64, end: Int64, chief_start: Int64, chief_end: Int64) -> tuple[int, int]:
    """The shift of a host's steps against the chief's with the longest overlap, and that; both are sorted by start."""
    # Ends rise too, but for steps of two tasks on one host; a few pairs too many then meet for a negative time.
    first = np.searchsorted(np.maximum.accumulate(chief_end), start, side="right")
    n = np.maximum(np.searchsorted(chief_start, end, side="left") - first, 0)
    own, other = np.repeat(np.arange(len(start)), n), ranges(first, n)
    overlap = np.minimum(end[own], chief_end[other]) - np.maximum(start[own], chief_start[other])
    total = np.zeros(len(start) + len(chief_start), np.int64)
    np.add.at(total, other - own + len(start), np.maximum(overlap, 0))
    shift = np.arange(len(total)) - len(start)
    order = np.lexsort((np.abs(shift), shift < 0, -total))
    return int(shift[order[0]]), int(total[order[0]])
