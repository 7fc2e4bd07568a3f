"""After an experiment everything is bit for bit as it was, and a training goes on as if nothing had happened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.unit.capture.experiments.programs import run_program

pytestmark = pytest.mark.tensorflow
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
