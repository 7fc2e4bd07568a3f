"""Steps of captured programs: batches of Keras' fit, evaluate and predict, iterations of custom loops, calls of a callback."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.unit.capture.scenario import Scenario
from tfprof_widgets.capture import KerasPatch, OwnMarksPatch, step, trace_steps, without_own_marks


@pytest.fixture(scope="module")
def run(scenario: Scenario) -> dict[str, Any]:
    return scenario("""
        x, y = arrays(20)
        callback = callback_of(steps=range(10, 15))
        out["before"] = error_of(lambda: callback.profile)
        trained = model()
        trained.fit(x, y, epochs=2, validation_data=(x, y), callbacks=[callback], **FIT)
        trained.fit(x, y, callbacks=[callback], **FIT)
        out["fits"] = [steps(record) for record in callback.profiles]
        out["last"] = callback.profile is callback.profiles[-1]
        out["is_callback"] = isinstance(callback, keras.callbacks.Callback)

        callback = callback_of()
        trained.evaluate(x, y, batch_size=8, verbose=0, callbacks=[callback])
        out["evaluate"] = steps(callback.profile, "test")

        class Fails(keras.callbacks.Callback):
            def on_train_batch_begin(self, batch, logs=None):
                out.setdefault("while_running", len(failing.profiles))
                if batch == 5:
                    raise RuntimeError("from the user")

        failing = callback_of()
        out["error"] = error_of(lambda: trained.fit(x, y, callbacks=[failing, Fails()], **FIT))
        out["failed"] = [[record.outcome, steps(record)] for record in failing.profiles]
        trained.fit(x, y, callbacks=[failing], **FIT)
        out["after_failure"] = steps(failing.profile)

        again = callback_of()
        error_of(lambda: trained.fit(x, y, callbacks=[again, Fails()], **FIT))
        trained.fit(x, y, callbacks=[again], **FIT)
        out["not_asked_between"] = [record.outcome for record in again.profiles]

        left = callback_of()
        error_of(lambda: trained.fit(x, y, callbacks=[left, Fails()], **FIT))
        out["capture_after_failure"] = error_of(lambda: started(system=False).stop())
        other = callback_of()
        error_of(lambda: trained.fit(x, y, callbacks=[left, Fails()], **FIT))
        out["callback_after_failure"] = error_of(lambda: trained.fit(x, y, callbacks=[other], **FIT))
        out["left"] = [[record.outcome, steps(record)] for record in left.profiles]

        capture = started(system=False)
        out["inside_a_capture"] = error_of(lambda: trained.fit(x, y, callbacks=[again], **FIT))
        out["the_capture"] = capture.stop().n_steps
        out["function"] = type(trained.train_function).__name__
    """)


def test_each_fit_or_lone_evaluate_gives_a_profile_with_step_numbers_of_its_own(run: dict[str, Any]) -> None:
    assert run["fits"] == [[[10, 11, 12, 13, 14]], [[10, 11, 12, 13, 14]]]
    assert run["last"]
    assert run["is_callback"]
    assert run["evaluate"] == [list(range(20))]


def test_asking_before_a_fit_says_what_to_do_and_a_callback_inside_a_capture_is_refused(run: dict[str, Any]) -> None:
    kind, message = run["before"]
    assert kind == run["inside_a_capture"][0] == "CaptureError"
    assert "callbacks=[...]" in message


def test_a_fit_that_fails_leaves_its_profile_and_is_finished_by_the_next_fit(run: dict[str, Any]) -> None:
    assert run["error"] == ["RuntimeError", "from the user"]
    assert run["while_running"] == 0
    assert run["failed"] == [["exception", [list(range(5))]]]
    assert run["after_failure"] == [list(range(20))]
    assert run["function"] != "_WatchedFunction"
    assert run["not_asked_between"] == ["exception", "complete"]


def test_a_fit_that_failed_keeps_nobody_else_from_capturing(run: dict[str, Any]) -> None:
    assert run["capture_after_failure"] is None
    assert run["callback_after_failure"] is None
    assert run["left"] == [["exception", [list(range(5))]]] * 2


ITERABLES = """
        def kept(body, **options):
            capture = started(system=False, **options)
            body()
            return steps(capture.stop())

        dataset = tf.data.Dataset.range(10).batch(2)

        def epochs():
            loop = trace_steps(dataset)
            for _ in range(2):
                for batch in loop:
                    batch + 1

        out["dataset"] = kept(epochs)

        def unknown():
            for item in trace_steps(iter([1, 2, 3])):
                pass

        out["iterator"] = kept(unknown)
        out["empty"] = kept(lambda: list(trace_steps([])))

        strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
        out["distributed"] = kept(lambda: list(trace_steps(strategy.experimental_distribute_dataset(dataset))))

        def breaks():
            for i in trace_steps(range(10)):
                if i == 2:
                    break
            for i in trace_steps(range(2)):
                pass

        out["break"] = kept(breaks)

        def returns():
            for i in trace_steps(range(10)):
                if i == 2:
                    return

        def closes():
            items = iter(trace_steps(range(10)))
            next(items), next(items)
            items.close()

        held = []
        def holds():
            items = iter(trace_steps(range(10)))
            held.append(items)
            for i in items:
                if i == 2:
                    break

        def by_hand_fails():
            items = iter(range(2))
            for i in range(10):
                with step(i):
                    next(items)

        def fit_fails():
            class Stops(keras.Sequential):
                def train_step(self, data):
                    calls.append(1)
                    if len(calls) == 4:
                        raise RuntimeError("in the batch")
                    return super().train_step(data)
            calls = []
            failing = Stops([keras.Input((4,)), keras.layers.Dense(1)])
            failing.compile("sgd", "mse", run_eagerly=True)
            failing.fit(*arrays(6), **FIT)

        def of(body):
            capture = started(system=False)
            error_of(body)
            return steps(capture.stop())[0]

        out["left"] = {
            "return": of(returns), "close": of(closes), "held": of(holds), "by hand": of(by_hand_fails), "fit": of(fit_fails),
        }
        capture = started(system=False, steps=range(0, 3))
        returns()
        out["left_window"] = [steps(capture.stop()), len(capture.record.windows)]

        from tfprof_widgets.analysis import Facts
        from tfprof_widgets.trace import Failure
        capture = started(system=False)
        returns()
        trace = open_traces(capture.stop().run_dirs[0]).trace
        failure = Failure(kind="ResourceExhaustedError", text="OOM", at_ns=time.time_ns())
        out["left_steps"] = [list(Facts(trace, failure=why).steps.frame["name"]) for why in (None, failure)]

        def slow():
            for i in range(3):
                time.sleep(0.02)
                yield i

        capture = started(system=False)
        for i in trace_steps(slow()):
            pass
        out["slow_ms"] = durations_ms(capture.stop(), "train")
"""
"""All kinds of iterables: the numbers of their steps."""

EXCEPTIONS = """
        capture = started(system=False)
        def fails():
            for i in trace_steps(range(10)):
                if i == 2:
                    raise RuntimeError("in the body")
        out["error"] = error_of(fails)
        out["after_error"] = steps(capture.stop(outcome="exception"))

        capture = started(system=False)
        def fails_in_data():
            def data():
                yield 1
                raise ValueError("in the data")
            for i in trace_steps(data()):
                pass
        out["data_error"] = error_of(fails_in_data)
        out["after_data_error"] = steps(capture.stop(outcome="exception"))
"""
"""Exceptions of the body and of the data."""

CHOSEN = """
        def by_hand():
            for i in range(100, 120):
                with step(i):
                    tf.constant(1.0) + i

        out["by_hand"] = kept(by_hand)
        out["by_hand_selected"] = kept(by_hand, steps=[101, 102, 110])

        x, y = arrays(6)
        made = model()
        def evaluates():
            for i in trace_steps(range(10)):
                if i % 3 == 0:
                    made.evaluate(x, y, batch_size=8, verbose=0)

        capture = started(system=False, steps=range(2, 8))
        evaluates()
        record = capture.stop()
        out["evaluates"] = [steps(record, "train"), record.n_steps, n_kept(record)]

        tf.profiler.experimental.start("own")
        for _ in trace_steps(range(3)):
            pass
        tf.profiler.experimental.stop()
        trace = open_traces("own").trace
        rows = np.flatnonzero(trace.names_matching(("train",)) & trace.has_stat("_r"))
        out["other_profiler"] = trace.int_stat("step_num")[rows].tolist()
"""
"""Steps by hand, steps that are selected, Keras inside a step, and other profilers."""


@pytest.fixture(scope="module")
def looped(scenario: Scenario) -> dict[str, Any]:
    return scenario(ITERABLES + EXCEPTIONS + CHOSEN)


@pytest.fixture(scope="module", autouse=True)
def _elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("cwd"))
        yield


@pytest.mark.parametrize(("kind", "n_steps"), [("dataset", 10), ("iterator", 3), ("empty", 0), ("distributed", 5)])
def test_anything_that_can_be_iterated_is_marked_without_a_step_for_its_end(
    looped: dict[str, Any], kind: str, n_steps: int
) -> None:
    assert looped[kind] == [list(range(n_steps))]


def test_an_iteration_that_the_program_leaves_is_no_step_and_the_next_has_its_number(looped: dict[str, Any]) -> None:
    assert looped["break"] == [[0, 1, 2, 3]]
    assert looped["left"] == {"return": [0, 1], "close": [0], "held": [0, 1], "by hand": [0, 1], "fit": [0, 1, 2]}
    assert looped["left_window"] == [[[0, 1]], 1]


def test_a_step_that_the_program_left_is_none_in_the_profile_but_where_memory_ran_out(looped: dict[str, Any]) -> None:
    assert looped["left_steps"] == [["train 0", "train 1"], ["train 0", "train 1", "train 2"]]


def test_waiting_for_data_is_in_the_step(looped: dict[str, Any]) -> None:
    assert len(looped["slow_ms"]) == 3
    assert min(looped["slow_ms"]) >= 20


def test_an_exception_in_the_body_or_the_data_goes_on_and_makes_no_step(looped: dict[str, Any]) -> None:
    assert looped["error"] == ["RuntimeError", "in the body"]
    assert looped["after_error"] == [[0, 1]]
    assert looped["data_error"] == ["ValueError", "in the data"]
    assert looped["after_data_error"] == [[0]]


def test_a_step_by_hand_keeps_its_number_and_is_selected_by_it(looped: dict[str, Any]) -> None:
    assert looped["by_hand"] == [list(range(100, 120))]
    assert looped["by_hand_selected"] == [[101, 102], [110]]


def test_keras_steps_inside_a_step_neither_count_nor_open_windows(looped: dict[str, Any]) -> None:
    assert looped["evaluates"] == [[[2, 3, 4, 5, 6, 7]], 10, 6]


def test_steps_are_marked_for_other_profilers_too(looped: dict[str, Any]) -> None:
    assert looped["other_profiler"] == [0, 1, 2]


def test_without_a_capture_the_loop_yields_the_same_and_loads_no_tensorflow() -> None:
    loaded = "tensorflow" in sys.modules
    assert list(trace_steps([1, 2, 3])) == [1, 2, 3]
    assert ("tensorflow" in sys.modules) == loaded


def test_the_length_is_that_of_the_dataset() -> None:
    assert len(trace_steps([1, 2, 3])) == 3
    with pytest.raises(TypeError):
        len(trace_steps(iter([1])))


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match="whole number"):
        step(1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="negative"):
        step(-1)


MODULE = "engine_of_keras_2"
PROGRAM = """
class Model:
    def fit(self):
        with tf.profiler.experimental.Trace("train", step_num=0, _r=1):
            return tf.add(1, 2)
    evaluate = predict = fit
"""


@pytest.fixture
def marks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the training of a module has marked; its `Model` is that of an imported `keras`."""
    found: list[str] = []

    class Trace:
        def __init__(self, name: str, **_: Any) -> None:
            found.append(name)

        def __enter__(self) -> None:
            pass

        def __exit__(self, *_: object) -> None:
            pass

    module = ModuleType(MODULE)
    profiler = SimpleNamespace(experimental=SimpleNamespace(Trace=Trace))
    vars(module)["tf"] = SimpleNamespace(profiler=profiler, add=lambda a, b: a + b)
    exec(PROGRAM, vars(module))
    monkeypatch.setitem(sys.modules, MODULE, module)
    monkeypatch.setitem(sys.modules, "keras", SimpleNamespace(Model=module.Model))  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace())  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("kind", [KerasPatch, OwnMarksPatch])
def test_steps_are_not_marked_twice_while_the_patch_is_in(marks: list[str], kind: type[OwnMarksPatch]) -> None:
    model = sys.modules["keras"].Model()
    patch = kind()
    patch.install()
    assert model.fit() == 3
    assert marks == []
    patch.remove()
    assert model.fit() == 3
    assert marks == ["train"]


def test_a_module_without_tensorflow_stays_as_it_is() -> None:
    module = ModuleType("of_keras_3")
    before = dict(vars(module))
    assert without_own_marks(module) is None
    assert vars(module) == before


@pytest.fixture(scope="module")
def fitted(scenario: Scenario) -> dict[str, Any]:
    return scenario("""
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


def test_steps_are_numbered_as_one_series_and_those_of_a_validation_by_themselves(fitted: dict[str, Any]) -> None:
    assert fitted["train"] == [list(range(40))]
    assert fitted["begins"] == [0, 20], "the first batch of an epoch"
    assert fitted["test"] == [[*range(5), *range(5, 10), 40, 41, 42]], "a lone evaluate goes on after the training"
    assert fitted["predict"] == [[43, 44]]
    assert fitted["n_steps"] == [45, 45, 0, 44], "those that can be selected"
    assert (fitted["outcome"], fitted["notices"]) == ("complete", [])


def test_time_in_batch_callbacks_is_in_the_steps_and_time_in_epoch_callbacks_is_not(fitted: dict[str, Any]) -> None:
    steady = [*fitted["train_ms"][1:19], *fitted["train_ms"][21:39]]
    assert max(fitted["train_ms"][1:]) < 200, "the 300 ms of on_epoch_end"
    assert sorted(steady)[len(steady) // 2] > 4, "the 4 ms of on_train_batch_end"


def test_the_methods_look_the_same_while_they_are_wrapped_and_everything_is_put_back(fitted: dict[str, Any]) -> None:
    looks = ("signature_kept", "doc_kept", "restored", "own_restored", "function_restored", "callbacks_unchanged")
    assert [name for name in looks if not fitted[name]] == []
    assert fitted["wrong_argument"][0] == "TypeError", "Keras' own message"
    assert "nonsense" in fitted["wrong_argument"][1]


def test_the_cost_of_the_capture_is_measured_and_the_machine_sampled_meanwhile(fitted: dict[str, Any]) -> None:
    start_s, stop_s, n_bytes = fitted["cost"]
    assert 0 < start_s < 5
    assert 0 < stop_s < 5
    assert n_bytes > 10_000
    assert fitted["system_columns"][:4] == ["time_ns", "cpu_pct", "process_cpu_pct", "rss_bytes"]
    assert fitted["n_samples"] >= 3


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
def shapes(scenario: Scenario) -> dict[str, Any]:
    return scenario(CALLBACKS + MODELS + THREADS)


@pytest.mark.parametrize(
    "how", ["none", "tuple", "single", "positional", "callback_list", "subclass", "eager", "generator"]
)
def test_six_batches_are_six_steps_however_fit_is_called(shapes: dict[str, Any], how: str) -> None:
    assert shapes[how] == [list(range(6))]


def test_the_users_callbacks_run_as_ever_and_on_the_same_threads(shapes: dict[str, Any]) -> None:
    assert shapes["n_seen"] == 6 * 5
    assert shapes["list_unchanged"]
    assert shapes["dispatch_kept"]


def test_several_batches_in_a_call_are_one_step_that_says_how_many_and_when_its_validation_began(
    shapes: dict[str, Any],
) -> None:
    assert shapes["several_per_call"] == [[0, 4, 6, 10]], "with the number of the first"
    kinds = ("train", "test", "test_predict")
    assert [shapes[f"batches_of_{kind}"] for kind in kinds] == [[4, 2], [4], [4, 2]]
    assert [shapes[f"begun_of_{kind}"] for kind in kinds] == [[False, False], [True], [True, False]]


def test_training_that_stops_early_ends_its_last_step(shapes: dict[str, Any]) -> None:
    assert shapes["stopped_early"] == [[0, 1, 2]]


def test_trainings_in_parallel_mark_all_their_steps(shapes: dict[str, Any]) -> None:
    assert len(shapes["threads"][0]) == 18
