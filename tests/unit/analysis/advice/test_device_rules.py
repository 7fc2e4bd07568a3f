"""Advice on devices: drawn steps with one planted cause each, and a real GPU trace."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.analysis.advice.gpu_drawings import STEP_US, gpu_run, memory_event
from tfprof_widgets.analysis import Advice

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
    "nothing runs": ({"compute": [(HALF, 10, 490)]}, "idle_border", 0.40),
    "collectives": ({"compute": [(HALF, 10, 580), ("ncclAllReduceRingLLKernel", 590, 400)]}, "collective_bound", 0.40),
    "an op on the CPU": (
        {
            "compute": [(HALF, 10, 290), ("MemcpyD2H", 300, 50), (HALF, 750, 240)],
            "host": [("net/where/Where:Where", 350, 392)],
            "launches": [("cuLaunchKernel", 2, 8), ("cuMemcpyDtoHAsync", 11, 8), ("cuLaunchKernel", 742, 8)],
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


def test_the_copies_of_a_device_that_does_nothing_else_are_told_and_its_kernels_are_not_missed() -> None:
    assert rules(gpu_run([("MemcpyH2D", 10, 400), ("MemcpyD2H", 450, 500)]).advice) == ["output_bound", "h2d_bound"]
    norm = [("net/bn/batchnorm/Rsqrt:Rsqrt", 50, 100), ("net/bn/batchnorm/mul:Mul", 150, 700)]
    calls = [("cuMemcpyHtoDAsync", 950, 8)]
    assert rules(gpu_run([("MemcpyH2D", 960, 20)], host=norm, launches=calls).advice) == ["host_fallback"]


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


TF32 = "cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align4"
AMPERE = {"device_vendor": "Nvidia", "compute_cap_major": 8, "compute_cap_minor": 0}


def test_products_in_tf32_are_promised_twice_the_speed_and_other_ops_nothing() -> None:
    results = gpu_run([(TF32, 10, 690), ("relu", 700, 290)], ops={"relu": "net/relu/Relu:Relu"}, **AMPERE)
    (advice,) = results.advice
    assert advice.rule == "low_precision_unused"
    assert (advice.gain_ratio, advice.bound) == (pytest.approx(0.69 / 2, abs=0.02), "about")
    assert "in TF32 2.00 times" in str(advice.evidence["estimate"])


def test_where_ops_beside_products_take_most_of_the_time_they_are_to_be_fused_first() -> None:
    assert gpu_run([(TF32, 10, 290), ("relu", 300, 690)], ops={"relu": "net/relu/Relu:Relu"}, **AMPERE).advice == ()


@pytest.mark.parametrize("never", ["gemv2T_kernel_half", "DepthwiseConv2dGPUKernelNHWC<half>"])
def test_what_tensor_cores_have_no_instruction_for_is_not_blamed(never: str) -> None:
    found = gpu_run([(never, 10, 490), (HALF, 500, 490)], ops={never: "net/other/MatMul:MatMul"}, **VOLTA).advice
    assert "tensor_core_unused" not in rules(found)


def test_kernels_of_the_optimizer_are_named_where_most_waits_lie_before_them() -> None:
    kernels = [(f"k{i}", 100 * i + 95, 5.0) for i in range(9)]
    launches = [("cuLaunchKernel", 100 * i + 85, 9) for i in range(9)]
    for n, rule in ((3, "small_batch"), (7, "launch_bound")):
        ops = {f"k{i}": "adam/mul:Mul" if i >= 9 - n else "net/dense/MatMul:MatMul" for i in range(9)}
        found = gpu_run(kernels, launches=launches, ops=ops, **VOLTA).advice
        assert found[0].rule == rule
        assert found[0].gain_ratio == pytest.approx(0.78, abs=0.02)
        assert "jit_compile=True" in str(found[0].fix)


def test_launches_that_only_a_profiler_makes_are_no_fault() -> None:
    drawn = PLANTED["launches of short kernels"][0]
    graphs = ("WARNING: CommandBuffer disabled when profiling", 1, 985)
    assert "small_batch" in rules(gpu_run(**drawn).advice)
    assert not {"small_batch", "launch_bound"} & {*rules(gpu_run(**drawn, host=[graphs]).advice)}


def test_what_xla_compiled_is_not_to_be_compiled() -> None:
    kernels = [(f"k{i}", 100 * i + 95, 5.0) for i in range(9)]
    launches = [("cuLaunchKernel", 100 * i + 85, 9) for i in range(9)]
    for stats, rule in (({}, "launch_bound"), ({"hlo_op": "fusion.1", "hlo_module": "step"}, "small_batch")):
        found = gpu_run(kernels, launches=launches, op="adam/mul:Mul", kernel_stats=stats, **VOLTA).advice
        assert found[0].rule == rule
        assert any("jit_compile=True" in str(one.fix) for one in found) == (not stats)


@pytest.mark.parametrize("kind", ["CudnnRNNV3", "NcclAllReduce", "CollectiveReduceV2"])
def test_a_larger_batch_wins_more_than_the_gaps_of_what_xla_has_no_program_for(kind: str) -> None:
    kernels = [(f"k{i}", 100 * i + 95, 5.0) for i in range(9)]
    launches = [("cuLaunchKernel", 100 * i + 85, 9) for i in range(9)]
    found = gpu_run(kernels, launches=launches, ops={"k3": f"net/other:{kind}"}, **VOLTA).advice
    assert (found[0].rule, found[0].bound) == ("small_batch", "about")
    assert "jit_compile" not in str(found[0].fix)


LOOPS = {
    "__inference_multi_step_on_iterator_2305": "steps_per_execution",
    "__inference_one_step_on_data_2305": "tf.range(32)",  # train_on_batch, which takes one step
    "while/cond/OptionalHasValue:OptionalHasValue": "tf.range(32)",
}


@pytest.mark.parametrize("ran", LOOPS)
def test_only_where_keras_calls_the_steps_it_can_be_told_to_call_several_at_once(ran: str) -> None:
    (border,) = gpu_run([(HALF, 10, 490)], host=[(ran, 1, 2)], **VOLTA).advice
    assert border.rule == "idle_border"
    assert LOOPS[ran] in str(border.fix)
    assert sum(fix in str(border.fix) for fix in {*LOOPS.values()}) == 1


FIXES = {
    "launches of long kernels": "jit_compile=True",
    "launches of short kernels": "jit_compile=True",
    "copies back": "steps_per_execution=32",
}


@pytest.mark.parametrize("cause", FIXES)
def test_the_methods_of_keras_are_told_where_keras_calls_the_steps_and_only_there(cause: str) -> None:
    drawn = PLANTED[cause][0]
    own = gpu_run(**drawn).advice[0]
    of_keras = gpu_run(**drawn, host=[("__inference_multi_step_on_iterator_2305", 1, 2)]).advice[0]
    assert own.rule == of_keras.rule
    assert f"{FIXES[cause]}, an argument of compile." in of_keras.fix.words
    assert "argument of compile" not in own.fix.words


def test_what_a_run_has_already_is_not_advised() -> None:
    """One call of Python for several batches, however they are called."""
    for cause, fix in {**dict.fromkeys(PLANTED, ""), **FIXES}.items():
        for ran in ("__inference_multi_step_on_iterator_2305", "__inference_train_7"):
            drawn = {**PLANTED[cause][0]} if cause in PLANTED else {"compute": [(HALF, 10, 490)], **VOLTA}
            host = [*drawn.pop("host", ()), (ran, 1, 2)]
            for one in gpu_run(**drawn, host=host, mark={"n_batches": 5}).advice:
                assert "steps_per_execution" not in str(one.fix), (cause, fix)
                assert "several steps in one call" not in str(one.fix), cause


def test_the_border_of_steps_of_several_batches_has_no_card() -> None:
    for mark in ({}, {"n_batches": 5}):
        keras = [("__inference_multi_step_on_iterator_2305", 1, 2)]
        found = rules(gpu_run([(HALF, 10, 490)], host=keras, mark=mark, **VOLTA).advice)
        assert ("idle_border" in found) == (not mark)


def test_all_copies_of_a_step_are_added_up() -> None:
    copies = [(f"MemcpyH2D{i}", 10 + 100 * i, 90.0) for i in range(5)]
    launches = [("cuMemcpyHtoDAsync", 2 + i, 0.5) for i in range(6)]
    ops = {f"MemcpyH2D{i}": f"input_{i}/_Recv:_Recv" for i in range(5)}
    results = gpu_run([*copies, (HALF, 520, 460)], launches=launches, ops=ops, **VOLTA)
    (advice,) = (one for one in results.advice if one.rule == "h2d_bound")
    assert len(results.copies) == 5
    assert "19.1 MiB a step at 44.4 GB/s from pageable memory" in advice.title
    assert advice.evidence["h2d_bytes"] == 5 * 4_000_000


def test_where_products_are_made_in_16_bits_none_is_told_to_make_them_so() -> None:
    """Of a network whose optimizer takes most of the time."""
    ops = {"update": "net/relu/Relu:Relu"}
    drawn = {"ops": ops, "kernel_stats": {"hlo_op": "fusion.1", "hlo_module": "step"}}
    named = {True: HALF, False: TF32}
    for is_half, name in named.items():
        found = gpu_run([(name, 10, 60), ("update", 70, 920)], **drawn, **AMPERE).advice
        assert ("low_precision_unused" in rules(found)) != is_half


def test_kernels_of_fewer_blocks_than_multiprocessors_are_told() -> None:
    assert rules(gpu_run([(HALF, 10, 980)], core_count=80, **VOLTA).advice) == ["few_blocks"]  # of 6 blocks
    assert gpu_run([(HALF, 10, 980)], core_count=6, **VOLTA).advice == ()


def test_a_pascal_has_no_tensor_cores_to_use() -> None:
    pascal = VOLTA | {"compute_cap_major": 6}
    assert gpu_run([(SINGLE, 10, 980)], **pascal).advice == ()


ROOM = memory_event(10, 1, 3 * GIGABYTE, 3 * GIGABYTE)


def test_a_device_that_computes_or_waits_for_data_needs_no_larger_batch() -> None:
    assert gpu_run([(HALF, 10, 980)], memory=[ROOM], **VOLTA).advice == ()
    waiting = gpu_run([(HALF, 700, 290)], host=[("IteratorGetNext:IteratorGetNext", 0, 690)], memory=[ROOM], **VOLTA)
    assert rules(waiting.advice) == ["input_bound"]


def test_memory_that_rises_in_every_step_is_a_leak() -> None:
    more = GIGABYTE // 2
    rising = [memory_event(STEP_US * i + 50, i + 1, more, 8 * GIGABYTE + i * more) for i in range(12)]
    found = gpu_run([(HALF, 10, 980)], memory=rising, n_steps=12, **VOLTA).advice
    assert rules(found) == ["memory_growth"]
    assert found[0].evidence["bytes_per_step"] == more
    assert found[0].selection.view == "memory_timeline"


def test_a_fallback_takes_the_copies_of_what_it_makes_and_none_of_the_batch() -> None:
    drawn = gpu_run(
        [("MemcpyH2D batch", 10, 90), ("MemcpyH2D", 600, 100), (HALF, 700, 280)],
        host=[("net/Sort:TopKV2", 100, 495)],
        launches=[("cuMemcpyHtoDAsync", 5, 3), ("cuMemcpyHtoDAsync", 596, 3), ("cuLaunchKernel", 650, 5)],
        ops={"MemcpyH2D batch": "IteratorGetNext/_1:_Send", "MemcpyH2D": "net/Sort/_3:_Send"},
    )
    gains = {one.rule: one.gain_ratio for one in drawn.advice}
    assert gains["host_fallback"] == pytest.approx(0.595, abs=0.01)
    assert gains["h2d_bound"] == pytest.approx(0.09, abs=0.01)
