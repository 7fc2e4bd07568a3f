"""The name of a bottleneck -> what to do about it."""

from __future__ import annotations

import pytest

from tfprof_widgets.analysis import COPIES_US, Place, suggest


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Map", "num_parallel_calls=tf.data.AUTOTUNE"),
        ("Interleave", "num_parallel_calls=tf.data.AUTOTUNE"),
        ("FlatMap", "another order"),
        ("TFRecord", "several files"),
        ("TextLineV2", "several files"),
        ("Generator", "interpreter's lock"),
        ("TensorSlice", "one by one"),
        ("BatchV2", "make batches earlier"),
        ("Filter", "no parallel form"),
        ("Unbatch", "no parallel form"),
        ("ShuffleV3", "buffer"),
        ("Prefetch", ".prefetch(tf.data.AUTOTUNE)"),
        ("DataService", "client.trace"),
        ("ReverbDataset", "client.trace"),
        ("SomethingNew", "data_performance"),
    ],
)
def test_each_class_of_iterators_has_its_advice(name: str, words: str) -> None:
    assert words in suggest(name, {})


def test_a_map_that_tensorflow_fused_with_its_batch_can_still_be_made_parallel() -> None:
    plain = suggest("MapAndBatch", {"name": "fused(MapDataset:1,BatchDatasetV2:2)", "parallelism": 2})
    assert "num_parallel_calls" in plain
    assert "2 of its calls" in plain


def test_a_fused_map_that_tf_data_tunes_already_is_not_to_be_made_parallel() -> None:
    tuned = suggest(
        "MapAndBatch", {"name": "fused(MapDataset:1,BatchDatasetV2:2)", "parallelism": 2, "autotune": "true"}
    )
    assert "already makes 2 calls in parallel as tf.data chose" in tuned


def test_a_map_that_is_parallel_already_is_told_to_cost_less() -> None:
    parallel = suggest("MapAndBatch", {"name": "fused(ParallelMapDatasetV2:4,BatchDatasetV2:5)", "parallelism": 8})
    assert "already makes 8 calls in parallel" in parallel
    assert "already works in parallel" in suggest("ParallelMapV2", {})


def test_a_device_pipeline_points_at_its_host_pipeline() -> None:
    assert "host pipeline" in suggest("Generator", {}, Place(is_device=True))


def test_a_sequential_map_after_parallel_ones_is_named_so() -> None:
    assert "The map after the parallel ones" in suggest("Map", {}, Place(inputs=("ParallelMapV2", "Range")))
    fused = suggest("MapAndBatch", {"name": "fused(MapDataset:1,BatchDatasetV2:2)"}, Place(inputs=("ParallelMapV2",)))
    assert "The map after the parallel ones" in fused


def test_a_map_that_tf_data_tunes_is_not_told_to_be_tuned() -> None:
    advice = suggest("ParallelMapV2", {"parallelism": 1, "autotune": "true"})
    assert "as tf.data chose" in advice
    assert "num_parallel_calls" not in advice


def test_a_shuffle_is_told_what_a_smaller_buffer_costs() -> None:
    shuffle = suggest("Shuffle", {"buffer_size": 1000}, Place(inputs=("Map",)))
    assert "A faster Map, from which it is filled" in shuffle
    assert "1,000 elements" in shuffle
    assert "shuffles less" in shuffle


def test_a_prefetch_that_tf_data_tunes_points_at_what_fills_it() -> None:
    advice = suggest("Prefetch", {"autotune": "true"}, Place(inputs=("FiniteTake", "Map", "Range")))
    assert "as fast as Map makes them" in advice
    assert "num_parallel_calls=tf.data.AUTOTUNE" in advice


@pytest.mark.parametrize(
    ("name", "place"), [("BatchV2", Place(inputs=("Unbatch",))), ("Unbatch", Place(consumer="BatchV2"))]
)
def test_batches_that_are_taken_apart_to_be_made_anew_are_to_be_rebatched(name: str, place: Place) -> None:
    assert ".rebatch(batch_size) in place of both" in suggest(name, {"batch_size": 8}, place)
    behind = suggest("Prefetch", {"autotune": "true"}, Place(inputs=("BatchV2", "Unbatch", "MemoryCache")))
    assert ".rebatch(batch_size)" in behind


def test_single_elements_that_are_needed_are_not_to_be_rebatched() -> None:
    assert "rebatch" not in suggest("Unbatch", {}, Place(consumer="ShuffleV3"))
    assert "rebatch" not in suggest("BatchV2", {}, Place(inputs=("ShuffleV3", "Unbatch")))


def test_batches_are_made_in_parallel_where_copying_their_elements_is_the_cost() -> None:
    """Parallel calls made batches of small records 29 % slower."""
    for element_us, is_told in ((0.0, False), (COPIES_US / 2, False), (COPIES_US, True)):
        told = suggest("BatchV2", {"batch_size": 64}, Place(inputs=("Map",), element_us=element_us))
        assert ("num_parallel_calls" in told) == is_told


@pytest.mark.parametrize("name", ["Map", "ParallelMapV2", "Interleave", "FlatMap", "Filter", "ShuffleV3", "Prefetch"])
def test_where_there_is_a_cache_another_one_is_never_proposed(name: str) -> None:
    below = ("Map", "Range")
    tuned = {"autotune": "true"}
    assert ".cache()" in suggest(name, tuned, Place(inputs=below))
    assert "cache" not in suggest(name, tuned, Place(inputs=below, has_cache=True))
