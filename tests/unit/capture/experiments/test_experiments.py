"""Experiments: what they accept, refuse and measure, and that everything is as it was after one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


Trained = Callable[[str], dict[str, Any]]

MODELS = """
class Own(keras.Model):
    '''Its train_step is traced by itself, counts in Python, and nothing is built before the first batch.'''

    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)
        self.noise = keras.layers.GaussianNoise(0.1)
        self.seen = {"calls": 0}
        self.names = []

    def call(self, x, training=False):
        self.seen["calls"] += 1
        self.names.append("call")
        return self.noise(self.dense(x), training=training)

    @tf.function
    def train_step(self, data):
        return super().train_step(data)

def lazy():
    made = keras.Sequential([keras.layers.Dense(6), keras.layers.BatchNormalization(), keras.layers.Dropout(0.3),
                             keras.layers.Dense(1)])
    made.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    return made

def own():
    made = Own()
    made.compile(keras.optimizers.Adam(0.01), "mse")
    return made

MAKE = {
    "lazy": lazy,
    "own": own,
    "jit": lambda: plain(jit_compile=True),
    "several": lambda: plain(steps_per_execution=2),
    "eager": lambda: plain(run_eagerly=True),
}
"""


USUAL, OTHERS = ("lazy",), ("several", "own", "jit", "eager")


@pytest.fixture(scope="module")
def trained() -> Trained:
    """What became of a kind of model; the usual kind is trained in one process, the others in another."""
    found: dict[str, dict[str, Any]] = {}

    def trained_one(kind: str) -> dict[str, Any]:
        if kind not in found:
            found.update(train(USUAL if kind in USUAL else OTHERS))
        return found[kind]

    return trained_one


def train(kinds: Sequence[str]) -> dict[str, Any]:
    return run_program(
        """
        for name, make in ((kind, MAKE[kind]) for kind in kinds):
            ends = []
            for experiment in (False, True):
                begin()
                model, ds = make(), dataset()
                before = state(model)
                if experiment:
                    result = experiments.input_or_model(model, ds, **QUICK)
                    out[name] = {"same": changed(before, model), "notices": result.notices,
                                 "steps": result.frame["n_steps"].tolist(), "samples": result.frame["n_samples"].tolist()}
                model.fit(ds, epochs=2, verbose=0)
                ends.append([digest(*(variable.numpy() for variable in [*model.variables, *model.optimizer.variables])),
                             repr(model.history.history), keras.layers.Dense(1).name, random.random(),
                             float(np.random.random()), float(tf.random.uniform(())), float(keras.random.uniform(()))])
            out[name]["ends"] = ends
    """,
        definitions=f"{MODELS}kinds = {kinds!r}\n",
    )


KINDS = [*USUAL, *(pytest.param(kind, marks=pytest.mark.nightly) for kind in OTHERS)]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_was_not_built_is_built_and_nothing_else_changed(trained: Trained, kind: str) -> None:
    assert trained(kind)["same"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_training_goes_on_as_without_the_experiment(trained: Trained, kind: str) -> None:
    without, with_experiment = trained(kind)["ends"]
    assert with_experiment == without


def test_samples_are_counted_by_batch(trained: Trained) -> None:
    assert set(trained("lazy")["steps"]) == {3}
    # Of the batches 8, 8, 8, 8, 8, 4, three are the warm-up.
    assert trained("lazy")["samples"] == [20, 20, 24, 24, 20, 20]


@pytest.mark.nightly
def test_whole_calls_of_several_steps_are_measured(trained: Trained) -> None:
    assert trained("several")["steps"] == [3, 3, 4, 4, 4, 4]


def test_a_trained_model_keeps_its_compiled_functions_metrics_and_history() -> None:
    out = run_program("""
        begin()
        model, ds = plain(metrics=["mae"]), dataset()
        model.fit(ds, epochs=1, verbose=0)
        model.evaluate(ds, verbose=0)
        model.stop_training = True
        generator = tf.random.get_global_generator()
        functions = [model.train_function, model.test_function, model.history]
        drawn = digest(generator.state.numpy())
        before = state(model)
        experiments.synthetic(model, ds, **QUICK)
        experiments.batch_sizes(model, dataset, [4, 8], **QUICK)
        experiments.ablate(model, dataset(), {"copy": lambda ds: ds.map(lambda x, y: (x, y))}, loss="mae", **QUICK)
        out["changed"] = changed(before, model)
        out["functions"] = [a is b for a, b in zip(functions, [model.train_function, model.test_function, model.history])]
        out["generator"] = [tf.random.get_global_generator() is generator, digest(generator.state.numpy()) == drawn]
    """)
    assert out == {"changed": [], "functions": [True] * 3, "generator": [True, True]}


def test_ctrl_c_and_errors_are_raised_again_with_everything_put_back() -> None:
    out = run_program("""
        def press_ctrl_c(batch):
            if batch == 4:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(5)

        def fail(batch):
            if batch == 4:
                raise RuntimeError("from the user")

        seen = []
        class At(keras.callbacks.Callback):
            def __init__(self, action):
                super().__init__()
                self.action, self.batches, self.lock = action, [], threading.Lock()
            def on_train_batch_begin(self, batch, logs=None):
                self.batches.append(batch)
                seen.append(batch)
                self.action(batch)

        for name, action in {"ctrl_c": press_ctrl_c, "error": fail}.items():
            begin()
            model, callback = plain(), At(action)
            before = state(model)
            error = error_of(lambda: experiments.without_callbacks(model, dataset(), [callback], **QUICK))
            out[name] = {"error": error, "changed": changed(before, model),
                         "callback": [callback.batches, seen, callback._model is None],
                         "next": len(experiments.input_only(dataset(), **QUICK).frame)}
    """)
    assert out["ctrl_c"]["error"][0] == "KeyboardInterrupt"
    assert out["error"]["error"] == ["RuntimeError", "from the user"]
    for name in ("ctrl_c", "error"):
        assert out[name]["changed"] == []
        assert out[name]["callback"] == [[], [], True]
        assert out[name]["next"] == 2


def test_callbacks_run_on_copies_and_write_elsewhere() -> None:
    out = run_program("""
        import tempfile
        folder = tempfile.mkdtemp()
        losses = []
        class Log(keras.callbacks.Callback):
            def __init__(self):
                super().__init__()
                self.n, self.sums = 0, np.zeros(3)
            def on_train_batch_end(self, batch, logs=None):
                self.n += 1
                self.sums += random.random() + np.random.random()  # whose states are put back as well
                losses.append(logs["loss"])
        begin()
        model, log = plain(), Log()
        given = [log, keras.callbacks.ModelCheckpoint(folder + "/best.keras", monitor="val_loss"),
                 keras.callbacks.CSVLogger(folder + "/log.csv"), keras.callbacks.EarlyStopping(patience=0),
                 keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: losses.append(batch))]
        before = state(model)
        result = experiments.without_callbacks(model, dataset(), given, each=True, **QUICK)
        out["changed"] = changed(before, model)
        out["log"] = [log.n, log.sums.tolist(), losses, os.listdir(folder)]
        out["variants"] = result.table["variant"].tolist()
    """)
    assert out["changed"] == []
    assert out["log"] == [0, [0, 0, 0], [], []]
    assert out["variants"] == [
        "with callbacks",
        "without callbacks",
        "without Log",
        "without ModelCheckpoint",
        "without CSVLogger",
        "without EarlyStopping",
        "without LambdaCallback",
    ]


@pytest.mark.nightly
def test_every_replica_and_a_scaled_loss_are_put_back_and_can_be_saved() -> None:
    out = run_program("""
        import tempfile
        tf.config.set_logical_device_configuration(
            tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
        begin()
        with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
            model = plain(metrics=["mae"])
        model.fit(tf.data.Dataset.from_tensor_slices((X, Y)).batch(8), verbose=0)

        def parts():
            variables = [*model.variables, *model.optimizer.variables, *model.metrics_variables]
            return [digest(part.numpy()) for variable in variables
                    for part in getattr(variable._value, "values", [variable._value])]

        before = parts()
        experiments.synthetic(model, dataset(), **QUICK)
        out["replicas"] = [len(before) > len(model.variables), parts() == before]

        keras.mixed_precision.set_global_policy("mixed_float16")
        scaled = plain()
        before = state(scaled)
        experiments.synthetic(scaled, dataset(), **QUICK)
        out["changed"] = changed(before, scaled)
        out["optimizer"] = [type(scaled.optimizer).__name__, scaled.optimizer.inner_optimizer.built]
        folder = tempfile.mkdtemp()
        tf.train.Checkpoint(model=scaled).save(folder + "/checkpoint")
        scaled.save(folder + "/whole.keras")
    """)
    assert out == {"replicas": [True, True], "changed": [], "optimizer": ["LossScaleOptimizer", False]}
