"""Steps of several hosts -> which are the same step, and by how much their clocks differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import pandas as pd

from ...trace.arrays import Bool, Float64, Int64
from ...trace.stats import ranges
from ...trace.trace import Trace
from ..common import PS_PER_MS, all_matches, number
from .hosts import median_of_others

_MEETS = 0.5
"""Clocks that agree let aligned steps overlap for at least this part of their time, whatever the phase of the steps."""
_AGREES = 0.25
"""Step times that differ by less than this part of what they do by another alignment speak for this one."""
_FEW_STEPS = 5
"""Of fewer steps in common nobody can tell by their times."""
_SHARE = 0.5
"""A host with less than this part of the steps that hosts usually have would cut all others."""


def align_most(frame: pd.DataFrame, rows: Sequence[Int64]) -> tuple[list[Int64], Bool]:
    """`align_steps` without hosts that cut most common steps. Differs from XProf: no host goes (semantics 2.7)."""
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
    """Of each host the steps that have a counterpart everywhere, shifted by the most overlap with the host of least span. Differs
    from XProf: equal step numbers decide where overlap says nothing or step times agree (semantics 2.7)."""
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
    number = pd.factorize(frame["name"])[0].astype(np.int64)
    number[(frame["source"] != "marker").to_numpy(np.bool_)] = -1
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


_DISAGREES = 0.5
"""Clocks that are further apart than this part of a step have a notice."""
_FIRM = 0.25
"""The difference of two clocks is known where it scatters by less than this part of itself from step to step."""
_NORMAL_MAD = 1.4826
_ROUNDS = 20
_S = 1000 * PS_PER_MS
_UNITS = (("days", 86_400 * _S), ("hours", 3_600 * _S), ("s", _S))
"""Of times longer than two of each."""


@dataclass(frozen=True)
class ClockShifts:
    """What each host's clock has to be moved by so that aligned steps end together."""

    shift_ps: Mapping[str, int]
    """Host -> ps to add to its times, with median 0; empty for fewer than two hosts or hosts that do not wait for each other."""
    notice: str
    """A sentence where clocks of hosts that wait for each other disagree by much of a step; else empty."""


NO_SHIFTS = ClockShifts(MappingProxyType({}), "")


def clock_shifts(hosts: tuple[str, ...], end_ps: Int64, step_ps: float) -> ClockShifts:
    """Judge clocks by when aligned steps end."""
    if len(hosts) < 2 or not len(end_ps):
        return NO_SHIFTS
    off = np.zeros(len(hosts), np.float64)
    for _ in range(_ROUNDS):  # moving hosts moves the middle of each step
        ends = end_ps - off
        off += np.median(ends - np.median(ends, axis=1, keepdims=True), axis=0)
    off -= np.median(off)
    shift = {host: -round(one) for host, one in zip(hosts, off.tolist(), strict=True)}
    return ClockShifts(MappingProxyType(shift), _notice(hosts, end_ps, off, step_ps))


def _notice(hosts: tuple[str, ...], end_ps: Int64, moved: Float64, step_ps: float) -> str:
    """Each clock is judged beside the median of the others: of two hosts that is how far they are apart."""
    ends = (end_ps - end_ps[:, :1]).astype(np.float64)
    late = ends - median_of_others(ends)
    off = np.median(late, axis=0)
    scatter = _NORMAL_MAD * np.median(np.abs(late - off), axis=0)
    apart = (np.abs(off) > _DISAGREES * step_ps) & (scatter < _FIRM * np.abs(off))
    if not apart.any():
        return ""
    worst = int(np.abs(np.where(apart, off, 0)).argmax())
    way = "ahead of" if off[worst] > 0 else "behind"
    n, n_apart = len(hosts), int((apart & (np.abs(moved) > _DISAGREES * step_ps)).sum())
    if 0 < 2 * n_apart < n:
        who = f"{n_apart:,} of {n:,} hosts are off"
    else:  # which of them are right nobody can tell
        who = f"the {n:,} hosts {'are off' if n == 2 else 'disagree'}"
    than = f"that of {hosts[1 - worst]}" if n == 2 else "the others'"
    return (
        f"The clocks of {who} by much of a step: that of {hosts[worst]} is {_time(abs(float(off[worst])))} {way} {than}. "
        "`aligned()` moves them so that steps end together."
    )


def _time(ps: float) -> str:
    """With a unit that fits: clocks of machines may be apart by microseconds or by days."""
    for unit, unit_ps in _UNITS:
        if ps >= 2 * unit_ps:
            return f"{number(ps / unit_ps)} {unit}"
    return f"{number(ps / PS_PER_MS)} ms"


def with_clocks_shifted(trace: Trace, shift_ps: Mapping[str, int]) -> Trace:
    """The same trace with the times of each host moved; hosts without a shift stay. The origin moves with the first."""
    hosts = [plane.host for plane in trace.planes]
    first = min([shift_ps.get(host, 0) for host in hosts], default=0)
    first_ns = -(-max(-first, 0) // 1000)
    moved = np.array([shift_ps.get(host, 0) for host in hosts], np.int64) + 1000 * first_ns
    sessions = tuple(
        replace(
            one,
            start_ps=one.start_ps + shift_ps.get(one.host, 0) + 1000 * first_ns,
            stop_ps=one.stop_ps + shift_ps.get(one.host, 0) + 1000 * first_ns,
        )
        for one in trace.sessions
    )
    origin_ns = trace.origin_ns - first_ns if trace.origin_ns else 0
    return replace(trace, start_ps=trace.start_ps + moved[trace.plane_id], sessions=sessions, origin_ns=origin_ns)
