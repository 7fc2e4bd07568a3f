"""Steps of TensorCores: XProf's numbers on drawn traces (no TPU at hand), and what several cores make of a step."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from tests.builders import Event, Plane, U, event, line, plane, space
from tests.unit.analysis.xprof_oracle import rows, xprof
from tfprof_widgets.analysis import Analysis, Steps, compute_steps, idle_of, idle_times, op_occurrences
from tfprof_widgets.read import read_xspace

PERIOD_US = 200


def op(name: str, category: str, at_us: float, duration_us: float, **stats: Any) -> Event:
    metadata = {"hlo_category": category, "program_id": U(1), "symbol_id": U(abs(hash(name)) % 1000 + 1)} | stats
    return event(f"%{name} = f32[] {name}()", at_us, duration_us, display_name=name, metadata_stats=metadata)


def step_ops(at_us: float, *, infeed_us: float = 20) -> list[Event]:
    """TV10: of 100 us the infeed takes 20, a loop around a convolution 60, an all-reduce 4."""
    return [
        op("infeed.1", "infeed", at_us, infeed_us),
        op("while.1", "while", at_us + 25, 60),
        op("conv.1", "convolution", at_us + 30, 40, tf_op="m/conv:Conv2D"),
        op("all-reduce.1", "all-reduce", at_us + 86, 4),
    ]


def core(index: int, n_steps: int = 3, *, step_us: float = 100, infeed_us: float = 20, shift_us: float = 0) -> Plane:
    starts = [PERIOD_US * i + shift_us for i in range(n_steps)]
    return plane(
        f"/device:TPU:{index}",
        line("Steps", *(event(str(i), at, step_us) for i, at in enumerate(starts))),
        line("XLA Modules", *(event("module(1)", at, 90) for at in starts)),
        line("XLA Ops", *(one for at in starts for one in step_ops(at, infeed_us=infeed_us))),
        device_type_string="TPU v4",
    )


def host(n_steps: int = 3) -> Plane:
    markers = [event("train", PERIOD_US * i, 150, _r=1, step_num=i) for i in range(n_steps)]
    return plane("/host:CPU", line("main", *markers))


def steps_of(*planes: Plane) -> Steps:
    return compute_steps(read_xspace(space(*planes)))


def ms(frame: pd.DataFrame, *categories: str) -> list[tuple[float, ...]]:
    return [tuple(round(row[f"{name}_ms"], 9) for name in categories) for _, row in frame.iterrows()]


TV10 = space(host(), core(0), hostnames=["a"])


@pytest.fixture(scope="module")
def page() -> list[dict[str, Any]]:
    """XProf's overview page of TV10."""
    tables: list[dict[str, Any]] = xprof(TV10, "overview_page")["overview_page"]
    return tables


def test_the_steps_of_a_core_equal_xprof(page: list[dict[str, Any]]) -> None:
    theirs = rows(page[1])
    ours = compute_steps(read_xspace(TV10)).frame
    assert len(theirs) == len(ours) == 3
    for want, (_, got) in zip(theirs, ours.iterrows(), strict=True):
        # XProf counts collectives as compute, in a run of some hundreds not.
        compute_ms, collectives_ms = got["device_compute_ms"], got["device_collectives_ms"]
        theirs_ms = want["tcComputeTimeMs"]
        assert any(theirs_ms == pytest.approx(compute_ms + more_ms, abs=1e-12) for more_ms in (collectives_ms, 0.0))
        idle_ms = compute_ms + collectives_ms + got["other_ms"] - theirs_ms
        assert got["input_ms"] == pytest.approx(want["tcInfeedTimeMs"], abs=1e-12)
        assert got["output_ms"] == pytest.approx(want["tcOutfeedTimeMs"], abs=1e-12)
        assert idle_ms == pytest.approx(want["tcIdleTimeMs"], abs=1e-12)
    assert ms(ours, "step_time", "device_compute", "device_collectives", "input", "other") == [
        (0.1, 0.06, 0.004, 0.02, 0.016)
    ] * len(ours)


def test_idle_share_and_duty_cycle_equal_xprof(page: list[dict[str, Any]]) -> None:
    theirs = page[0]["p"]
    trace = read_xspace(TV10)
    idle = idle_of(idle_times(trace, op_occurrences(trace)))
    assert f"{idle.device_idle_ratio:.1%}" == theirs["device_idle_time_percent"] == "49.6%"
    assert f"{idle.device_duty_cycle_ratio:.1%}" == theirs["device_duty_cycle_percent"] == "39.2%"


def test_the_machine_is_described_as_xprof_describes_it(page: list[dict[str, Any]]) -> None:
    theirs = page[2]["p"]
    environment = Analysis(read_xspace(TV10)).overview.environment
    assert environment.device_type == theirs["device_type"] == "TPU v4"
    assert str(environment.n_devices) == theirs["device_core_count"]


def test_the_steps_of_a_tpu_come_before_the_markers_of_its_host() -> None:
    frame = steps_of(host(), core(0)).frame
    assert frame["name"].tolist() == ["0", "1", "2"]
    assert set(frame["source"]) == {"marker"}
    assert (frame["step_time_ms"] == 0.1).all()


def test_programs_are_steps_where_no_step_was_recorded() -> None:
    bare = plane("/device:TPU:0", *(one for one in core(0).lines if one.name != "Steps"))
    frame = steps_of(bare).frame
    assert set(frame["source"]) == {"inferred"}
    assert (frame["step_time_ms"] == 0.09).all()


def test_a_step_is_told_of_the_core_that_took_longest() -> None:
    frame = steps_of(core(0), core(1, step_us=120, infeed_us=24)).frame
    assert ms(frame, "step_time", "input") == [(0.12, 0.024)] * 3


def test_a_step_that_a_core_lacks_is_left_out() -> None:
    assert len(steps_of(core(0, 3), core(1, 2))) == 2


def test_an_op_without_a_category_is_known_by_its_name() -> None:
    ops = line("XLA Ops", event("%infeed.7 = f32[] infeed()", 0, 30), event("%fusion.2 = f32[] fusion()", 40, 10))
    frame = steps_of(plane("/device:TPU:0", line("Steps", event("0", 0, 100)), ops)).frame
    assert ms(frame, "input", "device_compute", "other") == [(0.03, 0.01, 0.06)]


@pytest.mark.parametrize(
    ("category", "expected"),
    [
        ("infeed", "input"),
        ("outfeed", "output"),
        ("send", "device_to_device"),
        ("all-reduce fusion", "device_collectives"),
        ("collective-permute", "device_collectives"),
        ("convolution fusion", "device_compute"),
        ("custom-call", "device_compute"),
    ],
)
def test_the_category_of_an_op_tells_what_its_time_is(category: str, expected: str) -> None:
    ops = line("XLA Ops", op("some.1", category, 10, 30))
    frame = steps_of(plane("/device:TPU:0", line("Steps", event("0", 0, 100)), ops)).frame
    assert ms(frame, expected, "other") == [(0.03, 0.07)]


def without_infeed(at_us: float = 0) -> Plane:
    ops = line("XLA Ops", op("fusion.1", "fusion", at_us + 20, 50))
    return plane("/device:TPU:0", line("Steps", event("0", at_us, 100)), ops)


def test_without_infeeds_the_host_waiting_for_data_while_the_core_idles_is_input() -> None:
    waits = plane("/host:CPU", line("main", event("IteratorGetNext:IteratorGetNext", 5, 25)))
    frame = steps_of(waits, without_infeed()).frame
    assert ms(frame, "input", "device_compute", "other") == [(0.015, 0.05, 0.035)]


def test_with_infeeds_only_those_are_input() -> None:
    waits = plane("/host:CPU", line("main", event("IteratorGetNext:IteratorGetNext", 86, 12)))
    assert ms(steps_of(waits, core(0, 1)).frame, "input", "other") == [(0.02, 0.016)]


def test_a_sparse_core_is_no_tensor_core() -> None:
    sparse = plane("/device:TPU:0 SparseCore 0", line("Sparse Core Ops", event("x", 0, 500)))
    whole = space(core(0), sparse)
    assert len(compute_steps(read_xspace(whole))) == 3
    assert Analysis(read_xspace(whole)).overview.environment.n_devices == 1
