"""Steps -> the same steps host by host, numbered so that one number is one step of the whole system.

    compute_workers(trace, steps) -> Workers

Source: semantics 2.7 (alignment), 9 (the pod viewer's records).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...store.trace import Int64, Trace
from ..overview.environment import is_accelerator
from ..wording import plural
from .steps import STEP_CATEGORIES, Steps


@dataclass(frozen=True, eq=False, repr=False)
class Workers:
    """Steps of each host, side by side."""

    frame: pd.DataFrame
    """One row per aligned step and host, by step, then host: the columns of the `steps` table, of which `step` is the number
    among the aligned steps (0, 1, 2, ...); `own_step`, the row in the `steps` table; `bottleneck`, the category that takes
    most of the step, of equals the first of `STEP_CATEGORIES`."""
    hosts: tuple[str, ...]
    """Hosts with at least one row, in the order of the trace."""
    n_steps: int
    """How many steps are in all of `hosts`; 0 where their steps do not meet."""
    coordinators: tuple[str, ...]
    """Hosts without a device where others have some: they hand out work, and their steps are not the training's."""
    n_left_out: int
    """Steps of hosts other than coordinators that some other host has no counterpart of."""
    note: str
    """What was left out and why, empty where nothing was."""

    def __repr__(self) -> str:
        return f"Workers({plural(len(self.hosts), 'host')}, {plural(self.n_steps, 'step')})"


def compute_workers(trace: Trace, steps: Steps) -> Workers:
    """Line the steps of all hosts up.

    The host whose steps span the least time leads. Every other host is shifted by the whole number of steps that makes its
    steps overlap the leader's longest; of equals 0, 1, 2, ... before -1, -2, .... What all hosts then have is numbered anew.
    A single host keeps all its steps.

    Args:
        trace: the trace.
        steps: its steps; incomplete ones count, as a step that one host lost must not shift the others.
    """
    frame = steps.frame
    coordinators = coordinators_of(trace)
    of_host = {host: np.flatnonzero(frame["host"] == host) for host in dict.fromkeys(frame["host"].tolist())}
    candidates = {host: rows for host, rows in of_host.items() if host not in coordinators}
    aligned = _align(frame, list(candidates.values()))
    n_steps = len(aligned[0]) if aligned else 0
    rows = np.stack(aligned, axis=1).reshape(-1) if n_steps else np.empty(0, np.int64)
    n_left_out = sum(len(one) for one in candidates.values()) - len(rows)
    order = [plane.host for plane in trace.planes]
    return Workers(
        frame=_frame(frame.iloc[rows], n_steps),
        hosts=tuple(sorted(candidates, key=order.index)) if n_steps else (),
        n_steps=n_steps,
        coordinators=tuple(host for host in dict.fromkeys(order) if host in coordinators),
        n_left_out=n_left_out,
        note=_note(coordinators, n_left_out, n_steps),
    )


def coordinators_of(trace: Trace) -> frozenset[str]:
    """Hosts without a device, where another host has one."""
    hosts = {plane.host for plane in trace.planes if plane.is_host}
    with_device = {plane.host for plane in trace.planes if is_accelerator(plane)}
    return frozenset(hosts - with_device) if with_device else frozenset()


def _align(frame: pd.DataFrame, rows: list[Int64]) -> list[Int64]:
    """Of each host the rows that have a counterpart everywhere, equally many and in the same order."""
    if len(rows) < 2:
        return rows
    start = frame["start_ps"].to_numpy(np.int64)
    end = start + frame["duration_ps"].to_numpy(np.int64)
    chief = min(rows, key=lambda own: int(end[own].max() - start[own].min()))
    offsets = [0 if own is chief else _offset(start[own], end[own], start[chief], end[chief]) for own in rows]
    low = max([0, *offsets])
    high = min(len(own) + offset for own, offset in zip(rows, offsets, strict=True))
    return [own[low - offset : max(high, low) - offset] for own, offset in zip(rows, offsets, strict=True)]


def _offset(start: Int64, end: Int64, chief_start: Int64, chief_end: Int64) -> int:
    """The shift of a host's steps against the chief's with the longest overlap; both are sorted by start."""
    # Ends rise too, but for steps of two tasks on one host; a few pairs too many then meet for a negative time.
    first = np.searchsorted(np.maximum.accumulate(chief_end), start, side="right")
    n = np.maximum(np.searchsorted(chief_start, end, side="left") - first, 0)
    own = np.repeat(np.arange(len(start)), n)
    other = np.repeat(first - (np.cumsum(n) - n), n) + np.arange(int(n.sum()))
    overlap = np.minimum(end[own], chief_end[other]) - np.maximum(start[own], chief_start[other])
    total = np.zeros(len(start) + len(chief_start), np.int64)
    np.add.at(total, other - own + len(start), np.maximum(overlap, 0))
    shift = np.arange(len(total)) - len(start)
    order = np.lexsort((np.abs(shift), shift < 0, -total))
    return int(shift[order[0]])


def _frame(rows: pd.DataFrame, n_steps: int) -> pd.DataFrame:
    n_hosts = len(rows) // n_steps if n_steps else 0
    time = rows[[f"{category}_ms" for category in STEP_CATEGORIES]].to_numpy()
    most = time.argmax(axis=1) if len(rows) else np.empty(0, np.int64)
    result = rows.assign(
        own_step=rows["step"],
        step=np.repeat(np.arange(n_steps), n_hosts),
        bottleneck=pd.Series([STEP_CATEGORIES[i] for i in most.tolist()], index=rows.index, dtype=object),
    )
    return result.drop(columns=["start_ps", "duration_ps"]).reset_index(drop=True)


def _note(coordinators: frozenset[str], n_left_out: int, n_steps: int) -> str:
    sentences = []
    if coordinators:
        names = ", ".join(sorted(coordinators))
        sentences.append(f"Without a device and therefore without steps here: {names}.")
    if n_left_out and not n_steps:
        sentences.append("The steps of the hosts do not meet: no step was captured on all of them.")
    elif n_left_out:
        sentences.append(f"{plural(n_left_out, 'step')} without a counterpart on every host left out.")
    return " ".join(sentences)
