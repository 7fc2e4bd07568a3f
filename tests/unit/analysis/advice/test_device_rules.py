"""Advice on devices: drawn steps with one planted cause each, and a real GPU trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.analysis.advice.gpu_drawings import STEP_US, gpu_run, memory_event
from tfprof_widgets.analysis.advice.advice import Advice
from tfprof_widgets.analysis.results import Results
from tfprof_widgets.formats.xspace.xspace import read_xspace

HALF, SINGLE = "volta_fp16_s884gemm_fp16_128x64", "volta_sgemm_128x64_nn"
VOLTA = {"device_vendor": "Nvidia", "compute_cap_major": 7, "compute_cap_minor": 0}
GIGABYTE = 10**9

PLANTED: dict[str, tuple[dict[str, Any], str, float]] = {
    # what is drawn, the rule that shall come first, its gain
    "copies to the device": ({"compute": [("MemcpyH2D", 10, 400), (HALF, 410, 580)]}, "h2d_bound", 0.40),
    "copies back": ({"compute": [(HALF, 10, 580), ("MemcpyD2H", 590, 400)]}, "output_bound", 0.40),
    "waiting for data": (
        {"compute": [(HALF, 500, 490)], "host": [("IteratorGetNext:IteratorGetNext", 0, 490)]},
        "input_bound",
        0.49,
    ),
    "launches of long kernels": (
        {"compute": [(HALF, 500 + 100 * i, 60) for i in range(5)], "launches": [("cuLaunchKernel", 5, 980)]},
        "launch_bound",
        0.68,
    ),
    "launches of short kernels": (
        {"compute": [(HALF, 500 + 50 * i, 5) for i in range(9)], "launches": [("cuLaunchKernel", 5, 980)]},
        "small_batch",
        0.94,
    ),
    "nothing runs": ({"compute": [(HALF, 10, 490)]}, "device_idle", 0.49),
    "collectives": ({"compute": [(HALF, 10, 580), ("ncclAllReduceRingLLKernel", 590, 400)]}, "collective_bound", 0.40),
    "an op on the CPU": (
        {
            "compute": [(HALF, 10, 290), ("MemcpyD2H", 300, 50), (HALF, 750, 240)],
            "host": [("net/where/Where:Where", 350, 400)],
        },
        "host_fallback",
        0.45,
    ),
    "32 bits": ({"compute": [(SINGLE, 10, 980)], **VOLTA}, "low_precision_unused", 0.98 * 7 / 8),
    "products beside Tensor Cores": (
        {
            "compute": [("half_gemm_by_hand", 10, 490), (HALF, 500, 490)],
            "ops": {"half_gemm_by_hand": "net/other/MatMul:MatMul"},
            **VOLTA,
        },
        "tensor_core_unused",
        0.49 * 7 / 8,
    ),
}


def rules(advice: tuple[Advice, ...]) -> list[str]:
    return [one.rule for one in advice]


@pytest.mark.parametrize("cause", PLANTED)
def test_the_planted_cause_is_the_top_advice_and_its_gain_the_share_of_the_step(cause: str) -> None:
    drawn, rule, gain = PLANTED[cause]
    results = gpu_run(**drawn)
    top = results.advice[0]
    assert top.rule == rule
    assert top.gain_ratio == pytest.approx(gain, abs=0.04)
    assert top.severity == "high"
    assert rules(results.advice).count(rule) == 1


@pytest.mark.parametrize("cause", PLANTED)
def test_the_selection_holds_the_evidence(cause: str) -> None:
    results = gpu_run(**PLANTED[cause][0])
    for one in results.advice:
        assert set(one.selection.op_names) <= set(results.ops["name"]) | set(results.events["name"])
        assert one.selection.step in results.steps.frame["step"].tolist()
        assert one.selection.time_range_ns
        low, high = one.selection.time_range_ns
        assert 0 <= low < high <= 6 * STEP_US * 1000


def test_a_device_that_computes_all_the_time_in_16_bits_gets_no_advice() -> None:
    assert gpu_run([(HALF, 10, 980)], **VOLTA).advice == ()


def test_copies_beside_the_computation_cost_nothing() -> None:
    assert gpu_run([(HALF, 10, 980), ("MemcpyH2D", 100, 400), ("MemcpyD2H", 500, 400)], **VOLTA).advice == ()


def test_a_copy_that_nothing_hides_is_not_counted_as_waiting_for_the_pipeline_again() -> None:
    advice = gpu_run(**PLANTED["copies to the device"][0]).advice
    assert rules(advice) == ["h2d_bound"]
    assert advice[0].evidence["h2d_bytes"] == 4_000_000
    assert advice[0].evidence["host_memory"] == "pageable"


def test_python_after_the_step_owns_the_time_in_which_the_device_idles() -> None:
    results = gpu_run([(HALF, 10, 8_000)], step_us=20_000, **VOLTA)
    assert rules(results.advice) == ["host_callback"]
    assert results.advice[0].gain_ratio == pytest.approx(0.59, abs=0.02)


def test_what_runs_beside_a_product_on_tensor_cores_is_no_product_without_them() -> None:
    results = gpu_run([("splitKreduce_kernel<half>", 10, 490), (HALF, 500, 490)], **VOLTA)
    assert results.kernels.frame["tensor_core_eligible"].all()
    assert "tensor_core_unused" not in rules(results.advice)


def test_a_pascal_has_no_tensor_cores_to_use() -> None:
    pascal = VOLTA | {"compute_cap_major": 6}
    assert gpu_run([(SINGLE, 10, 980)], **pascal).advice == ()


def test_room_for_a_larger_batch_is_told_by_how_much() -> None:
    few = [memory_event(10, 1, 3 * GIGABYTE, 3 * GIGABYTE)]
    (advice,) = gpu_run([(HALF, 10, 980)], memory=few, **VOLTA).advice
    assert (advice.rule, advice.severity, advice.gain_ratio) == ("memory_headroom", "low", 0)
    assert advice.evidence["batch_factor"] == 4
    assert "4 * batch_size" in advice.fix
    many = [memory_event(10, 1, 12 * GIGABYTE, 12 * GIGABYTE)]
    assert gpu_run([(HALF, 10, 980)], memory=many, **VOLTA).advice == ()


def test_free_memory_in_pieces_is_told_where_the_memory_is_in_use() -> None:
    torn = [memory_event(10, 1, 12 * GIGABYTE, 12 * GIGABYTE, fragmentation=0.8)]
    (advice,) = gpu_run([(HALF, 10, 980)], memory=torn, **VOLTA).advice
    assert advice.rule == "memory_fragmentation"
    assert advice.selection.step == 0
    assert "cuda_malloc_async" in advice.fix


def test_memory_that_rises_in_every_step_is_a_leak() -> None:
    more = GIGABYTE // 2
    rising = [memory_event(STEP_US * i + 50, i + 1, more, 8 * GIGABYTE + i * more) for i in range(12)]
    found = gpu_run([(HALF, 10, 980)], memory=rising, n_steps=12, **VOLTA).advice
    assert rules(found) == ["memory_growth"]
    assert found[0].evidence["bytes_per_step"] == more
    assert found[0].selection.view == "memory_timeline"


def test_the_v100_step_is_told_what_it_waits_for(v100_xplane: Path) -> None:
    results = Results(read_xspace(v100_xplane.read_bytes()))
    found = {one.rule: one for one in results.advice}
    assert list(found) == ["input_bound", "launch_bound", "memory_headroom"]
    assert found["launch_bound"].gain_ratio == pytest.approx(0.057, abs=0.001)
    assert found["input_bound"].stage == "generator"
    assert found["memory_headroom"].evidence["batch_factor"] == 2
    # 2020 traces name no op of a kernel, so that nobody can tell which ones Tensor Cores could serve.
    assert "tensor_core_unused" not in found
