"""Short drawings of GPU steps -> their results: what the host did, what was copied and computed, the same in every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.builders import Event, Plane, U, event, line, plane, session, trace
from tfprof_widgets.analysis import Analysis

STEP_US = 1000
N_STEPS = 6
DETAILS = "regs:32 static_shared:16 dynamic_shared:8 grid:1,2,3 block:4,5,6 occ_pct:62.5"
Part = tuple[str, float, float]
"""Name, start in the step and duration, in us."""


def gpu_run(
    compute: Sequence[Part],
    *,
    host: Sequence[Part] = (),
    launches: Sequence[Part] = (("cuLaunchKernel", 2, 8),),
    step_us: float = STEP_US,
    n_steps: int = N_STEPS,
    op: str = "net/dense/MatMul:MatMul",
    ops: Mapping[str, str] | None = None,
    memory: Sequence[Event] = (),
    kernel_stats: Mapping[str, Any] | None = None,
    mark: Mapping[str, Any] | None = None,
    **stats: Any,
) -> Analysis:
    """Steps that begin every `step_us` and are marked but for their last hundredth.

    Args:
        compute: what runs on the device; copies are told by their names.
        host: what runs on the thread of the step.
        launches: calls of the driver, on another thread.
        step_us: how long a step is.
        n_steps: how many there are.
        op: the op that kernels are of.
        ops: the op that some kernels are of, by name of the kernel.
        memory: memory events, at any time.
        kernel_stats: of each kernel, besides its own.
        mark: of each step's marker, besides its own.
        stats: of the device's plane.
    """
    main, driver, stream = list(memory), [], []
    for i in range(n_steps):
        at = step_us * i
        main += [event("train", at, 0.99 * step_us, _r=1, step_num=i, **(mark or {}))]
        main += [event(name, at + start, us) for name, start, us in host]
        for k, (name, start, us) in enumerate(launches):
            driver.append(event(name, at + start, us, correlation_id=U(100 * i + k + 1), _c=1, _ct=0))
        for k, (name, start, us) in enumerate(compute):
            of = (ops or {}).get(name, "" if name.startswith("Memcpy") else op)
            stream.append(
                _on_stream(name, at + start, us, 100 * i + min(k, len(launches) - 1) + 1, of, kernel_stats or {})
            )
    planes: list[Plane] = [plane("/host:CPU", line("main", *main, *driver))]
    planes += [plane("/device:GPU:0", line("Stream #1", *stream), **stats), session(duration_us=n_steps * step_us)]
    return Analysis(trace(*planes))


def _on_stream(name: str, at: float, us: float, correlation: int, op: str, stats: Mapping[str, Any]) -> Event:
    if name.startswith("Memcpy"):
        copied = {"tf_op": op} if op else {}
        details = "kind_src:pageable kind_dst:device size:4000000 dest:0 async:1"
        return event(name, at, us, correlation_id=U(correlation), memcpy_details=details, **copied)
    return event(name, at, us, correlation_id=U(correlation), tf_op=op, kernel_details=DETAILS, **stats)


def memory_event(at_us: float, address: int, size: int, in_use: int, **changes: Any) -> Event:
    """An allocation on a GPU of 16 GB."""
    known = {
        "allocator_name": "GPU_0_bfc",
        "bytes_reserved": 0,
        "bytes_allocated": in_use,
        "bytes_available": 16_000_000_000 - in_use,
        "fragmentation": 0.0,
        "peak_bytes_in_use": in_use,
        "requested_bytes": size,
        "allocation_bytes": size,
        "addr": address,
        "tf_op": "net/dense/MatMul",
        "region_type": "output",
        "data_type": 1,
        "shape": "[2]",
    }
    return event("MemoryAllocation", at_us, 0, stats=known | changes)
