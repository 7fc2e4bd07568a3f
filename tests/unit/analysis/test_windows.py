"""Captures of several windows and hosts: ids mean something only within one session."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tests.builders import EPOCH_NS, Event, Nothing, Plane, Ref, U, event, line, plane, session, trace
from tfprof_widgets.analysis import Analysis, aggregate_ops, compute_events, compute_steps, op_occurrences
from tfprof_widgets.errors import TraceError
from tfprof_widgets.trace import Trace, merge_traces


def window(index: int, *, host: str = "box", is_marked: bool = True) -> Trace:
    """Two steps, 1 ms after the window before; thread and context ids are the same in every window."""
    batches: list[Event] = []
    for i in range(2):
        if is_marked:
            batches.append(event("train", 100 * i, 60, _r=1, step_num=10 * index + i))
        batches.append(event("train_batch", 100 * i + 5, 50, tf_function_call="notTraced-nonXla", _pt=2, _p=i + 1))
    work = [event("x:MatMul", 100 * i + 10, 30, _ct=2, _c=i + 1) for i in range(2)]
    begin = EPOCH_NS + index * 1_000_000
    cpu = plane("/host:CPU", line("python", *batches), line("pool", *work))
    return trace(cpu, session(start_ns=begin, duration_us=200), hostnames=[host])


def test_steps_of_all_windows_follow_one_another_on_one_clock() -> None:
    whole = merge_traces([window(1), window(0), window(2)])
    steps = compute_steps(whole)
    assert steps.frame["name"].tolist() == [f"train {n}" for n in (0, 1, 10, 11, 20, 21)]
    assert (steps.frame["start_ps"] / 1e6).tolist() == [0, 100, 1000, 1100, 2000, 2100]
    assert steps.frame["host_compute_ms"].tolist() == [0.030] * 6
    assert (steps.event_step >= 0).all()


def test_an_id_of_one_window_does_not_lead_into_another() -> None:
    whole = merge_traces([window(0), window(1)])
    group = compute_steps(whole).grouping.group_id
    by_group = {int(g): np.unique(whole.session_id[group == g]).tolist() for g in np.unique(group)}
    assert by_group == {0: [0], 1: [0], 2: [1], 3: [1]}


NAMES = (
    *("train", "FunctionRun", "EagerExecute", "IteratorGetNext:IteratorGetNext", "a:B", "Iterator::Root", "MemcpyH2D"),
    *("cuLaunchKernel", "EagerLocalExecute: IteratorGetNext", "ReduceIterator::Root", "ExecutorState::Process"),
    *("IteratorGetNextOp::DoCompute", "", "MemoryAllocation", "InstantiatedCapturedFunction::Run", "TraceContext"),
)
KEYS = (
    *("_r", "_p", "_pt", "_c", "_ct", "_a", "_pid", "id", "iter_num", "step_num", "group_id", "step_name", "tf_op"),
    *("graph_type", "is_func", "is_eager", "correlation_id", "tf_function_call", "shape"),
    *("_ipl_stage_id", "_ipl_stage_cat", "_ipl_stage_name"),
)
VALUES: tuple[Any, ...] = (
    *(0, 1, 2, -1, 2**62, -(2**63), U(2**64 - 1), U(3), 1.5, float("nan")),
    *("x", "a:B", b"x", Nothing(), Ref("half")),
)


def hostile(rng: random.Random) -> list[Plane]:
    def an_event() -> Event:
        start, length = rng.choice([0, 1, 5, 1e6, rng.random() * 100]), rng.choice([0, 1, 1e12, rng.random() * 20])
        stats = [(rng.choice(KEYS), rng.choice(VALUES)) for _ in range(rng.randrange(5))]
        return event(rng.choice(NAMES), start, length, stats=stats)

    def a_plane() -> Plane:
        name = rng.choice(["/host:CPU", "/device:GPU:0", "/host:CPU [3]", "Task Environment", "x"])
        ids = [None, 1, -559038737, -559038734, 2**40]
        lines = (
            line(rng.choice(["a", "Steps"]), *(an_event() for _ in range(rng.randrange(12))), id=rng.choice(ids))
            for _ in range(rng.randrange(4))
        )
        return plane(name, *lines)

    return [a_plane() for _ in range(rng.randrange(5))]


@pytest.mark.parametrize(
    "seed", [*range(40), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(40, 200))]
)
def test_stats_of_any_kind_in_any_place_break_no_analysis(seed: int) -> None:
    try:
        whole = trace(*hostile(random.Random(seed)))
    except TraceError:
        return
    steps = compute_steps(whole)
    occurrences = op_occurrences(whole, grouping=steps.grouping)
    assert len(compute_events(whole, steps.event_step)) == whole.n_events
    assert aggregate_ops(occurrences, idle=True)["self_time_ratio"].between(0, 1).all()
    assert Analysis(whole).overview.verdict
    total = steps.pieces.groupby("step")["duration_ps"].sum()
    assert total.tolist() == steps.frame["duration_ps"].tolist()
