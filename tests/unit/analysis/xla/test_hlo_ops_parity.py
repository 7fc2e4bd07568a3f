"""The `hlo_ops` table against XProf's `hlo_stats`: a real program of XLA whose ops a drawn GPU runs, and a drawn TPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.builders import U, event, line, plane, space
from tests.hlo_drawings import metadata_plane
from tests.unit.analysis.steps.test_tpu_steps import TV10
from tests.unit.analysis.xprof_oracle import rows, xprof
from tfprof_widgets.analysis import IDLE, Analysis, aggregate_ops
from tfprof_widgets.read import HloModules, read_hlo_modules, read_xspace

SILENT = ("parameter", "constant", "tuple", "get-tuple-element")
GPU = {"device_vendor": "Nvidia", "compute_cap_major": 8, "core_count": U(108), "clock_rate": U(1_410_000)}
FLOPS_PER_ELEMENT = 3
"""What XProf's cost model for GPUs takes an element-wise operation for; see `hlo_cost.py`."""


@dataclass(frozen=True)
class Case:
    modules: HloModules
    results: Analysis
    theirs: dict[str, Any]


@pytest.fixture(scope="module")
def gpu(capture_of: Callable[[str], Path]) -> Case:
    """A GPU that runs each op of a compiled Keras step up to three times, in a kernel each (D15), and ops of TensorFlow."""
    whole = read_xspace(capture_of("xla_fit").read_bytes())
    blob = max(whole.blobs, key=len)
    modules = read_hlo_modules(whole)
    entry = int(np.argmax(np.diff(modules.instruction_offsets)))
    low, high = modules.instruction_offsets[entry : entry + 2].tolist()
    names = [modules.name[row] for row in range(low, high) if modules.opcode[row] not in SILENT]
    runs = [
        event(
            f"kernel_{k}",
            100 * i + 20 * k,
            3 + i % 7 + k,
            hlo_op=f"thunk::{name}" if k else name,
            hlo_module="m",
            program_id=1,
            scope_range_id=10 * i + k,
        )
        for i, name in enumerate(names)
        for k in range(1 + i % 3)
    ]
    runs.append(event("kernel_0", 90_000, 7, hlo_op="gone.1", hlo_module="m", program_id=1))
    others = line("Stream #8(Compute)", event("volta_gemm", 5, 9, tf_op="other/MatMul:MatMul"), event("Memset", 20, 3))
    data = space(
        metadata_plane({1: blob}),
        plane("/host:CPU", line("t", event("cuLaunchKernel", 0, 1))),
        plane("/device:GPU:0", line("Stream #7(Compute)", *runs), others, **GPU),
    )
    return Case(modules, Analysis(read_xspace(data)), xprof(data, "hlo_stats", "framework_op_stats"))


@pytest.fixture(scope="module")
def tpu() -> Case:
    results = Analysis(read_xspace(TV10))
    return Case(results.occurrences.hlo.modules, results, xprof(TV10, "hlo_stats", "framework_op_stats"))


def of_xla(case: Case) -> dict[str, dict[str, Any]]:
    """XProf's rows by HLO op; those of ops that no program compiled have program 0."""
    return {row["hlo_op_name"]: row for row in rows(case.theirs["hlo_stats"]) if str(row["program_id"]) != "0"}


def test_names_categories_and_times_on_a_gpu_are_xprofs(gpu: Case) -> None:
    theirs, ours = of_xla(gpu), gpu.results.hlo_ops.frame
    assert len(theirs) > 60
    assert set(ours["name"]) - set(theirs) == {"gone.1"}, "XProf drops what it does not find"
    for row in ours[ours["name"] != "gone.1"].to_dict("records"):
        want = theirs[row["name"]]
        full = f"{row['op_name']}:{row['op_type']}" if row["op_name"] else ""
        got = (
            row["category"],
            str(row["program_id"]),
            full,
            row["occurrences"],
            row["total_time_us"],
            row["total_self_time_us"],
        )
        assert got == (
            want["category"],
            str(want["program_id"]),
            want["tf_op_name"],
            want["occurrences"],
            want["total_time"],
            want["total_self_time"],
        )


def test_shares_on_a_gpu_are_xprofs_once_idle_time_and_other_ops_count(gpu: Case) -> None:
    device = aggregate_ops(gpu.results.occurrences, shares=gpu.results.op_shares, idle=True)
    whole = device.loc[device["device"] == "Device", "total_self_time_us"].sum()
    theirs, ours = of_xla(gpu), gpu.results.hlo_ops.frame.set_index("name")["total_self_time_us"]
    assert len(theirs) > 60
    for name, row in theirs.items():
        assert row["total_self_time_percent"] == pytest.approx(ours[name] / whole * 100, rel=1e-12)


def test_the_text_of_an_op_is_how_xlas_own_begins(gpu: Case) -> None:
    ours = gpu.results.hlo_ops.frame.set_index("name")["expression"]
    xla = of_xla(gpu)
    assert len(xla) > 60
    for name, row in xla.items():
        theirs = re.sub(r"/\*index=\d+\*/", "", row["hlo_op_expression"])
        assert theirs.startswith(ours[name])


def test_bytes_on_a_gpu_are_those_of_xlas_cost_analysis(gpu: Case) -> None:
    theirs, ours = of_xla(gpu), gpu.results.hlo_ops.frame
    compared = 0
    for row in ours[ours["name"] != "gone.1"].to_dict("records"):
        if "scatter" in row["name"] or "reduce-window" in row["name"]:
            continue  # XLA counts the window's overlap and the untouched part of the target
        want = theirs[row["name"]]["measured_memory_bw"] * row["total_time_us"] * 1e-6 * 2**30 / row["occurrences"]
        assert row["bytes_accessed"] == pytest.approx(want, rel=1e-9), row["name"]
        compared += 1
    assert compared > 55


def test_flops_on_a_gpu_are_those_of_xlas_cost_analysis_but_for_its_weights(gpu: Case) -> None:
    """Of element-wise operations XProf's figure is a weight of its model of GPUs; it is undone where it is the common one."""
    theirs, ours = of_xla(gpu), gpu.results.hlo_ops.frame
    compared = {"dot": 0, "convolution": 0, "fusion": 0}
    for row in ours[ours["name"] != "gone.1"].to_dict("records"):
        want = theirs[row["name"]]["model_flop_rate"] * 1e9 * row["total_time_us"] * 1e-6 / row["occurrences"]
        if row["category"] in compared:
            compared[row["category"]] += 1
            assert row["flops"] == pytest.approx(want, rel=1e-9), row["name"]
        elif is_plain(gpu.modules, row["name"]):
            compared["fusion"] += 1
            assert row["flops"] * FLOPS_PER_ELEMENT == pytest.approx(want, rel=1e-9), row["name"]
    assert compared["dot"] >= 6
    assert compared["convolution"] >= 2
    assert compared["fusion"] > 20


def is_plain(modules: HloModules, name: str) -> bool:
    """Whether an op is a fusion of nothing but additions and the like on floats."""
    row = next(row for row in range(modules.n_instructions - 1, -1, -1) if modules.name[row] == name)
    inside = [
        one
        for computation in modules.called[modules.called_offsets[row] : modules.called_offsets[row + 1]].tolist()
        for one in range(*modules.instruction_offsets[computation : computation + 2].tolist())
    ]
    plain = ("add", "subtract", "multiply", "maximum", "broadcast", "bitcast", "reduce", "parameter", "constant")
    return modules.opcode[row] == "fusion" and all(modules.opcode[one] in plain for one in inside)


def test_framework_ops_of_a_gpu_are_xprofs_once_fusions_go_to_their_roots(gpu: Case) -> None:
    """Undoes the sharing of fusions: XProf gives each HLO op to the framework op in its own metadata."""
    frame = gpu.results.hlo_ops.frame
    name = frame["op_name"].where(frame["op_name"] != "", frame["name"])
    ours = frame[frame["name"] != "gone.1"].groupby(name)
    total, count = ours["total_time_us"].sum(), ours["occurrences"].max()
    theirs = {
        row["operation"]: row
        for row in rows(gpu.theirs["framework_op_stats"][1])
        if row["host_or_device"] == "Device" and row["operation"] != "other/MatMul"
    }
    assert set(theirs) == set(total.index)
    assert len(theirs) > 20
    for op, row in theirs.items():
        assert (row["total_time"], row["occurrences"]) == (pytest.approx(total[op], rel=1e-12), count[op])


def test_all_device_time_is_charged_with_and_without_sharing(gpu: Case) -> None:
    ops = gpu.results.ops
    device = ops[ops["device"] == "Device"]
    occurrences = gpu.results.occurrences
    measured = occurrences.self_ps[occurrences.is_device[occurrences.op]].sum() / 1e6
    assert device["total_self_time_us"].sum() == pytest.approx(measured, rel=1e-12)
    theirs = sum(
        row["total_self_time"] for row in rows(gpu.theirs["framework_op_stats"][1]) if row["host_or_device"] == "Device"
    )
    assert measured == pytest.approx(theirs + 7, rel=1e-12), "XProf drops the op it does not find"


def test_tpu_op_times_are_xprofs(tpu: Case) -> None:
    theirs = {row["hlo_op_name"]: row for row in rows(tpu.theirs["hlo_stats"])}
    ours = tpu.results.hlo_ops.frame
    assert dict(zip(ours["name"], ours["total_self_time_us"], strict=True)) == {
        "conv.1": 120.0,
        "infeed.1": 60.0,
        "while.1": 60.0,
        "all-reduce.1": 12.0,
    }
    for row in ours.to_dict("records"):
        want = theirs[row["name"]]
        assert (
            row["category"],
            row["occurrences"],
            row["total_time_us"],
            row["total_self_time_us"],
            row["expression"],
        ) == (
            want["category"],
            want["occurrences"],
            want["total_time"],
            want["total_self_time"],
            want["hlo_op_expression"],
        )


def test_tpu_idle_and_framework_ops_are_xprofs(tpu: Case) -> None:
    ours = aggregate_ops(tpu.results.occurrences, shares=tpu.results.op_shares, idle=True)
    ours = ours[ours["device"] == "Device"]
    theirs = [row for row in rows(tpu.theirs["framework_op_stats"][0]) if row["host_or_device"] == "Device"]
    # XProf gives an op without a framework op the type "Unknown"; here it is its HLO category.
    assert {(row["operation"], row["occurrences"], row["total_self_time"]) for row in theirs} == set(
        zip(ours["name"], ours["occurrences"], ours["total_self_time_us"], strict=True)
    )
    assert ours.set_index("name")["total_self_time_us"][IDLE] == 248.0
    assert ours.set_index("name")["type"]["m/conv"] == "Conv2D"


def test_the_tensor_core_share_of_device_ops_is_xprofs() -> None:
    details = "regs:32 static_shared:16 dynamic_shared:8 grid:1,2,3 block:4,5,6 occ_pct:62.5"

    def kernel(name: str, at_us: float, lasts_us: float, op: str, **more: Any) -> Any:
        return event(name, at_us, lasts_us, tf_op=op, **more)

    kernels = [
        kernel("volta_h884gemm_nn", 0, 3.0004, "net/MatMul:MatMul", kernel_details=details),
        kernel("volta_h884gemm_nn", 10, 5, "net/MatMul:MatMul", kernel_details=details),
        kernel("splitK_reduce", 20, 1.9996, "net/MatMul:MatMul", kernel_details=details),
        kernel("relu", 30, 4, "net/Relu:Relu", kernel_details=details),
        kernel("MemcpyH2D", 40, 4, "net/Copy:Copy"),
    ]
    data = space(
        plane("/host:CPU", line("t", event("host/Op:Op", 0, 1))),
        plane("/device:GPU:0", line("Stream #7(Compute)", *kernels), **GPU),
    )
    ours = Analysis(read_xspace(data)).ops.set_index("name")["tensor_core_ratio"]
    theirs = {row["operation"]: row for row in rows(xprof(data, "framework_op_stats")["framework_op_stats"][1])}
    for op in ("net/MatMul", "net/Relu"):
        assert ours[op] == pytest.approx(theirs[op]["gpu_tensorcore_utilization"], rel=1e-12), op
    assert ours["net/MatMul"] == pytest.approx(8.0 / 9.999, rel=1e-3)
    assert np.isnan(ours["net/Copy"]), "XProf shows 0 where no kernel was described"
    assert np.isnan(ours["host/Op"])
