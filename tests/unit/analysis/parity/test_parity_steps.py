"""Steps, overview and input against XProf's pages on real captures, undoing D1 to D5, D8, D9, D10, D12, D14 and D15."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.builders import U, event, line, plane, space
from tests.unit.analysis.parity.parity_case import (
    GPU_KINDS,
    KINDS,
    LOOPING_KIND,
    MARKED_KINDS,
    UNMARKED_KINDS,
    Case,
)
from tests.unit.analysis.xprof_oracle import (
    OpTotals,
    Span,
    device_executions,
    host_ops,
    rows,
    time_by_priority,
    xprof,
    xprof_units,
)
from tfprof_widgets.analysis import (
    Analysis,
    compute_input_pipeline,
    compute_steps,
    enqueue_times,
    group_events,
    guide_of,
    input_categories,
    input_ops,
    limits_steps,
)
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace

COLUMNS = {
    "deviceComputeTimeMs": "device_compute_ms",
    "deviceToDeviceTimeMs": "device_to_device_ms",
    "deviceCollectivesTimeMs": "device_collectives_ms",
    "kernelLaunchTimeMs": "kernel_launch_ms",
    "infeedTimeMs": "input_ms",
    "outfeedTimeMs": "output_ms",
    "otherTimeMs": "other_ms",
}
SUMMARIES = {
    "device_compute": ["device_compute_ms"],
    "device_to_device": ["device_to_device_ms"],
    "device_collectives": ["device_collectives_ms"],
    "infeed": ["input_ms"],
    "outfeed": ["output_ms"],
    "host_compute": ["host_compute_ms", "compile_ms"],
    "kernel_launch": ["kernel_launch_ms"],
    "other": ["other_ms"],
}
FIRST_AND_LAST_DROPPED_ABOVE = 5
"""XProf drops the first and the last of more steps than this (D3)."""


def shown_by_xprof(steps: pd.DataFrame) -> pd.DataFrame:
    """Undo D3 and D14."""
    steps = guide_of(steps)
    return steps.iloc[1:-1] if len(steps) > FIRST_AND_LAST_DROPPED_ABOVE else steps


def assert_same_steps(ours: pd.DataFrame, theirs: list[dict[str, Any]]) -> None:
    assert len(theirs) == len(ours) > 0
    for want, (_, got) in zip(theirs, ours.iterrows(), strict=True):
        # XProf tells the epochs of repeated numbers not apart.
        assert re.sub(r"\d+·", "", got["name"]) == want["stepnum"]
        for column, name in COLUMNS.items():
            assert round(got[name] * 1e9) == round(want[column] * 1e9), (got["name"], name)
        # XProf never fills compilation: what it shows as host compute is ours and compilation together.
        assert round((got["host_compute_ms"] + got["compile_ms"]) * 1e9) == round(want["hostComputeTimeMs"] * 1e9)
        assert got["duration_ps"] == round(want["stepTimeMs"] * 1e9)


@pytest.mark.parametrize("kind", MARKED_KINDS)
def test_steps_of_a_cpu_capture_equal_xprof_in_every_category(kind: str, case_of: Callable[[str], Case]) -> None:
    case = case_of(kind)
    ours = shown_by_xprof(case.results.steps.frame)
    assert_same_steps(ours, case.their_steps)
    assert case.theirs["input_pipeline_analyzer"][1] == case.theirs["overview_page"][1]


@pytest.mark.parametrize("kind", MARKED_KINDS)
def test_averages_over_the_steps_that_xprof_shows_equal_its_own(kind: str, case_of: Callable[[str], Case]) -> None:
    case = case_of(kind)
    ours, printed = shown_by_xprof(case.results.steps.frame), case.theirs["overview_page"][1]["p"]
    time = ours["step_time_ms"]
    for key, value in {
        "average": time.mean(),
        "standard_deviation": time.std(ddof=1),
        "minimum": time.min(),
        "maximum": time.max(),
    }.items():
        assert printed[f"steptime_ms_{key}"] == f"{value:.1f}"
    for key, names in SUMMARIES.items():
        value = ours[names].sum(axis=1)
        assert printed[f"{key}_time_ms_avg"] == f"{value.mean():.1f}"
        assert printed[f"{key}_time_ms_sdv"] == f"{value.std(ddof=1):.1f}"


def test_steps_with_a_loop_of_tensorflow_inside_equal_xprof_once_it_sees_them(
    case_of: Callable[[str], Case],
) -> None:
    """D2: XProf makes a group of every iteration of the loop instead of the step; see `without_iterations`."""
    case = case_of(LOOPING_KIND)
    assert case.their_steps == []
    theirs = rows(case.theirs_without_iterations["overview_page"][1])
    assert_same_steps(shown_by_xprof(case.results.steps.frame), theirs)


@pytest.mark.parametrize("kind", UNMARKED_KINDS)
def test_where_nobody_marked_a_step_xprof_has_none(kind: str, case_of: Callable[[str], Case]) -> None:
    """D2."""
    case = case_of(kind)
    assert case.their_steps == []
    assert set(case.results.steps.frame["source"]) == {"inferred"}


def device_spans(trace: Trace, *, copies_are_compute: bool) -> dict[int, list[Span]]:
    """Typed spans of device events by group as XProf has them (semantics 3.2, priorities 3.1)."""
    group = group_events(trace).group_id
    correlated = trace.has_stat("correlation_id")
    shape = trace.string_stat("shape")
    spans: dict[int, list[Span]] = {}
    end_ps = trace.end_ps  # computed of all events each time
    for row in np.flatnonzero((group >= 0) & correlated).tolist():
        line = trace.lines[trace.line_id[row]]
        if not trace.planes[line.plane].is_device or line.is_derived:
            continue
        name = trace.strings[trace.name_id[row]]
        shapes = trace.strings[shape[row]] if shape[row] >= 0 else ""
        is_half = "half" in shapes if shapes else "half" in name or "fp16" in name
        priority = 150 if is_half else 140
        if name.startswith("Memcpy") and not copies_are_compute:
            priority = {"MemcpyH2D": 80, "MemcpyD2H": 130, "MemcpyD2D": 120}[name]
        spans.setdefault(int(group[row]), []).append((int(trace.start_ps[row]), int(end_ps[row]), priority))
    return spans


def test_the_gpu_step_equals_xprof_after_undoing_d1(case_of: Callable[[str], Case]) -> None:
    """TV12."""
    case = case_of("v100")
    (theirs,) = case.their_steps
    (ours,) = guide_of(case.results.steps.frame).to_dict("records")
    assert ours["name"] == theirs["stepnum"] == "0"
    assert ours["duration_ps"] == round(theirs["stepTimeMs"] * 1e9) == 21_310_352_000
    low, high = ours["start_ps"], ours["start_ps"] + ours["duration_ps"]

    as_xprof = time_by_priority(device_spans(case.trace, copies_are_compute=True)[0], low, high)
    assert as_xprof[140] + as_xprof[150] == round(theirs["deviceComputeTimeMs"] * 1e9) == 14_875_539_000
    assert as_xprof[0] == round(theirs["otherTimeMs"] * 1e9)

    with_copies = time_by_priority(device_spans(case.trace, copies_are_compute=False)[0], low, high)
    assert round(ours["device_compute_ms"] * 1e9) == with_copies[140] + with_copies[150]
    assert round(ours["output_ms"] * 1e9) == with_copies[130]
    assert ours["input_ms"] > 0
    assert ours["kernel_launch_ms"] > 0


@pytest.mark.parametrize(("kind", "n_steps"), [("h100_eager", 12), ("h100_lstm", 12), ("h100_cnn_input", 20)])
def test_steps_of_an_h100_equal_xprof_after_undoing_d1_d3_and_d8(
    kind: str, n_steps: int, case_of: Callable[[str], Case]
) -> None:
    """XProf's step lasts from the first to the last event of its group on the device."""
    case = case_of(kind)
    groups = device_spans(case.trace, copies_are_compute=True)
    as_xprof = []
    for group, spans in sorted(groups.items()):
        low, high = min(start for start, _, _ in spans), max(end for _, end, _ in spans)
        time = time_by_priority(spans, low, high)
        as_xprof.append((str(group), high - low, time[140] + time[150], time[0]))
    columns = ("stepTimeMs", "deviceComputeTimeMs", "otherTimeMs")
    shown = [(step["stepnum"], *(round(step[column] * 1e9) for column in columns)) for step in case.their_steps]
    assert shown == as_xprof[1:-1]
    assert len(as_xprof) == n_steps

    steps = guide_of(case.results.steps.frame)
    assert steps["name"].tolist() == [f"train {i}" for i in range(n_steps)]
    with_copies = device_spans(case.trace, copies_are_compute=False)
    for step in steps.to_dict("records"):
        time = time_by_priority(with_copies[step["step"]], step["start_ps"], step["start_ps"] + step["duration_ps"])
        assert round(step["device_compute_ms"] * 1e9) == time[140] + time[150] > 0
        assert round(step["device_to_device_ms"] * 1e9) == time[120]
        assert round(step["output_ms"] * 1e9) == time[130] > 0


@pytest.mark.parametrize("kind", GPU_KINDS)
def test_the_share_of_16_bit_compute_equals_xprof_after_undoing_d1_and_d13(
    kind: str, case_of: Callable[[str], Case]
) -> None:
    case = case_of(kind)
    share: dict[bool, float] = {}
    for copies_are_compute in (True, False):
        total = sum(
            (
                time_by_priority(spans, 0, 2**62)
                for spans in device_spans(case.trace, copies_are_compute=copies_are_compute).values()
            ),
            start=time_by_priority([], 0, 0),
        )
        share[copies_are_compute] = total[150] / (total[140] + total[150])
    page = case.theirs["overview_page"]
    assert page[0]["p"]["device_compute_16bit_percent"] == f"{share[True]:.1%}"
    steps = compute_steps(case.trace, units=xprof_units(case.trace))
    assert steps.compute_16bit_ratio == share[False]
    assert steps.compute_16bit_ratio + steps.compute_32bit_ratio == 1


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


@pytest.mark.parametrize("kind", ["h100_lstm", "h100_cnn_input"])
def test_top_device_ops_of_a_capture_equal_xprof(kind: str, case_of: Callable[[str], Case]) -> None:
    case = case_of(kind)
    page = case.theirs["overview_page"]
    ours = case.our_ops(side="Device", idle=False)
    assert_same_top_ops(ours, page)
    share = ours.loc[ours["eager"], "self_time_ratio"].sum()
    assert page[0]["p"]["device_op_time_eager_percent"] == f"{share:.1%}"


def test_top_ops_precision_and_eager_share_of_a_device_equal_xprof() -> None:
    content = drawn_device_ops()
    page, results = xprof(content, "overview_page")["overview_page"], Analysis(read_xspace(content))
    assert_same_top_ops(results.ops, page)
    printed, overview = page[0]["p"], results.overview
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


CATEGORIES = ("enqueue", "demanded_file_read", "advanced_file_read", "preprocessing", "unclassified_nonequeue")
WITHOUT_INPUT = ("h100_eager", "h100_transformer_loop", "h100_oom")
OPENINGS = {
    "Input-bound": "HIGHLY input-bound",
    "Moderately input-bound": "MODERATELY input-bound",
    "Probably not input-bound": "POTENTIALLY input-bound",
    "Not input-bound": "NOT input-bound",
}
"""Our word for each of XProf's four conclusions."""


def assert_equal_to_xprof(trace: Trace, totals: Mapping[str, OpTotals], table: Mapping[str, Any]) -> None:
    """The op table and the categories, from ops read with XProf's own stack: D4 and D5 are undone, nothing else."""
    records = [
        ("Host", op.type, name, op.occurrences, op.total_ps / 1e6, op.self_ps / 1e6) for name, op in totals.items()
    ]
    columns = ["device", "type", "name", "occurrences", "total_time_us", "total_self_time_us"]
    ours = input_ops(pd.DataFrame(records, columns=columns))
    theirs = rows(table)
    assert len(theirs) == len(ours) > 0
    for row, want in zip(ours.to_dict("records"), theirs, strict=True):
        assert (row["op"], row["count"], row["category"]) == (want["opName"], want["count"], want["category"])
        # The same picoseconds; the quotients are rounded in another order.
        assert row["total_time_ms"] == pytest.approx(want["timeInMs"], rel=1e-14)
        assert row["self_time_ms"] == pytest.approx(want["selfTimeInMs"], rel=1e-14)
        assert row["total_time_ratio"] == pytest.approx(want["timeInPercent"], rel=1e-14)
        assert row["self_time_ratio"] == pytest.approx(want["selfTimeInPercent"], rel=1e-14)
    times_us = input_categories(enqueue_times(trace), ours)["time_ms"] * 1e3
    for time_us, key in zip(times_us, CATEGORIES, strict=True):
        assert time_us == pytest.approx(float(table["p"][f"{key}_us"]), abs=0.0005)  # printed with three decimals


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in WITHOUT_INPUT])
def test_input_ops_and_categories_of_a_capture_equal_xprof(kind: str, case_of: Callable[[str], Case]) -> None:
    case = case_of(kind)
    assert_equal_to_xprof(case.trace, case.quirky_ops[0], case.theirs["input_pipeline_analyzer"][2])


@pytest.mark.parametrize("kind", WITHOUT_INPUT)
def test_a_program_without_a_data_set_has_no_input_ops_as_in_xprof(kind: str, case_of: Callable[[str], Case]) -> None:
    case = case_of(kind)
    assert len(case.results.ops) > 10
    assert case.results.input_pipeline.ops.empty
    assert rows(case.theirs["input_pipeline_analyzer"][2]) == []


@pytest.mark.parametrize(
    "kind", [one for one in MARKED_KINDS if one != "tfrecord_fit"]
)  # XProf counts no setting up of pipelines
def test_the_conclusion_over_the_same_steps_is_that_of_xprof(kind: str, case_of: Callable[[str], Case]) -> None:
    case = case_of(kind)
    steps = shown_by_xprof(case.results.steps.frame)  # D3
    ours = compute_input_pipeline(case.trace, steps=steps, ops=case.results.ops, tf_data=case.results.tf_data)
    theirs = case.theirs["overview_page"][3]["p"]["statement"]
    opening = ours.verdict.split(":", 1)[0]
    if limits_steps(*(steps[name].to_numpy(np.float64) for name in ("input_ms", "step_time_ms"))):
        assert f"Your program is {OPENINGS[opening]} because" in theirs
    else:  # what handing ready batches over takes
        assert opening in ("Not input-bound", "Probably not input-bound")
    shown = float(re.findall(r"([0-9.]+)%", theirs)[0])
    other_ratio = steps["other_ms"].sum() / steps["step_time_ms"].sum()
    share = other_ratio if opening.startswith("Probably") else ours.input_ratio
    assert shown == pytest.approx(100 * share, abs=0.05 + 1e-9)


def test_a_gpu_that_waits_for_data_does_so_for_an_unknown_reason_in_xprof(case_of: Callable[[str], Case]) -> None:
    """D1: without the host's events every wait is unattributed."""
    case = case_of("h100_cnn_input")
    page = case.theirs["overview_page"]
    assert page[1]["p"]["infeed_time_ms_avg"] == "0.0"
    assert page[3]["p"]["statement"].startswith("Your program is POTENTIALLY input-bound because 91.5% of the total")
    step = case.results.step_guide.iloc[1]
    columns = ("device_compute_ms", "input_ms", "kernel_launch_ms", "host_compute_ms", "output_ms", "other_ms")
    assert [step[name] for name in columns] == [4.093676, 40.761586, 1.278189, 1.35758, 0.0032, 0.617137]
    assert case.results.input_pipeline.verdict.startswith("Input-bound: the model waits 43.5 of 51.6 ms a step")


@pytest.mark.parametrize("kind", ["lstm_fit", "keras_bare"])
def test_without_steps_xprof_says_nothing_where_we_do(kind: str, case_of: Callable[[str], Case]) -> None:
    """D2."""
    case = case_of(kind)
    assert case.theirs["overview_page"][3]["p"]["statement"].startswith("No step time measured")
    assert not case.results.input_pipeline.verdict.startswith("No step")


def test_drawn_input_ops_equal_xprof() -> None:
    """Without the stages of TV8: the oracle's stack does not read those."""
    reader = "Iterator::Root::ParallelMapV2::Prefetch::TextLine"
    content = space(
        plane(
            "/host:CPU",
            line(
                "a",
                event("x:InfeedEnqueueTuple", 0, 10),
                event("x:InfeedEnqueueTuple", 40, 10),
                event("y:MatMul", 60, 9),
            ),
            line(
                "b",
                event(reader, 0, 7),
                event("Iterator::Root::TFRecord", 10, 5),
                event("Iterator::Root::TFRecordV2", 20, 3),
            ),
        )
    )
    table = xprof(content, "input_pipeline_analyzer")["input_pipeline_analyzer"][2]
    trace = read_xspace(content)
    assert_equal_to_xprof(trace, host_ops(trace, has_quirks=True)[0], table)
