"""The input pipeline: verdicts, input ops and categories, the last two against XProf's input_pipeline_analyzer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.builders import event, line, plane, space, trace
from tests.unit.analysis.xprof_oracle import host_ops, rows, xprof
from tfprof_widgets.analysis.input_ops import input_categories, input_category, input_ops
from tfprof_widgets.analysis.input_pipeline import InputPipeline, compute_input_pipeline
from tfprof_widgets.analysis.ops import aggregate_ops, op_occurrences
from tfprof_widgets.analysis.steps import compute_steps
from tfprof_widgets.analysis.tf_data import compute_tf_data
from tfprof_widgets.store.trace import Trace
from tfprof_widgets.store.xspace import read_xspace


def vector() -> bytes:
    """TV8."""
    enqueue = "x/InfeedEnqueueTuple:InfeedEnqueueTuple"
    return space(
        plane(
            "/host:CPU",
            line("a", event(enqueue, 0, 10), event(enqueue, 40, 10)),
            line(
                "b",
                event("Iterator::Root::Map", 0, 10),
                event("Iterator::Root::Map::TFRecord", 2, 5),
                event("Iterator::Root::Prefetch::TFRecord", 7, 2.999999),
                event("stage a", 20, 4, _ipl_stage_id=1001, _ipl_stage_name="stage a", _ipl_stage_cat="Read"),
                event("stage b", 30, 6, _ipl_stage_id=1002, _ipl_stage_name="stage b", _ipl_stage_cat="unknown"),
            ),
        )
    )


def compute(drawn: Trace) -> InputPipeline:
    ops = aggregate_ops(op_occurrences(drawn))
    return compute_input_pipeline(drawn, steps=compute_steps(drawn).frame, ops=ops)


def steps(step_ms: float, input_ms: float, other_ms: float = 0.0, n: int = 4) -> pd.DataFrame:
    return pd.DataFrame({"step_time_ms": [step_ms] * n, "input_ms": [input_ms] * n, "other_ms": [other_ms] * n})


def judge(frame: pd.DataFrame, *events: Any) -> InputPipeline:
    drawn = trace(plane("/host:CPU", line("main", *events)))
    return compute_input_pipeline(drawn, steps=frame, ops=aggregate_ops(op_occurrences(drawn)))


SLOW_MAP = (
    event("Iterator::Root", 0, 100, id=1),
    event("Iterator::Root::Map", 1, 90, id=2, parent_id=1),
    event("Iterator::Root", 200, 100, id=1),
    event("Iterator::Root::Map", 201, 90, id=2, parent_id=1),
)


def test_categories_of_the_vector() -> None:
    result = compute(read_xspace(vector()))
    times = result.categories.set_index("category")["time_ms"] * 1e3
    assert times.round(3).to_dict() == {
        "Enqueue": 20.0,
        "Demanded file read": 38.571,
        "Advanced file read": 12.857,
        "Preprocessing": 8.571,
        "Other": 0.0,
    }
    assert result.categories["ratio"].sum() == pytest.approx(1)


def assert_equal_to_xprof(drawn: Trace, xplane: Path | bytes) -> None:
    """The op table and the categories, from ops read with XProf's own stack: D4 and D5 are undone, nothing else."""
    totals, _ = host_ops(drawn, has_quirks=True)
    records = [
        ("Host", op.type, name, op.occurrences, op.total_ps / 1e6, op.self_ps / 1e6) for name, op in totals.items()
    ]
    columns = ["device", "type", "name", "occurrences", "total_time_us", "total_self_time_us"]
    ours = input_ops(pd.DataFrame(records, columns=columns))
    table = xprof(xplane, "input_pipeline_analyzer")["input_pipeline_analyzer"][2]
    theirs = rows(table)
    assert len(theirs) == len(ours) > 0
    for row, want in zip(ours.to_dict("records"), theirs, strict=True):
        assert (row["op"], row["count"], row["category"]) == (want["opName"], want["count"], want["category"])
        # The same picoseconds; the quotients are rounded in another order.
        assert row["total_time_ms"] == pytest.approx(want["timeInMs"], rel=1e-14)
        assert row["self_time_ms"] == pytest.approx(want["selfTimeInMs"], rel=1e-14)
        assert row["total_time_ratio"] == pytest.approx(want["timeInPercent"], rel=1e-14)
        assert row["self_time_ratio"] == pytest.approx(want["selfTimeInPercent"], rel=1e-14)
    keys = ("enqueue", "demanded_file_read", "advanced_file_read", "preprocessing", "unclassified_nonequeue")
    times_us = input_categories(drawn, ours)["time_ms"] * 1e3
    for time_us, key in zip(times_us, keys, strict=True):
        assert time_us == pytest.approx(float(table["p"][f"{key}_us"]), abs=0.0005)  # printed with three decimals


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
    assert_equal_to_xprof(read_xspace(content), content)


def test_the_vector_is_what_xprof_says() -> None:
    properties = xprof(vector(), "input_pipeline_analyzer")["input_pipeline_analyzer"][2]["p"]
    ours = compute(read_xspace(vector())).categories["time_ms"] * 1e3
    assert [f"{time:.3f}" for time in ours] == [
        properties[f"{key}_us"]
        for key in ("enqueue", "demanded_file_read", "advanced_file_read", "preprocessing", "unclassified_nonequeue")
    ]


@pytest.mark.tensorflow
@pytest.mark.parametrize("kind", ["keras", "quickstart"])
def test_a_fit_equals_xprof(kind: str, request: pytest.FixtureRequest) -> None:
    path: Path = request.getfixturevalue(f"{kind}_xplane")
    assert_equal_to_xprof(read_xspace(path.read_bytes()), path)


def test_eight_gpus_equal_xprof(v100_xplane: Path) -> None:
    assert_equal_to_xprof(read_xspace(v100_xplane.read_bytes()), v100_xplane)


@pytest.mark.parametrize(
    ("op_type", "name", "category"),
    [
        ("InfeedEnqueueTuple", "x", "Enqueue"),
        ("MemcpyHToD", "MEMCPYHtoD", "Enqueue"),
        ("Enqueue", "stage", "Enqueue"),
        ("READ", "stage", "Demanded file read"),
        ("Dataset", "Iterator::Root::TFRecord", "Demanded file read"),
        ("Dataset", "Iterator::Root::Prefetch::TFRecord", "Advanced file read"),
        ("Dataset", "Iterator::Root::TFRecordV2", "Preprocessing"),
        ("Dataset", "Iterator::Root::Map", "Preprocessing"),
        ("unknown", "stage", "Unknown"),
        ("IteratorGetNext", "x", None),
        ("MatMul", "x", None),
        ("", "x", None),
    ],
)
def test_category_of_an_op(op_type: str, name: str, category: str | None) -> None:
    assert input_category(op_type, name) == category


def test_high_input_share_names_the_iterator() -> None:
    result = judge(steps(21.3, 13.1), *SLOW_MAP)
    assert (
        result.verdict
        == "Input-bound: the model waits 13.1 of 21.3 ms a step for data (62 %), and Map holds the pipeline up."
    )
    assert result.input_ratio == pytest.approx(13.1 / 21.3)
    assert result.bottleneck == "Iterator::Root::Map"
    assert result.suggestion.endswith("\n" + result.suggestion_code)
    assert "num_parallel_calls" in result.suggestion_code


@pytest.mark.parametrize(
    ("input_ms", "other_ms", "words"),
    [
        (2.0, 0.0, "Input-bound: the model waits 2.00 of 10.0 ms a step for data (20 %)."),
        (1.99, 0.0, "Moderately input-bound: the model waits 1.99 of 10.0 ms a step for data (20 %)."),
        (0.5, 0.0, "Moderately input-bound: the model waits 0.500 of 10.0 ms a step for data (5 %)."),
        (
            0.4,
            0.3,
            "Probably not input-bound: the model waits 0.400 of 10.0 ms a step for data (4 %); 3 % is not attributed",
        ),
        (0.4, 0.2, "Not input-bound: the model waits 0.400 of 10.0 ms a step for data (4 %)."),
    ],
)
def test_thresholds_of_the_verdict(input_ms: float, other_ms: float, words: str) -> None:
    assert judge(steps(10.0, input_ms, other_ms)).verdict.startswith(words)


def test_times_have_three_significant_digits() -> None:
    assert "0.250 of 0.500 ms" in judge(steps(0.5, 0.25)).verdict
    assert "1,000 of 2,000 ms" in judge(steps(2000, 1000)).verdict


def test_a_pipeline_that_keeps_up_with_the_steps_gets_no_suggestion() -> None:
    result = judge(steps(10.0, 0.2), *SLOW_MAP)
    assert (result.suggestion, result.suggestion_code) == ("", "")
    assert result.bottleneck == "Iterator::Root::Map"


def test_only_averaged_steps_count_where_the_table_tells() -> None:
    frame = steps(10.0, 1.0).assign(is_averaged=[False, True, True, True])
    frame.loc[0, ["step_time_ms", "input_ms"]] = [1000.0, 900.0]
    assert judge(frame).input_ratio == pytest.approx(0.1)


def test_without_steps_the_verdict_says_so_and_tells_what_tf_data_did() -> None:
    result = judge(steps(1, 1, n=0), *SLOW_MAP)
    assert result.verdict.startswith("No step was measured")
    assert "Map accounts for" in result.verdict
    assert result.input_ratio != result.input_ratio
    assert result.suggestion != ""


def test_nothing_at_all_gives_empty_tables() -> None:
    result = judge(steps(10, 0))
    assert result.ops.empty
    assert result.iterators.empty
    assert result.pipelines.empty
    assert result.categories["time_ms"].tolist() == [0.0] * 5
    assert result.bottleneck == ""


def test_a_given_tf_data_result_is_used() -> None:
    drawn = trace(plane("/host:CPU", line("main", *SLOW_MAP)))
    data = compute_tf_data(drawn)
    ops = aggregate_ops(op_occurrences(drawn))
    assert compute_input_pipeline(drawn, steps=steps(1, 1), ops=ops, tf_data=data).tf_data is data
