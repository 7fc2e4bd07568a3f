"""The input pipeline: verdicts, input ops and categories, the last two against XProf's input_pipeline_analyzer."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from tests.builders import event, line, plane, trace
from tests.unit.analysis.parity.vector_traces import input_categories as input_categories_vector
from tfprof_widgets.analysis import (
    InputPipeline,
    aggregate_ops,
    compute_input_pipeline,
    compute_steps,
    input_category,
    op_occurrences,
)
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace


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


@pytest.mark.parametrize(
    ("op_type", "name", "category"),
    [
        ("InfeedEnqueueTuple", "x", "Enqueue"),
        ("Enqueue", "stage", "Enqueue"),
        ("Dataset", "Iterator::Root::TFRecord", "Demanded file read"),
        ("Dataset", "Iterator::Root::Prefetch::TFRecord", "Advanced file read"),
        ("Dataset", "Iterator::Root::TFRecordV2", "Preprocessing"),
        ("unknown", "stage", "Unknown"),
        ("MatMul", "x", None),
        ("", "x", None),
    ],
)
def test_category_of_an_op(op_type: str, name: str, category: str | None) -> None:
    assert input_category(op_type, name) == category


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


def test_without_steps_the_verdict_says_so_and_tells_what_tf_data_did() -> None:
    result = judge(steps(1, 1, n=0), *SLOW_MAP)
    assert result.verdict.startswith("No step was measured")
    assert "Map accounts for" in result.verdict
    assert result.input_ratio != result.input_ratio
    assert result.suggestion != ""


def compute(drawn: Trace) -> InputPipeline:
    ops = aggregate_ops(op_occurrences(drawn))
    return compute_input_pipeline(drawn, steps=compute_steps(drawn).frame, ops=ops)


def test_categories_are_attributes_too() -> None:
    result = compute(read_xspace(input_categories_vector()))
    names = ("enqueue_ms", "read_on_demand_ms", "read_in_advance_ms", "preprocessing_ms", "unclassified_ms")
    assert [getattr(result, name) for name in names] == result.categories["time_ms"].tolist()
    assert result.enqueue_ms == pytest.approx(0.02)


def test_a_shuffle_that_fills_outside_the_averaged_steps_is_told_all_the_same() -> None:
    fill = [event("Iterator::Root", 0, 5000, id=1), event("Iterator::Root::Shuffle", 1, 4998, id=2, parent_id=1)]
    fill += [event("Iterator::Root::Shuffle::Map", 10 + 400 * k, 400, id=3, parent_id=2) for k in range(12)]
    frame = steps(10.0, 0.0).assign(is_averaged=[False, True, True, True])
    result = judge(frame, *fill)
    assert result.verdict.startswith("Not input-bound")
    assert "Shuffle fills its buffer before the first batch: 5.00 ms" in result.verdict
    assert result.suggestion.startswith("shuffle fetches until its buffer is full")
    assert judge(steps(1000.0, 0.0), *fill).suggestion == ""  # too short to matter
