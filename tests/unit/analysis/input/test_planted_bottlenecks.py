"""tf.data pipelines with one planted bottleneck each, run by TensorFlow -> the report names it and the change that helps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.analysis.input.tf_data_runs import N_BATCHES
from tfprof_widgets.analysis import Analysis, InputPipeline
from tfprof_widgets.read import read_xspace

pytestmark = pytest.mark.tensorflow
PLANTED = {
    # kind: the iterator planted as slow, words of the advice
    "slow_read": ("TFRecord", "several files at a time"),
    "slow_map": ("MapAndBatch", "one of its calls at a time"),
    "slow_map_after_parallel": ("MapAndBatch", "The map after the parallel ones runs one of its calls at a time"),
    "slow_batch": ("BatchV2", "several batches in parallel"),
    "slow_filter": ("Filter", "no parallel form"),
    "slow_shuffle_fill": ("Shuffle", "its buffer of 48 elements is full"),
    "slow_generator": ("Generator", "interpreter's lock"),
}


@pytest.fixture(scope="module")
def pipeline_of(tf_data_captures: dict[str, Path]) -> Callable[[str], InputPipeline]:
    pipelines: dict[str, InputPipeline] = {}

    def pipeline(kind: str) -> InputPipeline:
        if kind not in pipelines:
            pipelines[kind] = Analysis(read_xspace(tf_data_captures[kind].read_bytes())).input_pipeline
        return pipelines[kind]

    return pipeline


@pytest.mark.parametrize("kind", PLANTED)
def test_the_planted_bottleneck_is_the_reported_one_and_the_advice_names_the_change(
    kind: str, pipeline_of: Callable[[str], InputPipeline]
) -> None:
    pipeline, (name, words) = pipeline_of(kind), PLANTED[kind]
    assert pipeline.bottleneck.rsplit("::", 1)[-1] == name
    assert words in pipeline.suggestion
    assert pipeline.is_input_bound


def test_a_shuffle_that_fills_its_buffer_is_told_by_the_time_before_the_first_batch(
    pipeline_of: Callable[[str], InputPipeline],
) -> None:
    pipeline = pipeline_of("slow_shuffle_fill")
    row = pipeline.pipelines.iloc[0]
    assert 4 * 4 * N_BATCHES < row["fill_time_ms"] <= row["startup_time_ms"]  # every element is slept for 4 ms
    assert "Shuffle fills its buffer before the first batch" in pipeline.verdict
    slowest = pipeline.executions(0).iloc[0]
    assert slowest["is_startup"]
    assert slowest["bottleneck_name"].endswith("Shuffle::Map")


@pytest.mark.parametrize("kind", ["slow_map", "slow_filter"])
def test_the_slowest_execution_names_the_same_iterator(kind: str, pipeline_of: Callable[[str], InputPipeline]) -> None:
    pipeline = pipeline_of(kind)
    ranked, slowest = pipeline.executions(0), pipeline.execution(0)
    assert len(ranked) == pipeline.pipelines["n_calls"].iloc[0] == N_BATCHES + 1
    assert ranked["latency_us"].is_monotonic_decreasing
    assert ranked["is_slow"].sum() == pipeline.pipelines["n_slow_calls"].iloc[0]
    assert slowest.loc[slowest["is_bottleneck"], "name"].tolist() == [PLANTED[kind][0]]
    assert slowest["wait_time_ms"].sum() == pytest.approx(ranked["latency_us"].iloc[0] / 1e3)
