"""Time and memory per Keras layer in real runs: complete on every kind, and under the names of the user's layers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tfprof_widgets.analysis import PHASES, UNATTRIBUTED, Analysis
from tfprof_widgets.read import open_traces

TIMES = [f"{phase}_time_us" for phase in PHASES]
REAL = [
    "keras_fit",
    "function_loop",
    "function_epoch",
    "eager_loop_marked",
    "lstm_fit",
    "xla_fit",
    "float16_fit",
    "h100_lstm",
    "h100_cnn_input",
]
LIVE = [pytest.param(kind, marks=pytest.mark.tensorflow) for kind in ("nested_fit", "two_optimizers")]
"""Captured here and now, with what this package notes of the layers."""


@pytest.mark.parametrize("kind", [*REAL, *LIVE])
def test_phases_of_a_real_run_add_up_to_the_time_of_all_ops(kind: str, capture_of: Callable[[str], Path]) -> None:
    check(opened(capture_of(kind)))


def test_phases_of_a_gpu_trace_add_up_to_the_time_of_all_ops(v100_xplane: Path) -> None:
    results = Analysis(open_traces(v100_xplane).trace)
    check(results)
    layers = set(results.layers.entries["layer"])
    assert "bert_span_labeler/bert_encoder_1/transformer/layer_0/self_attention/query" in layers


def check(results: Analysis) -> None:
    layers, ops = results.layers, results.ops
    assert layers.frame[TIMES].to_numpy().sum() == pytest.approx(ops["total_self_time_us"].sum(), rel=1e-12)
    assert (layers.frame[TIMES].sum(axis=1) - layers.frame["self_time_us"]).abs().max() < 1e-6
    for device, side in layers.frame.groupby("device"):
        own = ops["total_self_time_us"][ops["device"] == device].sum()
        assert side["self_time_us"].sum() == pytest.approx(own, rel=1e-12)
    assert layers.frame["occurrences"].sum() == ops["occurrences"].sum()
    assert len(layers.op_entry) == len(layers.op_phase) == len(results.op_shares)
    memory = results.memory
    snapshots, is_device = memory.snapshots, "GPU_" in memory.main_allocator
    counts = np.array(["GPU_" in name or not is_device for name in snapshots.allocators], np.bool_)
    allocated = snapshots.allocation_bytes[~snapshots.is_free & counts[snapshots.allocator_id]].sum()
    assert layers.frame["allocated_bytes"].sum() == layers.entries["allocated_bytes"].sum() == allocated
    peak = 0 if memory.is_empty else memory.summary["peak_bytes"].max()
    assert layers.frame["peak_bytes"].sum() == layers.entries["peak_bytes"].sum() == peak


def opened(path: Path) -> Analysis:
    found = open_traces(path.parent)
    return Analysis(found.trace, found.source_map)


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


def test_layers_of_a_compiled_step_have_time_forward_and_backward(capture_of: Callable[[str], Path]) -> None:
    frame = opened(capture_of("xla_fit")).layers.frame
    layers = frame[frame["kind"] == "layer"]
    assert layers["forward_time_us"].sum() > 0 and layers["backward_time_us"].sum() > 0
    assert (frame["kind"] == "optimizer").any()


def test_a_layer_of_the_input_pipeline_is_no_layer(capture_of: Callable[[str], Path]) -> None:
    results = opened(capture_of("keras_fit"))
    entry = results.layers.op_entry[results.op_shares.name.index("mul")]  # the function mapped over the data
    assert results.layers.entries["kind"][entry] == "input"
    assert np.unique(results.layers.op_phase[results.layers.op_entry == entry]).tolist() == [PHASES.index("other")]
