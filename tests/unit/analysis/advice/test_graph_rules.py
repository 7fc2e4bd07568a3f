"""Rules on graphs and on how Python calls them: what each says of its cause, and where it is silent."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from tests.unit.analysis.advice.graph_causes import (
    BUSY,
    FROZEN,
    GRAPH_CAUSES,
    HALF_OPS,
    LOOP,
    ONE_HOT,
    TABLE,
    TURNED,
    converted,
    frozen,
)
from tests.unit.analysis.advice.graph_drawings import Op, calling, graph_run
from tfprof_widgets.analysis import Analysis, Run, trace_cause


def rules(results: Analysis) -> list[str]:
    """Those that know a cause."""
    return [one.rule for one in results.advice if one.rule != "busy"]


SAYS = {
    # rule: words of the title, words of the fix, the gain
    "repeated_work": ("recompute_grad (net.py:2) computes a second time", "Leave recompute_grad out", 0.39),
    "layout_conversion": ("channels last (net.py:2) takes 4.00 of 10.0", "tf.transpose(x, [0, 2, 3, 1])", 0.40),
    "dense_update": ("all 100,000 rows of items/embeddings", "Hashing", 0.80),
    "graph_loop": ("rnn (net.py:2) of at least 100 iterations", "jit_compile=True", 0.99),
    "many variables": ("most of them in the optimizer, for 64 variables", "one layer in place of many", 1.0),
    "double_precision": ("float64", "np.float32", 0.675),
    "half_precision": ("float16", 'set_global_policy("float32")', 0.45),
    "frozen_layers": (
        "1 frozen layer of net/base takes 6.20 of 10.0 ms",
        "by predict of a model of the frozen layers",
        0.62,
    ),
    "number_checks": ("40 of 41 ops a step", "disable_check_numerics", 0.24),
    "printing": ("StringFormat (net.py:2) makes text of numbers in each step", "summarize=3", 0.75),
    "few_threads": ("1 thread for an op, of 4 cores", "set_intra_op_parallelism_threads(0)", 0.71),
    "argument_conversion": ("64.0 MiB a step", "tf.constant(array)", 0.50),
    "eager_ops": ("calls 40 ops one by one", "in a tf.function", 0.39),
    "many functions": ("on average in 20 functions", "around the whole step", 0.96),
    "small_batch": ("the same for any batch: 4.00 ops of 30.0", "tf.range(32)", 0.92),
}


@pytest.mark.parametrize("rule", GRAPH_CAUSES)
def test_the_cause_is_named_first_and_alone(rule: str) -> None:
    results = GRAPH_CAUSES[rule]()
    assert results.advice_notices == ()
    said = dict.fromkeys(("many variables", "many functions"), "small_batch")
    said |= {"printing": "inefficient_op"}
    assert rules(results) == [said.get(rule, rule)]
    title, fix, gain = SAYS[rule]
    assert title in results.advice[0].title
    assert fix in str(results.advice[0].fix)
    assert results.advice[0].gain_ratio == pytest.approx(gain, abs=0.02)


def test_a_product_with_one_hot_rows_is_to_pick_rows() -> None:
    (told,) = graph_run(*ONE_HOT).advice
    assert (told.rule, told.gain_ratio) == ("busy", pytest.approx(0.50, abs=0.01))
    assert told.title.endswith("Its product with one-hot rows only picks rows of the other factor.")
    assert "keras.layers.Embedding" in told.fix.words
    other = graph_run(*(replace(op, type="Softmax") if op.type == "OneHot" else op for op in ONE_HOT)).advice
    assert [one.fix.words for one in other if one.rule == "busy"] == [""]


@pytest.mark.parametrize(("sizes", "is_told"), [("200x1x64;1x200x64", True), ("200x200x64;1x200x64", False)])
def test_an_op_that_makes_all_pairs_is_named(sizes: str, is_told: bool) -> None:
    (told,) = graph_run(Op("sub", "Sub", 8_000, [0, 1], sizes, "200x200x64")).advice
    assert (told.rule, told.severity) == ("busy", "low")
    assert ("Sub (net.py:2) makes 2,560,000 numbers of 12,800: where" in told.title) == is_told


def test_transpositions_of_heads_or_without_a_convolution_are_no_turned_images() -> None:
    heads = [replace(op, inputs="-1x64x4x32", outputs="-1x4x64x32") if op.type == "Transpose" else op for op in TURNED]
    assert rules(graph_run(*heads)) == []
    assert rules(graph_run(*(replace(op, type="MatMul") if op.type == "Conv2D" else op for op in TURNED))) == []


@pytest.mark.parametrize("read", ["32x3000x16", "100000x4"])
def test_a_table_that_a_step_reads_most_of_is_updated_for_good(read: str) -> None:
    ops = [replace(op, outputs=read) if op.type == "GatherV2" else op for op in TABLE]
    assert "dense_update" not in rules(graph_run(*ops, variables=[("items/embeddings", "100000x16", "float32")]))


ITEMS = ("items/embeddings", "100000x16", "float32")
DECAYED = Op("decay/Square", "Square", 5_000, ["items/ReadVariableOp"], "100000x16", "100000x16")
"""A regularizer of the whole table."""
CHANGED = Op("sgd/AssignSubVariableOp", "AssignSubVariableOp", 3_000, [2, 3], "();100000x16", "")


SUMS = Op("decay/Sum", "Sum", 1_000, ["decay/Square"], "100000x16;2", "()")
OLDER = Op("older", "StridedSlice", 2_000, ["items/ReadVariableOp"], "100000x16;1;1;1", "99999x16")
NEWEST = Op("newest", "ConcatV2", 6_000, ["older", 1], "99999x16;1x16;()", "100000x16")
PUT = Op("put", "AssignVariableOp", 500, [2, "newest"], "();100000x16")


@pytest.mark.parametrize(
    ("ops", "gain"),
    [
        ((*TABLE[:3], DECAYED, SUMS, CHANGED), 0.90),  # a regularizer
        ((TABLE[0], replace(TABLE[1], us=8_000), TABLE[2]), 0.80),  # a copy, as rows were written to
        ((*TABLE[:3], OLDER, NEWEST, PUT), 0.85),  # a buffer made anew to add a row
    ],
)
def test_whatever_works_on_all_rows_of_a_table_is_counted(ops: tuple[Op, ...], gain: float) -> None:
    told = graph_run(*ops, variables=[ITEMS]).advice[0]
    assert (told.rule, told.gain_ratio) == ("dense_update", pytest.approx(gain, abs=0.02))


@pytest.mark.parametrize("between", [(), (DECAYED,)])
def test_all_rows_are_needed_where_a_product_reads_them(between: tuple[Op, ...]) -> None:
    """As of the weights of a language model's last layer that are those of its first."""
    rows = between[-1].name if between else "items/ReadVariableOp"
    turned = Op("turn", "Transpose", 2_000, [rows], "100000x16;2", "16x100000")
    logits = Op("logits", "MatMul", 2_000, [0, "turn"], "32x16;16x100000", "32x100000")
    assert "dense_update" not in rules(graph_run(*TABLE[:3], *between, turned, logits, CHANGED, variables=[ITEMS]))


def test_a_table_that_nothing_writes_to_has_no_update() -> None:
    other = Op("other/Mul", "Mul", 8_000, [0], "100000x16;()", "100000x16")
    assert "dense_update" not in rules(graph_run(*TABLE[:3], other, variables=[ITEMS]))


def test_a_loop_whose_ops_compute_is_no_fault() -> None:
    ops = [LOOP[0], replace(LOOP[1], us=90)]
    assert rules(graph_run(*ops, processes=600, python=calling(9_000))) == []


def test_a_graph_with_a_loop_that_hardly_runs_is_no_fault() -> None:
    assert "graph_loop" not in rules(graph_run(LOOP[0], BUSY, processes=3, python=calling(9_600)))


@pytest.mark.parametrize(
    "ops",
    [
        (replace(FROZEN[0], type="RandomUniform"), *FROZEN[1:]),  # the input is another one in each epoch
        (
            *FROZEN,
            Op("gradient_tape/net/base/MatMul/MatMul", "MatMul", 100, [3], "32x64", "64x64"),
        ),  # passes gradients on
        FROZEN[:3],  # nothing is trained in these steps
    ],
)
def test_layers_that_make_something_else_each_time_or_pass_gradients_on_are_not_frozen(ops: tuple[Op, ...]) -> None:
    assert "frozen_layers" not in rules(frozen(*ops))


def test_random_numbers_of_a_layer_behind_frozen_ones_change_nothing_about_these() -> None:
    """As of a dropout between the base and the head."""
    drop = Op("net/drop/random_uniform", "StatelessRandomUniformV2", 5, [4], "2", "32x64")
    assert "frozen_layers" in rules(frozen(*FROZEN[:2], drop, *FROZEN[2:]))


TEXT = (
    Op("net/words/StringSplit", "StringSplitV2", 200, [0], "32", "400", dtype="string"),
    Op("net/words/Find", "LookupTableFindV2", 6_000, ["net/words/StringSplit"], "400", "400", dtype="int64"),
    Op("net/head/Read", "ReadVariableOp", 10, [1], "()", "64x8", variable=1),
    Op("net/head/MatMul", "MatMul", 500, ["net/words/Find", "net/head/Read"], "32x64;64x8", "32x8"),
    Op("gradient_tape/net/head/MatMul/MatMul", "MatMul", 1_000, ["net/words/Find", 3], "32x64;32x8", "64x8"),
)


def test_a_layer_without_variables_that_nothing_trained_comes_before_belongs_in_the_dataset() -> None:
    card = next(one for one in frozen(*TEXT).advice if one.rule == "frozen_layers")
    assert card.title.startswith("net/words, which learns nothing, takes 6.20 of 10.0 ms")
    assert "Call net/words in the dataset" in str(card.fix)
    behind = Op("net/mask/Where", "Where", 6_000, ["net/head/MatMul"], "32x8", "9x2", dtype="int64")
    assert "frozen_layers" not in rules(frozen(TEXT[0], replace(TEXT[1], us=10), *TEXT[2:], behind))


def test_float32_among_float16_is_no_fault() -> None:
    assert "half_precision" not in rules(graph_run(replace(HALF_OPS[0], dtype="float32")))


def test_a_large_part_of_a_step_is_told_where_no_cause_is_known() -> None:
    told = graph_run(replace(BUSY, type="Svd", inputs="256x256")).advice
    assert [(one.rule, one.severity, one.gain_ratio) for one in told] == [("busy", "low", 0.0)]
    assert told[0].title.startswith("The layer net (net.py:2) takes 9.50 of 10.0 ms a step (95 %), all of that in Svd.")
    bare = graph_run(Op("Svd", "Svd", 9_500, [0], "256x256", "256")).advice
    assert bare[0].title.startswith("Svd at net.py:2 takes 9.50 of 10.0 ms a step (95 %), on 256x256.")


def test_neither_a_fifth_of_a_step_nor_waiting_is_told_as_a_large_part() -> None:
    small = [
        replace(BUSY, name=f"net_{i}/op", us=1_900, type=kind) for i, kind in enumerate(("Svd", "Sort", "Qr", "Lu"))
    ]
    waits = replace(BUSY, name="x/_2", type="_Recv")
    for results in (graph_run(*(replace(op, name=op.type) for op in small)), graph_run(waits)):
        assert "busy" not in [one.rule for one in results.advice if "line" not in one.evidence]


def test_a_large_part_that_a_cause_is_about_has_no_second_card() -> None:
    told = graph_run(Op("net/MatMul", "MatMul", 9_000, [0, 1], "64x64;64x64", "64x64", dtype="float64")).advice
    assert [one.rule for one in told] == ["double_precision"]


def test_32_bits_and_all_cores_are_no_fault() -> None:
    assert rules(graph_run(BUSY, facts={"intra_op_threads": "4", "n_cpus": "4"})) == []
    assert rules(graph_run(BUSY, facts={"n_cpus": "4"})) == []


def test_all_weights_in_64_bits_tell_it_where_types_of_ops_are_not_noted() -> None:
    told = graph_run(replace(BUSY, dtype=""), variables=[("net/kernel", "3x3", "float64")]).advice
    assert [one.rule for one in told] == ["double_precision"]
    assert "as 1 weight is:" in told[0].title


def test_handing_over_a_batch_is_no_conversion() -> None:
    assert "argument_conversion" not in rules(converted(n_bytes=2**21))


def test_retracing_tells_shapes_values_and_new_objects_apart() -> None:
    one = Op("net/MatMul", "MatMul", 100, [0, 1], "32x8;8x8", "32x8")
    results = graph_run(one)
    run = Run(results)
    run.results.__dict__["tf_functions"] = pd.DataFrame({"function": ["step"], "tracing_count": [5]})
    assert trace_cause(run, "step", 9).kind == "object"
    assert trace_cause(run, "step", 5).kind == ""  # one graph alone tells nothing
    assert results.source_map is not None
    for shapes, kind in (("32x8;8x8", "value"), ("48x8;8x8", "shape")):
        two = _with_another_graph(results, shapes)
        found = trace_cause(Run(two), "step", 5)
        assert found.kind == kind
        assert found.shapes == (("32x8", "48x8") if kind == "shape" else ())


def _with_another_graph(results: Analysis, shapes: str) -> Analysis:
    known = results.source_map
    assert known is not None
    more = replace(
        known,
        functions=pd.concat([known.functions] * 2, ignore_index=True),
        ops=pd.concat([known.ops, known.ops.assign(graph=1)], ignore_index=True),
        details=pd.concat(
            [known.details, known.details.assign(op=len(known.ops), input_shapes=shapes)], ignore_index=True
        ),
    )
    two = Analysis(results.trace, more)
    two.__dict__["tf_functions"] = pd.DataFrame({"function": ["step"], "tracing_count": [5]})
    return two
