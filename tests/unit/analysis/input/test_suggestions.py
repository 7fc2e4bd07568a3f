"""The name of a bottleneck -> what to do about it."""

from __future__ import annotations

import pytest

from tfprof_widgets.analysis.input.suggestions import Place, suggest


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
        (
            "Filter",
            "no parallel form",
            ".map(lambda *x: (x if len(x) > 1 else x[0], keep(*x)), num_parallel_calls=tf.data.AUTOTUNE).filter(",
        ),
        ("Unbatch", "no parallel form", ".rebatch("),
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


def test_a_fused_map_that_tf_data_tunes_already_is_not_to_be_made_parallel() -> None:
    tuned = suggest(
        "MapAndBatch", {"name": "fused(MapDataset:1,BatchDatasetV2:2)", "parallelism": 2, "autotune": "true"}
    )
    assert "already makes 2 calls in parallel as tf.data chose" in tuned.text


def test_a_map_that_is_parallel_already_is_told_to_cost_less() -> None:
    parallel = suggest("MapAndBatch", {"name": "fused(ParallelMapDatasetV2:4,BatchDatasetV2:5)", "parallelism": 8})
    assert "already makes 8 calls in parallel" in parallel.text
    assert ".cache()" in parallel.code
    assert "already works in parallel" in suggest("ParallelMapV2", {}).text


def test_a_device_pipeline_points_at_its_host_pipeline() -> None:
    assert "host pipeline" in suggest("Generator", {}, Place(is_device=True)).text


def test_a_sequential_map_after_parallel_ones_is_named_so() -> None:
    advice = suggest("Map", {}, Place(inputs=("ParallelMapV2", "Range")))
    assert "The map after the parallel ones" in advice.text
    fused = suggest("MapAndBatch", {"name": "fused(MapDataset:1,BatchDatasetV2:2)"}, Place(inputs=("ParallelMapV2",)))
    assert "The map after the parallel ones" in fused.text
    assert advice.code == fused.code == ".map(f, num_parallel_calls=tf.data.AUTOTUNE)"


def test_a_map_that_tf_data_tunes_is_not_told_to_be_tuned() -> None:
    advice = suggest("ParallelMapV2", {"parallelism": 1, "autotune": "true"})
    assert "as tf.data chose" in advice.text
    assert "f_on_batches" in advice.code


def test_sizes_that_the_trace_tells_are_in_the_code() -> None:
    assert suggest("BatchV2", {"batch_size": 64}).code == ".batch(64, num_parallel_calls=tf.data.AUTOTUNE)"
    assert suggest("PaddedBatchV2", {"batch_size": 8}).code.startswith(".padded_batch(8)")
    shuffle = suggest("Shuffle", {"buffer_size": 1000}, Place(inputs=("Map",)))
    assert "A faster Map, from which it is filled" in shuffle.text
    assert ".shuffle(100)" in shuffle.code
    assert "1,000 elements" in shuffle.text


def test_a_prefetch_that_tf_data_tunes_points_at_what_fills_it() -> None:
    advice = suggest("Prefetch", {"autotune": "true"}, Place(inputs=("FiniteTake", "Map", "Range")))
    assert "as fast as Map makes them" in advice.text
    assert advice.code == ".map(f, num_parallel_calls=tf.data.AUTOTUNE)"
