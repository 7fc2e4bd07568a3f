"""What the timeline draws beside events: counters and flows."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tests.builders import Event, Plane, U, event, line, plane, session, trace
from tests.packs import first_of
from tfprof_widgets.analysis import KINDS, Analysis, Flows, compute_flows
from tfprof_widgets.show import Payload, sample_rows
from tfprof_widgets.trace import Trace, merge_traces


def _memory(at: float, name: str, heap: int, size: int, allocator: str = "GPU_0_bfc") -> object:
    return event(
        name, at, 0, allocator_name=allocator, bytes_allocated=heap, bytes_reserved=0, bytes_available=0,
        allocation_bytes=size, requested_bytes=size, addr=heap, peak_bytes_in_use=0, fragmentation=0.0, id=1,
    )  # fmt: skip


def _iterator(at: float, name: str, *, id: int, **stats: object) -> object:
    return event(f"Iterator::Root{name}", at, 1, id=id, **stats)


def _results(*events: object, system: pd.DataFrame | None = None, planes: tuple[object, ...] = ()) -> Analysis:
    return Analysis(trace(plane("/host:CPU", line("main", *events)), *planes), None, system)


def test_counters_of_a_device_are_found_by_their_value() -> None:
    device = plane(
        "/device:GPU:0",
        line("_counters_", event("SM active", 0, 0, counter_value=0.5), event("SM active", 5, 0, counter_value=U(1))),
    )
    (counter,) = _results(event("train", 0, 9), planes=(device,)).counters.counters
    assert counter.name == "GPU:0 SM active"
    assert counter.value.tolist() == [0.5, 1.0]


def test_samples_of_the_machine_become_loads_and_rates_over_the_time_they_cover() -> None:
    system = pd.DataFrame(
        {"time_ms": [0.0, 100.0, 300.0], "cpu_pct": [0.0, 50.0, 70.0], "process_cpu_pct": [0, 150, 50],
         "rss_bytes": [1e9, 2e9, 3e9],
         "disk_read_bytes": [0, 1000, 5000]}
    )  # fmt: skip
    results = _results(event("train", 0, 9), system=system)
    got = {counter.name: (counter.time_ps.tolist(), counter.value.tolist()) for counter in results.counters.counters}
    ms = 10**9
    assert got["CPU, all cores"] == ([0, 100 * ms], [50.0, 70.0])
    assert got["CPU of this process"] == ([0, 100 * ms], [1.5, 0.5])
    assert got["Memory of this process"] == ([0, 100 * ms, 300 * ms], [1e9, 2e9, 3e9])
    assert got["Disk read"] == ([0, 100 * ms], [10_000.0, 20_000.0])


def _machine(*loads: float, **columns: float) -> pd.DataFrame:
    """Two samples of a machine whose cores have these loads, and with these columns."""
    cores = {f"cpu{i}_pct": load for i, load in enumerate(loads)}
    return pd.DataFrame({name: [value, value] for name, value in (cores | columns).items()}).assign(
        time_ms=[0.0, 100.0]
    )


def test_cores_and_gpus_of_their_own_follow_the_sums_of_the_machine() -> None:
    gpus = {"gpu_pct": 50.0, "gpu_memory_bytes": 3e9, "gpu0_pct": 20.0, "gpu0_memory_bytes": 1e9}
    system = _machine(10, 90, cpu_pct=50, n_threads=9, memory_available_bytes=1e9, **gpus, gpu1_pct=80.0)
    counters = _results(event("train", 0, 9), system=system).counters.counters
    assert [(counter.name, counter.unit) for counter in counters] == [
        ("CPU, all cores", "%"), ("Threads of this process", "threads"), ("Memory available", "bytes"),
        ("GPU load", "%"), ("GPU memory in use", "bytes"),
        ("GPU 0 load", "%"), ("GPU 0 memory in use", "bytes"), ("GPU 1 load", "%"),
        ("CPU core 0", "%"), ("CPU core 1", "%"),
    ]  # fmt: skip
    assert counters[-1].time_ps.tolist() == [0]
    assert counters[-1].value.tolist() == [90]


def test_of_many_cores_the_busiest_are_shown_and_their_names_say_of_how_many() -> None:
    loads = [float(i % 7) for i in range(64)]
    loads[40] = 99
    counters = _results(event("train", 0, 9), system=_machine(*loads)).counters.counters
    assert len(counters) == 16
    assert "CPU core 40 (16 of 64 cores)" in [counter.name for counter in counters]
    assert min(counter.value[0] for counter in counters) >= 5


def test_the_outline_keeps_the_extremes_of_every_bin_and_both_ends() -> None:
    rng = np.random.default_rng(4)
    heap = rng.integers(0, 10**6, 3000)
    results = _results(*[_memory(float(k), "MemoryAllocation", int(h), 0) for k, h in enumerate(heap)])
    rows = sample_rows(results.counters, n_wanted=400)
    assert len(rows) <= 420
    time, value = results.counters.counters[0].time_ps, results.counters.counters[0].value
    assert rows[0] == 0 and rows[-1] == len(value) - 1
    width = -(-(int(time[-1] - time[0]) + 1) // 100)
    bins = (time - time[0]) // width
    for k in range(100):
        of_bin, kept = np.flatnonzero(bins == k), rows[bins[rows] == k]
        assert value[of_bin].min() == value[kept].min()
        assert value[of_bin].max() == value[kept].max()


def test_a_memory_beyond_any_number_is_no_value_and_the_page_still_opens() -> None:
    results = _results(
        _iterator(1, "Prefetch", id=1, ram_usage_megabytes=f"{'9' * 400} out of 1 (1%)"),
        _iterator(3, "Prefetch", id=1, ram_usage_megabytes="2473 out of 25276 (9.78%)"),
    )
    (counter,) = results.counters.counters
    assert counter.value.tolist() == [2473]
    assert first_of(Payload(results))[0]["counters"][0]["max"] == 2473


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


def test_where_an_id_is_used_again_each_consumer_belongs_to_the_producer_before_it() -> None:
    made = tuple(event("made", 4 * i, 0.5, _pt=2, _p=7) for i in range(3))
    used = tuple(event("used", 4 * i + k, 0.5, _ct=2, _c=7) for i in range(3) for k in (1, 2))
    flows = compute_flows(trace(host(made, used)))
    assert flows.from_event.tolist() == [0, 0, 1, 1, 2, 2]
    assert flows.to_event.tolist() == [3, 4, 5, 6, 7, 8]


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
