"""A trace that loads never makes a payload, a page, a summary or a repr fail, however large or strange its numbers are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tfprof_widgets as tfprof
from tests.builders import EPOCH_NS, Event, Plane, U, aggregated, event, line, plane, session, space, trace
from tests.packs import first_of
from tests.unit.views.received import receive
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.show import Payload

CPU, GPU = "/host:CPU", "/device:GPU:0"
N_MANY = 70_000
"""More than 16 bits can count."""
THREE_HOURS_PS = 10**16
"""Beyond 2^53, from where on a double does not hold every picosecond."""


def at(start_ps: int, duration_ps: int, name: str = "a:MatMul", **stats: object) -> Event:
    return Event(name, start_ps, duration_ps, tuple(stats.items()))


def nested() -> list[Plane]:
    return [plane(CPU, line("main", *(at(i, 3 * N_MANY - 2 * i) for i in range(N_MANY))))]


def many_stats() -> list[Plane]:
    return [plane(CPU, line("main", Event("x", 0, 5, (("k", 1),) * N_MANY), event("y", 9, 1, last=7)))]


def many_allocators() -> list[Plane]:
    made = [event("MemoryAllocation", i, 0, allocator_name=f"a{i:03}", bytes_allocated=i, addr=i) for i in range(300)]
    return [plane(CPU, line("main", *made))]


def late() -> list[Plane]:
    steps = [at(THREE_HOURS_PS + 10**9 * i + 1, 10**9 - 1, "train", _r=1, step_num=i) for i in range(4)]
    allocation = at(
        *(THREE_HOURS_PS + 3, 0, "MemoryAllocation"),
        allocator_name="bfc",
        bytes_allocated=2**62 + 1,
        bytes_reserved=2**62,
        bytes_available=2**62,
        requested_bytes=-(2**63),
        peak_bytes_in_use=2**63 - 1,
        fragmentation=float("nan"),
    )
    return [session(duration_us=2e10), plane(CPU, line("main", *steps, at(THREE_HOURS_PS + 5, 7), allocation))]


def beyond_the_end() -> list[Plane]:
    return [plane(CPU, line("m", at(2**62, 2**62), at(2**60 - 1, 2**60 - 1), at(5, -5), at(-(2**62), 1)))]


def odd_clocks() -> list[Plane]:
    clock = plane("Task Environment", profile_start_time=U(EPOCH_NS), profile_stop_time=U(2**64 - 1))
    lines = [line("a", event("x:A", 1, 1), timestamp_ns=2**63 - 1), line("b", event("y", 1, 1), timestamp_ns=-(2**63))]
    return [clock, plane(CPU, *lines, process_id=U(2**64 - 1))]


def names() -> list[Plane]:
    raw = [
        "\0",
        "</script>",
        "a" * 10**5,
        b"\xed\xa0\x80 half a pair",
        b"\xff:MatMul",
        ":",
        "Iterator::",
        "\u2028",
        "{}",
        "",
    ]
    events = [event(one, 9 * i, 5, stats={"\0": "\0", "": "", "tf_op": "\0:A", "id": i}) for i, one in enumerate(raw)]
    return [plane(CPU, line("\0\u202e", *events))]


def devices_alone() -> list[Plane]:
    kernels = [event("k", 9 * i, 5, correlation_id=i, tf_op="a/b:MatMul") for i in range(5)]
    return [plane(GPU, line("s", *kernels), memory_size=2**63 - 1), plane("/device:TPU:0", line("t", event("k", 1, 2)))]


def other_kinds() -> list[Plane]:
    stats = {
        "_r": "x",
        "step_num": 1.5,
        "id": "q",
        "group_id": b"g",
        "tf_op": 5,
        "allocator_name": 5,
        "_p": float("inf"),
    }
    seen = ("train", "Iterator::Root", "MemoryAllocation", "a:B", "EagerExecute", "TraceContext")
    return [plane(CPU, line("main", *(event(name, 9 * i, 5, stats=stats) for i, name in enumerate(seen))))]


def nothing() -> list[Plane]:
    return [plane(CPU, line("empty")), plane("")]


def counted() -> list[Plane]:
    return [
        plane(CPU, line("m", aggregated("a:B", 2**31 + 5, 1e6), aggregated("train", 5, 7, _r=1), event("c:D", 1, 2)))
    ]


HOSTILE = (
    *(nested, many_stats, many_allocators, late, beyond_the_end, odd_clocks),
    *(names, devices_alone, other_kinds, nothing, counted),
)


def reject(constant: str) -> float:
    raise AssertionError(f"{constant} is no JSON")


@pytest.mark.parametrize("drawn", HOSTILE, ids=lambda drawn: drawn.__name__)
def test_a_trace_that_loads_is_shown(drawn: Callable[[], list[Plane]], tmp_path: Path) -> None:
    (tmp_path / "h.xplane.pb").write_bytes(space(*drawn()))
    prof = tfprof.load(tmp_path)
    payload = Payload(prof.run.results)
    got = receive(payload)
    json.loads(json.dumps(got.meta), parse_constant=reject)
    assert got.n_events == got.meta["n_events_sent"] <= prof.trace.n_events
    for name, columns in (first_of(payload)[1] | got.tables).items():
        for column, values in columns.items():
            if values.dtype.kind == "f" and column != "fragmentation_ratio":
                assert np.isfinite(values).all(), (name, column)
    assert "\n" not in repr(prof)
    summary = prof.text()
    summary.encode("utf-8")
    assert summary.count("\n") < 60
    for part in (prof.memory, prof.overview, prof.input_pipeline, prof.select(time_range=(0, 1000))):
        assert len(repr(part)) < 500
    assert prof.to_html(tmp_path / "out.html").stat().st_size > 10_000


def test_a_trace_without_planes_is_shown(tmp_path: Path) -> None:
    (tmp_path / "h.xplane.pb").write_bytes(space(hostnames=["box"], errors=["the device was lost"]))
    prof = tfprof.load(tmp_path)
    meta, _ = first_of(Payload(prof.run.results))
    assert (meta["n_events"], meta["planes"]) == (0, [])
    limits = json.loads(prof.dashboard().options)["limits"]
    assert [(limit["text"], limit["view"]) for limit in limits] == [("the device was lost", "")]
    assert "the device was lost" in prof.text()


def test_every_allocator_beyond_the_255th_keeps_its_own_memory() -> None:
    meta, tables = first_of(Payload(Analysis(trace(*many_allocators()))))
    assert tables["memory"]["allocator"].tolist() == list(range(300))
    assert meta["allocators"][299] == "a299"


def test_times_beyond_2_hours_arrive_as_the_nearest_double() -> None:
    read = trace(*late())
    got = receive(Payload(Analysis(read)))
    assert float(read.start_ps[0]) != int(read.start_ps[0])  # there is something to round
    assert sorted(got.events["start_ps"].tolist()) == sorted(float(start) for start in read.start_ps.tolist())


def test_of_many_allocators_a_summary_names_the_largest_and_how_many_there_are(tmp_path: Path) -> None:
    (tmp_path / "h.xplane.pb").write_bytes(space(*many_allocators()))
    summary = tfprof.load(tmp_path).text()
    assert "Memory a299: peak 299 bytes" in summary
    assert "8 of 300 allocators" in summary
