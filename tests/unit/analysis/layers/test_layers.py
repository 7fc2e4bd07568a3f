"""Time and memory per Keras layer: complete on every kind of run, and right where the layers are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.analysis.layers.totals import totals_of
from tfprof_widgets.analysis import PHASES, UNATTRIBUTED, Analysis, Layers, compute_layers, op_scopes
from tfprof_widgets.read import open_traces
from tfprof_widgets.trace import SourceMap, empty_source_map

CALL = "StatefulPartitionedCall"
TIMES = [f"{phase}_time_us" for phase in PHASES]
PART = st.sampled_from(
    ["net_1", "dense_1", "gradient_tape", "adam", "cond", "MatMul", "compile_loss", "Iterator::Root", "é", ""]
)


def known(*rows: tuple[str, str]) -> SourceMap:
    """A source map that knows these layers (path, class); with an empty path an optimizer (name in place of the class)."""
    layers = pd.DataFrame(
        [(path, path.rpartition("/")[2] or kind, kind, path.partition("/")[0]) for path, kind in rows],
        columns=["layer", "name", "class_name", "model"],
    )
    return replace(empty_source_map(), layers=layers)


def layers_of(*names: str, source_map: SourceMap | None = None) -> Layers:
    """Ops of 1 us each."""
    optimizers = frozenset(source_map.layers["name"][source_map.layers["layer"] == ""]) if source_map else frozenset()
    types = [name.rpartition("/")[2].partition("_")[0] for name in names]
    scopes = op_scopes(names, types, optimizers=optimizers)
    return compute_layers(scopes, totals_of([1.0] * len(names)), source_map=source_map)


def entry_names(found: Layers) -> list[str]:
    return found.entries["layer"].to_numpy()[found.op_entry].tolist()


def phases(found: Layers) -> list[str]:
    return [PHASES[code] for code in found.op_phase]


# --- known layers ---

NET = known(
    ("net", "Functional"),
    ("net/dense", "Dense"),
    ("net/dense_1", "Dense"),
    ("net/block", "Block"),
    ("net/block/dense_2", "Dense"),
)


def test_a_layer_called_where_it_is_no_part_is_found_by_its_name() -> None:
    source_map = known(("net", "Net"), ("head", "Dense"))
    found = layers_of("net_1/my_scope/head_1/MatMul", "net_1/head/MatMul", source_map=source_map)
    assert entry_names(found) == ["net/head", "net"]
    assert found.frame["class_name"].tolist() == ["Net", "Dense"]


def test_optimizers_keep_their_names() -> None:
    source_map = known(("net", "Net"), ("", "sgd_1"), ("", "my_sgd"))
    found = layers_of("sgd_1/Mul", "my_sgd/Mul", "adam_4/Mul", source_map=source_map)
    assert entry_names(found) == ["sgd_1", "my_sgd", "adam"]
    assert phases(found) == ["optimizer"] * 3
    assert set(found.entries["kind"]) == {"optimizer", "other"}


# --- layers told from scopes ---


def test_without_known_layers_a_scope_that_no_op_and_no_function_opened_is_a_layer() -> None:
    found = layers_of(
        "bert/layer_0/attention/query/MatMul",
        "bert/layer_0/attention/query/MatMul/ReadVariableOp",
        "bert/layer_0/dropout_1/dropout/random_uniform/RandomUniform",
        "bert/layer_0/norm/moments/mean",
        "bert/Add",
        "net/my_op",
        "net/my_op/ReadVariableOp",
        "strided_slice/stack",
    )
    assert entry_names(found) == [
        "bert/layer_0/attention/query",
        "bert/layer_0/attention/query",
        "bert/layer_0/dropout_1",
        "bert/layer_0/norm",
        "bert",
        "net",
        "net",
        UNATTRIBUTED,
    ]
    assert set(found.entries["class_name"]) == {""}


# --- phases and kinds ---


def test_every_op_has_one_phase() -> None:
    found = layers_of(
        "net_1/dense_1/MatMul",
        "compile_loss/mse/Mean",
        "gradient_tape/compile_loss/mse/Mul",
        "gradient_tape/Mul",
        f"{CALL}/AddN_3",
        "adam/Mul",
        "Iterator::Root::Map",
        "IteratorGetNext",
        "AssignVariableOp_3",
        "compile_metrics/accuracy/Equal",
    )
    expected = "forward forward backward backward backward optimizer other other other other"
    assert phases(found) == expected.split()
    kinds = found.entries["kind"].to_numpy()[found.op_entry].tolist()
    assert kinds == ["layer", "loss", "loss", "other", "other", "optimizer", "input", "input", "other", "metrics"]


def test_a_sum_of_losses_is_no_sum_of_gradients() -> None:
    source_map = replace(
        empty_source_map(),
        files=pd.DataFrame(
            {"file": ["/lib/site-packages/keras/src/losses/loss.py"], "title": "", "is_user": False, "text": ""}
        ),
        frames=pd.DataFrame({"parent": [-1], "file": [0], "line": [1], "function": ["call"]}),
        ops=pd.DataFrame({"graph": [0], "op": ["AddN"], "type": ["AddN"], "frame": [0]}),
    )
    found = layers_of("gradient_tape/net/Mul", "AddN", "AddN_1", source_map=source_map)
    assert phases(found) == ["backward", "forward", "backward"]
    assert entry_names(found)[1:] == ["loss", "gradient sums"]


@given(st.lists(st.lists(PART, min_size=1, max_size=5).map("/".join), unique=True), st.booleans())
def test_phases_add_up_to_all_time_whatever_the_names(names: list[str], has_layers: bool) -> None:
    found = layers_of(*names, source_map=NET if has_layers else None)
    assert found.frame[TIMES].to_numpy().sum() == len(names) == found.frame["n_ops"].sum()
    assert (found.frame[TIMES].sum(axis=1) == found.frame["self_time_us"]).all()
    assert not found.frame.duplicated(["device", "layer", "kind"]).any()


# --- memory ---


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


@pytest.mark.tensorflow
def test_two_optimizers_are_two_rows(capture_of: Callable[[str], Path]) -> None:
    frame = opened(capture_of("two_optimizers")).layers.frame
    optimizers = frame[frame["kind"] == "optimizer"].set_index("layer")
    # The counters of their iterations are outside any scope: tracebacks tell that they are some optimizer's, not whose.
    assert optimizers["class_name"].to_dict() == {"maker_sgd": "SGD", "judge_sgd": "SGD", "optimizer": ""}
    assert (optimizers["optimizer_time_us"] == optimizers["self_time_us"]).all()
