"""The commonest program there is, profiled by one line: with Keras' fit, and with a loop of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfprof_widgets as tfprof
from tests.unit.analysis.steps.test_steps import unmarked
from tests.unit.capture.scenario import run_scenario
from tfprof_widgets.analysis import compute_steps

pytestmark = pytest.mark.tensorflow


PROGRAM = """
        import tfprof_widgets as tfprof

        def batches():
            for _ in range(40):
                time.sleep(0.04)
                yield np.ones((8, 4), "f4"), np.ones((8, 1), "f4")

        spec = (tf.TensorSpec((8, 4)), tf.TensorSpec((8, 1)))
        dataset = tf.data.Dataset.from_generator(batches, output_signature=spec)
        trained = model()
        optimizer = keras.optimizers.SGD()
        optimizer.build(trained.trainable_variables)

        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((trained(x, training=True) - y) ** 2)
            variables = trained.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

        def told(prof):
            return {"names": prof.steps["name"].tolist(), "sources": sorted(set(prof.steps["source"])),
                    "mean_ms": prof.steps["step_time_ms"].mean(), "notices": prof.notices}

        trained.fit(dataset.take(2), verbose=0)
        for x, y in dataset.take(2):
            train_step(x, y)
        out["fit"], out["loop"] = [], []
        for _ in range(3):
            with tfprof.profile() as prof:
                trained.fit(dataset, verbose=0)
            out["fit"].append(told(prof))
            with tfprof.profile() as prof:
                for x, y in dataset:
                    train_step(x, y)
            out["loop"].append(told(prof))

        from tfprof_widgets.capture import control

        class SlowToTrace(keras.layers.Layer):
            seconds = 0.0

            def call(self, x):
                time.sleep(self.seconds)
                return x

        slow = SlowToTrace()
        traced = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1), slow])
        traced.compile("sgd", "mse")
        slow.seconds = 2.5
        long, control.LONGEST_SESSION_S = control.LONGEST_SESSION_S, 2.0
        x, y = arrays(20)
        with tfprof.profile() as prof:
            traced.fit(x, y, **FIT)
        control.LONGEST_SESSION_S = long
        out["slow_first"] = {
            "sessions": prof.steps["session"].tolist(),
            "averaged": np.flatnonzero(prof.overview.is_averaged).tolist(),
            "left_out": prof.overview.left_out,
            "gains": [one.gain_ratio for one in prof.advice if one.rule == "compilation"],
        }

        @tf.function
        def scaled(x, factor):
            time.sleep(0.2)
            return x * factor

        scaled(tf.ones(4), tf.constant(1.0))
        with tfprof.profile() as prof:
            for i, x in enumerate(tfprof.trace_steps([tf.ones(4)] * 20)):
                time.sleep(0.005)
                scaled(x, float(i) if i % 5 == 4 else tf.constant(1.0))
        out["traced_again"] = {
            "averaged": np.flatnonzero(prof.overview.is_averaged).tolist(),
            "verdict": prof.overview.verdict,
            "advice": [[one.title, one.gain_ratio] for one in prof.advice if one.rule == "retracing"],
        }

        memory = tf.data.Dataset.from_tensors((np.ones((64, 4), "f4"), np.ones((64, 1), "f4"))).repeat(40)
        with tfprof.profile(logdir=LOGDIR):
            for x, y in tfprof.trace_steps(memory):
                train_step(x, y)
        out["marked"] = LOGDIR
    """


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    logdir = str(tmp_path_factory.mktemp("marked"))
    # Data that takes 40 ms to come sets the pace: both programs then take the same time on any machine.
    return run_scenario(PROGRAM.replace("LOGDIR", repr(logdir)))


def test_a_first_step_that_ends_its_window_by_tracing_is_in_no_average(run: dict[str, Any]) -> None:
    told = run["slow_first"]
    assert told["sessions"] == [0, *[1] * 19]
    assert told["averaged"][0] >= 1
    assert told["left_out"].startswith("Step 0 (")
    assert "compiles)" in told["left_out"]
    assert max(told["gains"], default=0.0) < 0.05


def test_a_function_that_is_traced_again_and_again_is_in_no_average_but_in_verdict_and_advice(
    run: dict[str, Any],
) -> None:
    told = run["traced_again"]
    assert not {4, 9, 14, 19} & set(told["averaged"])
    assert told["verdict"].startswith("4 steps compile again and take ")
    ((title, gain),) = told["advice"]
    assert "is traced again in 4 calls of 20 steps" in title
    assert title.endswith("the steps that compile included.")
    assert gain > 0.5


def test_each_batch_of_a_fit_is_a_marked_step(run: dict[str, Any]) -> None:
    for fit in run["fit"]:
        assert fit["names"] == [f"train {i}" for i in range(40)]
        assert fit["sources"] == ["marker"]
        assert fit["notices"] == []


def test_the_same_loop_written_by_hand_has_as_many_inferred_steps_of_the_same_time(run: dict[str, Any]) -> None:
    for loop in run["loop"]:
        assert loop["sources"] == ["inferred"]
        assert len(loop["names"]) == 40
    # The best of three: a machine that was busy elsewhere just then must not decide about this test.
    marked_ms, inferred_ms = (min(one["mean_ms"] for one in run[kind]) for kind in ("fit", "loop"))
    assert inferred_ms == pytest.approx(marked_ms, rel=0.05)


def test_unpaced_steps_lose_no_time_when_their_markers_are_taken_away(run: dict[str, Any]) -> None:
    """Two runs of a step of a millisecond differ by more than 5 % by themselves, so both readings are of one run."""
    prof = tfprof.load(Path(run["marked"]))
    inferred = compute_steps(unmarked(prof.trace)).frame
    assert set(prof.steps["source"]) == {"marker"}
    assert set(inferred["source"]) == {"inferred"}
    assert len(inferred) == len(prof.steps) == 40
    # An inferred step lasts until the next begins. A machine that was busy between two markers must not decide about this.
    from_start_to_start = np.diff(prof.steps["start_ms"])
    assert np.median(inferred["step_time_ms"][:-1] / from_start_to_start) == pytest.approx(1, rel=0.05)
