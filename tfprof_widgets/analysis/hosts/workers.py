"""Steps of several hosts -> who waits for whom: the `workers`, `stragglers` and `communication` tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...trace.arrays import Bool, Float64, Int64
from ...trace.stats import ranges
from ...trace.trace import Trace
from ..common import (
    PS_PER_US,
    Stretches,
    host_of_plane,
    hosts_of,
    listed,
    plural,
    table_of_arrays,
    text_column,
    typed_table,
)
from ..events import EXCHANGE_KINDS, RECEIVE, find_exchanges
from ..grouping import within_data
from ..names import parse_op_names
from ..steps.categories import STEP_CATEGORIES, computes_on_host
from ..steps.spans import MIN_STEPS, SpanType, on_stream
from ..steps.steps import Steps, TracedSteps
from ..summaries import OWNER, travels
from ..table import table
from .clocks import NO_SHIFTS, ClockShifts, align_most, clock_shifts
from .hosts import HostFacts, median_of_others, roles

WORKERS = table(
    """
    workers: a step that all hosts share, host by host; `step` counts these
        *steps
        own_step    int   the row of the steps table
        bottleneck  text  the category of its step time that takes most

    Steps of all hosts that train are lined up, so that one number in `step` is one step of the whole training.
    Parameter servers and coordinators have no rows. Empty where there are no steps.
    """,
    of_facts=lambda facts: compute_workers(facts.steps, facts.host_facts, lambda: facts.communication),
    file="workers",
    read="workers.frame",
)

STRAGGLERS = table(
    """
    stragglers: a host that holds the others up, the costliest first
        host        text   its name
        category    text   of the step time, in which it exceeds the others most
        n_steps     int    aligned steps in which it came last
        n_aligned   int    aligned steps
        excess_ms   float  its own time over the median of the others, mean a step
        cost_ms     float  how long the others wait for it, mean a step
        cost_ratio  float  that as part of the mean step time

    A host is one where its own time, without waiting for others, exceeds the median of the other hosts by more
    than chance explains, and that costs them 1 % of the step time or more. Of several, each costs what it would if it
    were alone. Empty where hosts are even, where none waits for an exchange, with fewer than two hosts, or fewer than
    three steps.
    """,
    of_facts=lambda facts: compute_stragglers(facts.workers),
    browser="*",
)

COMMUNICATION = table(
    """
    communication: what a host exchanged, by kind and name, most exposed time first
        host             text   its name
        kind             text   of exchange, such as `collective`
        name             text   of the op, tensor or kernel
        occurrences      int    how often
        total_time_us    float  of all of them
        exposed_time_us  float  the part in which nothing computed
        overlap_ratio    float  the part of the total time in which something did
        time_ratio       float  part of the host's step time that was exposed in its steps
        bytes            int    in all, 0 where nobody tells
        type             text   of the op, such as `CollectiveReduceV2`

    Exposed time is the part in which nothing computed meanwhile: only that makes the training longer. Hosts that
    train come first, then parameter servers and coordinators. Empty where nothing was exchanged.
    """,
    of_facts=lambda facts: compute_communication(facts.trace, facts.steps),
    of_hosts=lambda sums: sums.every["communication"].drop(columns=OWNER),
)
OTHER_EXCHANGES = "other exchanges"
travels(
    "communication",
    lambda facts: facts.communication,
    most="exchanges",
    rest=lambda rest: _other_exchanges(rest),
    did="exchanged more",
    told=f"the {{}} with the most exposed time are listed, the others are in rows named {OTHER_EXCHANGES!r}",
)

EXCHANGE = "device_collectives"
"""The category of step time in which a host waits for others."""
_JOINT = ("collective", "device_collective")
"""Kinds of exchange that end when all who take part have arrived; workers that share servers never wait for each other."""
_MOST_NAMED = 5


@dataclass(frozen=True, eq=False, repr=False)
class Workers:
    """Steps of each host that trains, side by side."""

    frame: pd.DataFrame
    """One row per aligned step and host: columns of `steps`, `own_step` (row of `steps`) and `bottleneck`."""
    hosts: tuple[str, ...]
    """Hosts with at least one row, in the order of the trace."""
    n_steps: int
    """How many steps are in all of `hosts`; 0 where their steps do not meet."""
    coordinators: tuple[str, ...]
    """Hosts that hand out work (no device or op where others have some), whose steps are not the training's."""
    servers: tuple[str, ...]
    """Parameter servers beside hosts that train: their steps are what others ask of them."""
    left_out: tuple[str, ...]
    """Hosts that train and are not compared: they have so few of the others' steps that these could hardly be either."""
    n_left_out: int
    """Steps of hosts that are compared that some other of them has no counterpart of."""
    wait_for_each_other: bool
    """Whether hosts take part in collectives; programs that train side by side, and workers of parameter servers, do not."""
    clocks: ClockShifts
    """By how much the clock of each host is off, by when aligned steps end; unknown for hosts that do not wait for each other."""
    note: str
    """What was left out and why, empty where nothing was."""

    def __repr__(self) -> str:
        return f"Workers({plural(len(self.hosts), 'host')}, {plural(self.n_steps, 'step')})"


def compute_workers(steps: Steps, facts: Sequence[HostFacts], communication: Callable[[], pd.DataFrame]) -> Workers:
    """Line the steps of all hosts that train up, see `align_most`, and number the common ones; a single host has all steps."""
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
    waits = len(used) > 1
    if waits:  # whether any takes part in an exchange in which all wait for the last
        exchanges = communication()
        waits = bool((exchanges["kind"].isin(_JOINT) & exchanges["host"].isin(used)).any())
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


def _clocks(hosts: tuple[str, ...], rows: pd.DataFrame) -> ClockShifts:
    duration = rows["duration_ps"].to_numpy(np.int64)
    end_ps = (rows["start_ps"].to_numpy(np.int64) + duration).reshape(-1, len(hosts))
    return clock_shifts(hosts, end_ps, float(np.median(duration)))


def _rows_by_code(code: Int64, n: int) -> list[Int64]:
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
    names = WORKERS.names
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
"""Of fewer steps outliers look like what is usual."""
_FEW_VALUES, _FEW_MEDIANS = 4.0, 8.0
"""By how much a standard deviation of few values counts as larger: else even hosts of three steps would be stragglers."""
_NORMAL_MAD = 1.4826
"""The standard deviation of a normal distribution over its median absolute deviation."""
_ROUNDS = 10


def compute_stragglers(workers: Workers) -> pd.DataFrame:
    """Find the hosts whose own time exceeds the median of the others by more than chance, and costs 1 % of step time."""
    n_hosts, n_steps = len(workers.hosts), workers.n_steps
    if n_hosts < 2 or n_steps < MIN_STEPS or not workers.wait_for_each_other:
        return typed_table([], STRAGGLERS.types)
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
    return typed_table(rows, STRAGGLERS.types)


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
        # How much hosts differ that hold nobody up: of the faster half, which no straggler is among
        below = np.median(usual) - usual
        limit = max(limit, _HOST_SPREADS * float(_NORMAL_MAD * np.median(below[below >= 0])))
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
    """For each host whether it is late more often than hiccups of all hosts explain, at the rate of hosts not usually late."""
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
    """The standard deviation of own times beside host and step effects, by differences of neighbours; larger for few values."""
    n_steps, n_hosts = own.shape
    apart = own - np.roll(own, 1, axis=1)
    n_values = (n_steps - 1) * (n_hosts - 1)
    if n_steps < _FEW_STEPS:
        apart = apart - apart.mean(axis=0)
        deviation = float(np.sqrt((apart**2).sum() / ((n_steps - 1) * n_hosts)))
        return float(deviation / np.sqrt(2) * (1 + _FEW_VALUES / n_values))
    apart = apart - np.median(apart, axis=0)
    return float(_NORMAL_MAD * np.median(np.abs(apart)) / np.sqrt(2) * (1 + _FEW_MEDIANS / n_values))


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


COMMUNICATION_KINDS = (*EXCHANGE_KINDS, "device_collective")
_DEVICE = len(EXCHANGE_KINDS)
_WAITED_FOR = "_Recv"


def compute_communication(trace: Trace, steps: TracedSteps) -> pd.DataFrame:
    """Sum up the exchanges of each host; exposed is what no op of a step, or on a device no other kernel, computes beside."""
    spans = _spans(trace, steps)
    return typed_table([], COMMUNICATION.types) if not len(spans["event"]) else _table(trace, steps, spans)


def _spans(trace: Trace, steps: TracedSteps) -> dict[str, Int64]:
    """The exchanges with what of each is exposed."""
    types = steps.span_type
    own = find_exchanges(trace)
    stream = on_stream(trace)
    device = np.flatnonzero(stream & (types == SpanType.COLLECTIVES))
    spans = {
        "event": np.append(own.event, device),
        "kind": np.append(own.kind.astype(np.int64), np.full(len(device), _DEVICE)),
        "name": np.append(own.name, trace.name_id[device]),
        "start": np.append(own.start_ps, trace.start_ps[device]),
        "end": np.append(own.end_ps, trace.ends(device)),
    }
    # For each event whether an exchange may hide behind it: work of a step, or where no step runs all but what tf.data does
    computing = computes_on_host(trace, types) & (steps.is_work | ((steps.event_step < 0) & ~within_data(trace)))
    computing |= stream & ((types == SpanType.COMPUTE_32) | (types == SpanType.COMPUTE_16))
    return spans | _exposed(trace, steps, spans, computing)


def _exposed(trace: Trace, steps: TracedSteps, spans: dict[str, Int64], computing: Bool) -> dict[str, Int64]:
    """Of each exchange how much is exposed, in all and within steps; and the row of its host."""
    row = {host: i for i, host in enumerate(hosts_of(trace))}
    of_plane = host_of_plane(trace)
    plane = trace.plane_id[spans["event"]].astype(np.int64)
    host = of_plane[plane]
    exposed, in_steps = np.zeros(len(host), np.int64), np.zeros(len(host), np.int64)
    busy_plane = trace.plane_id[computing].astype(np.int64)
    low, high = trace.start_ps[computing], trace.ends(np.flatnonzero(computing))
    frame = steps.frame
    step_low = frame["start_ps"].to_numpy(np.int64)
    step_high = step_low + frame["duration_ps"].to_numpy(np.int64)
    step_host = frame["host"].map(row).to_numpy(np.int64)
    is_device = spans["kind"] == _DEVICE
    for one in np.unique(host).tolist():  # bounded by hosts, then by their devices
        stretches = Stretches.of(step_low[step_host == one], step_high[step_host == one])
        for of_device in [-1, *np.unique(plane[is_device & (host == one)]).tolist()]:
            rows = np.flatnonzero((host == one) & (~is_device if of_device < 0 else is_device & (plane == of_device)))
            if not len(rows):
                continue
            is_busy = of_plane[busy_plane] == one if of_device < 0 else busy_plane == of_device
            busy = Stretches.of(low[is_busy], high[is_busy])
            start, end = spans["start"][rows], spans["end"][rows]
            exposed[rows] = (end - start) - busy.within(start, end)
            in_steps[rows] = stretches.within(start, end) - _common(busy, stretches).within(start, end)
    return {"host": host, "exposed": exposed, "in_steps": in_steps}


def _common(one: Stretches, other: Stretches) -> Stretches:
    first = np.searchsorted(other.end, one.start, side="right")
    n = np.maximum(np.searchsorted(other.start, one.end, side="left") - first, 0)
    mine, theirs = np.repeat(np.arange(len(n)), n), ranges(first, n)
    return Stretches(np.maximum(one.start[mine], other.start[theirs]), np.minimum(one.end[mine], other.end[theirs]))


def _table(trace: Trace, steps: TracedSteps, spans: dict[str, Int64]) -> pd.DataFrame:
    hosts = hosts_of(trace)
    n_bytes = trace.int_stat("output_bytes")[spans["event"]] if "output_bytes" in trace.string_ids else 0
    sums = pd.DataFrame(
        {
            "host": spans["host"],
            "kind": spans["kind"],
            "name": spans["name"],
            "occurrences": 1,
            "total": spans["end"] - spans["start"],
            "exposed": spans["exposed"],
            "in_steps": spans["in_steps"],
            "bytes": n_bytes,
        }
    )
    sums = sums.groupby(["host", "kind", "name"], as_index=False).sum()
    step_ps = steps.frame.groupby("host")["duration_ps"].sum()
    of_host = np.array([int(step_ps.get(host, 0)) for host in hosts], np.int64)[sums["host"]]
    texts = [trace.strings[i] for i in sums["name"].tolist()]
    parsed = parse_op_names(texts)
    is_wait = [kind == RECEIVE and ":" not in text for kind, text in zip(sums["kind"].tolist(), texts, strict=True)]
    types = [
        _WAITED_FOR if wait else kind or text for wait, kind, text in zip(is_wait, parsed.type, texts, strict=True)
    ]
    total, exposed = sums["total"].to_numpy(np.float64), sums["exposed"].to_numpy(np.float64)
    frame = pd.DataFrame(
        {
            "host": text_column(hosts[i] for i in sums["host"]),
            "kind": text_column(COMMUNICATION_KINDS[i] for i in sums["kind"]),
            "name": text_column(parsed.name),
            "occurrences": sums["occurrences"].to_numpy(np.int64),
            "total_time_us": total / PS_PER_US,
            "exposed_time_us": exposed / PS_PER_US,
            "overlap_ratio": np.where(total > 0, 1 - exposed / np.maximum(total, 1), 0.0),
            "time_ratio": np.where(of_host > 0, sums["in_steps"] / np.maximum(of_host, 1), 0.0),
            "bytes": sums["bytes"].to_numpy(np.int64),
            "type": text_column(types),
        }
    )
    return training_first(frame)


def training_first(frame: pd.DataFrame, others: Collection[str] = ()) -> pd.DataFrame:
    """The same rows, most exposed time first; those of `others`, hosts that do not train, last, as their waiting is no loss."""
    is_other = frame["host"].isin(list(others)).to_numpy(np.bool_)
    order = np.lexsort((-frame["exposed_time_us"].to_numpy(), is_other))
    return frame.iloc[order].reset_index(drop=True)


def _other_exchanges(rest: pd.DataFrame) -> list[dict[str, object]]:
    """One row for each host and kind."""
    sums = ["occurrences", "total_time_us", "exposed_time_us", "time_ratio", "bytes"]
    others = rest.groupby(["host", "kind"], as_index=False, sort=False).agg(dict.fromkeys(sums, "sum"))
    total, exposed = others["total_time_us"].to_numpy(), others["exposed_time_us"].to_numpy()
    overlap = np.where(total > 0, 1 - exposed / np.maximum(total, 1e-9), 0.0)
    rows = others.assign(overlap_ratio=overlap, name=OTHER_EXCHANGES, type=OTHER_EXCHANGES).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]
