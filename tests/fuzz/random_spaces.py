"""Random traces: number -> a legal XSpace full of what analyses look at, with values they do not expect."""

from __future__ import annotations

import random
from typing import Any

from tests.builders import Event, Gz, Line, Nothing, Plane, Ref, U, space
from tests.hlo_drawings import computation, instruction, module

_NAMES = (
    *(
        "train",
        "test",
        "TraceContext",
        "FunctionRun",
        "SessionRun",
        "ExecutorState::Process",
        "EagerExecute",
        "multi_step",
    ),
    *("EagerLocalExecute: IteratorGetNext", "ReduceIterator::Root", "IteratorGetNextOp::DoCompute", "Iterator::Root"),
    *(
        "Iterator::Prefetch",
        "Iterator::Root::Prefetch",
        "Iterator::Root::Prefetch::Map",
        "Iterator::Prefetch::Generator",
    ),
    *("PrefetchProduce", "PrefetchConsume", "ParallelMapProduce", "ParallelMapConsume", "MakeIterator::RootDataset"),
    *("InstantiatedCapturedFunction::Run", "MemoryAllocation", "MemoryDeallocation", "a/b:MatMul", "m/c:Relu"),
    *("d:InfeedEnqueueTuple", "MEMCPYHtoD", "MemcpyH2D", "memcpyd2d", "ncclKernel", "kern_half", "cuLaunchKernel"),
    *("fusion.1", "dot.2", "end: dot.2", "%while.3 = () while()"),
    *("tf.function-graph_building", "Iterator::", "Iterator:", "", ":", ":A", "x", "Steps"),
)
_KEYS = (
    *(
        "_r",
        "step_num",
        "_p",
        "_pt",
        "_c",
        "_ct",
        "_pid",
        "_a",
        "id",
        "parent_id",
        "element_id",
        "iter_num",
        "graph_type",
    ),
    *("group_id", "step_name", "is_eager", "is_func", "tf_op", "tf_function_call", "correlation_id", "kernel_details"),
    *("allocator_name", "index_on_host", "device_ordinal", "bytes_reserved", "bytes_allocated", "bytes_available"),
    *("fragmentation", "peak_bytes_in_use", "requested_bytes", "allocation_bytes", "addr", "region_type", "data_type"),
    *(
        "shape",
        "_ipl_stage_id",
        "_ipl_stage_name",
        "_ipl_stage_cat",
        "parallelism",
        "autotune",
        "name",
        "shapes",
        "types",
    ),
    *("hlo_op", "hlo_module", "program_id", "flops", "bytes_accessed", "device_offset_ps", "device_duration_ps"),
)
_PROGRAM = module(
    "mod",
    computation("fused", instruction("p", "parameter"), instruction("s", "add", reads="p p", op="a/b:MatMul")),
    computation(
        "main",
        instruction("x", "parameter"),
        instruction("fusion.1", "fusion", reads="x", calls="fused"),
        instruction("dot.2", "dot", reads="fusion.1 x", op="m/d:MatMul"),
    ),
)
_VALUES: tuple[Any, ...] = (
    *(0, 1, 2, 3, -1, 2**31, 2**63 - 1, -(2**63), U(0), U(2), U(2**64 - 1), 0.5, float("nan"), float("inf"), Nothing()),
    *("", "train", "a/b:MatMul", "half", "x\x00", b"", b"\xff", Ref("train"), Gz("zip")),
)
_METADATA_KEYS = ("program_id", "symbol_id", "hlo_category", "tf_op", "flops", "bytes_accessed", "source")
_PLANES = (
    *("/host:CPU", "/host:CPU", "/device:GPU:0", "/device:GPU:1", "/device:TPU:0", "/device:CUSTOM:x"),
    *("/host:metadata", "Task Environment", ""),
)
_PLANE_KEYS = (
    *("process_id", "memory_size", "compute_cap_major", "device_vendor", "device_type_string"),
    *("profile_start_time", "profile_stop_time"),
)
_LINE_IDS = (None, None, 1, 2, -559038737, -559038735, -(2**63))
_TIMESTAMPS_NS = (0, 0, 0, 0, 0, 0, 5, -3, 10**18, 2**63 - 1, -(2**63))
_STRANGE_PS = (0, -5, 2**59, 2**62, 10**16 + 1)


def random_space(number: int) -> bytes:
    """The trace of this number: the same every time."""
    rng = random.Random(number)
    longest_ps = rng.choice((20, 1000, 10**9, 10**12))
    keys = rng.sample(_KEYS, 20)
    planes = [_plane(rng, name, longest_ps, keys) for name in rng.sample(_PLANES, rng.randrange(1, 5))]
    return space(*planes, hostnames=["h", ""][: rng.randrange(1, 3)], errors=["e"] * rng.randrange(2))


def _plane(rng: random.Random, name: str, longest_ps: int, keys: list[str]) -> Plane:
    lines = []
    for _ in range(rng.randrange(4)):
        events = [_event(rng, longest_ps, keys) for _ in range(rng.randrange(rng.choice((3, 30, 60))))]
        title = rng.choice(("main", "t", "Steps", "Stream #1", "XLA Ops"))
        lines.append(Line(title, tuple(events), id=rng.choice(_LINE_IDS), timestamp_ns=rng.choice(_TIMESTAMPS_NS)))
    return Plane(name, tuple(lines), {key: rng.choice(_VALUES) for key in rng.sample(_PLANE_KEYS, rng.randrange(4))})


def _event(rng: random.Random, longest_ps: int, keys: list[str]) -> Event:
    name = rng.choice(_NAMES)
    stats = [(key, _value(rng)) for key in rng.sample(keys, rng.randrange(8))]
    # Enough of what belongs together, so that steps, pipelines and allocations come about at all.
    if name == "train":
        stats += [("_r", 1), ("step_num", rng.randrange(5))]
    if "Iterator" in name:
        stats += [("id", rng.randrange(4)), ("parent_id", rng.randrange(4))]
    if name in ("fusion.1", "dot.2"):
        stats += [("hlo_op", rng.choice(("fusion.1", "dot.2", "x::dot.2", "gone"))), ("program_id", rng.randrange(3))]
    if "Memory" in name:
        stats += [
            ("allocator_name", rng.choice("ab")),
            ("addr", rng.randrange(3)),
            ("bytes_allocated", rng.randrange(99)),
        ]
    return Event(
        name,
        _time_ps(rng, longest_ps),
        _time_ps(rng, max(2, longest_ps // rng.choice((1, 10, 100)))),
        tuple(stats),
        n_occurrences=rng.choice((*[None] * 20, 0, 5, 2**40)),
        metadata_stats=_metadata(rng) if rng.random() < 0.1 else (),
        has_metadata=rng.random() < 0.98,
    )


def _metadata(rng: random.Random) -> tuple[tuple[str, Any], ...]:
    """What describes a TPU's op, and sometimes a compiled program, be it whole or damaged."""
    pairs: list[tuple[str, Any]] = [(key, _value(rng)) for key in rng.sample(_METADATA_KEYS, 3)]
    if rng.random() < 0.3:
        pairs.append(("Hlo Proto", _PROGRAM[: rng.choice((len(_PROGRAM), len(_PROGRAM) // 2))]))
    return tuple(pairs)


def _value(rng: random.Random) -> Any:
    return rng.choice(_VALUES) if rng.random() < 0.4 else rng.randrange(4)


def _time_ps(rng: random.Random, longest_ps: int) -> int:
    return rng.choice(_STRANGE_PS) if rng.random() < 0.1 else rng.randrange(longest_ps)
