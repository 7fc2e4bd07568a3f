"""Random choices -> traces of ordinary shape with hostile or absurd values in their fields."""

from __future__ import annotations

import random
from typing import Any

from tests.builders import Event, Gz, Line, Plane, Ref, U, event, line, plane, space
from tests.fuzz.hostile_texts import op_name, text
from tests.fuzz.random_spaces import random_space
from tests.hlo_drawings import computation, instruction, metadata_plane, module

ABSURD = (0, 1, -1, 2**31, -(2**31), 2**53, 10**18, 2**62, 2**63 - 1, -(2**63), -(2**62))
NO_NUMBERS: tuple[Any, ...] = (float("nan"), float("inf"), float("-inf"), 1e308, -0.0, 5e-324, U(2**64 - 1), -(2**63))
ALLOCATION_KEYS = (
    *("bytes_allocated", "bytes_available", "bytes_reserved", "fragmentation", "peak_bytes_in_use"),
    *("requested_bytes", "allocation_bytes", "addr", "data_type"),
)


def markup_everywhere(rng: random.Random, size: float) -> bytes:
    """Every string field of the format, and of what analyses read out of stats."""
    n = 10 + int(60 * size)
    planes = [
        plane(f"{prefix}{text(rng)}", *(_marked_line(rng, n) for _ in range(3)), device_type_string=text(rng))
        for prefix in ("", "/host:CPU", "/device:GPU:0", "/device:TPU:0", "/device:CUSTOM:", "/host:")
    ]
    planes.append(plane("Task Environment", **{text(rng): text(rng), "host": text(rng)}))
    texts = [text(rng) for _ in range(3)]
    return space(*planes, hostnames=texts[:1], errors=texts[1:2], warnings=texts[2:])


def _marked_line(rng: random.Random, n: int) -> Line:
    return line(text(rng), *(_marked_event(rng, 900 * i) for i in range(n)), display_name=text(rng))


def _marked_event(rng: random.Random, at: float) -> Event:
    keys = (
        "tf_op",
        "kernel_details",
        "hlo_op",
        "hlo_module",
        "step_name",
        "tf_function_call",
        "name",
        "shape",
        text(rng),
    )
    stats = {key: rng.choice((str, Ref, Gz))(text(rng)) for key in rng.sample(keys, 4)}
    name = rng.choice(
        (text(rng), op_name(rng), f"Iterator::Root::{text(rng)}", f"EagerExecute: {text(rng)}", f"train {text(rng)}")
    )
    if name.startswith("train"):
        stats |= {"_r": 1, "step_num": int(at) // 900}
    return event(name, at, 800, stats=stats, display_name=text(rng), metadata_stats={text(rng): text(rng)})


def absurd_times(rng: random.Random, size: float) -> bytes:
    """Starts, durations and line timestamps from before time to its end, and gaps of days."""
    lines = []
    for k in range(3 + int(9 * size)):
        events = [Event(f"t{i}:Conv2D", rng.choice(ABSURD), rng.choice(ABSURD)) for i in range(30)]
        events += [Event("far", i * 10**17, 1000) for i in range(3)]
        stamp = rng.choice((0, 0, 0, rng.choice(ABSURD)))
        lines.append(line(f"absurd {k}", *events, timestamp_ns=stamp))
    start = U(rng.choice((0, 1, 2**63, 2**64 - 1, 1_700_000_000_000_000_000)))
    environment = plane(
        "Task Environment", profile_start_time=start, profile_stop_time=U(rng.choice((0, 5, 2**64 - 1)))
    )
    return space(environment, plane("/host:CPU", *lines), plane("/device:GPU:0", *lines[:2]))


def stats_of_no_number(rng: random.Random, size: float) -> bytes:
    """Stats that analyses take for numbers: step numbers, ids, sizes and rates that are none."""
    keys = (
        *("_r", "step_num", "group_id", "correlation_id", "id", "parent_id", "_p", "_c", "flops", "bytes_accessed"),
        *("element_id", "device_ordinal", "program_id", "is_eager", "parallelism", "occ_pct", *ALLOCATION_KEYS),
    )
    names = ("train", "a/b:MatMul", "Iterator::Root::Map", "MemoryAllocation", "MemoryDeallocation", "cuLaunchKernel")
    events = [
        event(rng.choice(names), 100 * i, 90, stats={key: rng.choice(NO_NUMBERS) for key in rng.sample(keys, 8)})
        for i in range(50 + int(950 * size))
    ]
    return space(plane("/host:CPU", line("no numbers", *events)), plane("/device:GPU:0", line("Stream", *events[:50])))


def duplicate_ids(rng: random.Random, size: float) -> bytes:
    """Lines, steps, iterators and launches that share one id."""
    n = 20 + int(200 * size)

    def one(i: int) -> list[Event]:
        return [
            event("train", 500 * i, 450, _r=1, step_num=rng.randrange(3), group_id=1),
            event("Iterator::Root::Map", 500 * i, 100, id=1, parent_id=1),
            event("cuLaunchKernel", 500 * i + 120, 50, correlation_id=7),
        ]

    lines = [line(f"twin {k}", *(e for i in range(n) for e in one(i)), id=1) for k in range(4)]
    kernels = line("Stream", *(event("kernel", 500 * i + 200, 50, correlation_id=7) for i in range(n)), id=1)
    return space(plane("/host:CPU", *lines), plane("/host:CPU", *lines), plane("/device:GPU:0", kernels, kernels))


def absurd_memory(rng: random.Random, size: float) -> bytes:
    """Allocators with sizes beyond memory, frees without allocations, and any number of allocators."""
    n_allocators = 1 + int(100 * size)
    events = []
    for i in range(2000):
        stats = {key: rng.choice((*ABSURD, *NO_NUMBERS, 8 << 20)) for key in rng.sample(ALLOCATION_KEYS, 6)}
        stats |= {"allocator_name": f"bfc{rng.randrange(n_allocators)} {text(rng)}", "tf_op": op_name(rng)}
        events.append(event(rng.choice(("MemoryAllocation", "MemoryDeallocation")), 30 * i, 1, stats=stats))
    return space(plane("/host:CPU", line("allocators", *events)))


def tangled_iterators(rng: random.Random, size: float) -> bytes:
    """Iterators that are their own parents, in rings, and a pipeline of thousands of stages."""
    n = 20 + int(3000 * size)
    chain = [event("Iterator::" + "Root::Map", 10 * i, 9, id=i, parent_id=i - 1) for i in range(1, n)]
    ring = [event("Iterator::Prefetch", 10 * i, 5, id=90_000 + i, parent_id=90_000 + (i + 1) % 7) for i in range(7)]
    wild = [
        event(f"Iterator::{text(rng)}", 20 * i, 15, id=rng.choice(ABSURD), parent_id=rng.choice(ABSURD))
        for i in range(100)
    ]
    return space(
        plane("/host:CPU", *(line(name, *part) for name, part in zip("abc", (chain, ring, wild), strict=True)))
    )


def many_kernels(rng: random.Random, size: float) -> bytes:
    """Distinct kernels with details that do not parse."""
    details = ("regs:-1 block:1e9,NaN,0 grid:0,0,0 occ_pct:inf", "regs:", "::::", "block:1,2 grid:a,b,c", text(rng))
    n = 100 + int(20_000 * size)
    events = [
        event(
            f"kernel_{i} {text(rng) if i % 50 == 0 else ''}",
            4 * i,
            3,
            kernel_details=rng.choice(details),
            tf_op=f"a/{i}:X",
        )
        for i in range(n)
    ]
    return space(plane("/device:GPU:0", line("Stream #7(Compute)", *events), device_vendor="Nvidia"))


def deep_scopes(rng: random.Random, size: float) -> bytes:
    """Ops in thousands of scopes, and scopes whose names are no names."""
    deep = "/".join(["s"] * (10 + int(5000 * size))) + "/op:MatMul"
    wide = [event(f"a{i}/{rng.choice(('', '..', '__proto__', 'b'))}/op:MatMul", 10 * i, 9) for i in range(2000)]
    marked = [event(f"{text(rng)}/{text(rng)}:fused", 10 * i, 9) for i in range(300)]
    lines = [line("deep", event(deep, 0, 5000)), line("wide", *wide), line("marked", *marked)]
    return space(plane("/host:CPU", *lines))


def compiled_programs(rng: random.Random, size: float) -> bytes:
    """Programs of many instructions with hostile names, one of them cut in two, and events of programs that are not there."""
    n = 20 + int(3000 * size)
    instructions = [
        instruction(
            f"fusion.{i} {text(rng)}",
            "fusion",
            op=op_name(rng),
            source=f"{text(rng)}:{rng.choice((0, 1, -1, 2**31 - 1))}",
        )
        for i in range(n)
    ]
    program = module(text(rng), computation("main", *instructions))
    events = [
        event(one.name, 20 * i, 15, hlo_op=one.name, hlo_module=text(rng), program_id=rng.choice((1, 2, 3)))
        for i, one in enumerate(instructions)
    ]
    planes: list[Plane] = [metadata_plane({1: program, 2: program[: len(program) // 2]})]
    return space(*planes, plane("/host:CPU", line("xla", *events)))


def random_fields(rng: random.Random, size: float) -> bytes:
    """One of the random traces that all analyses are tested with."""
    return random_space(rng.randrange(10**6))
