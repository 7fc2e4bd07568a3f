"""Steps -> the same steps host by host, numbered so that one number is one step of the whole system.

    compute_workers(steps, facts, communication) -> Workers

Source: semantics 2.7, 9.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.trace import Int64
from ..base.table_types import table_of_arrays
from ..base.wording import listed, plural
from ..columns.registry import TABLES
from ..steps.categories import STEP_CATEGORIES
from ..steps.steps import Steps
from .alignment import align_most
from .clock_shifts import NO_SHIFTS, ClockShifts, clock_shifts
from .roles import HostFacts, roles

EXCHANGE = "device_collectives"
"""The category of step time in which a host waits for others."""
_JOINT = ("collective", "device_collective")
"""Kinds of exchange that end when all who take part have arrived. What is sent and received is between a worker and a server:
workers that share servers never wait for each other."""
_MOST_NAMED = 5


@dataclass(frozen=True, eq=False, repr=False)
class Workers:
    """Steps of each host that trains, side by side."""

    frame: pd.DataFrame
    """One row per aligned step and host, by step, then host: the columns of the `steps` table, of which `step` is the number
    among the aligned steps (0, 1, 2, ...); `own_step`, the row in the `steps` table; `bottleneck`, the category that takes
    most of the step, of equals the first of `STEP_CATEGORIES`."""
    hosts: tuple[str, ...]
    """Hosts with at least one row, in the order of the trace."""
    n_steps: int
    """How many steps are in all of `hosts`; 0 where their steps do not meet."""
    coordinators: tuple[str, ...]
    """Hosts that hand out work (without a device where others have some, or without an op where others get all theirs from
    elsewhere): their steps are not the training's."""
    servers: tuple[str, ...]
    """Parameter servers beside hosts that train: their steps are what others ask of them."""
    left_out: tuple[str, ...]
    """Hosts that train and are not compared: they have so few of the others' steps that these could hardly be either."""
    n_left_out: int
    """Steps of hosts that are compared that some other of them has no counterpart of."""
    wait_for_each_other: bool
    """Whether hosts take part in collectives; programs that train side by side, and workers of parameter servers, do not."""
    clocks: ClockShifts
    """By how much the clock of each host is off, judged by when the aligned steps end; of hosts that do not wait for each
    other nobody can tell."""
    note: str
    """What was left out and why, empty where nothing was."""

    def __repr__(self) -> str:
        return f"Workers({plural(len(self.hosts), 'host')}, {plural(self.n_steps, 'step')})"


def compute_workers(steps: Steps, facts: Sequence[HostFacts], communication: Callable[[], pd.DataFrame]) -> Workers:
    """Line the steps of all hosts that train up, see `align_most`. What all of them have is numbered anew.

    A single host keeps all its steps.

    Args:
        steps: of all hosts; incomplete ones count, as a step that one host lost must not shift the others.
        facts: what is known of each host.
        communication: gives what hosts exchanged; of a single host nobody asks.
    """
    role = dict(zip((one.host for one in facts), roles(facts), strict=True))
    frame = steps.frame
    place, found = pd.factorize(frame["host"])
    coordinators = tuple(host for host in role if role[host] == "coordinator")
    servers = tuple(host for host in role if role[host] == "parameter server")
    if not set(found) - {*coordinators, *servers}:  # nobody trains: what there is, is shown
        servers = ()
    others = {*coordinators, *servers}
    candidates = {host: i for i, host in enumerate(found.tolist()) if host not in others}
    order = {host: i for i, host in enumerate(role)}
    hosts = sorted(candidates, key=lambda host: order.get(host, len(order)))
    of_host = _rows_by_code(place, len(found))
    aligned, kept = align_most(frame, [of_host[candidates[host]] for host in hosts])
    left_out = tuple(host for host, is_kept in zip(hosts, kept, strict=True) if not is_kept)
    hosts = [host for host, is_kept in zip(hosts, kept, strict=True) if is_kept]
    n_steps = len(aligned[0]) if aligned else 0
    rows = np.stack(aligned, axis=1).reshape(-1) if n_steps else np.empty(0, np.int64)
    n_left_out = sum(len(of_host[candidates[host]]) for host in hosts) - len(rows)
    used = tuple(hosts) if n_steps else ()
    waits = len(used) > 1 and _is_joint(communication(), used)
    return Workers(
        frame=_frame(frame.iloc[rows], n_steps),
        hosts=used,
        n_steps=n_steps,
        coordinators=coordinators,
        servers=servers,
        left_out=left_out,
        n_left_out=n_left_out,
        wait_for_each_other=waits,
        clocks=_clocks(used, frame.iloc[rows]) if waits else NO_SHIFTS,
        note=_note(
            coordinators, servers, left_out, n_left_out, n_steps, any_device=any(one.has_accelerator for one in facts)
        ),
    )


def _is_joint(communication: pd.DataFrame, hosts: tuple[str, ...]) -> bool:
    """Whether any of the hosts takes part in an exchange in which all wait for the last."""
    return bool((communication["kind"].isin(_JOINT) & communication["host"].isin(hosts)).any())


def _clocks(hosts: tuple[str, ...], rows: pd.DataFrame) -> ClockShifts:
    """Of the hosts whose aligned steps these are."""
    duration = rows["duration_ps"].to_numpy(np.int64)
    end_ps = (rows["start_ps"].to_numpy(np.int64) + duration).reshape(-1, len(hosts))
    return clock_shifts(hosts, end_ps, float(np.median(duration)))


def _rows_by_code(code: Int64, n: int) -> list[Int64]:
    """For each code its rows, ascending."""
    order = np.argsort(code, kind="stable")
    return np.split(order, np.cumsum(np.bincount(code, minlength=n))[:-1]) if n else []


def _frame(rows: pd.DataFrame, n_steps: int) -> pd.DataFrame:
    n_hosts = len(rows) // n_steps if n_steps else 0
    time = rows[[f"{category}_ms" for category in STEP_CATEGORIES]].to_numpy()
    most = time.argmax(axis=1) if len(rows) else np.empty(0, np.int64)
    added = {
        "own_step": rows["step"].to_numpy(),
        "step": np.repeat(np.arange(n_steps), n_hosts),
        "bottleneck": np.array([STEP_CATEGORIES[i] for i in most.tolist()], np.object_),
    }
    names = TABLES["workers"].names
    return table_of_arrays({name: added[name] if name in added else rows[name].to_numpy() for name in names})


def _note(
    coordinators: tuple[str, ...],
    servers: tuple[str, ...],
    left_out: tuple[str, ...],
    n_left_out: int,
    n_steps: int,
    *,
    any_device: bool,
) -> str:
    sentences = []
    if coordinators:
        why = "Without a device and therefore" if any_device else "They hand out work and are therefore"
        sentences.append(f"{why} without steps here: {listed(sorted(coordinators), _MOST_NAMED)}.")
    if servers:
        sentences.append(f"Parameter servers, not compared with workers: {listed(sorted(servers), _MOST_NAMED)}.")
    if left_out:
        sentences.append(
            f"With too few of the others' steps and therefore not compared: {listed(sorted(left_out), _MOST_NAMED)}."
        )
    if n_left_out and not n_steps:
        sentences.append("The steps of the hosts do not meet: no step was captured on all of them.")
    elif n_left_out:
        sentences.append(f"{plural(n_left_out, 'step')} without a counterpart on every host left out.")
    return " ".join(sentences)
