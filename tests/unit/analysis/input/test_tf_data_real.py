"""Real tf.data pipelines, captured by TensorFlow's own profiler -> what they cost and what to do."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.unit.analysis.input.tf_data_runs import N_BATCHES
from tfprof_widgets.analysis import (
    InputPipeline,
    TfData,
    aggregate_ops,
    compute_input_pipeline,
    compute_memory,
    compute_steps,
    compute_tf_data,
    op_occurrences,
)
from tfprof_widgets.read import read_xspace

pytestmark = pytest.mark.tensorflow
SLEEP_MS = 4.0


def tf_data(path: Path) -> TfData:
    return compute_tf_data(read_xspace(path.read_bytes()))


def input_pipeline(path: Path) -> InputPipeline:
    trace = read_xspace(path.read_bytes())
    steps = compute_steps(trace)
    return compute_input_pipeline(trace, steps=steps.frame, ops=aggregate_ops(op_occurrences(trace)))


def bottleneck(data: TfData) -> pd.Series:
    return data.iterators.iloc[data.bottleneck]


def test_a_slow_map_is_the_bottleneck_and_the_remedy_moves_it(tf_data_captures: dict[str, Path]) -> None:
    slow, fixed = input_pipeline(tf_data_captures["slow_map"]), input_pipeline(tf_data_captures["slow_map_parallel"])
    assert "Map" in slow.bottleneck
    assert "num_parallel_calls" in slow.suggestion
    assert slow.input_ratio > 0.5
    assert slow.verdict.startswith("Input-bound: the model waits ")
    # How little is left to wait for depends on what else the machine does.
    assert fixed.bottleneck != slow.bottleneck
    assert fixed.input_ratio < slow.input_ratio / 2
    assert fixed.suggestion != slow.suggestion


def test_the_time_of_a_slow_map_is_what_the_training_waited(tf_data_captures: dict[str, Path]) -> None:
    data = tf_data(tf_data_captures["slow_map"])
    row, pipeline = bottleneck(data), data.pipelines.iloc[0]
    slept_ms = 4 * SLEEP_MS * (N_BATCHES - 1)  # without the first batch
    # What was slept and not waited for was slept while a step ran; up to one batch is made ahead of the first of these.
    roots = data.calls[data.calls["root_call"] == data.calls.index].sort_values("start_ps")
    end_ps = roots["start_ps"] + roots["duration_ps"]
    stepped_ms = (end_ps.iloc[-1] - end_ps.iloc[0] - roots["duration_ps"].iloc[1:].sum()) / 1e9
    assert slept_ms - 4 * SLEEP_MS - stepped_ms < row["wait_time_ms"] <= pipeline["total_time_ms"]
    assert row["wait_time_ms"] > 0.95 * (pipeline["total_time_ms"] - pipeline["startup_time_ms"])


def test_two_epochs_are_one_pipeline(tf_data_captures: dict[str, Path]) -> None:
    data = tf_data(tf_data_captures["two_epochs"])
    assert len(data.pipelines) == 1
    assert data.pipelines["n_calls"].tolist() == [2 * (N_BATCHES + 1)]  # the last call of an epoch finds the end
    assert data.iterators["n_iterators"].iloc[0] == 2
    assert "Map" in bottleneck(data)["name"]


@pytest.mark.parametrize(
    ("kind", "parent"),
    [("interleave", "Interleave"), ("interleave_parallel", "ParallelInterleave"), ("flat_map", "FlatMap")],
)
def test_a_slow_map_inside_nested_datasets_is_found(tf_data_captures: dict[str, Path], kind: str, parent: str) -> None:
    data = tf_data(tf_data_captures[kind])
    row = bottleneck(data)
    assert row["name"] == "Map"
    assert row["n_iterators"] > 1
    assert data.iterators["name"].iloc[row["parent_id"]].startswith(parent)
    assert len(data.iterators) == 7


def test_zip_and_concatenate_keep_their_inputs_apart(tf_data_captures: dict[str, Path]) -> None:
    data = tf_data(tf_data_captures["zip_concatenate"])
    names = data.iterators["name"].value_counts()
    assert (names["Zip"], names["Concatenate"], names["Map"], names["Range"]) == (1, 2, 2, 4)
    assert bottleneck(data)["name"] == "Map"


def test_a_slow_map_below_a_parallel_batch_is_found(tf_data_captures: dict[str, Path]) -> None:
    assert bottleneck(tf_data(tf_data_captures["parallel_batch"]))["name"] == "Map"


def test_two_pipelines_side_by_side_stay_two(tf_data_captures: dict[str, Path]) -> None:
    data = tf_data(tf_data_captures["two_pipelines"])
    assert data.pipelines["n_calls"].tolist() == [N_BATCHES, N_BATCHES]


def test_of_all_calls_that_count_every_moment_is_somebodys(tf_data_captures: dict[str, Path]) -> None:
    """Where no stage works in parallel the waits add up to the time of the root's calls."""
    for kind in ("slow_map", "two_epochs", "interleave", "flat_map"):
        data = tf_data(tf_data_captures[kind])
        steady_ms = (data.pipelines["total_time_ms"] - data.pipelines["startup_time_ms"]).sum()
        assert data.iterators["wait_time_ms"].sum() == pytest.approx(steady_ms, rel=1e-3)


def test_a_cpu_run_that_recorded_no_memory_is_told_how_to(tf_data_captures: dict[str, Path]) -> None:
    profile = compute_memory(read_xspace(tf_data_captures["slow_map"].read_bytes()))
    assert profile.is_empty
    assert "TF_CPU_ALLOCATOR_USE_BFC" in str(profile.remedy)
