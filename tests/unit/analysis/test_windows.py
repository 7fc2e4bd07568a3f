"""Captures of several windows and hosts: ids mean something only within one session, and a selected host has all its tables."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import traitlets

import tfprof_widgets as tfprof
from tests.browser.full_run import OTHER, PLAIN
from tests.builders import EPOCH_NS, Event, Nothing, Plane, Ref, U, event, line, plane, session, trace
from tests.cluster import BARE, BARE_OP, FULL, Cluster, host_name, write_two_hosts
from tfprof_widgets.analysis import Analysis, aggregate_ops, compute_events, compute_steps, op_occurrences
from tfprof_widgets.errors import TfProfError, TraceError
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


@pytest.fixture(scope="module")
def prof(tmp_path_factory: pytest.TempPathFactory) -> tfprof.Profile:
    return tfprof.load(write_two_hosts(tmp_path_factory.mktemp("selected_host") / "run"))


def test_a_host_and_a_range_restrict_together(prof: tfprof.Profile) -> None:
    steps = prof.select(host=BARE).steps
    assert set(steps["host"]) == {BARE}
    first = steps.index[0]
    part = prof.select(host=BARE, step=int(first))
    assert part.ops.set_index("name")["occurrences"].to_dict() == {PLAIN.op: 1, BARE_OP: 1}
    assert part.steps["step"].tolist() == [first]
    assert set(part.events["name"]) == {"train", f"{PLAIN.op}:MatMul", f"{BARE_OP}:Softmax"}
    assert repr(part).startswith(f"Selection({BARE}: ")


def test_memory_is_that_of_the_host_that_recorded_it(prof: tfprof.Profile) -> None:
    selected = prof.select(host=FULL).memory(PLAIN.allocator)
    assert len(selected) == len(prof.memory.timeline(PLAIN.allocator)) > 0
    assert OTHER in set(selected["op"])
    with pytest.raises(KeyError, match="no allocator 'GPU_0_bfc' on projects/"):
        prof.select(host=BARE).memory(PLAIN.allocator)


def test_an_unknown_host_is_refused_by_name(prof: tfprof.Profile) -> None:
    prof.select(host=BARE)
    with pytest.raises(ValueError, match=f"no host 'worker-7'; the profile has '{FULL}'"):
        prof.select(host="worker-7")
    assert prof.link.host == BARE
    with pytest.raises(traitlets.TraitError, match=f"'worker-7', there are: {FULL}"):
        prof.link.host = "worker-7"
    assert prof.link.host == BARE


@pytest.fixture(scope="module")
def reduced(tmp_path_factory: pytest.TempPathFactory) -> tfprof.Profile:
    cluster = Cluster(6, n_steps=6, slow_compute={3: 1.5})
    with ThreadPoolExecutor(1) as executor:
        prof = tfprof.load(cluster.draw(tmp_path_factory.mktemp("selected_host_of_many")), executor=executor)
        assert not prof.has_events
        return prof


def test_the_ops_of_a_host_of_a_reduced_profile_are_those_of_its_file(reduced: tfprof.Profile) -> None:
    columns = ["name", "occurrences", "total_time_us", "total_self_time_us", "self_time_ratio"]
    alone = reduced.host(host_name(3)).ops[columns]
    selected = reduced.select(host=host_name(3)).ops[columns]
    assert selected["name"].tolist() == alone["name"].tolist()
    for column in columns[1:]:
        assert selected[column].tolist() == pytest.approx(alone[column].tolist()), column
    assert set(reduced.select(host=host_name(3)).steps["host"]) == {host_name(3)}


@pytest.mark.parametrize("part", [{"step": 2}, {"step": 2, "host": host_name(3)}])
def test_a_range_of_a_reduced_profile_says_what_to_open(reduced: tfprof.Profile, part: dict[str, object]) -> None:
    selection = reduced.select(**part)  # type: ignore[arg-type]
    for table in ("ops", "kernels", "hlo_ops"):
        with pytest.raises(TfProfError, match=r"open a host in full, prof\.host\('worker000\d'\)"):
            getattr(selection, table)
