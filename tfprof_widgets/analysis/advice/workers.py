"""Rules on hosts and tasks that train together, and wait for one of them or for each other."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..card import MEDIUM_GAIN, Advice, Fix, Highlight, one_line, rule, step_highlight
from ..common import listed, number, percent, plural
from ..hosts.workers import EXCHANGE, waiting_ms
from ..steps.spans import MIN_STEPS
from .facts import StepPart

if TYPE_CHECKING:
    from .run import Run


MIN_SHARE = 0.03
"""Of the step time; what costs less may be chance."""
_MOST_NAMED = 5
_WORDS = {
    "input": "it waits for its input",
    "copy_to_device": "it copies more to its device",
    "host_compute": "its ops on the CPU take longer",
    "dispatch": "no op runs there: Python and dispatch, or waiting",
    "kernel_launch": "it launches kernels more slowly",
    "device_compute": "its device computes longer",
    "device_to_device": "copies between its devices take longer",
    "sync": "it waits for its device",
    "output": "it copies more from its device",
    "compile": "it traces and compiles",
    "checkpoint": "it saves or restores weights",
    "other": "nothing tells what it waits for",
}
_FIXES = {
    "input": "give each host the same work, shards of the same size read ahead (.prefetch), and see whether the "
    "disk or the network of this one is slower.",
    "host_compute": "give each host the same work, shards and batches of the same size, and see whether other "
    "programs keep the processors of this one busy.",
    "device_compute": "give each host the same model of device and the same batch, and see whether this one is "
    "throttled or shared (nvidia-smi -q -d CLOCK).",
    "compile": "keep the shapes of batches the same: others make a function trace and compile again.",
    "dispatch": "what only one host does (saving, logging, callbacks) holds all others up: do it rarely, or beside the training.",
}
_FALLBACK = "host_compute"
_COLLECTIVE_FIX = Fix(
    "Exchange less often: more samples for each worker, or the gradients of several batches at once "
    "(gradient_accumulation_steps=4 of a Keras optimizer). Updates are then fewer and larger, which changes the "
    "training."
)
_SERVER_FIX = Fix(
    "Larger batches ask for the variables less often, which changes the training; without parameter servers "
    "(tf.distribute.MultiWorkerMirroredStrategy) gradients are summed among the workers."
)


@rule("Relieve the slowest worker", scope="hosts")
def straggler(run: Run) -> Iterator[Advice]:
    """A few hosts arrive late at the exchange of gradients, one advice for each category; gain: the share for which all hosts
    that are no stragglers wait."""
    found, workers = run.results.stragglers, run.results.workers
    if found.empty or workers.n_steps < MIN_STEPS:
        return
    step_ms = float(workers.frame["step_time_ms"].mean())
    for category, group in found.groupby("category", sort=False):
        hosts = group["host"].tolist()
        wait_ms = waiting_ms(workers, hosts, found["host"].tolist())
        part = StepPart("wait", float(wait_ms.mean()), step_ms)
        if part.ratio < MIN_SHARE:
            continue
        worst = group.to_dict("records")[0]
        yield run.advise(
            _title(worst, hosts, str(category), part, len(workers.hosts)),
            part,
            _fix(hosts, str(category)),
            _selection(run, str(worst["host"]), found["host"].tolist()),
            host=str(worst["host"]),
            category=str(category),
            n_stragglers=len(hosts),
        )


@rule("Exchange less with other hosts", scope="hosts")
def host_communication(run: Run) -> Iterator[Advice]:
    """Hosts exchange gradients or parameters while they compute nothing; gain: the share of the step time with an exchange alone,
    without the wait for stragglers."""
    results = run.results
    workers, communication = results.workers, results.communication
    own = communication[communication["host"].isin(workers.hosts)]
    if own.empty or workers.n_steps < MIN_STEPS:
        return
    by_type = own.groupby(["kind", "type"], sort=False, as_index=False)["exposed_time_us"].sum()
    largest = by_type.iloc[int(by_type["exposed_time_us"].to_numpy().argmax())]
    kind, name = str(largest["kind"]), str(largest["type"])
    if kind == "device_collective":
        return
    n_hosts, step_ms = len(workers.hosts), float(workers.frame["step_time_ms"].mean())
    stragglers = results.stragglers["host"].tolist()
    waits_ms = float(waiting_ms(workers, stragglers, stragglers).mean()) if stragglers else 0.0
    exchange_ms = float(workers.frame[f"{EXCHANGE}_ms"].mean()) - waits_ms * (n_hosts - len(stragglers)) / n_hosts
    exchange = StepPart("exchange", exchange_ms, step_ms)
    if exchange.ratio < MEDIUM_GAIN:
        return
    host = str(own["host"].iloc[0])
    rows = workers.frame[workers.frame["host"] == host]
    typical = rows.iloc[int(np.argsort(rows[f"{EXCHANGE}_ms"].to_numpy(), kind="stable")[(len(rows) - 1) // 2])]
    names = own[(own["kind"] == kind) & (own["type"] == name)]["name"].drop_duplicates()
    yield run.advise(
        f"Exchange with other hosts takes {exchange} in which nothing is computed, most of it {name}.",
        exchange,
        _COLLECTIVE_FIX if kind == "collective" else _SERVER_FIX,
        _step_of(run, int(typical["own_step"]), op_names=tuple(names[:5]) if kind == "collective" else ()),
        largest_exchange=name,
    )


def _title(worst: Mapping[Hashable, Any], hosts: list[str], category: str, wait: StepPart, n_all: int) -> str:
    steps = f"{worst['n_steps']:,} of {plural(worst['n_aligned'], 'step')}"
    n_others = n_all - len(hosts)
    others = "the other host waits" if n_others == 1 else f"the other {n_others:,} hosts wait"
    cost = f"{others} {number(wait.ms)} ms a step ({percent(wait.ratio)})"
    why = _WORDS.get(category, "it takes longer")
    if len(hosts) == 1:
        return f"{worst['host']} holds the others up in {steps}, as {why}: {cost}."
    return f"{len(hosts):,} of {n_all:,} hosts hold the others up, {worst['host']} most (in {steps}), as {why}: {cost}."


def _fix(hosts: list[str], category: str) -> Fix:
    return Fix(f"On {one_line(listed(hosts, _MOST_NAMED))}: {_FIXES.get(category, _FIXES[_FALLBACK])}")


def _selection(run: Run, host: str, stragglers: list[str]) -> Highlight:
    """The step in which the host is late by the median of how late it is."""
    workers = run.results.workers
    late = waiting_ms(workers, [host], stragglers)
    rows = np.flatnonzero(late > 0)
    typical = int(rows[np.argsort(late[rows], kind="stable")[(len(rows) - 1) // 2]]) if len(rows) else 0
    own = workers.frame[(workers.frame["step"] == typical) & (workers.frame["host"] == host)]["own_step"]
    return _step_of(run, int(own.iloc[0]))


def _step_of(run: Run, row: int, *, op_names: tuple[str, ...] = ()) -> Highlight:
    """Select a row of `steps`."""
    view = "worker_chart" if len(run.results.workers.hosts) > 1 else "timeline"
    return step_highlight(run.results.steps.frame, row, view=view, op_names=op_names)
