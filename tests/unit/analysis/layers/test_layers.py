"""Time and memory per Keras layer, scope and role of each op, and the op of a graph that each executed op is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import event, line, plane, trace
from tfprof_widgets.analysis import (
    MAX_SCOPE_DEPTH,
    N_UNITS,
    PHASES,
    UNATTRIBUTED,
    Analysis,
    Layers,
    OpScopes,
    OpSums,
    Scopes,
    compute_layers,
    compute_scopes,
    input_work,
    match_ops,
    op_occurrences,
    op_scopes,
)
from tfprof_widgets.analysis import scopes as scopes_module
from tfprof_widgets.read import open_traces
from tfprof_widgets.trace import SourceMap, empty_source_map, table_frame


def totals_of(self_us: Sequence[float], *, is_device: Sequence[bool] | None = None) -> OpSums:
    """Ops that ran once each; on the host unless told otherwise."""
    sides = is_device if is_device is not None else [False] * len(self_us)
    self_ps, once = np.array(self_us, np.float64) * 1e6, np.ones(len(self_us), np.int64)
    return OpSums(
        is_device=np.array(sides, np.bool_),
        count=once,
        n_done=once.astype(np.float64),
        total_ps=self_ps,
        self_ps=self_ps,
        unit_ns=np.zeros((len(self_us), N_UNITS)),
    )


CALL = "StatefulPartitionedCall"
TIMES = [f"{phase}_time_us" for phase in PHASES]


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


LOOP = "gradient_tape/net_1/lstm_1/while"


def one(name: str, kind: str = "Mul") -> OpScopes:
    return op_scopes([name], [kind])


@pytest.mark.parametrize(
    ("name", "scope", "leaf"),
    [
        ("MatMul", "", "MatMul"),
        ("net/dense/MatMul", "net/dense", "MatMul"),
        (f"{CALL}/net_1/dense_1/MatMul", "net_1/dense_1", "MatMul"),
        (f"{CALL}/net/{CALL}_2/PartitionedCall/dense/MatMul", "net/dense", "MatMul"),
        ("replica_4/net/dense/MatMul", "net/dense", "MatMul"),
        # a copy that the partitioner made for a transfer
        ("cond_12/switch_pred/_166/_150", "cond_12", "switch_pred"),
        # graph rewriting
        (f"{CALL}/net_1/block_1/ArithmeticOptimizer/AddOpsRewrite_Leaf_1_add", "net_1/block_1", "AddOpsRewrite_Leaf_1_add"),
        (f"{CALL}/sgd/clip_by_norm/ArithmeticOptimizer/ReplaceMulWithSquare_mul", "sgd/clip_by_norm", "ReplaceMulWithSquare_mul"),
        ("ConstantFolding/net/dense/mul-folded-0", "net/dense", "mul-folded-0"),
        ("net/conv/Conv2D-0-TransposeNHWCToNCHW-LayoutOptimizer", "net/conv", "Conv2D-0-TransposeNHWCToNCHW-LayoutOptimizer"),
        # inlined bodies repeat the path within their function
        (f"{CALL}/net_1/lstm_1/while/body/_34/net_1/lstm_1/while/lstm_cell_1/add", "net_1/lstm_1/while/lstm_cell_1", "add"),
        (f"{CALL}/net_1/lstm_1/while/cond/_33/net_1/lstm_1/while/Less", "net_1/lstm_1/while", "Less"),
        (f"{CALL}/cond/then/_22/cond/cond/else/_93/cond/cond/Add", "cond/cond", "Add"),
        (f"net/{CALL}/while/body/_3/while/add", "net/while", "add"),
        # a scope that merely looks like a body's number
        ("net/_5/MatMul", "net/_5", "MatMul"),
    ],
)  # fmt: skip
def test_what_execution_adds_to_a_name_is_taken_away(name: str, scope: str, leaf: str) -> None:
    found = one(name)
    assert "/".join(found.scope[0]) == scope
    assert found.leaf[0] == leaf
    assert not found.is_backward[0]


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        (f"{CALL}/gradient_tape/net_1/dense_1/MatMul/MatMul_1", "net_1/dense_1/MatMul"),
        (f"{CALL}/gradient_tape/AddN", ""),
        (f"{LOOP}/net_1/lstm_1/while_grad/TensorListPopBack", "net_1/lstm_1/while"),
        (f"{LOOP}/net_1/lstm_1/while_grad", "net_1/lstm_1"),
        (f"{LOOP}/net_1/lstm_1/while/lstm_cell_1/Tanh_1_0/accumulator", "net_1/lstm_1/while/lstm_cell_1/Tanh_1_0"),
        ("gradient_tape/a/a/a/MatMul", "a/a/a"),
        (
            f"{CALL}/{LOOP}/net_1/lstm_1/while_grad/body/_4/{LOOP}/gradients/net_1/lstm_1/while/lstm_cell_1/MatMul_4_grad/MatMul_1",
            "net_1/lstm_1/while/lstm_cell_1/MatMul_4",
        ),
        (f"{CALL}/net_1/rnn_1/while/body/_2/net_1/rnn_1/while/gradient_tape/net_1/rnn_1/while/gradients/net_1/rnn_1/while/Read_grad/x",
         "net_1/rnn_1/while/Read"),
    ],
)  # fmt: skip
def test_a_gradient_belongs_to_the_scope_of_what_it_is_the_gradient_of(name: str, scope: str) -> None:
    found = one(name)
    assert "/".join(found.scope[0]) == scope
    assert found.is_backward[0]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (f"{CALL}/adam/Mul_3", "Mul"),
        (f"{CALL}/adam/cond/then/_940/adam/cond/Add_14", "AddV2"),
        (f"{CALL}/cond/then/_22/cond/adam/truediv_5", "RealDiv"),  # below the condition of loss scaling
        ("SGD/SGD/update_3/ResourceApplyGradientDescent", "ResourceApplyGradientDescent"),
        ("cond_16/then/_2/cond_16/update_6/AssignVariableOp/_7", "AssignVariableOp"),
        ("anything/at/all", "ResourceApplyAdam"),
    ],
)
def test_ops_of_optimizers_are_told_by_scope_and_by_type(name: str, kind: str) -> None:
    assert one(name, kind).is_optimizer[0]


def test_an_optimizer_with_a_name_of_its_own_must_be_known() -> None:
    assert not one("maker/Mul").is_optimizer[0]
    assert op_scopes(["maker/Mul"], ["Mul"], optimizers=frozenset({"maker"})).is_optimizer[0]


def test_the_condition_around_an_optimizer_belongs_to_it() -> None:
    found = op_scopes(["cond/adam/mul", "cond/truediv", "cond/cond/Add", "cond_1/Add", "Add"], ["Mul"] * 5)
    assert found.is_optimizer.tolist() == [True, True, True, False, False]


def test_iterators_lie_below_one_scope() -> None:
    found = one("Iterator::Root::Prefetch::ParallelMapV2/Zip[0]", "Dataset")
    assert found.scope[0] == ("tf.data", "Root", "Prefetch", "ParallelMapV2/Zip[0]")
    assert found.is_input[0]


def test_ops_that_ran_only_within_the_input_are_told_by_thread_and_by_nesting() -> None:
    host = plane(
        "/host:CPU",
        line("tf_data_private_threadpool/1", event("mul:Mul", 0, 2), event("both:Mul", 3, 1)),
        line("python", event("Iterator::Map", 0, 9), event("crop/Slice:Slice", 1, 2)),
        line("tf_data_iterator_get_next/2", event("after:Mul", 0, 1)),
        line("tf_Compute", event("both:Mul", 5, 1), event("dense/MatMul:MatMul", 7, 1)),
    )
    found = trace(host)
    occurrences = op_occurrences(found)
    work = dict(zip(occurrences.name, input_work(found, occurrences).tolist(), strict=True))
    assert {name for name, within in work.items() if within} == {"mul", "crop/Slice", "Iterator::Map"}


@given(st.lists(st.tuples(st.text(max_size=40), st.text(max_size=5))))
def test_any_text_has_a_scope(named: list[tuple[str, str]]) -> None:
    found = op_scopes([name for name, _ in named], [kind for _, kind in named])
    assert len(found) == len(found.scope) == len(found.leaf) == len(found.is_input) == len(named)
    assert all(all(scope) for scope in found.scope if scope[:1] != ("tf.data",))


@pytest.mark.parametrize(
    "part", ["a/", "while/body/_1/", "gradients/a/", "cond/then/_2/cond/", "_1/", "x_grad/", "a/b/", "a/a_grad/"]
)
def test_a_name_of_a_million_letters_is_read_in_one_go(part: str) -> None:
    name = "gradient_tape/" + part * (1_000_000 // len(part)) + "MatMul"
    assert len(one(name)) == 1  # a pattern that goes back and forth would not come to an end


SCOPE_PART = st.sampled_from(["a", "b", "c_1", "gradient_tape", "while"])
OPS = st.lists(
    st.tuples(st.lists(SCOPE_PART, max_size=5), st.integers(0, 9), st.booleans()),
    max_size=15,
    unique_by=lambda op: tuple(op[0]),
)


def tree(*ops: tuple[str, float], on_device: bool = False) -> Scopes:
    names = [name for name, _ in ops]
    scopes = op_scopes(names, ["Mul"] * len(names))
    return compute_scopes(scopes, totals_of([us for _, us in ops], is_device=[on_device] * len(ops)))


@given(OPS)
def test_self_times_add_up_and_a_total_is_that_of_its_children(ops: list[tuple[list[str], int, bool]]) -> None:
    names = ["/".join([*parts, "Op"]) for parts, _, _ in ops]
    times, sides = [us for _, us, _ in ops], [device for _, _, device in ops]
    found = compute_scopes(op_scopes(names, ["Mul"] * len(ops)), totals_of(times, is_device=sides))
    for device, side in found.frame.groupby("device"):
        whole = sum(us for us, on_device in zip(times, sides, strict=True) if on_device == (device == "Device"))
        assert side["self_time_us"].sum() == whole == side["total_time_us"].iloc[0]
        below = side[side["depth"] > 0].groupby("parent")["total_time_us"].sum()
        expected = side.set_index("scope")["self_time_us"].add(below, fill_value=0.0)
        assert expected.sort_index().tolist() == side.set_index("scope")["total_time_us"].sort_index().tolist()
    parent = found.entries["parent"].to_numpy()
    assert (parent < np.arange(len(parent))).all()


def test_ops_deeper_than_the_bound_are_charged_to_the_deepest_scope_and_counted() -> None:
    found = tree(("/".join(["a"] * (MAX_SCOPE_DEPTH + 5)) + "/Op", 2.0), ("b/Op", 1.0))
    assert found.entries["depth"].max() == MAX_SCOPE_DEPTH
    assert found.n_folded_ops == 1
    assert found.frame["self_time_us"].sum() == 3


def test_paths_beyond_the_bound_of_memory_are_charged_to_a_scope_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scopes_module, "MAX_PATH_CHARS", 10)
    found = tree(("abc/def/Op", 2.0), ("ghi/Op", 1.0))
    assert found.entries["scope"].tolist() == ["", "abc", "abc/def"]
    assert found.n_folded_ops == 1
    assert found.frame["self_time_us"].sum() == 3


Graphs = dict[str, dict[str, str]]


def drawn(graphs: Graphs) -> SourceMap:
    """Graphs as `{name: {op: type}}`; each op has a frame of its own."""
    rows = [(g, op, kind) for g, ops in enumerate(graphs.values()) for op, kind in ops.items()]
    n = len(rows)
    return replace(
        empty_source_map(),
        ops=pd.DataFrame(rows, columns=["graph", "op", "type"]).assign(frame=range(n)),
        functions=pd.DataFrame({"graph": list(graphs), "file": -1, "line": 0, "function": ""}),
    )


def matched(graphs: Graphs, *ops: str) -> list[str | None]:
    """The graph op of each `name:type`."""
    one = drawn(graphs)
    names, types = [op.partition(":")[0] for op in ops], [op.partition(":")[2] for op in ops]
    rows = match_ops(names, types, op_scopes(names, types), one).row.tolist()
    whose = [f"{one.functions['graph'][g]}.{op}" for g, op in zip(one.ops["graph"], one.ops["op"], strict=True)]
    return [whose[row] if row >= 0 else None for row in rows]


STEP: Graphs = {
    "step": {
        "net/dense/MatMul": "MatMul",
        "net/dense/BiasAdd": "BiasAdd",
        "net/act/Relu": "Relu",
        "net/act/Relu_1": "Relu",
        "mul": "Mul",
        "loss/Sum": "Sum",
        "gradient_tape/net/act/ReluGrad": "ReluGrad",
        "gradient_tape/net/act/ReluGrad_1": "ReluGrad",
        "gradient_tape/net/dense/MatMul/MatMul": "MatMul",
    }
}


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("net/dense/MatMul:MatMul", "net/dense/MatMul"),
        ("StatefulPartitionedCall/net/dense/BiasAdd:_FusedMatMul", "net/dense/BiasAdd"),
        ("a/StatefulPartitionedCall_3/PartitionedCall/net/dense/MatMul:MatMul", "net/dense/MatMul"),
        ("while/body/_12/net/act/Relu:Relu", "net/act/Relu"),
        ("net/dense/MatMul/_7:MatMul", "net/dense/MatMul"),
        ("net/dense/MatMul-0-TransposeNHWCToNCHW-LayoutOptimizer:Transpose", "net/dense/MatMul"),
        ("net/dense/ArithmeticOptimizer/FoldTranspose_MatMul:MatMul", "net/dense/MatMul"),
        ("ArithmeticOptimizer/ReplaceMulWithSquare_mul:Square", "mul"),
        ("net/dense/Tensordot/new:Reshape", "net/dense/MatMul"),
    ],
)
def test_an_executed_op_is_found_by_its_name_or_else_by_its_scope(name: str, op: str) -> None:
    assert matched(STEP, name) == [f"step.{op}"]


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("gradient_tape/net/dense/MatMul/MatMul:MatMul", "net/dense/MatMul"),
        ("StatefulPartitionedCall/gradient_tape/net/dense/MatMul/MatMul_1:MatMul", "net/dense/MatMul"),
        ("gradient_tape/net/dense/BiasAdd/BiasAddGrad:BiasAddGrad", "net/dense/BiasAdd"),
        ("gradients/loss/Sum_grad/Tile:Tile", "loss/Sum"),
        ("gradient_tape/net/act/ReluGrad:ReluGrad", "net/act/Relu_1"),
        ("gradient_tape/net/act/ReluGrad_1:ReluGrad", "net/act/Relu"),
        ("gradient_tape/net/dense/Shape:Shape", "net/dense/MatMul"),
    ],
)
def test_a_gradient_is_charged_to_the_op_that_it_is_of(name: str, op: str) -> None:
    assert matched(STEP, name) == [f"step.{op}"]


def test_of_equal_names_the_graph_that_ran_under_the_prefix_is_taken() -> None:
    graphs = {
        "step": {**{f"x{i}": "Add" for i in range(20)}, "mul": "Mul"},
        "Dataset_map_f": {"mul": "Mul", "sub": "Sub"},
    }
    ran = [f"StatefulPartitionedCall/x{i}:Add" for i in range(20)]
    found = matched(graphs, *ran, "StatefulPartitionedCall/mul:Mul", "mul:Mul", "sub:Sub")
    assert found[-3:] == ["step.mul", "Dataset_map_f.mul", "Dataset_map_f.sub"]


def test_the_forward_op_of_another_graph_is_found() -> None:
    graphs: Graphs = {"forward": {"tanh/Tanh": "Tanh"}, "backward": {"gradients/tanh/Tanh_grad/TanhGrad": "TanhGrad"}}
    found = matched(
        graphs, "PartitionedCall/tanh/Tanh:Tanh", "PartitionedCall/gradients/tanh/Tanh_grad/TanhGrad:TanhGrad"
    )
    assert found == ["forward.tanh/Tanh"] * 2


PARTS = st.lists(
    st.sampled_from(["gradient_tape", "gradients", "a", "b_grad", "_1", "while", "body", "", "Relu", "\u00e9"])
)
NAMES = st.one_of(st.text(max_size=30), PARTS.map("/".join))
TYPES = st.one_of(st.sampled_from(["Relu", "ReluGrad", "Mul", "Conv2DBackpropFilter"]), st.text(max_size=10))


@given(
    st.lists(st.tuples(st.integers(-1, 3), NAMES, TYPES), max_size=12),
    st.lists(st.tuples(NAMES, TYPES), max_size=12, unique_by=lambda op: op[0]),
)
def test_any_names_are_matched_to_a_row_or_none(
    graph_ops: list[tuple[int, str, str]], ran: list[tuple[str, str]]
) -> None:
    ops = pd.DataFrame(graph_ops, columns=["graph", "op", "type"]).assign(frame=range(len(graph_ops)))
    names, types = [name for name, _ in ran], [kind for _, kind in ran]
    match = match_ops(names, types, op_scopes(names, types), replace(empty_source_map(), ops=ops))
    assert len(match.row) == len(ran)
    assert all(-1 <= row < len(ops) for row in match.row.tolist())


def test_a_name_as_long_as_a_file_is_matched_like_any_other() -> None:
    names = ("a/" * 50_000 + "b:Mul", "/_1" * 50_000 + "x:Mul", "gradient_tape/" * 20_000 + "Relu:ReluGrad")
    assert len(matched(STEP, *names)) == len(names)


FORWARD, TAPE, OTHER = range(3)
"""Frames: where the model is called, where the tape is asked for gradients, and what the program does besides."""
Graph = dict[str, tuple[str, list[str], int]]
"""Of each op its type, what it reads, and its frame."""


def drawn_by_tape(graph: Graph, *layers: str) -> SourceMap:
    """One graph as a map, with layers of these names in a model `net`."""
    row = {name: i for i, name in enumerate(graph)}
    edges = [(row[name], slot, row[one], 0) for name, (_, reads, _) in graph.items() for slot, one in enumerate(reads)]
    ops = [(0, name, kind, frame) for name, (kind, _, frame) in graph.items()]
    known = [
        (path, path.rpartition("/")[2], "Layer", "net", -1, 0) for path in ("net", *(f"net/{one}" for one in layers))
    ]
    return replace(
        empty_source_map(),
        ops=pd.DataFrame(ops, columns=["graph", "op", "type", "frame"]),
        functions=pd.DataFrame({"graph": ["step"], "file": -1, "line": 0, "function": ""}),
        frames=pd.DataFrame({"parent": [-1] * 3, "file": [-1] * 3, "line": [1, 2, 3], "function": [""] * 3}),
        layers=pd.DataFrame(known, columns=list(table_frame("layers", {}).columns)),
        edges=pd.DataFrame(edges, columns=["op", "slot", "source", "source_output"]),
    )


def forward_of(one: SourceMap) -> dict[str, str | None]:
    """For each op that has no scope what it is the gradient of, None where it counts as none."""
    names, types = one.ops["op"].tolist(), one.ops["type"].tolist()
    match = match_ops(names, types, op_scopes(names, types), one)
    found = zip(names, match.row.tolist(), match.is_backward.tolist(), strict=True)
    return {name: names[row] if is_backward else None for name, row, is_backward in found if "/" not in name}


BRANCHES: Graph = {
    "net/stem/Relu": ("Relu", [], FORWARD),
    "net/left/MatMul": ("MatMul", ["net/stem/Relu"], FORWARD),
    "net/right/MatMul": ("MatMul", ["net/stem/Relu"], FORWARD),
    "gradient_tape/net/left/MatMul/MatMul": ("MatMul", [], TAPE),
    "gradient_tape/net/right/MatMul/MatMul": ("MatMul", [], TAPE),
    "AddN": ("AddN", ["gradient_tape/net/left/MatMul/MatMul", "gradient_tape/net/right/MatMul/MatMul"], TAPE),
    "gradient_tape/net/stem/ReluGrad": ("ReluGrad", ["AddN"], TAPE),
}


def test_a_sum_of_gradients_of_two_layers_is_of_the_layer_that_made_what_both_read() -> None:
    assert forward_of(drawn_by_tape(BRANCHES, "stem", "left", "right")) == {"AddN": "net/stem/Relu"}


def test_the_sum_of_a_weights_gradients_and_of_its_penalty_is_of_the_layer() -> None:
    graph: Graph = {
        "net/dense/MatMul": ("MatMul", [], FORWARD),
        "Square": ("Square", [], FORWARD),
        "gradient_tape/Mul": ("Mul", [], TAPE),
        "gradient_tape/net/dense/MatMul/MatMul_1": ("MatMul", [], TAPE),
        "AddN": ("AddN", ["gradient_tape/Mul", "gradient_tape/net/dense/MatMul/MatMul_1"], TAPE),
    }
    assert forward_of(drawn_by_tape(graph, "dense"))["AddN"] == "net/dense/MatMul"


def test_a_gradient_that_a_function_brings_is_of_the_layer_between_its_neighbours() -> None:
    graph: Graph = {
        "net/norm/add": ("AddV2", [], FORWARD),
        "net/act/Sigmoid": ("Sigmoid", ["net/norm/add"], FORWARD),
        "net/act/mul": ("Mul", ["net/norm/add", "net/act/Sigmoid"], FORWARD),
        "net/act/IdentityN": ("IdentityN", ["net/act/mul", "net/norm/add"], FORWARD),
        "net/dense/MatMul": ("MatMul", ["net/act/IdentityN"], FORWARD),
        "gradient_tape/net/dense/MatMul/MatMul": ("MatMul", [], TAPE),
        "Sigmoid": ("Sigmoid", ["net/norm/add"], TAPE),
        "mul": ("Mul", ["gradient_tape/net/dense/MatMul/MatMul", "Sigmoid"], TAPE),
        "gradient_tape/net/norm/add/Sum": ("Sum", ["mul"], TAPE),
    }
    assert forward_of(drawn_by_tape(graph, "norm", "act", "dense")) == dict.fromkeys(
        ("Sigmoid", "mul"), "net/act/IdentityN"
    )


def test_a_sum_that_no_tape_made_is_no_gradient() -> None:
    graph = BRANCHES | {"AddN": ("AddN", BRANCHES["AddN"][1], OTHER)}
    assert forward_of(drawn_by_tape(graph, "stem", "left", "right")) == {"AddN": None}


def test_edges_in_a_circle_end() -> None:
    graph: Graph = BRANCHES | {
        "net/stem/Relu": ("AddV2", ["net/left/MatMul"], FORWARD),
        "net/left/MatMul": ("AddV2", ["net/stem/Relu"], FORWARD),
        "mul": ("Mul", ["gradient_tape/net/left/MatMul/MatMul", "mul"], TAPE),
    }
    assert set(forward_of(drawn_by_tape(graph))) == {"AddN", "mul"}


@pytest.mark.timeout(30)
@pytest.mark.nightly
def test_many_steps_in_one_scope_take_no_longer_each_than_few() -> None:
    graph: Graph = {"net/start/MatMul": ("MatMul", [], FORWARD)}
    state, gradient = "net/start/MatMul", "gradient_tape/net/end/ones"
    for i in range(800):
        graph[f"net/Tanh_{i}"] = ("Tanh", [state], FORWARD)
        graph[f"net/add_{i}"] = ("AddV2", [f"net/Tanh_{i}", state], FORWARD)
        state = f"net/add_{i}"
    graph[gradient] = ("Fill", [], TAPE)
    for i in reversed(range(800)):
        tanh = f"net/Tanh_{i}"
        graph[f"gradient_tape/{tanh}/TanhGrad"] = ("TanhGrad", [tanh, gradient], TAPE)
        graph[f"mul_{i}"] = ("Mul", [f"gradient_tape/{tanh}/TanhGrad", tanh], TAPE)
        graph[f"AddN_{i}"] = ("AddN", [f"mul_{i}", gradient, f"gradient_tape/{tanh}/TanhGrad"], TAPE)
        gradient = f"AddN_{i}"
    found = forward_of(drawn_by_tape(graph))
    assert all(found[f"AddN_{i}"] is not None for i in range(800))
