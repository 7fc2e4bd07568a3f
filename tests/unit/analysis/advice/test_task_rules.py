"""Advice on what several tasks or devices share, on the layout of data, and on norms: drawn steps with one cause each."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.unit.analysis.advice.gpu_drawings import gpu_run
from tests.unit.analysis.advice.task_drawings import gpus, step_stats_run, worker_and_servers
from tests.unit.analysis.advice.test_device_rules import HALF, VOLTA
from tests.unit.export.first_profiler_run import first_profiler_run
from tfprof_widgets.analysis import Advice, Analysis, Run, low_utilisation

NORM = "net/batch_normalization"


def found(results: Analysis, rule: str) -> list[Advice]:
    assert results.advice_notices == ()
    return [one for one in results.advice if one.rule == rule]


def only(results: Analysis, rule: str) -> Advice:
    (advice,) = found(results, rule)
    return advice


def test_a_worker_that_waits_for_parameters_is_told_from_whom_they_come() -> None:
    advice = only(worker_and_servers(wait_us=400), "task_communication")
    assert advice.gain_ratio == pytest.approx(0.40, abs=0.02)
    assert advice.evidence["sender"] == "/job:ps/replica:0/task:0/device:CPU:0"
    assert advice.evidence["wait_ms"] == pytest.approx(0.4)


def test_tensors_that_arrive_beside_the_computation_cost_nothing() -> None:
    assert found(worker_and_servers(wait_us=30), "task_communication") == []


def test_parameter_servers_with_unequal_work_are_told_how_to_share_it() -> None:
    advice = only(worker_and_servers(server_us=(700, 100, 100)), "uneven_tasks")
    assert advice.evidence["task"] == "/job:ps/replica:0/task:0"
    assert advice.evidence["mean_busy_ms"] == pytest.approx(0.305, abs=0.01)
    assert advice.gain_ratio == pytest.approx(0.40, abs=0.02)
    assert "Place each on the server that holds least" in advice.fix.words
    assert advice.selection.op_names == ("var_0/ApplyAdam", "var_0/read")


def test_parameter_servers_with_equal_work_are_told_nothing() -> None:
    assert found(worker_and_servers(server_us=(700, 700, 700)), "uneven_tasks") == []


def test_a_gpu_that_computes_little_while_its_host_schedules_has_low_utilisation() -> None:
    results = gpus(200)
    advice = only(results, "low_utilisation")
    assert advice.evidence["utilisation_ratio"] == pytest.approx(0.20, abs=0.01)
    assert advice.severity == "high"


def test_a_gpu_that_computes_more_than_half_of_the_step_has_no_low_utilisation() -> None:
    assert found(gpus(600), "low_utilisation") == []


def test_a_low_utilisation_that_another_rule_explains_is_told_once() -> None:
    results = gpu_run([(HALF, 10, 190)], **VOLTA)
    assert [one.rule for one in results.advice] == ["idle_border"]


def test_an_op_on_the_cpu_amid_the_step_of_a_gpu_is_told_of_an_old_file_too() -> None:
    local = "/job:localhost/replica:0/task:0"
    computing = [("net/MatMul", "MatMul", 0, 300), ("net/MatMul_1", "MatMul", 700, 290)]
    results = step_stats_run(
        {f"{local}/device:GPU:0/stream:all": computing, f"{local}/device:CPU:0": [("net/Where", "Where", 300, 400)]}
    )
    advice = only(results, "host_fallback")
    assert advice.evidence["op"] == "net/Where"
    assert advice.gain_ratio == pytest.approx(0.40, abs=0.02)


def test_gpus_with_unequal_work_are_named() -> None:
    advice = only(gpus(800, 100), "uneven_devices")
    assert advice.evidence["device"] == "GPU:1"
    assert advice.gain_ratio == pytest.approx(0.35, abs=0.02)
    assert found(gpus(800, 780), "uneven_devices") == []


def test_conversions_between_layouts_are_told_with_their_share() -> None:
    advice = only(gpu_run([("nchwToNhwcKernel<half>", 10, 290), (HALF, 300, 690)], **VOLTA), "layout_conversion")
    assert advice.gain_ratio == pytest.approx(0.29, abs=0.02)
    assert advice.selection.view == "kernel_table"


def norm_run(*types: str) -> Analysis:
    """Half of each step in ops of one batch normalisation, half in a product."""
    ops = {f"{kind.lower()}_kernel": f"{NORM}/batchnorm/{kind}:{kind}" for kind in types}
    us = 490 / len(types)
    kernels = [(name, 10 + us * i, us) for i, name in enumerate(ops)]
    return gpu_run([*kernels, (HALF, 500, 490)], ops=ops, **VOLTA)


def test_a_batch_norm_in_separate_ops_is_told() -> None:
    advice = only(norm_run("Mean", "Rsqrt", "Mul", "Sub", "AddV2"), "unfused_norm")
    assert advice.evidence["norm_ratio"] == pytest.approx(0.49, abs=0.02)
    assert advice.gain_ratio == pytest.approx(0.49 * 3 / 5, abs=0.02)
    assert set(advice.selection.op_names) <= {
        f"{NORM}/batchnorm/{kind}" for kind in ("Mean", "Rsqrt", "Mul", "Sub", "AddV2")
    }


def test_a_batch_norm_is_fused_by_what_there_is_for_its_program() -> None:
    assert "jit_compile=True" in str(only(norm_run("Mean", "Rsqrt"), "unfused_norm").fix)
    text = [("IteratorGetNext:IteratorGetNext", 1, 1), ("net/split/StringSplitV2:StringSplitV2", 2, 1)]
    of_text = gpu_run([("root", 10, 490), (HALF, 500, 490)], host=text, ops={"root": f"{NORM}/Rsqrt:Rsqrt"}, **VOLTA)
    words = only(of_text, "unfused_norm").fix.words
    assert "jit_compile" not in words
    assert "tf.compat.v1.nn.fused_batch_norm" in words


def test_a_fused_batch_norm_is_not() -> None:
    assert found(norm_run("FusedBatchNormV3", "Rsqrt"), "unfused_norm") == []


def test_that_parameter_servers_wait_is_no_fault_of_the_batch() -> None:
    assert [one.rule for one in worker_and_servers(wait_us=400).advice] == ["task_communication"]
    assert worker_and_servers().advice == ()


@pytest.mark.tensorflow
def test_a_low_utilisation_is_told_where_tfprofs_advice_tells_it(shared_directory: Path) -> None:
    folder = first_profiler_run(shared_directory)
    (told,) = json.loads((folder / "advice.json").read_text())["AcceleratorUtilizationChecker"]
    device, share = re.fullmatch(r"device: (\S+) low utilization: ([\d.]+)", told).groups()  # type: ignore[union-attr]
    # The rule alone: on a busy machine another one may explain why the device waits.
    (advice,) = low_utilisation(Run(tfprof.load(folder / "profile.context").run.results))
    assert device.endswith("gpu:0")
    # tfprof's step ends with its last op, which on a busy machine is some time before the runtime says so.
    assert advice.evidence["utilisation_ratio"] == pytest.approx(float(share), abs=0.1)
