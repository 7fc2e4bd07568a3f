"""The test vectors of the numbers' specification, TV1 to TV13, as traces: small drawings, each for one rule or quirk."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.builders import Event, Plane, U, event, length_prefixed, line, plane, session, space


def host(*events: Event) -> Plane:
    return plane("/host:CPU", line("main", *events))


def child_that_ends_with_its_parent() -> bytes:
    """TV1."""
    return space(
        host(
            event("top:TopOp", 0, 100),
            event("par:ParOp", 10, 40),
            event("chi:ChiOp", 30, 20),
            event("nxt:NxtOp", 60, 10),
        )
    )


def allocation_inside_an_op() -> bytes:
    """TV2."""
    return space(host(event("a/foo:MatMul", 0, 100), event("MemoryAllocation", 10, 0, tf_op="a/foo")))


def overlapping_ops() -> bytes:
    """TV3."""
    return space(host(event("a:Aop", 0, 10), event("b:Bop", 10, 10), event("c:Cop", 15, 10)))


def cpu_steps(n_steps: int) -> bytes:
    """TV5."""

    def step(i: int) -> Iterator[Event]:
        yield event("train", 10 * i, 9, _r=1, step_num=100 + i)
        yield event("foo:MatMul", 10 * i + 1, 4)

    return space(host(*(one for i in range(n_steps) for one in step(i))))


def unmarked() -> bytes:
    """An op and no step marker (D2)."""
    return space(host(event("foo:MatMul", 0, 4)))


DETAILS = "regs:32 static_shared:16 dynamic_shared:8 grid:1,2,3 block:4,5,6 occ_pct:62.5"


def gpu_steps(launch: str = "cuLaunchKernel", half: str = "half") -> bytes:
    """TV6."""

    def on_host(i: int) -> Iterator[Event]:
        yield event("train", 10 * i, 9, _r=1, step_num=100 + i)
        yield event(launch, 10 * i + 1, 4, correlation_id=U(i + 1))

    kernels = [
        event(
            f"kern_{half}_x" if i % 2 else "kern",
            10 * i + 3,
            5,
            correlation_id=U(i + 1),
            tf_op="m/foo:MatMul",
            kernel_details=DETAILS,
        )
        for i in range(3)
    ]
    copy = event("MemcpyH2D", 8, 0.5, correlation_id=U(9999))
    stream = line("Stream #13(Compute)", kernels[0], copy, *kernels[1:], id=13)
    return space(host(*(one for i in range(3) for one in on_host(i))), plane("/device:GPU:0", stream))


def sampled_memory() -> bytes:
    """TV4: more allocations than XProf shows samples of."""

    def allocation(i: int) -> Event:
        state = {"bytes_reserved": 7, "bytes_allocated": 37 * i % 1000, "bytes_available": 5000}
        about = {"allocator_name": "a", "requested_bytes": 16, "allocation_bytes": 16, "addr": i, "tf_op": "op"}
        return event("MemoryAllocation", i, 0, stats=state | about | {"fragmentation": 0.5, "peak_bytes_in_use": 2000})

    return space(host(*(allocation(i) for i in range(2503))))


def input_categories() -> bytes:
    """TV8."""
    enqueue = "x/InfeedEnqueueTuple:InfeedEnqueueTuple"
    return space(
        plane(
            "/host:CPU",
            line("a", event(enqueue, 0, 10), event(enqueue, 40, 10)),
            line(
                "b",
                event("Iterator::Root::Map", 0, 10),
                event("Iterator::Root::Map::TFRecord", 2, 5),
                event("Iterator::Root::Prefetch::TFRecord", 7, 2.999999),
                event("stage a", 20, 4, _ipl_stage_id=1001, _ipl_stage_name="stage a", _ipl_stage_cat="Read"),
                event("stage b", 30, 6, _ipl_stage_id=1002, _ipl_stage_name="stage b", _ipl_stage_cat="unknown"),
            ),
        )
    )


def input_stages() -> bytes:
    """TV9: a stage of an instrumented input pipeline, with another inside."""
    return space(
        host(
            event("train", 0, 100, _r=1, step_num=0),
            event("stageR", 5, 30, _ipl_stage_name="r"),
            event("stageC", 10, 10, _ipl_stage_name="c"),
            event("foo:MatMul", 50, 20),
            event("user annotation", 60, 25),
            event("x:InfeedEnqueue", 90, 5),
        )
    )


def tpu_steps() -> bytes:
    """TV10: three steps of 100 us, one every 200: infeed 20, a loop of 60 around a convolution of 40, an all-reduce of 4."""

    def op(symbol: int, name: str, category: str, at_us: float, us: float) -> Event:
        about = {"program_id": U(7), "symbol_id": U(symbol), "hlo_category": category}
        return event(
            f"%{name}.1 = f32[8] {category}(f32[8] %p)",
            at_us,
            us,
            display_name=f"{name}.1",
            metadata_stats=about | {"tf_op": f"model/{name}:{name.title()}"},
        )

    def of_step(at_us: float) -> Iterator[Event]:
        yield op(1, "infeed", "infeed", at_us, 20)
        yield op(2, "while", "while", at_us + 25, 60)
        yield op(3, "conv", "convolution", at_us + 30, 40)
        yield op(4, "reduce", "all-reduce", at_us + 86, 4)

    starts = (0, 200, 400)
    core = plane(
        "/device:TPU:0",
        line("Steps", *(event(str(i), at, 100) for i, at in enumerate(starts)), id=1),
        line("XLA Modules", *(event("step(7)", at, 90, metadata_stats={"program_id": U(7)}) for at in starts), id=2),
        line("XLA Ops", *(one for at in starts for one in of_step(at)), id=3),
        device_type_string="TPU v4",
    )
    return space(host(event("x", 0, 1)), core)


def gpu_host(name: str, n_steps: int, start_us: float, kernel_us: float = 5) -> bytes:
    """TV11: one of two hosts: a launch and a kernel every 10 us."""
    times = [start_us + 10 * i for i in range(n_steps)]
    launches = [event("cuLaunchKernel", at + 1, 2, correlation_id=U(i + 1)) for i, at in enumerate(times)]
    markers = [event("train", at, 9, _r=1, step_num=i) for i, at in enumerate(times)]
    shown = [{"correlation_id": U(i + 1), "tf_op": "m/foo:MatMul"} for i in range(n_steps)]
    kernels = [event("kern", at + 3, kernel_us, **told) for at, told in zip(times, shown, strict=True)]
    stream = line("Stream #13(Compute)", *kernels, id=13)
    both = (one for pair in zip(markers, launches, strict=True) for one in pair)
    return space(session(), host(*both), plane("/device:GPU:0", stream), hostnames=[name])


def unsorted_events(n_events: int) -> bytes:
    """TV13 in small: events of one line, not in the order of time."""
    return space(host(*(event("e", 10 * (7 * i % n_events), 1) for i in range(n_events))))


def one_line_of(n_events: int) -> bytes:
    """TV13 at full size, encoded without a Python object an event: one event of 1 us every 2 us."""
    offsets = 2_000_000 * np.arange(n_events, dtype=np.uint64)
    body = np.zeros((n_events, 16), np.uint8)
    body[:, :5] = (0x22, 14, 0x08, 1, 0x10)  # XLine.events, 14 bytes: metadata_id 1, offset_ps
    for k in range(7):  # the offset as a varint of exactly seven bytes
        body[:, 5 + k] = (offsets >> np.uint64(7 * k)) & np.uint64(0x7F) | (0x80 if k < 6 else 0)
    body[:, 12:16] = (0x18, 0xC0, 0x84, 0x3D)  # duration_ps 1,000,000
    lines = length_prefixed(b"\x08\x01" + body.tobytes())
    name = b"\x12\x09/host:CPU"
    metadata = b"\x22\x09\x08\x01\x12\x05\x08\x01\x12\x01e"
    return b"\x0a" + length_prefixed(name + b"\x1a" + lines + metadata)
