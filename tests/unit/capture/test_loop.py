"""trace_steps and step: custom loops have exactly their iterations as steps, and keep their meaning."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.unit.capture.scenario import run_scenario
from tfprof_widgets.capture import KerasPatch, OwnMarksPatch, step, trace_steps, without_own_marks

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
        def selected():
            for i in trace_steps(range(20)):
                time.sleep(0.001)

        out["selected"] = kept(selected, steps=range(5, 8))

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
def run() -> dict[str, Any]:
    return run_scenario(ITERABLES + EXCEPTIONS + CHOSEN)


@pytest.fixture(scope="module", autouse=True)
def _elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("cwd"))
        yield


@pytest.mark.tensorflow
def test_two_epochs_of_a_dataset_are_one_series_without_a_step_for_its_end(run: dict[str, Any]) -> None:
    assert run["dataset"] == [list(range(10))]


@pytest.mark.tensorflow
@pytest.mark.parametrize(("kind", "n_steps"), [("iterator", 3), ("empty", 0), ("distributed", 5)])
def test_anything_that_can_be_iterated_is_marked(run: dict[str, Any], kind: str, n_steps: int) -> None:
    assert run[kind] == [list(range(n_steps))]


@pytest.mark.tensorflow
def test_an_iteration_that_the_program_leaves_is_no_step_and_the_next_has_its_number(run: dict[str, Any]) -> None:
    assert run["break"] == [[0, 1, 2, 3]]
    assert run["left"] == {"return": [0, 1], "close": [0], "held": [0, 1], "by hand": [0, 1], "fit": [0, 1, 2]}
    assert run["left_window"] == [[[0, 1]], 1]


@pytest.mark.tensorflow
def test_a_step_that_the_program_left_is_none_in_the_profile_but_where_memory_ran_out(run: dict[str, Any]) -> None:
    assert run["left_steps"] == [["train 0", "train 1"], ["train 0", "train 1", "train 2"]]


@pytest.mark.tensorflow
def test_waiting_for_data_is_in_the_step(run: dict[str, Any]) -> None:
    assert len(run["slow_ms"]) == 3
    assert min(run["slow_ms"]) >= 20


@pytest.mark.tensorflow
def test_an_exception_in_the_body_goes_on_and_leaves_no_step(run: dict[str, Any]) -> None:
    assert run["error"] == ["RuntimeError", "in the body"]
    assert run["after_error"] == [[0, 1]]


@pytest.mark.tensorflow
def test_an_exception_in_the_data_goes_on_and_makes_no_step(run: dict[str, Any]) -> None:
    assert run["data_error"] == ["ValueError", "in the data"]
    assert run["after_data_error"] == [[0]]


@pytest.mark.tensorflow
def test_selections_work_in_loops(run: dict[str, Any]) -> None:
    assert run["selected"] == [[5, 6, 7]]


@pytest.mark.tensorflow
def test_a_step_by_hand_keeps_its_number_and_is_selected_by_it(run: dict[str, Any]) -> None:
    assert run["by_hand"] == [list(range(100, 120))]
    assert run["by_hand_selected"] == [[101, 102], [110]]


@pytest.mark.tensorflow
def test_keras_steps_inside_a_step_neither_count_nor_open_windows(run: dict[str, Any]) -> None:
    assert run["evaluates"] == [[[2, 3, 4, 5, 6, 7]], 10, 6]


@pytest.mark.tensorflow
def test_steps_are_marked_for_other_profilers_too(run: dict[str, Any]) -> None:
    assert run["other_profiler"] == [0, 1, 2]


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
