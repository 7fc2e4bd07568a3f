"""Keras' fit, evaluate and predict under a capture: every batch is a step, and the user's program is as it was."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.capture.scenario import run_scenario

pytestmark = pytest.mark.tensorflow


@pytest.fixture(scope="module")
def run() -> dict[str, Any]:
    return run_scenario("""
        before = {name: getattr(keras.Model, name) for name in ("fit", "evaluate", "predict")}
        own = {name: name in vars(keras.Model) for name in before}
        x, y = arrays(20)
        trained = model()
        capture = started()
        out["signature_kept"] = str(inspect.signature(keras.Model.fit)) == str(inspect.signature(before["fit"]))
        out["doc_kept"] = keras.Model.fit.__doc__ == before["fit"].__doc__ and keras.Model.fit.__name__ == "fit"
        out["wrong_argument"] = error_of(lambda: trained.fit(x, y, nonsense=1))
        class Slow(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                time.sleep(0.004)
            def on_epoch_end(self, epoch, logs=None):
                time.sleep(0.3)
        callbacks = [Slow()]
        trained.fit(x, y, epochs=2, validation_data=(x[:40], y[:40]), callbacks=callbacks, **FIT)
        out["callbacks_unchanged"] = len(callbacks) == 1 and type(callbacks[0]) is Slow
        trained.evaluate(x[:24], y[:24], batch_size=8, verbose=0)
        trained.predict(x[:16], batch_size=8, verbose=0)
        record = capture.stop()
        out["restored"] = all(getattr(keras.Model, name) is before[name] for name in before)
        out["own_restored"] = own == {name: name in vars(keras.Model) for name in before}
        out["function_restored"] = type(trained.train_function).__module__.split(".")[0] != "tfprof_widgets"
        out["train"] = steps(record, "train")
        out["test"] = steps(record, "test")
        out["predict"] = steps(record, "test_predict")
        out["train_ms"] = durations_ms(record, "train")
        (window,) = record.windows
        trace = open_traces(window.run_dir).trace
        begins = trace.has_stat("epoch_start") & trace.names_matching(("train",))
        out["begins"] = sorted(trace.int_stat("step_num")[begins].tolist())
        out["n_steps"] = [record.n_steps, n_kept(record), window.first_step, window.last_step]
        out["notices"] = record.notices
        out["outcome"] = record.outcome
        out["cost"] = [record.cost.start_s, record.cost.stop_s, record.cost.n_bytes]
        out["system_columns"] = list(record.system.columns)
        out["n_samples"] = len(record.system)
    """)


def test_batches_of_all_epochs_are_numbered_as_one_series(run: dict[str, Any]) -> None:
    assert run["train"] == [list(range(40))]


def test_the_first_batch_of_an_epoch_is_marked_as_such(run: dict[str, Any]) -> None:
    assert run["begins"] == [0, 20]


def test_validation_has_numbers_of_its_own_and_a_lone_evaluate_goes_on_after_the_training(run: dict[str, Any]) -> None:
    assert run["test"] == [[*range(5), *range(5, 10), 40, 41, 42]]


def test_predict_has_steps_that_xprof_recognises(run: dict[str, Any]) -> None:
    assert run["predict"] == [[43, 44]]


def test_the_record_counts_the_steps_that_can_be_selected(run: dict[str, Any]) -> None:
    assert run["n_steps"] == [45, 45, 0, 44]
    assert run["outcome"] == "complete"
    assert run["notices"] == []


def test_time_in_batch_callbacks_is_in_the_steps_and_time_in_epoch_callbacks_is_not(run: dict[str, Any]) -> None:
    steady = [*run["train_ms"][1:19], *run["train_ms"][21:39]]
    assert max(run["train_ms"][1:]) < 200, "the 300 ms of on_epoch_end"
    assert sorted(steady)[len(steady) // 2] > 4, "the 4 ms of on_train_batch_end"


def test_the_methods_look_the_same_while_they_are_wrapped(run: dict[str, Any]) -> None:
    assert run["signature_kept"]
    assert run["doc_kept"]


def test_a_wrong_argument_gets_keras_own_message(run: dict[str, Any]) -> None:
    assert run["wrong_argument"][0] == "TypeError"
    assert "nonsense" in run["wrong_argument"][1]


def test_everything_is_put_back(run: dict[str, Any]) -> None:
    assert run["restored"]
    assert run["own_restored"]
    assert run["function_restored"]
    assert run["callbacks_unchanged"]


def test_the_cost_of_the_capture_is_measured(run: dict[str, Any]) -> None:
    start_s, stop_s, n_bytes = run["cost"]
    assert 0 < start_s < 5
    assert 0 < stop_s < 5
    assert n_bytes > 10_000


def test_the_machine_is_sampled_meanwhile(run: dict[str, Any]) -> None:
    assert run["system_columns"][:4] == ["time_ns", "cpu_pct", "process_cpu_pct", "rss_bytes"]
    assert run["n_samples"] >= 3


CALLBACKS = """
        x, y = arrays(6)

        def kept(fit, made=None, **options):
            capture = started(system=False, **options)
            fit(made or model())
            return steps(capture.stop())

        seen = []
        class Seen(keras.callbacks.Callback):
            def on_train_batch_begin(self, batch, logs=None):
                seen.append(batch)

        out["none"] = kept(lambda m: m.fit(x, y, callbacks=None, **FIT))
        out["tuple"] = kept(lambda m: m.fit(x, y, callbacks=(Seen(), Seen()), **FIT))
        out["single"] = kept(lambda m: m.fit(x, y, callbacks=Seen(), **FIT))
        out["positional"] = kept(lambda m: m.fit(x, y, 8, 1, 0, [Seen()]))

        def with_list(made):
            callbacks = keras.callbacks.CallbackList([Seen()], add_history=True, model=made, epochs=1, steps=6)
            members = list(callbacks.callbacks)
            made.fit(x, y, callbacks=callbacks, validation_data=(x, y), **FIT)
            out["list_unchanged"] = callbacks.callbacks == members

        out["callback_list"] = kept(with_list)
        out["n_seen"] = len(seen)
"""
"""All ways to pass callbacks."""

MODELS = """
        class Overrides(keras.Model):
            def __init__(self):
                super().__init__()
                self.layer = keras.layers.Dense(1)
            def call(self, x):
                return self.layer(x)
            def train_step(self, data):
                return super().train_step(data)
            def fit(self, *args, **kwargs):
                return super().fit(*args, **kwargs)

        overriding = Overrides()
        overriding.compile("sgd", "mse")
        out["subclass"] = kept(lambda m: m.fit(x, y, **FIT), overriding)
        out["eager"] = kept(lambda m: m.fit(x, y, **FIT), model(run_eagerly=True))
        out["several_per_call"] = kept(lambda m: m.fit(x, y, epochs=2, **FIT), model(steps_per_execution=4))

        capture, made = started(), model(steps_per_execution=4)
        made.fit(x, y, validation_data=(x[:16], y[:16]), **FIT)
        made.predict(x, batch_size=8, verbose=0)
        (window,) = capture.stop().windows
        trace = open_traces(window.run_dir).trace
        for kind in ("train", "test", "test_predict"):
            rows = np.flatnonzero(trace.names_matching((kind,)) & trace.has_stat("_r"))
            begun = trace.int_stat("begun_ns")[rows]
            out["begun_of_" + kind] = (begun > 0).tolist()
            out["batches_of_" + kind] = trace.int_stat("n_batches", default=1)[rows].tolist()

        def batches():
            for _ in range(6):
                yield x[:8], y[:8]

        out["generator"] = kept(lambda m: m.fit(batches(), verbose=0))

        class Stops(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                self.model.stop_training = batch == 2

        out["stopped_early"] = kept(lambda m: m.fit(x, y, callbacks=[Stops()], **FIT))
"""
"""All kinds of models, and data that ends unforeseen."""

THREADS = """
        def in_threads(made):
            made.fit(x, y, **FIT)
            other = model()
            threads = [threading.Thread(target=lambda m=m: m.fit(x, y, **FIT)) for m in (made, other)]
            [t.start() for t in threads]
            [t.join() for t in threads]

        out["threads"] = kept(in_threads)

        main, ends = threading.get_ident(), set()
        class Threads(keras.callbacks.Callback):
            async_safe = True
            def on_train_batch_end(self, batch, logs=None):
                ends.add(threading.get_ident() == main)
        fit = lambda m: m.fit(x, y, callbacks=[Threads()], **FIT)
        fit(model())
        alone, ends = ends, set()
        kept(fit)
        out["dispatch_kept"] = alone == ends
"""
"""Training on several threads, and the threads of the hooks."""


@pytest.fixture(scope="module")
def shapes() -> dict[str, Any]:
    return run_scenario(CALLBACKS + MODELS + THREADS)


@pytest.mark.parametrize(
    "how", ["none", "tuple", "single", "positional", "callback_list", "subclass", "eager", "generator"]
)
def test_six_batches_are_six_steps_however_fit_is_called(shapes: dict[str, Any], how: str) -> None:
    assert shapes[how] == [list(range(6))]


def test_the_users_callbacks_run_as_ever(shapes: dict[str, Any]) -> None:
    assert shapes["n_seen"] == 6 * 5
    assert shapes["list_unchanged"]


def test_several_batches_in_a_call_are_one_step_with_the_number_of_the_first(shapes: dict[str, Any]) -> None:
    assert shapes["several_per_call"] == [[0, 4, 6, 10]]


def test_their_markers_say_how_many_batches_they_are(shapes: dict[str, Any]) -> None:
    assert [shapes[f"batches_of_{kind}"] for kind in ("train", "test", "test_predict")] == [[4, 2], [4], [4, 2]]


def test_the_first_step_of_a_validation_says_how_long_before_it_that_began(shapes: dict[str, Any]) -> None:
    assert [shapes[f"begun_of_{kind}"] for kind in ("train", "test", "test_predict")] == [
        [False] * 2,
        [True],
        [True, False],
    ]


def test_training_that_stops_early_ends_its_last_step(shapes: dict[str, Any]) -> None:
    assert shapes["stopped_early"] == [[0, 1, 2]]


def test_trainings_in_parallel_mark_all_their_steps(shapes: dict[str, Any]) -> None:
    assert len(shapes["threads"][0]) == 18


def test_batch_end_hooks_run_on_the_threads_that_keras_gives_them_without_a_capture(shapes: dict[str, Any]) -> None:
    assert shapes["dispatch_kept"]
