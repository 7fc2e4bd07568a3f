"""Time and memory per Keras layer in real runs: complete on every kind, and under the names of the user's layers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tfprof_widgets.analysis import UNATTRIBUTED, Results
from tfprof_widgets.read import open_traces

LIVE = [pytest.param(kind, marks=pytest.mark.tensorflow) for kind in ("nested_fit", "two_optimizers")]
"""Captured here and now, with what this package notes of the layers."""


def opened(path: Path) -> Results:
    found = open_traces(path.parent)
    return Results(found.trace, found.source_map)


@pytest.mark.tensorflow
def test_a_nested_model_is_told_by_the_names_of_its_layers(capture_of: Callable[[str], Path]) -> None:
    frame = opened(capture_of("nested_fit")).layers.frame
    layers = frame[frame["kind"] == "layer"].set_index("layer")["class_name"].to_dict()
    expected = {
        "twins/encoder/wide": "Dense",
        "twins/encoder/dense": "Dense",
        "twins/shared": "Dense",
        "twins/add": "Add",
        "twins/block": "Block",
        "twins/block/dense_1": "Dense",
        "twins/block/layer_normalization": "LayerNormalization",
        "twins/block_1": "Block",
        "twins/block_1/dense_2": "Dense",
        "twins/block_1/layer_normalization_1": "LayerNormalization",
        "twins/multi_head_attention": "MultiHeadAttention",
        "twins/multi_head_attention/query": "EinsumDense",
        "twins/multi_head_attention/key": "EinsumDense",
        "twins/multi_head_attention/value": "EinsumDense",
        "twins/multi_head_attention/attention_output": "EinsumDense",
        "twins/global_average_pooling1d": "GlobalAveragePooling1D",
        "twins/dense_3": "Dense",
    }
    assert expected.items() <= layers.items()
    trained = frame.set_index("layer").loc[[name for name in expected if expected[name] == "Dense"]]
    assert (trained["forward_time_us"] > 0).all() and (trained["backward_time_us"] > 0).all()


@pytest.mark.parametrize("kind", LIVE)
def test_hardly_any_time_of_a_keras_model_is_in_no_layer(kind: str, capture_of: Callable[[str], Path]) -> None:
    frame = opened(capture_of(kind)).layers.frame
    assert frame["self_time_us"][frame["layer"] == UNATTRIBUTED].sum() < 0.15 * frame["self_time_us"].sum()


@pytest.mark.tensorflow
def test_two_optimizers_are_two_rows(capture_of: Callable[[str], Path]) -> None:
    frame = opened(capture_of("two_optimizers")).layers.frame
    optimizers = frame[frame["kind"] == "optimizer"].set_index("layer")
    # The counters of their iterations are outside any scope: tracebacks tell that they are some optimizer's, not whose.
    assert optimizers["class_name"].to_dict() == {"maker_sgd": "SGD", "judge_sgd": "SGD", "optimizer": ""}
    assert (optimizers["optimizer_time_us"] == optimizers["self_time_us"]).all()


@pytest.mark.tensorflow
def test_metrics_that_keras_keeps_outside_any_scope_are_told_by_their_traceback(
    capture_of: Callable[[str], Path],
) -> None:
    frame = opened(capture_of("nested_fit")).layers.frame
    assert frame["self_time_us"][frame["kind"] == "metrics"].sum() > 0
