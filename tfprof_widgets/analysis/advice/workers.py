"""Rules on hosts and tasks that train together, and wait for one of them or for each other."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..card import MEDIUM_GAIN, Advice, Fix, Highlight, advise, one_line, rule, step_highlight
from ..common import listed, number, percent, plural, size
from ..hosts.workers import EXCHANGE, waiting_ms
from ..steps.spans import MIN_STEPS
from .causes import RECEIVED
from .facts import SERVERS, StepPart, job_of
from .run import event_names

if TYPE_CHECKING:
    from ...trace.arrays import Int64
    from .run import Run


UNEVEN = 1.5
"""Times the average of its job from which on a task does more than its part."""
_SERVERS_FIX = Fix(
    "Variables go to the parameter servers in turn, however large they are. Place each on the server that holds "
    "least (ps_strategy of tf.compat.v1.train.replica_device_setter), or cut large ones up (variable_partitioner of "
    "ParameterServerStrategy)."
)
_WORKERS_FIX = Fix("Give each worker batches of the same size, and as much of the data as any other.")


@rule("Exchange fewer tensors between tasks", scope="program")
def task_communication(run: Run) -> Iterator[Advice]:
    """Tasks that train wait for tensors of others; gain: the share of time with one on its way and no op of the task running."""
    tasks = run.tasks
    if not len(tasks.received):
        return
    time, wait = tasks.time_ms[tasks.is_trained], tasks.wait_ms[tasks.is_trained]
    part = StepPart("wait", float(wait.mean()), float(time.mean()))
    if part.ratio < MEDIUM_GAIN:
        return
    rows = run.facts.occurrences.event[tasks.received]
    n_steps = int(tasks.is_trained.sum())
    n_bytes = float(run.trace.int_stat("output_bytes")[rows].sum()) / n_steps
    sender = _top_sender(run, rows)
    entry = int(np.flatnonzero(tasks.is_trained)[run.task_steps.typical(wait)])
    yield advise(
        "task_communication",
        f"Tasks wait {part} for tensors of other tasks{f', most of them from {sender}' if sender else ''}.",
        evidence={
            **part.evidence,
            "tensors_per_step": len(rows) / n_steps,
            **({"received_bytes": n_bytes} if n_bytes else {}),
            **({"sender": sender} if sender else {}),
        },
        fix=Fix(
            (f"{size(n_bytes)} arrive a step. " if n_bytes else "")
            + "Exchange less often, by larger batches, which change the training; exchange less, such as rows of "
            "embeddings gathered on the task that holds them; or reduce gradients among workers "
            "(tf.distribute.MultiWorkerMirroredStrategy)."
        ),
        selection=step_highlight(run.task_steps.frame, entry, view="timeline", op_names=event_names(run, rows)),
        gain_ratio=part.ratio,
    )


def _top_sender(run: Run, rows: Int64) -> str:
    """The device that some tensors mostly came from; "" where nobody tells."""
    sender = run.trace.string_stat("sent_from")[rows]
    names, count = np.unique(sender[sender >= 0], return_counts=True)
    return run.trace.strings[int(names[count.argmax()])] if len(names) else ""


@rule("Balance the tasks", scope="program")
def uneven_tasks(run: Run) -> Iterator[Advice]:
    """One task of a job computes far more than the others; gain: what an even distribution takes off its share of the step."""
    tasks = run.tasks
    hosts = list(dict.fromkeys(tasks.host))
    stragglers = set(run.results.stragglers["host"])  # the more specific rule tells of them
    for job in dict.fromkeys(map(job_of, hosts)):
        own = [host for host in hosts if job_of(host) == job]
        if len(own) < 2 or not job:
            continue
        busy = np.array([tasks.busy_ms[[one == host for one in tasks.host]].mean() for host in own])
        top, mean_ms, step_ms = int(busy.argmax()), float(busy.mean()), float(tasks.time_ms[tasks.is_trained].mean())
        gain = (float(busy[top]) - mean_ms) / step_ms if step_ms else 0.0
        if busy[top] < UNEVEN * mean_ms or gain < MEDIUM_GAIN or own[top] in stragglers:
            continue
        entries = np.flatnonzero([one == own[top] for one in tasks.host])
        yield advise(
            "uneven_tasks",
            f"{own[top]} computes for {number(float(busy[top]))} ms a step, the {plural(len(own), 'task')} of its job for "
            f"{number(mean_ms)} ms on average.",
            evidence={
                "busy_ms": float(busy[top]),
                "mean_busy_ms": mean_ms,
                "step_time_ms": step_ms,
                "uneven_ratio": gain,
                "task": own[top],
                "n_tasks": len(own),
            },
            fix=_SERVERS_FIX if job == SERVERS else _WORKERS_FIX,
            selection=step_highlight(
                run.task_steps.frame,
                int(entries[run.task_steps.typical(tasks.busy_ms[entries])]),
                view="timeline",
                op_names=_costliest(run, own[top]),
            ),
            gain_ratio=gain,
        )


def _costliest(run: Run, host: str) -> tuple[str, ...]:
    """Names of the five ops that take a task most time."""
    occurrences, trace = run.facts.occurrences, run.trace
    is_own = np.array([trace.planes[line.plane].host == host for line in trace.lines], np.bool_)[occurrences.line]
    is_own &= np.isin(run.results.steps.event_step[occurrences.event], run.task_steps.row)
    us = np.bincount(occurrences.op[is_own], weights=occurrences.self_ps[is_own], minlength=len(occurrences.name))
    order = np.argsort(-us, kind="stable")[:5]
    return run.known(*(occurrences.name[i] for i in order.tolist() if us[i] > 0))


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
        yield advise(
            "straggler",
            _title(worst, hosts, str(category), part, len(workers.hosts)),
            evidence={
                **part.evidence,
                "host": str(worst["host"]),
                "category": str(category),
                "excess_ms": float(worst["excess_ms"]),
                "n_steps": int(worst["n_steps"]),
                "n_aligned": int(worst["n_aligned"]),
                "n_stragglers": len(hosts),
                "n_hosts": len(workers.hosts),
            },
            fix=_fix(hosts, str(category)),
            selection=_selection(run, str(worst["host"]), found["host"].tolist()),
            gain_ratio=part.ratio,
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
    if kind == "device_collective" or (name == RECEIVED and results.has_events):
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
    yield advise(
        "host_communication",
        f"Exchange with other hosts takes {exchange} in which nothing is computed, most of it {name}.",
        evidence=exchange.evidence | {"n_hosts": n_hosts, "largest_exchange": name},
        fix=_COLLECTIVE_FIX if kind == "collective" else _SERVER_FIX,
        selection=_step_of(run, int(typical["own_step"]), op_names=tuple(names[:5]) if kind == "collective" else ()),
        gain_ratio=exchange.ratio,
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
