"""Advice on what several tasks or devices share, and on the layout of data: drawn steps with one cause each."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.unit.analysis.advice.gpu_drawings import gpu_run
from tests.unit.analysis.advice.task_drawings import step_stats_run, worker_and_servers
from tests.unit.analysis.advice.test_device_rules import HALF, VOLTA
from tfprof_widgets.analysis import Advice, Analysis, Run


def found(results: Analysis, rule: str) -> list[Advice]:
    assert results.advice_notices == ()
    return [one for one in results.advice if one.rule == rule]


def only(results: Analysis, rule: str) -> Advice:
    (advice,) = found(results, rule)
    return advice


def test_an_op_on_the_cpu_amid_the_step_of_a_gpu_is_told_of_an_old_file_too() -> None:
    local = "/job:localhost/replica:0/task:0"
    computing = [("net/MatMul", "MatMul", 0, 300), ("net/MatMul_1", "MatMul", 700, 290)]
    results = step_stats_run(
        {f"{local}/device:GPU:0/stream:all": computing, f"{local}/device:CPU:0": [("net/Where", "Where", 300, 400)]}
    )
    advice = only(results, "host_fallback")
    assert advice.evidence["op"] == "net/Where"
    assert advice.gain_ratio == pytest.approx(0.40, abs=0.02)


def test_conversions_between_layouts_are_told_with_their_share() -> None:
    advice = only(gpu_run([("nchwToNhwcKernel<half>", 10, 290), (HALF, 300, 690)], **VOLTA), "layout_conversion")
    assert advice.gain_ratio == pytest.approx(0.29, abs=0.02)
    assert advice.selection.view == "kernel_table"


def test_that_parameter_servers_wait_is_no_fault_of_the_batch() -> None:
    assert "small_batch" not in [one.rule for one in worker_and_servers(wait_us=400).advice]
    assert worker_and_servers().advice == ()


def test_a_gpu_is_as_busy_as_tfprofs_advice_says(first_profiler: Path) -> None:
    folder = first_profiler / "tfprof"
    (told,) = json.loads((folder / "advice.json").read_text())["AcceleratorUtilizationChecker"]
    device, share = re.fullmatch(r"device: (\S+) low utilization: ([\d.]+)", told).groups()  # type: ignore[union-attr]
    steps = Run(tfprof.load(folder / "profile.context").run.results).steps
    assert device.endswith("gpu:0")
    # tfprof's step ends with its last op, which on a busy machine is some time before the runtime says so.
    assert steps.ratio("device_compute") == pytest.approx(float(share), abs=0.1)
