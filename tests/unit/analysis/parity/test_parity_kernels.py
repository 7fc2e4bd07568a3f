"""Kernel statistics against XProf's kernel_stats, to the nanosecond, undoing D7, D13, D15 and shares of fusions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.builders import U, event, line, plane, space
from tests.unit.analysis.parity.parity_case import GPU_KINDS, Case
from tests.unit.analysis.xprof_oracle import rows, xprof
from tests.unit.analysis.xprof_reading import as_xprof, charged_to_roots
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace

COLUMNS = {
    "rank": "rank",
    "kernel_name": "name",
    "registers_per_thread": "registers_per_thread",
    "shmem_bytes": "shared_memory_bytes",
    "block_dim": "block_dim",
    "grid_dim": "grid_dim",
    "occupancy_pct": "occupancy_pct",
    "is_op_tensor_core_eligible": "tensor_core_eligible",
    "is_kernel_using_tensor_core": "uses_tensor_core",
    "op_name": "op_name",
    "occurrences": "occurrences",
    "total_duration_us": "total_time_us",
    "avg_duration_us": "avg_time_us",
    "min_duration_us": "min_time_us",
    "max_duration_us": "max_time_us",
}
N_SHOWN = 1000
"""XProf keeps so many kernels (D7)."""


def of_unknown_vendor(trace: Trace) -> Trace:
    """The trace with a vendor on each plane that names none: we take those for Nvidia's, XProf does not."""
    planes = (replace(one, stats={"device_vendor": "unknown"} | one.stats) for one in trace.planes)
    return replace(trace, planes=tuple(planes))


def assert_same_kernels(trace: Trace, table: dict[str, Any]) -> None:
    theirs = rows(table)
    ours = charged_to_roots(as_xprof(of_unknown_vendor(trace))).kernels.frame
    assert len(theirs) == min(len(ours), N_SHOWN) > 0
    for want, got in zip(theirs, ours.head(N_SHOWN).to_dict("records"), strict=True):
        assert {name: got[name] for name in COLUMNS.values()} == {name: want[key] for key, name in COLUMNS.items()}


@pytest.mark.parametrize("kind", GPU_KINDS)
def test_kernels_of_a_capture_equal_xprof(kind: str, case_of: Callable[[str], Case]) -> None:
    case = case_of(kind)
    assert_same_kernels(case.as_xprof_counts, case.theirs["kernel_stats"])


def test_kernels_of_two_devices_with_ties_and_tensor_cores_equal_xprof() -> None:
    def kernel(name: str, at_us: float, us: float, op: str = "", details: str = "", **stats: Any) -> Any:
        named = {"tf_op": op} if op else {}
        return event(name, at_us, us, correlation_id=U(1), kernel_details=details or DETAILS, **named, **stats)

    streams = [
        kernel("volta_h884gemm", 0, 5.0009, "m/dense/MatMul:MatMul"),
        kernel("volta_h884gemm", 10, 4, "m/dense/MatMul:MatMul"),
        kernel("plain_gemm", 20, 3, "MatMul:MatMul"),
        kernel("plain_gemm", 30, 3, "m/conv/Conv2D:Conv2D"),
        kernel("b_tie", 40, 3, "m/add:AddV2"),
        kernel("a_tie", 50, 3, "m/add:AddV2", details="regs:8 static_shared:4 dynamic_shared:4 occ_pct:12.5"),
        kernel("a_tie", 60, 2, "m/add:AddV2", details="regs:8 static_shared:0 dynamic_shared:8 occ_pct:99"),
        kernel("einsum", 70, 1, "e/einsum:Einsum", equation="ab,bc->ac"),
        kernel("einsum", 80, 1, "e/einsum:Einsum", equation="ab->ba"),
        kernel("no_op", 90, 1),
        kernel("nothing", 95, 0, "m/add:AddV2"),
        event("MemcpyH2D", 96, 1, correlation_id=U(2)),
    ]
    devices = [
        plane(f"/device:GPU:{k}", line("Stream #7(Compute)", *streams, id=7), device_vendor="Nvidia") for k in (0, 1)
    ]
    content = space(plane("/host:CPU", line("main", event("train", 0, 100, _r=1, step_num=1))), *devices)
    assert_same_kernels(read_xspace(content), xprof(content, "kernel_stats")["kernel_stats"])


DETAILS = "regs:32 static_shared:16 dynamic_shared:8 grid:1,2,3 block:4,5,6 occ_pct:62.5"
