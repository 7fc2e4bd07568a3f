"""Small traces with known content for the browser tests: two halves that differ in every view, and hostile names."""

from __future__ import annotations

from functools import cache

from tests.builders import Event, Line, event, line, plane, session, space

N_STEPS = 8
STEP_US = 10_000
FIRST, SECOND = "model/first/MatMul", "model/second/Conv2D"
"""The op of steps 0 to 3, and that of steps 4 to 7."""
FIRST_EVENT, SECOND_EVENT = f"{FIRST}:MatMul", f"{SECOND}:Conv2D"
FIRST_MIDDLE_US = 6500
"""Middle of the event of `FIRST` after the start of its step."""
MAP = "Iterator::Root::Prefetch::Map"
MARKUP = "<img src=x onerror=window.tfprofHacked=1>"
CLOSING = "</script><script>window.tfprofHacked=2</script>"
MIB = 2**20
N_PAIRS = 6250
"""Of a long event and a needle in each step of `large_space`."""
N_NEEDLES = N_STEPS * N_PAIRS
N_LARGE = 2 * N_NEEDLES + N_STEPS
"""Events of `large_space`."""


def linked_space() -> bytes:
    """Eight steps of 10 ms; `FIRST` runs in the first four and `SECOND` in the others, each with its allocation."""
    threads = [training("train", FIRST, SECOND, MAP), *memory(FIRST, SECOND, "bfc")]
    return space(session(duration_us=N_STEPS * STEP_US), plane("/host:CPU", *threads))


def hostile_space() -> bytes:
    """The same with markup for names of steps, ops, iterators, threads, hosts and allocators."""
    steps = training(f"train {CLOSING}", MARKUP, CLOSING, f"Iterator::Root::{MARKUP}")
    other = line(CLOSING, event(MARKUP, 1000, 500, note=CLOSING), event(CLOSING, 2000, 500, note=MARKUP))
    threads = [steps, *memory(MARKUP, CLOSING, MARKUP), other]
    return space(session(duration_us=N_STEPS * STEP_US), plane("/host:CPU", *threads), hostnames=[MARKUP])


@cache
def large_space() -> bytes:
    """More events than a first pack holds; each needle is as short as can be, beside a long event."""
    events = []
    for i in range(N_STEPS):
        at = i * STEP_US
        events.append(event("train", at, STEP_US - 10, _r=1, step_num=i))
        for k in range(N_PAIRS):
            events += [event("hay/Relu:Relu", at + 1.5 * k, 1), event("needle/Neg:Neg", at + 1.5 * k + 1.1, 0.01)]
    return space(session(duration_us=N_STEPS * STEP_US), plane("/host:CPU", line("python", *events)))


def training(marker: str, first: str, second: str, iterator: str) -> Line:
    """Eight steps, each with a wait for data and one op."""
    events: list[Event] = []
    root = "Iterator::Root"
    for i in range(N_STEPS):
        at = i * STEP_US
        name, op_type = (first, "MatMul") if i < N_STEPS // 2 else (second, "Conv2D")
        # A name that TensorFlow would refuse still is an op when its type is in lower case (semantics 1.7, rule 4).
        events.append(event(marker, at, STEP_US - 500, _r=1, step_num=i))
        full = f"{name}:{'fused' if '<' in name else op_type}"
        events += [event(root, at + 100, 3000, id=1), event(iterator, at + 200, 2500, id=2, parent_id=1)]
        events.append(event(full, at + 4000, 5000 if i < N_STEPS // 2 else 3000))
    return line("python", *events)


def memory(first: str, second: str, allocator: str) -> list[Line]:
    """Each step allocates for its op and frees at its end: 8 MiB in the first half, 24 MiB in the second."""
    events = []
    in_use = 1 * MIB
    for i in range(N_STEPS):
        op, size = (first, 8 * MIB) if i < N_STEPS // 2 else (second, 24 * MIB)
        for kind, at, sign in (("MemoryAllocation", 4100, 1), ("MemoryDeallocation", 8900, -1)):
            in_use += sign * size
            stats = {
                "allocator_name": allocator,
                "bytes_allocated": in_use,
                "bytes_available": 64 * MIB - in_use,
                "bytes_reserved": 0,
                "fragmentation": 0.25,
                "peak_bytes_in_use": 25 * MIB,
                "requested_bytes": size,
                "allocation_bytes": size,
                "addr": 4096 + i,
                "tf_op": op,
                "data_type": 1,
                "shape": "[32,64]",
                "region_type": "output",
            }
            events.append(event(kind, i * STEP_US + at, 1, stats=stats))
    return [line("allocator", *events)]
