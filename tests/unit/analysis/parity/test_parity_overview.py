"""The overview against XProf's overview_page: machine, precision, shares of ops, top ops; undoing D1, D4, D5, D9, D10
and D15."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from tests.builders import U, event, line, plane, space
from tests.unit.analysis.parity.parity_case import KINDS, MARKED_KINDS, Case
from tests.unit.analysis.parity.test_parity_steps import shown_by_xprof
from tests.unit.analysis.xprof_oracle import rows, xprof
from tests.unit.analysis.xprof_reading import device_executions
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.read import read_xspace


@pytest.mark.parametrize("kind", KINDS)
def test_the_machine_is_described_as_xprof_describes_it(kind: str, case_of: Callable[[str], Case]) -> None:
    case = case_of(kind)
    environment, theirs = case.results.overview.environment, case.theirs["overview_page"][2]["p"]
    assert environment.device_type == theirs["device_type"]
    assert str(environment.n_devices) == theirs["device_core_count"].split()[0]
    assert str(len(environment.hosts)) == theirs["host_count"]
    hardware = case.theirs["overview_page"][1]["p"]["hardware_type"]
    assert hardware == ("GPU" if case.is_gpu else "CPU_ONLY")


@pytest.mark.parametrize("kind", KINDS)
def test_the_share_of_eager_ops_is_that_of_xprof_after_undoing_its_stack(
    kind: str, case_of: Callable[[str], Case]
) -> None:
    """D4, D5: times are read with XProf's stack, whether an op is eager is ours."""
    case = case_of(kind)
    own = {name: op.self_ps for name, op in case.quirky_ops[0].items()}
    ops = case.our_ops(side="Host")
    eager = set(ops.loc[ops["eager"], "name"])
    share = sum(ps for name, ps in own.items() if name in eager) / sum(own.values())
    assert case.theirs["overview_page"][0]["p"]["host_op_time_eager_percent"] == f"{share:.1%}"


@pytest.mark.parametrize("kind", KINDS)
def test_shares_of_host_and_device_are_those_of_xprof_after_counting_like_it(
    kind: str, case_of: Callable[[str], Case]
) -> None:
    """D10: XProf divides counts, with those of D4, D5 and D15, and calls the result time."""
    case = case_of(kind)
    n_host = sum(op.occurrences for op in case.quirky_ops[0].values())
    n_device = device_executions(case.as_xprof)
    printed = case.theirs["overview_page"][0]["p"]
    assert printed["host_tf_op_percent"] == f"{n_host / (n_host + n_device):.1%}"
    overview = case.results.overview
    assert overview.host_time_ratio + overview.device_time_ratio == pytest.approx(1)


def drawn_device_ops() -> bytes:
    """Twelve ops on a GPU, in steps, some of 16 bit, some run eagerly: always, or only in the first or the last step."""

    def on_host(i: int) -> list[Any]:
        eager = {0: (3, 5), 3: (3, 7)}.get(i, (3,))
        launches = []
        for k in range(12):
            at = 100 * i + 2 + 2 * k
            if k in eager:
                launches.append(event("EagerExecute", at, 2, is_func=0))
            launches.append(event("cuLaunchKernel", at, 1, correlation_id=U(100 * i + k)))
        return [event("train", 100 * i, 90, _r=1, step_num=i), *launches]

    kernels = [
        event(
            "half_kernel" if k % 4 == 1 else "kernel",
            100 * i + 10 + 5 * k,
            1 + k % 5,
            correlation_id=U(100 * i + k),
            tf_op=f"model/layer_{k}:MatMul",
            kernel_details="regs:32",
        )
        for i in range(4)
        for k in range(12)
    ]
    host = plane("/host:CPU", line("main", *(one for i in range(4) for one in on_host(i))))
    return space(host, plane("/device:GPU:0", line("Stream #7(Compute)", *kernels, id=7), device_vendor="Nvidia"))


def assert_same_top_ops(ops: pd.DataFrame, page: list[dict[str, Any]]) -> None:
    theirs = rows(page[0])
    ours = ops[ops["device"] == "Device"].head(10)
    assert len(ours) == 10
    assert [row["operation"] for row in theirs] == ours["name"].tolist()
    assert [row["category"] for row in theirs] == ours["type"].tolist()
    assert [row["selfTimePercent"] for row in theirs] == pytest.approx(ours["self_time_ratio"].tolist(), rel=1e-14)
    assert [row["cumulativeTimePercent"] for row in theirs] == pytest.approx(
        ours["cumulative_ratio"].tolist(), rel=1e-12
    )


def test_top_device_ops_of_the_whole_trace_equal_xprof() -> None:
    content = drawn_device_ops()
    assert_same_top_ops(Analysis(read_xspace(content)).ops, xprof(content, "overview_page")["overview_page"])


@pytest.mark.parametrize("kind", ["h100_lstm", "h100_cnn_input"])
def test_top_device_ops_of_a_capture_equal_xprof(kind: str, case_of: Callable[[str], Case]) -> None:
    case = case_of(kind)
    page = case.theirs["overview_page"]
    ours = case.our_ops(side="Device", idle=False)
    assert_same_top_ops(ours, page)
    share = ours.loc[ours["eager"], "self_time_ratio"].sum()
    assert page[0]["p"]["device_op_time_eager_percent"] == f"{share:.1%}"


def test_precision_and_eager_share_of_a_device_equal_xprof() -> None:
    content = drawn_device_ops()
    printed = xprof(content, "overview_page")["overview_page"][0]["p"]
    overview = Analysis(read_xspace(content)).overview
    assert printed["device_compute_16bit_percent"] == f"{overview.compute_16bit_ratio:.1%}"
    assert printed["device_compute_32bit_percent"] == f"{overview.compute_32bit_ratio:.1%}"
    assert printed["device_op_time_eager_percent"] == f"{overview.device_eager_ratio:.1%}" != "0.0%"


@pytest.mark.parametrize("kind", MARKED_KINDS)
def test_time_that_xprof_finds_unattributed_is_told_too(kind: str, case_of: Callable[[str], Case]) -> None:
    """XProf tells it unless it already took it for a sign of waiting for input, from 3 % on; we from 15 % on (D12)."""
    case = case_of(kind)
    theirs = case.theirs["overview_page"][3]["p"]
    steps = shown_by_xprof(case.results.steps.frame)
    share = steps["other_ms"].sum() / steps["step_time_ms"].sum()
    is_input_told = "POTENTIALLY" in theirs["statement"]
    expected = "no" if is_input_told or share < 0.03 else ("high" if share >= 0.15 else "moderate")
    assert theirs["all_other_bottleneck"] == expected
