"""What experiments accept, refuse and measure; speeds are asserted only where a sleep was planted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.capture.experiments.programs import run_program

pytestmark = pytest.mark.tensorflow

N_REPEATS = 6
"""Of what is to be told from noise: of three, one that another program slowed leaves an interval without an end."""


@pytest.fixture(scope="module")
def inputs() -> dict[str, Any]:
    return run_program("""
        class Sequence(keras.utils.PyDataset):
            def __len__(self):
                return 3
            def __getitem__(self, index):
                return X[index * 8:index * 8 + 8], Y[index * 8:index * 8 + 8]

        def batches():
            for _ in range(3):
                yield X[:8], Y[:8]

        alone = lambda data: experiments.input_only(data, **QUICK)
        spec = (tf.TensorSpec((None, 4)), tf.TensorSpec((None, 1)))
        generated = tf.data.Dataset.from_generator(batches, output_signature=spec)
        given = {
            "short": dataset(32), "infinite": dataset().repeat(), "generator": generated, "arrays": (X, Y),
            "weights": tf.data.Dataset.from_tensor_slices((X, Y, Y[:, 0])).batch(8), "sequence": Sequence(),
            "workers": Sequence(workers=2), "function": dataset,
        }
        model = plain()
        for name, data in given.items():
            measure = lambda data: experiments.synthetic(model, data, **QUICK)
            result = (measure if name in ("short", "infinite", "arrays") else alone)(data)
            out[name] = [result.frame["n_steps"].tolist(), result.frame["n_samples"].tolist(), list(result.notices)]

        left, right = keras.Input((4,), name="left"), keras.Input((4,), name="right")
        two = keras.Model({"left": left, "right": right}, keras.layers.Dense(1)(left + right))
        two.compile("sgd", "mse")
        data = tf.data.Dataset.from_tensor_slices(({"left": X, "right": X}, Y)).batch(8, drop_remainder=True)
        out["dict"] = experiments.input_or_model(two, data, **QUICK).frame["n_samples"].tolist()

        uncompiled = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        out["errors"] = [error_of(action) for action in (
            lambda: experiments.input_only(batches()),
            lambda: experiments.input_only(iter(dataset())),
            lambda: experiments.input_only(42),
            lambda: experiments.input_only(dataset().take(0)),
            lambda: experiments.input_only(dataset(), n_steps=0),
            lambda: experiments.input_only(dataset(), max_seconds=0),
            lambda: experiments.synthetic(uncompiled, dataset()),
            lambda: experiments.synthetic("model", dataset()),
            lambda: experiments.batch_sizes(model, dataset, []),
            lambda: experiments.without_callbacks(model, dataset(), []),
            lambda: experiments.ablate(model, dataset(), {}, drop=["augment"]),
            lambda: experiments.ablate(model, dataset()),
            lambda: experiments.ablate(model, (X, Y), [len]),
        )]
    """)


@pytest.mark.parametrize(
    "name", ["short", "infinite", "generator", "arrays", "weights", "sequence", "workers", "function"]
)
def test_every_kind_of_data_set_gives_the_steps_asked_for(inputs: dict[str, Any], name: str) -> None:
    n_steps, n_samples, _ = inputs[name]
    assert set(n_steps) == {3}
    assert all(samples > 0 for samples in n_samples)


def test_what_was_done_to_the_data_is_told(inputs: dict[str, Any]) -> None:
    assert inputs["short"][2] == ["The data set has 2 batches, so it was repeated to get 3 steps."]
    assert inputs["infinite"][2] == []
    assert any("batches of 32" in text for text in inputs["arrays"][2])


def test_samples_are_those_of_the_batches_that_were_measured(inputs: dict[str, Any]) -> None:
    # 32, 12, 32 are the warm-up; one batch in memory is the first.
    assert inputs["short"][1] == [12 + 32 + 12] * 2 + [96] * 2
    assert inputs["dict"] == [24] * 6


def test_what_cannot_be_measured_is_refused_with_what_to_do(inputs: dict[str, Any]) -> None:
    expected = [
        ("TypeError", "from_generator"),
        ("TypeError", "only once"),
        ("TypeError", "tf.data.Dataset"),
        ("ValueError", "empty"),
        ("ValueError", "n_steps=0"),
        ("ValueError", "max_seconds=0"),
        ("ValueError", "model.compile"),
        ("TypeError", "keras.Model"),
        ("ValueError", "sizes=[]"),
        ("ValueError", "callbacks=[]"),
        ("ValueError", "'augment' is no stage"),
        ("ValueError", "nothing to compare"),
        ("TypeError", "tf.data.Dataset"),
    ]
    for (kind, text), error in zip(expected, inputs["errors"], strict=True):
        assert error is not None
        assert error[0] == kind
        assert text in error[1]


@pytest.fixture(scope="module")
def planted() -> dict[str, Any]:
    """Each batch waits 40 ms in a stage, or in a callback; all else of a step takes some ms."""
    return run_program(
        """
        def wait(x):
            time.sleep(0.04)
            return x

        def slow(ds):
            return ds.map(lambda x, y: (tf.ensure_shape(tf.numpy_function(wait, [x], tf.float32), (None, 4)), y))

        class Slow(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                time.sleep(0.04)

        BOUNDS = {"n_steps": 8, "max_seconds": 30.0, "n_repeats": 3}
        batch = lambda ds: ds.batch(8)
        source = tf.data.Dataset.from_tensor_slices((X, Y)).repeat()
        model = plain()
        found = {
            "input": experiments.input_or_model(model, slow(batch(source)), **{**BOUNDS, "n_repeats": N_REPEATS}),
            "stages": experiments.ablate(model, source, {"batch": batch, "slow": slow}, replace={"slow": lambda ds: ds.take(-1)},
                                         loss=keras.losses.MeanAbsoluteError(), **BOUNDS),
            "callbacks": experiments.without_callbacks(model, batch(source), [Slow()], **BOUNDS),
            "sizes": experiments.batch_sizes(model, lambda n: slow(source.batch(n)), [8, 32], **BOUNDS),
        }
        for name, result in found.items():
            out[name] = {"ratio": dict(zip(result.table["variant"], result.table["ratio"])), "sentence": result.sentence,
                         "notices": result.notices, "order": result.frame[["variant", "repeat"]].values.tolist()}
        out["bounded"] = experiments.input_only(slow(batch(source)), n_steps=1000, max_seconds=0.5, n_repeats=1).notices
    """,
        definitions=f"N_REPEATS = {N_REPEATS}\n",
    )


def test_a_slow_input_is_told_from_a_slow_model(planted: dict[str, Any]) -> None:
    assert planted["input"]["ratio"]["model alone"] > 2
    assert "input-bound by" in planted["input"]["sentence"]


def test_the_stage_that_costs_is_found_and_one_that_is_needed_is_left_out(planted: dict[str, Any]) -> None:
    ratio = planted["stages"]["ratio"]
    assert list(ratio) == ["everything", "without slow", "slow replaced", "loss mean_absolute_error"]
    assert ratio["without slow"] > 2
    assert ratio["slow replaced"] > 2
    assert ratio["loss mean_absolute_error"] < 2
    assert any('"without batch" was left out' in text for text in planted["stages"]["notices"])


def test_a_slow_callback_and_a_small_batch_are_found(planted: dict[str, Any]) -> None:
    assert planted["callbacks"]["ratio"]["without callbacks"] > 2
    assert planted["sizes"]["ratio"]["batch 32"] > 2
    assert planted["sizes"]["sentence"].startswith("Batch 32 is the fastest")


def test_runs_are_told_by_variant_and_repeat(planted: dict[str, Any]) -> None:
    names = ("input alone", "model alone", "together")
    assert planted["input"]["order"] == [[name, repeat] for name in names for repeat in range(N_REPEATS)]


def test_a_bound_that_was_met_is_told(planted: dict[str, Any]) -> None:
    told = " ".join(planted["bounded"])
    assert "The bound of 0.5 s a variant was met" in told
    assert "One repeat gives no interval." in told


def test_variants_take_turns_and_one_without_memory_is_left_out() -> None:
    out = run_program("""
        from tfprof_widgets.capture import Batches, Bounds, Run, Variant, measure
        order = []
        class Drawn(Variant):
            def __init__(self, name, fails=False, **options):
                super().__init__(name, Batches(dataset()), **options)
                self.fails = fails
            def prepare(self):
                if self.fails:
                    raise tf.errors.ResourceExhaustedError(None, None, "no room")
            def run(self, repeat, bounds, advance):
                order.append(self.name)
                return Run(self.name, repeat, 1, 1, 1.0)
        drawn = [Drawn("a"), Drawn("big", fails=True, may_lack_memory=True), Drawn("b")]
        measured = measure(lambda _: drawn, Bounds(1, 1.0, 3), len)
        out["order"], out["notices"], out["variants"] = order, measured.notices, measured.variants
        out["raised"] = error_of(lambda: measure(lambda _: [Drawn("big", fails=True)], Bounds(1, 1.0, 3), len))[0]
    """)
    assert out["order"] == ["a", "b", "b", "a", "a", "b"]
    assert out["notices"] == ["big ran out of memory."]
    assert out["variants"] == ["a", "big", "b"]
    assert out["raised"] == "ResourceExhaustedError"
