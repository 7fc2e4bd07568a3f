"""Tasks of a distributed training that wait for each other, or share the work unevenly -> advice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..base.wording import number, plural, size
from .advice import MEDIUM_GAIN, Advice, advise, step_highlight
from .fix import Fix
from .run import event_names
from .step_facts import SERVERS, StepPart, job_of

if TYPE_CHECKING:
    from ...trace.trace import Int64
    from .run import Run

UNEVEN = 1.5
"""Times the average of its job from which on a task does more than its part."""
_SERVERS_FIX = Fix(
    "Variables go to the parameter servers in turn, however large they are. Place each on the server that holds "
    "least (ps_strategy of tf.compat.v1.train.replica_device_setter), or cut large ones up (variable_partitioner of "
    "ParameterServerStrategy)."
)
_WORKERS_FIX = Fix("Give each worker batches of the same size, and as much of the data as any other.")


def task_communication(run: Run) -> Iterator[Advice]:
    """Tasks that train wait for tensors of other tasks, such as parameters and gradients.

    Gain: the share of their step time in which such a tensor was on its way and no op of the task ran.
    """
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


def uneven_tasks(run: Run) -> Iterator[Advice]:
    """One task of a job computes far more than the others, which wait for it.

    Gain: of the share of the step in which the task computes, what an even distribution would take off it.
    """
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
