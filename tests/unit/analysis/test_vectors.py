"""The smallest traces that show where XProf and this project differ (D1-D5, D8, D9): both answers, side by side.

XProf's answers are asked of XProf itself, so that a difference that goes away is noticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import Event, Plane, U, event, line, plane, space
from tests.unit.analysis.xprof_oracle import rows, xprof_all
from tfprof_widgets.analysis.ops import IDLE, aggregate_ops, op_occurrences
from tfprof_widgets.analysis.overview import Overview, compute_overview
from tfprof_widgets.analysis.steps import Steps, compute_steps
from tfprof_widgets.store.xspace import read_xspace


def host(*events: Event) -> Plane:
    return plane("/host:CPU", line("main", *events))


def child_that_ends_with_its_parent() -> bytes:
    """TV1."""
    return space(
        host(
            event("top:TopOp", 0, 100),
            event("par:ParOp", 10, 40),
            event("chi:ChiOp", 30, 20),
            event("nxt:NxtOp", 60, 10),
        )
    )


def allocation_inside_an_op() -> bytes:
    """TV2."""
    return space(host(event("a/foo:MatMul", 0, 100), event("MemoryAllocation", 10, 0, tf_op="a/foo")))


def overlapping_ops() -> bytes:
    """TV3."""
    return space(host(event("a:Aop", 0, 10), event("b:Bop", 10, 10), event("c:Cop", 15, 10)))


def cpu_steps(n_steps: int) -> bytes:
    """TV5."""

    def step(i: int) -> Iterator[Event]:
        yield event("train", 10 * i, 9, _r=1, step_num=100 + i)
        yield event("foo:MatMul", 10 * i + 1, 4)

    return space(host(*(one for i in range(n_steps) for one in step(i))))


DETAILS = "regs:32 static_shared:16 dynamic_shared:8 grid:1,2,3 block:4,5,6 occ_pct:62.5"


def gpu_steps(launch: str = "cuLaunchKernel", half: str = "half") -> bytes:
    """TV6."""

    def on_host(i: int) -> Iterator[Event]:
        yield event("train", 10 * i, 9, _r=1, step_num=100 + i)
        yield event(launch, 10 * i + 1, 4, correlation_id=U(i + 1))

    kernels = [
        event(
            f"kern_{half}_x" if i % 2 else "kern",
            10 * i + 3,
            5,
            correlation_id=U(i + 1),
            tf_op="m/foo:MatMul",
            kernel_details=DETAILS,
        )
        for i in range(3)
    ]
    copy = event("MemcpyH2D", 8, 0.5, correlation_id=U(9999))
    stream = line("Stream #13(Compute)", kernels[0], copy, *kernels[1:], id=13)
    return space(host(*(one for i in range(3) for one in on_host(i))), plane("/device:GPU:0", stream))


VECTORS = {
    "ends with its parent": child_that_ends_with_its_parent(),
    "allocation": allocation_inside_an_op(),
    "overlap": overlapping_ops(),
    **{f"{n} steps": cpu_steps(n) for n in (5, 6, 7)},
    "unmarked": space(host(event("foo:MatMul", 0, 4))),
    "gpu": gpu_steps(),
    "gpu, launched by an op": gpu_steps("foo:MatMul"),
    "gpu, bfloat16": gpu_steps(half="bf16"),
}


@pytest.fixture(scope="module")
def theirs() -> dict[str, dict[str, Any]]:
    return xprof_all(VECTORS, "framework_op_stats", "overview_page")


def their_ops(
    theirs: dict[str, dict[str, Any]], vector: str, side: str = "Host"
) -> dict[str, tuple[float, float, float]]:
    table = rows(theirs[vector]["framework_op_stats"][0])
    return {
        row["operation"]: (row["occurrences"], row["total_time"], row["total_self_time"])
        for row in table
        if row["host_or_device"] == side
    }


def our_ops(vector: str, side: str = "Host") -> dict[str, tuple[float, float, float]]:
    frame = aggregate_ops(op_occurrences(read_xspace(VECTORS[vector])), idle=True)
    frame = frame[frame["device"] == side]
    return {
        row.name: (row.occurrences, row.total_time_us, row.total_self_time_us) for row in frame.itertuples(index=False)
    }


def their_steps(theirs: dict[str, dict[str, Any]], vector: str) -> list[dict[str, Any]]:
    return rows(theirs[vector]["overview_page"][1])


def our_steps(vector: str) -> Steps:
    return compute_steps(read_xspace(VECTORS[vector]))


def our_overview(vector: str) -> Overview:
    trace = read_xspace(VECTORS[vector])
    steps = compute_steps(trace)
    return compute_overview(trace, steps, op_occurrences(trace, grouping=steps.grouping))


def test_d4_an_op_whose_child_ends_with_it_is_not_lost(theirs: dict[str, dict[str, Any]]) -> None:
    vector = "ends with its parent"
    assert their_ops(theirs, vector) == {IDLE: (0, 50, 50), "par": (1, 40, 40), "nxt": (1, 10, 10)}
    assert our_ops(vector) == {
        "top": (1, 100, 50),
        "par": (1, 40, 20),
        "chi": (1, 20, 20),
        "nxt": (1, 10, 10),
        IDLE: (0, 0, 0),
    }


def test_d4_overlapping_ops_share_the_covered_time(theirs: dict[str, dict[str, Any]]) -> None:
    assert their_ops(theirs, "overlap") == {"a": (1, 10, 10), "b": (1, 10, 10), IDLE: (0, 5, 5)}
    assert our_ops("overlap") == {"a": (1, 10, 10), "b": (1, 10, 5), "c": (1, 10, 10), IDLE: (0, 0, 0)}


def test_d5_an_allocation_is_not_an_execution(theirs: dict[str, dict[str, Any]]) -> None:
    assert their_ops(theirs, "allocation") == {"a/foo": (2, 100, 100), IDLE: (0, 0, 0)}
    assert our_ops("allocation") == {"a/foo": (1, 100, 100), IDLE: (0, 0, 0)}


@pytest.mark.parametrize(("n_steps", "first_shown", "n_shown"), [(5, 100, 5), (6, 101, 4), (7, 101, 5)])
def test_d3_all_steps_are_kept(theirs: dict[str, dict[str, Any]], n_steps: int, first_shown: int, n_shown: int) -> None:
    vector = f"{n_steps} steps"
    shown = their_steps(theirs, vector)
    assert [row["stepnum"] for row in shown] == [f"train {first_shown + i}" for i in range(n_shown)]
    ours = our_steps(vector).frame
    assert ours["name"].tolist() == [f"train {100 + i}" for i in range(n_steps)]
    assert (ours["step_time_ms"] == 0.009).all()
    assert (ours["host_compute_ms"] == 0.004).all()
    assert (ours["other_ms"] == 0.005).all()
    assert {(row["hostComputeTimeMs"], row["otherTimeMs"], row["stepTimeMs"]) for row in shown} == {
        (0.004, 0.005, 0.009)
    }
    assert our_overview(vector).n_steps_averaged == n_steps


def test_d2_without_markers_the_overview_says_what_to_do(theirs: dict[str, dict[str, Any]]) -> None:
    assert their_steps(theirs, "unmarked") == []
    overview = our_overview("unmarked")
    assert overview.n_steps == 0
    assert "trace_steps" in overview.verdict_detail


def test_d1_host_and_device_events_together_break_a_gpu_step_down(theirs: dict[str, dict[str, Any]]) -> None:
    shown = their_steps(theirs, "gpu")
    assert [row["stepTimeMs"] for row in shown] == [0.0055, 0.005, 0.005]
    assert [row["deviceComputeTimeMs"] for row in shown] == [0.0055, 0.005, 0.005]
    assert {row[column] for row in shown for column in ("kernelLaunchTimeMs", "infeedTimeMs", "hostComputeTimeMs")} == {
        0
    }

    ours = our_steps("gpu").frame
    assert ours["step_time_ms"].tolist() == [0.009] * 3
    assert ours["device_compute_ms"].tolist() == [0.005] * 3
    assert ours["kernel_launch_ms"].tolist() == [0.002] * 3
    assert ours["input_ms"].tolist() == [0.0005, 0, 0]
    assert ours["other_ms"].tolist() == [0.0015, 0.002, 0.002]


def test_d1_the_pieces_of_a_gpu_step_lie_in_the_order_of_time() -> None:
    pieces = our_steps("gpu").pieces
    first = pieces[pieces["step"] == 0]
    assert list(zip(first["start_ps"] // 10**5, first["duration_ps"] // 10**5, first["category"], strict=True)) == [
        (0, 10, "other"),
        (10, 20, "kernel_launch"),
        (30, 50, "device_compute"),
        (80, 5, "input"),
        (85, 5, "other"),
    ]


def test_d8_gpu_steps_bear_the_name_of_their_marker(theirs: dict[str, dict[str, Any]]) -> None:
    assert [row["stepnum"] for row in their_steps(theirs, "gpu")] == ["0", "1", "2"]
    assert our_steps("gpu").frame["name"].tolist() == ["train 100", "train 101", "train 102"]


def test_a_kernel_launched_by_what_is_named_like_an_op_joins_no_group_but_the_step_stays(
    theirs: dict[str, dict[str, Any]],
) -> None:
    assert their_steps(theirs, "gpu, launched by an op") == []
    ours = our_steps("gpu, launched by an op").frame
    assert ours["name"].tolist() == ["train 100", "train 101", "train 102"]
    assert (ours["device_compute_ms"] == 0).all()


def test_device_ops_equal_xprof(theirs: dict[str, dict[str, Any]]) -> None:
    assert our_ops("gpu", "Device") == their_ops(theirs, "gpu", "Device") == {"m/foo": (2, 15, 15), IDLE: (0, 10, 10)}


def test_d9_bfloat16_is_16_bit(theirs: dict[str, dict[str, Any]]) -> None:
    def their_share(vector: str) -> str:
        return str(theirs[vector]["overview_page"][0]["p"]["device_compute_16bit_percent"])

    assert their_share("gpu") == "32.3%"  # 5 of 15.5 us: the copy counts as compute (D1)
    assert their_share("gpu, bfloat16") == "0.0%"
    assert our_overview("gpu").compute_16bit_ratio == our_overview("gpu, bfloat16").compute_16bit_ratio == 5 / 15


def test_d10_host_and_device_shares_are_of_time(theirs: dict[str, dict[str, Any]]) -> None:
    vector = "gpu, launched by an op"
    assert theirs[vector]["overview_page"][0]["p"]["host_tf_op_percent"] == "60.0%"  # 3 of 5 executions
    overview = our_overview(vector)
    assert overview.host_time_ratio == pytest.approx(12 / 27)
    assert overview.device_time_ratio == pytest.approx(15 / 27)
