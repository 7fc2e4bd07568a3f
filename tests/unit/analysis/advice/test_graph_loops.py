"""Loops in the graph of a step -> what is said of them is the time between their own events."""

from __future__ import annotations

from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.unit.analysis.advice.foreign_faults import _fit, _loop, _numbers
from tests.unit.analysis.advice.graph_causes import IN_LOOP, LOOP
from tests.unit.analysis.advice.graph_drawings import Op, calling, graph_run
from tests.warm_process import run_python
from tfprof_widgets.analysis import Advice, Analysis

WHILE = LOOP[0]
GRADIENT = Op("gradient_tape/rnn/while/rnn/while_grad", "StatelessWhile", 0, [0], "()", "()")
PRODUCT = Op("net/MatMul", "MatMul", 0, [0, 1], "64x64;64x64", "64x64")


def turns(start: float, until: float, n: int = 100, name: str = IN_LOOP) -> list[tuple[str, float, float]]:
    """An op of 1 us in each turn of a loop."""
    return [(f"{name}/cell/Mul:Mul", start + (until - start) * i / (n - 1), 1.0) for i in range(n)]


def found(results: Analysis) -> Advice | None:
    assert results.advice_notices == ()
    return next((one for one in results.advice if one.rule == "graph_loop"), None)


def test_a_loop_takes_what_lies_between_its_events_whatever_else_the_graph_computes() -> None:
    """Of a step of 10 ms a loop takes 0.9; the runtime processes 600 ops in it, the graph has two others."""
    events = [*calling(9_900), *turns(10, 900), ("net/MatMul:MatMul", 1_000, 8_900)]
    assert found(graph_run(WHILE, PRODUCT, processes=600, python=events)) is None


def test_what_another_op_covers_is_not_the_loops() -> None:
    """It has to wait for the product, then runs for 6 of 10 ms: not for all the 9.9 from its first event to its last."""
    events = [*calling(9_900), *turns(10, 20, 2), ("net/MatMul:MatMul", 100, 3_800), *turns(3_900, 9_900)]
    told = found(graph_run(WHILE, PRODUCT, python=events))
    assert told is not None
    assert told.title.startswith(
        "The loop rnn (net.py:2) of at least 102 iterations takes about 6.09 of 10.0 ms a step;"
    )
    assert told.gain_ratio == told.evidence["loop_ratio"] == pytest.approx(0.609, abs=0.001)


def test_the_time_between_two_other_ops_is_not_the_loops() -> None:
    others = [("net/MatMul:MatMul", 100.0 + 40 * i, 10.0) for i in range(200)]
    assert (
        found(graph_run(WHILE, PRODUCT, python=[*calling(9_900), *turns(10, 90), *others, *turns(8_200, 9_000)]))
        is None
    )


def test_a_loop_beside_a_longer_op_of_another_thread_takes_nothing() -> None:
    assert found(graph_run(WHILE, replaced(9_800), python=[*calling(9_900), *turns(20, 9_700)])) is None


def replaced(us: float) -> Op:
    """The product, that long from the beginning of a step."""
    return Op(PRODUCT.name, PRODUCT.type, us, PRODUCT.reads, PRODUCT.inputs, PRODUCT.outputs)


def test_a_gradient_is_its_loops_and_its_iterations_are_not_added() -> None:
    back = turns(5_000, 9_900, name=f"{GRADIENT.name}/body/_9/{GRADIENT.name}")
    told = found(graph_run(WHILE, GRADIENT, python=[*calling(9_900), *turns(10, 4_900), *back]))
    assert told is not None
    assert "The loop rnn (net.py:2) of at least 100 iterations takes about 9.89 of 10.0 ms" in told.title


@pytest.mark.parametrize("condition", [101, 300])
def test_neither_conditions_nor_inner_loops_are_counted_as_iterations(condition: int) -> None:
    inner = turns(20, 9_800, 900, f"{IN_LOOP}/inner/while/body/_7")
    asked = turns(15, 9_850, condition, "rnn/while/cond/_3")
    told = found(graph_run(WHILE, python=[*calling(9_900), *turns(10, 9_900), *inner, *asked]))
    assert told is not None
    assert "of at least 100 iterations takes" in told.title


def test_the_costliest_of_several_loops_is_named_and_the_others_are_counted_in() -> None:
    other = Op("decoder/while", "While", 0, [0], "()", "()")
    events = [*calling(9_900), *turns(10, 3_000), *turns(3_100, 9_900, 50, "decoder/while/body/_6")]
    told = found(graph_run(WHILE, other, python=events))
    assert told is not None
    assert (
        "The loop decoder (net.py:2) of at least 50 iterations and other loops take about 9.89 of 10.0 ms" in told.title
    )


def test_a_loop_of_which_no_op_is_recorded_takes_what_the_runtime_runs_without_any() -> None:
    """As scalars do: hundreds of ops of less than a microsecond."""
    events = [*calling(9_900), *(("ExecutorState::Process", 10.0 + 10 * i, 2.0) for i in range(900))]
    told = found(graph_run(WHILE, replaced(5), python=[*events, ("net/MatMul:MatMul", 9_200, 600)]))
    assert told is not None
    assert "The loop rnn (net.py:2) takes about 8.9" in told.title
    few = [*calling(9_900), *(("ExecutorState::Process", 10.0 + 3_000 * i, 2.0) for i in range(3))]
    assert found(graph_run(WHILE, replaced(5), python=[*few, ("net/MatMul:MatMul", 9_200, 600)])) is None


def test_a_loop_takes_as_long_in_steps_in_which_its_ops_are_not_recorded() -> None:
    events = [*calling(9_900), *(("ExecutorState::Process", 10.0 + 10 * i, 2.0) for i in range(900))]
    recorded = turns(10.5, 8_910.5, 90)  # within what the runtime processes
    told = found(graph_run(WHILE, replaced(5), python=[*events, ("net/MatMul:MatMul", 9_200, 600)], late=recorded))
    assert told is not None
    assert "The loop rnn (net.py:2) of at least 90 iterations takes about 8.9" in told.title


def test_a_step_that_stands_still_is_no_time_of_a_cheap_loop() -> None:
    """As where other programs take the cores while the loop runs."""
    events = [*calling(9_900), *(("ExecutorState::Process", 10.0 + 10 * i, 2.0) for i in range(200))]
    product = ("net/MatMul:MatMul", 2_200, 7_600)
    assert found(graph_run(WHILE, replaced(5), python=[*events, product], stall=(1_995, 80_000))) is None


def test_the_loop_that_keras_runs_several_steps_in_is_none_of_the_models() -> None:
    events = [*calling(9_900), *turns(10, 9_900, name="while/body/_1/while")]
    loop = Op("while", "While", 0, [0], "()", "()")
    assert found(graph_run(loop, PRODUCT, python=events)) is not None
    assert found(graph_run(loop, PRODUCT, python=events, graph="multi_step_on_iterator")) is None


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "y = tape.jacobian(y, x, experimental_use_pfor=False)",
            "Compute all gradients at once: jacobian(..., experimental_use_pfor=True)",
        ),
        ("y = tf.vectorized_map(turned, x)", "vectorized_map runs in a loop what it cannot do for all at once"),
        ("y = tf.map_fn(turned, x)", "Where an iteration needs nothing of those before, tf.vectorized_map"),
        ("y = tf.scan(lambda last, new: 0.9 * last + new, x)", "Where an iteration adds to a multiple of the last"),
    ],
)
def test_the_fix_of_a_loop_is_that_of_what_made_it(code: str, words: str) -> None:
    results = graph_run(WHILE, python=[*calling(9_900), *turns(10, 9_900)])
    assert results.source_map is not None
    results.source_map.files["text"] = f"def call():\n    {code}\n"
    told = found(results)
    assert told is not None
    assert told.fix.words.startswith(words)
    assert not told.fix.code


def test_on_a_cpu_compiling_a_loop_is_a_try() -> None:
    """A scan with gradients took twice as long there, an LSTM two thirds of the time."""
    told = found(graph_run(WHILE, python=[*calling(9_900), *turns(10, 9_900)]))
    assert told is not None
    assert "Then try jit_compile=True, and measure" in told.fix.words


def run_loops(directory: str) -> None:
    """A cheap loop beside products, and costly ones: of scalars, and recurrent within several steps in one call."""
    import keras
    import tensorflow as tf

    x = tf.constant(_numbers(700, 700))

    @tf.function
    def products(x: tf.Tensor) -> tf.Tensor:
        total = tf.constant(0.0)
        for _ in tf.range(150):
            total = total * 0.5 + 1.0
        for _ in range(4):  # in the graph one after the other
            x = tf.tanh(x @ x * 1e-3)
        return tf.reduce_sum(x) + total

    @tf.function
    def scalars(x: tf.Tensor) -> tf.Tensor:
        total = tf.constant(0.0)
        for _ in tf.range(2000):
            total = total * 0.5 + 1.0
        return tf.reduce_sum(x[:64, :64] @ x[:64, :64]) + total

    _loop(f"{directory}/products", lambda _: products(x))
    _loop(f"{directory}/scalars", lambda _: scalars(x))
    model = keras.Sequential([keras.layers.Input((60, 8)), keras.layers.RNN(keras.layers.GRUCell(8), name="gru")])
    _fit(f"{directory}/several", model, _numbers(16 * 40, 60, 8), _numbers(16 * 40, 8), 16, steps_per_execution=4)


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("loops")
    done = run_python(f"from {__name__} import run_loops\nrun_loops({str(directory)!r})", timeout_s=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return directory


@pytest.mark.tensorflow
def test_a_cheap_loop_beside_products_has_no_card(captured: Path) -> None:
    assert "graph_loop" not in [one.rule for one in tfprof.load(captured / "products").advice]


@pytest.mark.tensorflow
@pytest.mark.parametrize(("name", "loop"), [("scalars", "The loop while (test_graph_loops.py:"), ("several", "/gru")])
def test_a_costly_loop_is_named_with_its_line(name: str, loop: str, captured: Path) -> None:
    top = tfprof.load(captured / name).advice[0]
    assert top.rule == "graph_loop"
    assert loop in top.title
    assert float(top.evidence["loop_ms"]) + float(top.evidence["op_ms"]) <= float(top.evidence["step_time_ms"])
