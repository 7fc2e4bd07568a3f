"""Steps host by host -> which hosts hold the others up: how often, by what, and what it costs.

    compute_stragglers(workers) -> DataFrame

Where hosts train together, each step lasts equally long on all of them: they wait for each other in the exchange of
gradients. Who waits least there is who arrives last.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Float64, Int64
from ..base.table_types import Types, typed_table
from ..columns.registry import TABLES
from ..steps.averaged_steps import MIN_STEPS
from ..steps.categories import STEP_CATEGORIES
from .others import median_of_others
from .workers import EXCHANGE, Workers

STRAGGLER_TYPES: Types = TABLES["stragglers"].types
STRAGGLER_COLUMNS = tuple(STRAGGLER_TYPES)

MIN_EXCESS_RATIO = 0.03
"""Of the mean step time: what is later by less is even."""
MIN_COST_RATIO = 0.01
"""Of the mean step time: who costs the others less holds nobody up."""
_STEP_SPREADS = 6.0
"""In one step a host is late by more than so many spreads of the hosts' own times."""
_MEAN_SPREADS = 5.0
"""Over all steps it is late by more than so many standard errors."""
_HOST_SPREADS = 4.0
"""And by more than so many times the spread between hosts."""
_FEW_HOSTS = 5
"""Of fewer hosts nobody can tell how much hosts differ anyway."""
_OFTEN = 0.1
"""A host that is late only now and then must be late in this part of the steps, and in two."""
_CHANCE = 0.01
"""And so often that with less than this probability any of the hosts would be, if all were late as often as the others."""
_FEW_STEPS = 6
"""Of fewer steps outliers cannot be told from what is usual."""
_FEW_VALUES, _FEW_MEDIANS = 4.0, 8.0
"""A standard deviation, and one from a median, is taken to be larger by this over the number of values that it is known
from: with it, even hosts are taken for stragglers in fewer than 1 of 100 captures of three steps."""
_NORMAL_MAD = 1.4826
"""The standard deviation of a normal distribution over its median absolute deviation."""
_ROUNDS = 10


def compute_stragglers(workers: Workers) -> pd.DataFrame:
    """Find the hosts that hold the others up.

    The own time of a host in a step is the step time without the wait for others. A host is a straggler where its own time
    exceeds the median of the other hosts by more than chance explains: in most steps by more than 3 % of the step, five
    standard errors and, of five hosts or more, four times the spread between hosts; or in a tenth of the steps, at least
    two, by more than 3 % and six times the spread, and more often than hiccups that strike all hosts alike explain. And it
    must cost the others 1 % of the step time. Fewer than three steps tell nothing.

    Hosts that exchange nothing wait for nobody, however long their steps are: programs that train side by side.

    Args:
        workers: the aligned steps; parameter servers and coordinators are not among them.

    Returns:
        One row per straggler, the costliest first: `host`; `category`, of `STEP_CATEGORIES`, in which it exceeds the median
        of the others most; `n_steps`, the aligned steps in which it came after all hosts that are no stragglers;
        `n_aligned`, the aligned steps; `excess_ms`, its own time over the median of the others, on average; `cost_ms`, how
        long all hosts that are no stragglers wait for it in a step, on average, and `cost_ratio`, that as part of the mean
        step time. Of several stragglers each costs what it would if it were the only one: their sum may exceed what the
        fastest hosts wait, and the fix of one wins nothing while another is as slow. Empty where hosts are even, where
        none waits for an exchange, and with fewer than two.
    """
    n_hosts, n_steps = len(workers.hosts), workers.n_steps
    if n_hosts < 2 or n_steps < MIN_STEPS or not workers.wait_for_each_other:
        return typed_table([], STRAGGLER_TYPES)
    own, step_ms = own_times_ms(workers), float(workers.frame["step_time_ms"].mean())
    excess = own - median_of_others(own)
    late = _stragglers(own, excess, step_ms)
    ahead = _cost(own, late)
    rows: list[dict[str, Any]] = []
    for host in np.flatnonzero(late).tolist():  # few, else nobody is a straggler
        rows.append(
            {
                "host": workers.hosts[host],
                "category": _category(workers, host, ahead[:, host]),
                "n_steps": int((ahead[:, host] > 0).sum()),
                "n_aligned": n_steps,
                "excess_ms": float(excess[:, host].mean()),
                "cost_ms": float(ahead[:, host].mean()),
                "cost_ratio": float(ahead[:, host].mean()) / step_ms if step_ms else 0.0,
            }
        )
    rows.sort(key=lambda row: (-row["cost_ms"], row["host"]))
    return typed_table(rows, STRAGGLER_TYPES)


def own_times_ms(workers: Workers) -> Float64:
    """Step time without the wait for others, of shape (steps, hosts)."""
    frame = workers.frame
    own = frame["step_time_ms"].to_numpy(np.float64) - frame[f"{EXCHANGE}_ms"].to_numpy(np.float64)
    return np.asarray(own.reshape(workers.n_steps, len(workers.hosts)), np.float64)


def waiting_ms(workers: Workers, hosts: Collection[str], stragglers: Collection[str]) -> Float64:
    """For each aligned step how long all hosts that are no `stragglers` wait for the last of `hosts`, some of those."""
    late = np.array([host in stragglers for host in workers.hosts], np.bool_)
    chosen = np.array([host in hosts for host in workers.hosts], np.bool_)
    waits: Float64 = _cost(own_times_ms(workers), late)[:, chosen].max(axis=1, initial=0.0)
    return waits


def _stragglers(own: Float64, excess: Float64, step_ms: float) -> Bool:
    """For each host whether it is late beyond chance and others pay for it."""
    n_steps = len(own)
    least = MIN_EXCESS_RATIO * step_ms
    spread = _spread(own)
    usual = np.median(excess, axis=0)
    limit = max(least, _MEAN_SPREADS * spread * np.sqrt(np.pi / 2 / n_steps))
    if own.shape[1] >= _FEW_HOSTS:
        limit = max(limit, _HOST_SPREADS * _spread_of_hosts(usual))
    is_usual: Bool = usual > limit
    n_late = (excess > max(least, _STEP_SPREADS * spread)).sum(axis=0)
    found = is_usual | _is_often(n_late, n_steps, is_usual)
    for _ in range(_ROUNDS):  # who is let go makes the others' cost smaller
        kept = found & (_cost(own, found).mean(axis=0) >= MIN_COST_RATIO * step_ms)
        if (kept == found).all():
            break
        found = kept
    return found


def _is_often(n_late: Int64, n_steps: int, is_usual: Bool) -> Bool:
    """For each host whether it is late more often than hiccups that strike all hosts alike explain.

    The others' rate is that of hosts that are not late as a rule; one more late step of theirs stands for what luck spared.
    """
    others = ~is_usual
    n_others = np.maximum(others.sum() - others, 1)
    rate = (n_late[others].sum() - np.where(others, n_late, 0) + 1) / (n_others * n_steps + 1)
    log = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n_steps + 1)))])  # of the factorials
    often = n_late >= max(2, int(np.ceil(_OFTEN * n_steps)))
    for host in np.flatnonzero(often).tolist():
        k, p = np.arange(n_late[host], n_steps + 1), float(rate[host])
        if p < 1:
            tail = np.exp(log[-1] - log[k] - log[n_steps - k] + k * np.log(p) + (n_steps - k) * np.log1p(-p)).sum()
        often[host] = p < 1 and len(n_late) * tail < _CHANCE
    return np.asarray(often, np.bool_)


def _spread(own: Float64) -> float:
    """The standard deviation of own times beside what is due to the host and to the step, taken from the differences between
    neighbours, which hold for two hosts as for a thousand; the larger, the fewer values it is known from.

    Whatever few outliers do, it stays: but of very few steps nobody can tell which are outliers.
    """
    n_steps, n_hosts = own.shape
    apart = own - np.roll(own, 1, axis=1)
    n_values = (n_steps - 1) * (n_hosts - 1)
    if n_steps < _FEW_STEPS:
        apart = apart - apart.mean(axis=0)
        deviation = float(np.sqrt((apart**2).sum() / ((n_steps - 1) * n_hosts)))
        return float(deviation / np.sqrt(2) * (1 + _FEW_VALUES / n_values))
    apart = apart - np.median(apart, axis=0)
    return float(_NORMAL_MAD * np.median(np.abs(apart)) / np.sqrt(2) * (1 + _FEW_MEDIANS / n_values))


def _spread_of_hosts(usual: Float64) -> float:
    """How much hosts differ that hold nobody up: of the faster half, which no straggler is among."""
    below = np.median(usual) - usual
    return float(_NORMAL_MAD * np.median(below[below >= 0]))


def _cost(own: Float64, late: Bool) -> Float64:
    """For each step and straggler how long it arrived after the last host that is none; 0 for the others."""
    even = own[:, ~late].max(axis=1, initial=-np.inf)
    if late.all():  # half of few hosts may be late; the first of them is then what they could be
        even = own.min(axis=1)
    return np.where(late, np.maximum(own - even[:, None], 0.0), 0.0)


def _category(workers: Workers, host: int, ahead: Float64) -> str:
    """In which category a host exceeds the median of the others most, in the steps in which it was last."""
    counted = ahead > 0 if (ahead > 0).any() else np.ones(len(ahead), np.bool_)
    shape = workers.n_steps, len(workers.hosts)

    def more(category: str) -> float:
        values = workers.frame[f"{category}_ms"].to_numpy(np.float64).reshape(shape)[counted]
        return float((values - median_of_others(values))[:, host].mean())

    return max((category for category in STEP_CATEGORIES if category != EXCHANGE), key=more)
