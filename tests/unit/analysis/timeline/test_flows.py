"""Flows: which event made which other start, by the ids that the runtime leaves in an event's stats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.builders import Event, Plane, U, event, line, plane, session, trace
from tfprof_widgets.analysis import KINDS, TABLES, Flows, compute_flows, flow_table
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace, merge_traces


def host(*threads: tuple[Event, ...], **stats: object) -> Plane:
    return plane("/host:CPU", *(line(f"thread {i}", *events) for i, events in enumerate(threads)), **stats)


def named(whole: Trace, flows: Flows | None = None) -> list[tuple[str, str, str]]:
    flows = flows or compute_flows(whole)
    text = [whole.strings[name] for name in whole.name_id]
    return [
        (KINDS[kind], text[source], text[target])
        for kind, source, target in zip(flows.kind, flows.from_event, flows.to_event, strict=True)
    ]


def launched() -> tuple[Plane, Plane]:
    cpu = host((event("cuLaunchKernel", 1, 1, correlation_id=U(4)), event("cuLaunchKernel", 3, 1, correlation_id=U(5))))
    stream = line("Stream #1", event("a", 5, 1, correlation_id=U(4)), event("b", 7, 1, correlation_id=U(5)))
    return cpu, plane("/device:GPU:0", stream)


def test_a_launch_leads_to_the_kernel_of_its_correlation_id() -> None:
    assert named(trace(*launched())) == [("launch", "cuLaunchKernel", "a"), ("launch", "cuLaunchKernel", "b")]


def test_the_delay_of_a_flow_goes_from_the_end_of_the_one_to_the_start_of_the_other() -> None:
    whole = trace(*launched())
    table = flow_table(whole, compute_flows(whole))
    assert tuple(table.columns) == TABLES["flows"].names
    assert table["delay_ns"].tolist() == [3000, 3000]
    assert table["to_name"].tolist() == ["a", "b"]


def test_ids_mean_nothing_beyond_one_session() -> None:
    first = trace(session(), *launched())
    later = trace(session(start_ns=1_700_000_000_000_000_000 + 10**9), *launched())
    whole = merge_traces([first, later])
    flows = compute_flows(whole)
    assert len(flows.kind) == 4
    assert (whole.session_id[flows.from_event] == whole.session_id[flows.to_event]).all()


def test_work_handed_on_and_work_given_to_a_pool_are_told_apart() -> None:
    whole = trace(
        host(
            (event("run", 1, 9, _pt=2, _p=7), event("record", 2, 0, _pt=15, _p=7)),
            (event("process", 3, 1, _ct=2, _c=7), event("region", 5, 0, _ct=15, _c=7)),
        )
    )
    assert named(whole) == [("producer", "run", "process"), ("pool", "record", "region")]


def test_an_event_that_consumes_its_own_context_makes_nothing_start() -> None:
    assert named(trace(host((event("both", 1, 1, _pt=2, _p=7, _ct=2, _c=7),)))) == []


def test_where_an_id_is_used_again_each_consumer_belongs_to_the_producer_before_it() -> None:
    made = tuple(event("made", 4 * i, 0.5, _pt=2, _p=7) for i in range(3))
    used = tuple(event("used", 4 * i + k, 0.5, _ct=2, _c=7) for i in range(3) for k in (1, 2))
    flows = compute_flows(trace(host(made, used)))
    assert flows.from_event.tolist() == [0, 0, 1, 1, 2, 2]
    assert flows.to_event.tolist() == [3, 4, 5, 6, 7, 8]


def test_of_many_that_lead_to_one_all_count_and_of_one_that_leads_to_many() -> None:
    many_to_one = host(
        tuple(event("made", i, 0.5, _pt=2, _p=7) for i in range(70)), (event("used", 99, 1, _ct=2, _c=7),)
    )
    one_to_many = host(
        (event("made", 0, 1, _pt=2, _p=7),), tuple(event("used", i + 1, 0.5, _ct=2, _c=7) for i in range(70))
    )
    assert len(compute_flows(trace(many_to_one)).kind) == 70
    assert len(compute_flows(trace(one_to_many)).kind) == 70


def fetched(element: int, at_us: float, *, stage: int = 9) -> tuple[tuple[Event, ...], tuple[Event, ...]]:
    background = (
        event("PrefetchProduce", at_us, 4, element_id=element),
        event("Iterator::Root::Prefetch::Map", at_us + 1, 2, id=5, parent_id=stage),
    )
    consumer = (
        event("Iterator::Root::Prefetch", at_us + 6, 3, id=stage, parent_id=1),
        event("PrefetchConsume", at_us + 7, 1, element_id=element),
    )
    return background, consumer


def test_an_element_of_tf_data_flows_from_where_it_was_made_to_where_it_was_taken() -> None:
    (made, used), (made_next, used_next) = fetched(1, 0), fetched(2, 20)
    whole = trace(host(made + made_next, used + used_next))
    flows = compute_flows(whole)
    assert named(whole, flows) == [("tf_data", "PrefetchProduce", "PrefetchConsume")] * 2
    assert whole.int_stat("element_id")[flows.from_event].tolist() == [1, 2]
    assert whole.int_stat("element_id")[flows.to_event].tolist() == [1, 2]


def test_elements_of_another_stage_do_not_mix() -> None:
    made, _ = fetched(1, 0, stage=9)
    _, used = fetched(1, 0, stage=8)
    assert named(trace(host(made, used))) == []


def test_a_tensor_flows_from_the_device_that_sent_it_to_the_one_that_received_it() -> None:
    ends = {"from": "a", "to": "b"}
    whole = trace(
        host(
            (event("a/_1:_Send", 1, 1, stats=ends), event("a/_1:_Send", 11, 1, stats=ends)),
            (event("a/_2:_HostRecv", 0.5, 2, stats=ends), event("a/_2:_HostRecv", 13, 1, stats=ends)),
            (event("_send_x_0:_Send", 1, 1), event("c/_4:_Recv", 2, 1, stats={"from": "c", "to": "d"})),
            (event("_recv_x_0:_Recv", 4, 1),),
        )
    )
    flows = compute_flows(whole)
    assert sorted(named(whole, flows)) == [
        ("send_recv", "_send_x_0:_Send", "_recv_x_0:_Recv"),
        ("send_recv", "a/_1:_Send", "a/_2:_HostRecv"),
        ("send_recv", "a/_1:_Send", "a/_2:_HostRecv"),
    ]
    assert (whole.start_ps[flows.to_event] - whole.start_ps[flows.from_event]).max() == 3e6


def test_flows_are_ordered_by_their_ends(v100_xplane: Path) -> None:
    flows = compute_flows(read_xspace(v100_xplane.read_bytes()))
    pairs = list(zip(flows.from_event.tolist(), flows.to_event.tolist(), strict=True))
    assert pairs == sorted(pairs)


def test_every_kernel_of_a_gpu_capture_has_its_launch(v100_xplane: Path) -> None:
    whole = read_xspace(v100_xplane.read_bytes())
    flows = compute_flows(whole)
    is_device = np.array([plane.is_device for plane in whole.planes])[whole.plane_id]
    kernels = np.flatnonzero(whole.has_stat("correlation_id") & is_device)
    assert sorted(flows.to_event[flows.kind == KINDS.index("launch")].tolist()) == kernels.tolist()
    counts = dict(zip(KINDS, np.bincount(flows.kind, minlength=len(KINDS)).tolist(), strict=True))
    assert counts == {"launch": 1556, "producer": 99, "pool": 0, "tf_data": 2, "send_recv": 38}


def test_a_capture_of_training_on_the_cpu_has_the_flows_of_its_executor_and_its_input(
    capture_of: Callable[[str], Path],
) -> None:
    whole = read_xspace(capture_of("keras_fit").read_bytes())
    flows = compute_flows(whole)
    kinds = [KINDS[kind] for kind in np.unique(flows.kind)]
    assert {"producer", "pool", "tf_data"} <= set(kinds)
    links = flows.kind == KINDS.index("tf_data")
    assert (whole.start_ps[flows.to_event[links]] >= whole.start_ps[flows.from_event[links]]).mean() > 0.9


def test_a_trace_without_ids_has_no_flows() -> None:
    whole = trace(host((event("a", 0, 1),)))
    assert repr(compute_flows(whole)) == "Flows(0 launch, 0 producer, 0 pool, 0 tf_data, 0 send_recv)"
    assert flow_table(whole, compute_flows(whole)).empty
