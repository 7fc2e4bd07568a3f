"""The input pipeline: verdicts, input ops and categories, the last two against XProf's input_pipeline_analyzer."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from tests.builders import event, line, plane, space, trace
from tests.unit.analysis.parity.vector_traces import input_categories as input_categories_vector
from tfprof_widgets.analysis import (
    InputPipeline,
    aggregate_ops,
    compute_input_pipeline,
    compute_steps,
    compute_tf_data,
    input_category,
    op_occurrences,
)
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace, merge_traces


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
    result = compute(read_xspace(input_categories_vector()))
    times = result.categories.set_index("category")["time_ms"] * 1e3
    assert times.round(3).to_dict() == {
        "Enqueue": 20.0,
        "Demanded file read": 38.571,
        "Advanced file read": 12.857,
        "Preprocessing": 8.571,
        "Other": 0.0,
    }
    assert result.categories["ratio"].sum() == pytest.approx(1)


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
    assert "num_parallel_calls" in result.suggestion


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
    assert result.suggestion == ""
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


def test_categories_are_attributes_too() -> None:
    result = compute(read_xspace(input_categories_vector()))
    names = ("enqueue_ms", "read_on_demand_ms", "read_in_advance_ms", "preprocessing_ms", "unclassified_ms")
    assert [getattr(result, name) for name in names] == result.categories["time_ms"].tolist()
    assert result.enqueue_ms == pytest.approx(0.02)


def test_the_wait_of_each_step_is_a_share_of_its_time() -> None:
    frame = steps(10.0, 2.0).assign(is_averaged=[False, True, True, True], step=[4, 5, 6, 7], host="h")
    waits = judge(frame).steps
    assert waits["step"].tolist() == [4, 5, 6, 7]
    assert waits["input_ratio"].tolist() == pytest.approx([0.2] * 4)
    assert waits["is_averaged"].tolist() == [False, True, True, True]
    assert judge(steps(0.0, 0.0)).steps["input_ratio"].tolist() == [0.0] * 4
    assert judge(steps(1, 1, n=0)).steps.empty


def test_the_most_input_bound_host_comes_first() -> None:
    fast = plane("/host:CPU", line("main", event("Iterator::Root", 0, 40, id=1)))
    slow = plane("/host:CPU", line("main", *SLOW_MAP, event("Iterator::Root", 400, 10, id=9)))
    both = merge_traces([read_xspace(space(fast), host="a"), read_xspace(space(slow), host="b")])
    frame = steps(10.0, 1.0).assign(host=["a", "a", "b", "b"], input_ms=[1.0, 1.0, 5.0, 5.0])
    result = compute_input_pipeline(both, steps=frame, ops=aggregate_ops(op_occurrences(both)))
    assert result.hosts["host"].tolist() == ["b", "a"]
    assert result.hosts["max_latency_us"].tolist() == [100, 40]
    assert result.hosts["n_slow_calls"].tolist() == [2, 0]
    assert result.hosts["bottleneck"].tolist() == ["Map", "Root"]
    assert result.hosts["input_ratio"].tolist() == pytest.approx([0.5, 0.1])
    assert result.pipelines["host"].iloc[result.hosts["pipeline"].iloc[0]] == "b"
    assert result.is_input_bound
    assert "100 µs" in result.sentence


def test_a_shuffle_that_fills_outside_the_averaged_steps_is_told_all_the_same() -> None:
    fill = [event("Iterator::Root", 0, 5000, id=1), event("Iterator::Root::Shuffle", 1, 4998, id=2, parent_id=1)]
    fill += [event("Iterator::Root::Shuffle::Map", 10 + 400 * k, 400, id=3, parent_id=2) for k in range(12)]
    frame = steps(10.0, 0.0).assign(is_averaged=[False, True, True, True])
    result = judge(frame, *fill)
    assert result.verdict.startswith("Not input-bound")
    assert "Shuffle fills its buffer before the first batch: 5.00 ms" in result.verdict
    assert result.suggestion.startswith("shuffle fetches until its buffer is full")
    assert judge(steps(1000.0, 0.0), *fill).suggestion == ""  # too short to matter
