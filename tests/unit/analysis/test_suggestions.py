"""The name of a bottleneck -> what to do about it."""

from __future__ import annotations

import pytest

from tfprof_widgets.analysis.suggestions import suggest


@pytest.mark.parametrize(
    ("name", "words", "code"),
    [
        ("Map", "in parallel", ".map(f, num_parallel_calls=tf.data.AUTOTUNE)"),
        ("Interleave", "in parallel", ".interleave("),
        ("FlatMap", "interleave", ".interleave("),
        ("TFRecord", "several files", ".interleave("),
        ("TextLineV2", "several files", ".interleave("),
        ("Generator", "interpreter's lock", ".map("),
        ("TensorSlice", "one by one", ".batch("),
        ("BatchV2", "in parallel", "num_parallel_calls=tf.data.AUTOTUNE"),
        ("Filter", "no parallel form", ".shard("),
        ("Unbatch", "no parallel form", ".shard("),
        ("ShuffleV3", "buffer", ".shuffle("),
        ("Prefetch", "buffer", ".prefetch(tf.data.AUTOTUNE)"),
        ("DataService", "tf.data service", "client.trace"),
        ("ReverbDataset", "remote source", "client.trace"),
        ("SomethingNew", "data_performance", ".prefetch("),
    ],
)
def test_each_class_of_iterators_has_its_advice(name: str, words: str, code: str) -> None:
    suggestion = suggest(name, {})
    assert words in suggestion.text
    assert code in suggestion.code


def test_a_map_that_tensorflow_fused_with_its_batch_can_still_be_made_parallel() -> None:
    plain = suggest("MapAndBatch", {"name": "fused(MapDataset:1,BatchDatasetV2:2)", "parallelism": 2})
    assert "num_parallel_calls" in plain.code
    assert "2 of its calls" in plain.text


def test_a_map_that_is_parallel_already_is_told_to_cost_less() -> None:
    parallel = suggest("MapAndBatch", {"name": "fused(ParallelMapDatasetV2:4,BatchDatasetV2:5)", "parallelism": 8})
    assert "already makes 8 calls in parallel" in parallel.text
    assert ".cache()" in parallel.code
    assert "already works in parallel" in suggest("ParallelMapV2", {}).text


def test_a_device_pipeline_points_at_its_host_pipeline() -> None:
    assert "host pipeline" in suggest("Generator", {}, is_device=True).text
