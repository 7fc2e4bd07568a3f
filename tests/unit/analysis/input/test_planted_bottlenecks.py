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
    return lambda kind: Analysis(read_xspace(tf_data_captures[kind].read_bytes())).input_pipeline


@pytest.mark.parametrize("kind", PLANTED)
def test_the_planted_bottleneck_is_the_reported_one_and_the_advice_names_the_change(
    kind: str, pipeline_of: Callable[[str], InputPipeline]
) -> None:
    pipeline, (name, words) = pipeline_of(kind), PLANTED[kind]
    assert pipeline.bottleneck.rsplit("::", 1)[-1] == name
    assert words in pipeline.suggestion
    assert pipeline.is_input_bound
    assert len(pipeline.executions(0)) == pipeline.pipelines["n_calls"].iloc[0] == N_BATCHES + 1


@pytest.mark.parametrize(
    ("kind", "parent"),
    [("interleave", "Interleave"), ("interleave_parallel", "ParallelInterleave"), ("flat_map", "FlatMap")],
)
def test_a_slow_map_inside_nested_datasets_is_found(
    kind: str, parent: str, pipeline_of: Callable[[str], InputPipeline]
) -> None:
    data = pipeline_of(kind).tf_data
    row = data.iterators.iloc[data.bottleneck]
    assert row["name"] == "Map"
    assert row["n_iterators"] > 1
    assert data.iterators["name"].iloc[row["parent_id"]].startswith(parent)
    assert len(data.iterators) == 7


def test_zip_and_concatenate_keep_their_inputs_apart(pipeline_of: Callable[[str], InputPipeline]) -> None:
    names = pipeline_of("zip_concatenate").tf_data.iterators["name"].value_counts()
    assert (names["Zip"], names["Concatenate"], names["Map"], names["Range"]) == (1, 2, 2, 4)
