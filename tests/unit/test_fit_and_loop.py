"""The commonest program there is, profiled by one line: with Keras' fit, and with a loop of one's own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.capture.scenario import run_scenario

pytestmark = pytest.mark.tensorflow


@pytest.fixture(scope="module")
def run() -> dict[str, Any]:
    # Data that takes 40 ms to come sets the pace: both programs then take the same time on any machine.
    return run_scenario("""
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
    """)


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
