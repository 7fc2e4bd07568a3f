"""The input pipeline against XProf's input_pipeline_analyzer: op table, categories and conclusion, undoing D1, D3, D4, D5."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.builders import event, line, plane, space
from tests.unit.analysis.parity.parity_case import KINDS, MARKED_KINDS, Case
from tests.unit.analysis.parity.test_parity_steps import shown_by_xprof
from tests.unit.analysis.xprof_oracle import OpTotals, host_ops, rows, xprof
from tfprof_widgets.analysis import compute_input_pipeline, enqueue_times, input_categories, input_ops, limits_steps
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace

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


@pytest.mark.parametrize("kind", MARKED_KINDS)
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
