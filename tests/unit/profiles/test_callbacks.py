"""Profiling by one line: callbacks, fit and loops of one's own, and measurements that a page asks for."""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfprof_widgets as tfprof
from tests.unit.analysis.steps.test_steps import unmarked
from tests.unit.capture.experiments.programs import run_program
from tests.unit.capture.scenario import Scenario
from tfprof_widgets import profile_views
from tfprof_widgets.analysis import compute_steps
from tfprof_widgets.capture import experiments as advised
from tfprof_widgets.errors import TfProfError
from tfprof_widgets.profile_views import MeasuredAdvice

CLASSES = (tfprof.ProfileCallback, tfprof.WatchCallback, tfprof.ProfilerHook)


@pytest.fixture(scope="module")
def run(scenario: Scenario) -> dict[str, Any]:
    return scenario("""
        import copy
        import tfprof_widgets as tfprof

        class Mine(tfprof.ProfileCallback):
            def __init__(self, word, **options):
                super().__init__(**options)
                self.word = word

        x, y = arrays(6)
        trained = model()
        kinds = {"profile": tfprof.ProfileCallback, "watch": tfprof.WatchCallback}
        bases = {"profile": keras.callbacks.Callback, "watch": tf.keras.callbacks.Callback}
        for name, kind in kinds.items():
            made = kind(every=2)
            out[name] = [isinstance(made, kind), isinstance(made, bases[name]), type(made).__name__, type(made) is type(kind())]
        hook = tfprof.ProfilerHook(steps=[3])
        out["hook"] = [isinstance(hook, tfprof.ProfilerHook), isinstance(hook, tf.compat.v1.train.SessionRunHook),
                       type(hook).__name__, type(hook) is type(tfprof.ProfilerHook())]

        mine = Mine("hello", steps=[1, 2])
        trained.fit(x, y, callbacks=[mine], **FIT)
        out["mine"] = [isinstance(mine, Mine), isinstance(mine, tfprof.ProfileCallback), mine.word,
                       isinstance(mine, keras.callbacks.Callback), mine.profile.steps["name"].tolist()]
        for copied in (copy.copy(tfprof.ProfileCallback(steps=[4])), copy.deepcopy(tfprof.ProfileCallback(steps=[4]))):
            trained.fit(x, y, callbacks=[copied], **FIT)
            is_one = isinstance(copied, tfprof.ProfileCallback)
            out.setdefault("copies", []).append([is_one, copied.profile.steps["name"].tolist()])
        out["own"] = error_of(lambda: tfprof.WatchCallback(every=0))
    """)


@pytest.mark.parametrize(
    ("name", "kind"), [("profile", "ProfileCallback"), ("watch", "WatchCallback"), ("hook", "ProfilerHook")]
)
def test_an_object_is_one_of_its_class_and_of_its_late_base(run: dict[str, Any], name: str, kind: str) -> None:
    assert run[name] == [True, True, kind, True]


def test_a_class_of_the_users_own_can_be_derived(run: dict[str, Any]) -> None:
    assert run["mine"] == [True, True, "hello", True, ["train 1", "train 2"]]


def test_a_copy_captures_as_the_callback_does(run: dict[str, Any]) -> None:
    assert run["copies"] == [[True, ["train 4"]]] * 2


def test_an_option_that_means_nothing_is_refused_when_the_callback_is_made(run: dict[str, Any]) -> None:
    assert run["own"][0] == "ValueError"


@pytest.mark.parametrize("kind", CLASSES)
def test_a_class_tells_its_arguments_without_tensorflow(kind: type) -> None:
    assert inspect.isclass(kind)
    assert all(parameter.kind != parameter.VAR_KEYWORD for parameter in inspect.signature(kind).parameters.values())


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
def trained(scenario: Scenario, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    logdir = str(tmp_path_factory.mktemp("marked"))
    # Data that takes 40 ms to come sets the pace: both programs then take the same time on any machine.
    return scenario(PROGRAM.replace("LOGDIR", repr(logdir)))


def test_a_first_step_that_ends_its_window_by_tracing_is_in_no_average(trained: dict[str, Any]) -> None:
    told = trained["slow_first"]
    assert told["sessions"] == [0, *[1] * 19]
    assert told["averaged"][0] >= 1
    assert told["left_out"].startswith("Step 0 (")
    assert "compiles)" in told["left_out"]
    assert max(told["gains"], default=0.0) < 0.05


def test_a_function_that_is_traced_again_and_again_is_in_no_average_but_in_verdict_and_advice(
    trained: dict[str, Any],
) -> None:
    told = trained["traced_again"]
    assert not {4, 9, 14, 19} & set(told["averaged"])
    assert told["verdict"].startswith("4 steps compile again and take ")
    ((title, gain),) = told["advice"]
    assert "is traced again in 4 calls of 20 steps" in title
    assert title.endswith("the steps that compile included.")
    assert gain > 0.5


def test_each_batch_of_a_fit_is_a_marked_step(trained: dict[str, Any]) -> None:
    for fit in trained["fit"]:
        assert fit["names"] == [f"train {i}" for i in range(40)]
        assert fit["sources"] == ["marker"]
        assert fit["notices"] == []


def test_the_same_loop_written_by_hand_has_as_many_inferred_steps_of_the_same_time(
    trained: dict[str, Any],
) -> None:
    for loop in trained["loop"]:
        assert loop["sources"] == ["inferred"]
        assert len(loop["names"]) == 40
    # The best of three: a machine that was busy elsewhere just then must not decide about this test.
    marked_ms, inferred_ms = (min(one["mean_ms"] for one in trained[kind]) for kind in ("fit", "loop"))
    assert inferred_ms == pytest.approx(marked_ms, rel=0.05)


def test_unpaced_steps_lose_no_time_when_their_markers_are_taken_away(trained: dict[str, Any]) -> None:
    """Two runs of a step of a millisecond differ by more than 5 % by themselves, so both readings are of one run."""
    prof = tfprof.load(Path(trained["marked"]))
    inferred = compute_steps(unmarked(prof.trace)).frame
    assert set(prof.steps["source"]) == {"marker"}
    assert set(inferred["source"]) == {"inferred"}
    assert len(inferred) == len(prof.steps) == 40
    # An inferred step lasts until the next begins. A machine that was busy between two markers must not decide about this.
    from_start_to_start = np.diff(prof.steps["start_ms"])
    assert np.median(inferred["step_time_ms"][:-1] / from_start_to_start) == pytest.approx(1, rel=0.05)


def asked_during_a_cell(monkeypatch: pytest.MonkeyPatch, *, cell_s: float, patience_s: float) -> list[Any]:
    """What happened when another thread asked while the loop's own ran a cell: measurements, then answers."""
    happened: list[Any] = []

    def measure(_: MeasuredAdvice, rule: str) -> dict[str, Any]:
        happened.append(threading.current_thread())
        return {"rule": rule}

    monkeypatch.setattr(profile_views, "PATIENCE_S", patience_s)
    monkeypatch.setattr(MeasuredAdvice, "_measure", measure)

    async def kernel() -> None:
        advice = MeasuredAdvice(None)

        def ask() -> None:
            try:
                happened.append(advice.reply({"rule": "input_bound"}))
            except TfProfError as error:
                happened.append(str(error))

        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(cell_s)  # a cell keeps the loop busy
        happened.append("the cell has ended")
        while thread.is_alive():
            await asyncio.sleep(0.01)

    asyncio.run(kernel())
    return happened


def test_it_measures_in_the_thread_of_the_cells_once_the_cell_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    happened = asked_during_a_cell(monkeypatch, cell_s=0.2, patience_s=20)
    assert happened == ["the cell has ended", threading.main_thread(), ({"rule": "input_bound"}, [])]


def test_it_never_begins_once_it_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    happened = asked_during_a_cell(monkeypatch, cell_s=0.5, patience_s=0.1)
    assert happened == ["A cell runs: measure when it has ended.", "the cell has ended"]


def test_nothing_can_be_measured_outside_a_kernel_and_of_a_loaded_trace() -> None:
    assert MeasuredAdvice(None).rules() == {}

    async def kernel() -> dict[str, str]:
        return MeasuredAdvice(None).rules()

    assert asyncio.run(kernel()) == {}


@pytest.mark.tensorflow
def test_every_measurable_advice_is_measured_and_leaves_everything_as_it_was() -> None:
    found = run_program("""
        from tfprof_widgets.capture import FitCall
        from tfprof_widgets.capture import experiments as advised
        from tfprof_widgets.profile_views import MeasuredAdvice

        advised.measure_rule.__defaults__ = (advised.Bounds(3, 2.0, 2),)
        begin()
        model, data = plain(jit_compile=False), dataset()
        model.fit(data, epochs=1, verbose=0)
        advice = MeasuredAdvice(FitCall({"self": model, "x": data}))
        before = state(model)
        for rule in ("launch_bound", "small_batch"):
            out[rule] = advice.reply({"rule": rule})[0]
        out["same"] = state(model) == before
        out["rules"] = advised.measurable_rules(advice._fitted)
        compiled = plain(jit_compile=True)
        compiled.fit(data, epochs=1, verbose=0)
        out["of compiled"] = list(advised.measurable_rules(FitCall({"self": compiled, "x": data}).fitted()))
    """)
    assert re.match(r"Measured: [\d.,]+ ms a step, [\d.,]+ compiled by XLA", found["launch_bound"]["words"])
    assert re.match(r"Measured: [\d.,]+ ms a sample, [\d.,]+ with twice the batch", found["small_batch"]["words"])
    assert found["same"]
    assert found["rules"]["launch_bound"] == "jit_compile=True"
    assert "host_callback" not in found["rules"]
    assert "launch_bound" not in found["of compiled"]


def test_a_training_that_fails_so_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("No registered kernel for XLA_GPU_JIT.\nRegistered: CPU")

    monkeypatch.setattr(MeasuredAdvice, "_fitted", object())
    monkeypatch.setattr(advised, "measurable_rules", lambda _: {"launch_bound": ""})
    monkeypatch.setattr(advised, "measure_rule", fail)
    said = "It does not train compiled by XLA: No registered kernel for XLA_GPU_JIT. Everything is as it was."
    with pytest.raises(TfProfError, match=re.escape(said) + "$"):
        MeasuredAdvice(None).reply({"rule": "launch_bound"})
