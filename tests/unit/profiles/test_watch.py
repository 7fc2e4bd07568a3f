"""watch(): every step of a training is there while it runs and afterwards, whatever becomes of it."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.capture.scenario import PRELUDE, run_scenario
from tests.warm_process import run_python
from tfprof_widgets.trace import PROFILED, STEP, Steps
from tfprof_widgets.watching_state import N_KEPT, Training, figures

pytestmark = pytest.mark.tensorflow

WATCH = """
import tfprof_widgets as tfprof

class Slow:
    '''A dataset whose elements take long from some element on.'''
    def __init__(self, n_fast, seconds):
        self.n, self.n_fast, self.seconds = 0, n_fast, seconds
    def __call__(self, x, y):
        def wait(x):
            self.n += 1
            time.sleep(self.seconds if self.n > self.n_fast else 0.0)
            return x
        x = tf.ensure_shape(tf.numpy_function(wait, [x], tf.float32), (8, 4))
        return x, y

def dataset(n_fast=10**9, seconds=0.0):
    x, y = arrays(1)
    slow = Slow(n_fast, seconds)
    return tf.data.Dataset.from_tensors((x, y)).repeat().map(slow)

def fitted(watch_options, *, n=200, data=None, **fit):
    trained = model()
    trained.fit(dataset(), steps_per_epoch=2, verbose=0)
    with tfprof.watch(**watch_options) as watch:
        trained.fit(data or dataset(), steps_per_epoch=n, **{"verbose": 0, **fit})
    return watch

def until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return bool(condition())
"""


def scenario(body: str, **how: Any) -> dict[str, Any]:
    """What a program puts into `out`."""
    return run_scenario(WATCH + textwrap.dedent(body), **how)


@pytest.mark.parametrize("n", [10, pytest.param(60, marks=pytest.mark.nightly)])
def test_the_waits_of_short_epochs_are_known_but_for_their_last_steps(n: int) -> None:
    out = scenario(f"""
        x, y = arrays({n})
        trained = model()
        trained.fit(x, y, **FIT)
        with tfprof.watch(windows=False) as watch:
            trained.fit(x, y, epochs=12, **FIT)
        table = watch.steps
        out["n"], out["known"] = len(table), int(table.wait_ms.notna().sum())
    """)
    assert out["n"] == 12 * n
    assert out["known"] >= 11 * (n - 1)


def test_every_step_of_a_fit_is_there_with_its_wait_loss_and_epoch() -> None:
    out = scenario("""
        watch = fitted(dict(windows=False), n=60, epochs=2, data=dataset(60, 0.02))
        table = watch.steps
        out["numbers"] = table.number.tolist()
        out["kinds"] = table.kind.unique().tolist()
        out["epochs"] = table.number[table.begins_epoch].tolist()
        late, early = table[table.number >= 70], table[table.number < 55]
        out["late_wait_ms"], out["early_wait_ms"] = float(late.wait_ms.median()), float(early.wait_ms.median())
        out["late_ms"] = float(late.step_time_ms.median())
        out["known_waits"] = int(table.wait_ms.notna().sum())
        out["known_losses"] = int(table.loss.notna().sum())
        out["outside_ms"] = float(table.outside_ms.median())
        out["columns_of_samples"] = list(watch.samples.columns)
        out["report"] = watch.report()
        out["repr"] = repr(watch)
    """)
    assert out["numbers"] == list(range(120))
    assert out["kinds"] == ["train"]
    assert out["epochs"] == [0, 60]
    assert out["late_wait_ms"] > 10
    assert out["early_wait_ms"] < 5
    assert out["late_wait_ms"] < out["late_ms"]
    assert out["known_waits"] > 60
    assert out["known_losses"] > 100
    assert 0 < out["outside_ms"] < 5
    assert out["columns_of_samples"][0] == "time_ns"
    assert "120" in out["report"]
    assert "120" in out["repr"]


def test_tracing_is_no_wait_for_data_in_a_fit_nor_in_a_loop() -> None:
    out = scenario("""
        class SlowToTrace(keras.layers.Layer):
            def call(self, x):
                time.sleep(0.4)
                return x

        trained = keras.Sequential([keras.Input((3, 4)), SlowToTrace(), keras.layers.Flatten(), keras.layers.Dense(1)])
        trained.compile("sgd", "mse")
        x, y = np.ones((8 * 40, 3, 4), "f4"), np.ones((8 * 40, 1), "f4")

        @tf.function
        def doubled(x):
            time.sleep(0.4)
            return x + x

        def traced_in_next():
            for i in range(4):
                time.sleep(0.02)
                yield doubled(tf.ones(2 + (i == 2)))

        with tfprof.watch(windows=False) as watch:
            trained.fit(x, y, shuffle=False, **FIT)
            trained.compile("adam", "mse")  # a new train_function
            trained.fit(x, y, shuffle=False, **FIT)
            for x in tfprof.trace_steps(traced_in_next()):
                pass
            for x in tfprof.trace_steps([tf.ones(7)] * 3):
                doubled(x)
        kept = tfprof.load(watch.folder).steps
        table = watch.steps
        out["same"] = bool(np.array_equal(table.wait_ms, kept.wait_ms, equal_nan=True))
        out["traced"] = np.flatnonzero(table.step_time_ms > 300).tolist()
        out["known"] = table.wait_ms.notna().tolist()
        out["mine"] = table.wait_ms[80:].fillna(-1).tolist()
        out["longest_wait_ms"] = float(table.wait_ms.max())
        out["report"] = watch.report()
    """)
    assert out["same"]
    assert out["traced"] == [0, 40, 80, 82, 84]
    assert not any(out["known"][i] for i in (0, 40, 80, 82))
    assert sum(out["known"][1:39]) > 30
    assert out["mine"][1] >= 20
    assert 0 <= out["mine"][4] < 100, "what the loop measured in next() is known beside tracing in its body"
    assert out["longest_wait_ms"] < 300


def test_what_a_callback_does_before_a_batch_is_asked_for_is_no_wait_and_its_validation_tells_no_loss() -> None:
    out = scenario("""
        x, y = arrays(6)
        class Busy(keras.callbacks.Callback):
            def on_train_batch_begin(self, batch, logs=None):
                time.sleep(0.5 * (batch == 0))
            def on_train_batch_end(self, batch, logs=None):
                told.append(logs["loss"])
                if batch == 3:
                    self.model.evaluate(x, y + 100, **FIT)
        told = []
        trained = model()
        trained.fit(x, y, callbacks=[Busy()], **FIT)
        told.clear()
        with tfprof.watch(windows=False) as watch:
            trained.fit(x, y, epochs=3, callbacks=[Busy()], **FIT)
        table = watch.steps
        is_own = table.kind == "train"
        out["first"] = table[is_own & table.begins_epoch][["step_time_ms", "wait_ms"]].values.tolist()
        out["told"], out["losses"] = told, table.loss[is_own].tolist()
        out["of_validation"] = int(table.loss[~is_own].notna().sum())
    """)
    assert len(out["first"]) == 3
    assert all(step_ms > 500 and not wait_ms > 250 for step_ms, wait_ms in out["first"]), out["first"]
    assert out["losses"] == pytest.approx(out["told"])
    assert len(out["told"]) == 18
    assert out["of_validation"] == 0


def test_windows_open_as_asked_and_their_profiles_have_steps_layers_and_lines() -> None:
    out = scenario("""
        from tfprof_widgets.capture import window_policy
        window_policy.REST_RATIO = 0.0  # on a busy machine a window may take so long that the next one is left out
        trained = model()
        with tfprof.watch(every=50, window_steps=3) as watch:
            def ask(batch, logs):
                if batch == 20:
                    watch.capture(4)
                if batch == 120:
                    (watch.folder / "capture").touch()
                    until(lambda: not (watch.folder / "capture").exists())
            trained.fit(dataset(), steps_per_epoch=160, verbose=0,
                        callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=ask)])
            out["while_running"] = len(watch.windows)
        out["steps"] = [profile.steps.name.tolist() for profile in watch.windows]
        out["why"] = [event["why"] for event in watch.log.events if event["kind"] == "window"]
        out["layers"] = [len(profile.layers) > 0 for profile in watch.windows]
        out["profiled"] = watch.steps.number[watch.steps.profiled].tolist()
        out["error"] = error_of(lambda: watch.capture(3))
        out["bad"] = error_of(lambda: watch.capture(0))
        again = tfprof.load(watch.folder)
        out["loaded"] = [type(again).__name__, len(again.steps), [profile.steps.name.tolist() for profile in again.windows]]
    """)
    first = out["steps"][0]
    assert (len(first), int(first[0].split()[-1])) == (4, 21)
    assert out["why"][0] == "asked for"
    assert [why for why in out["why"] if why == "every 50 steps"], out["why"]
    assert "capture was touched" in out["why"]
    assert len(out["steps"][out["why"].index("capture was touched")]) == 3
    assert out["while_running"] >= 1
    assert all(out["layers"])
    assert set(out["profiled"]) == {int(name.split()[-1]) for names in out["steps"] for name in names}
    assert out["error"][0] == "CaptureError"
    assert out["bad"][0] == "ValueError"
    assert out["loaded"] == ["WatchedRun", 160, out["steps"]]


def test_a_failure_or_an_interrupt_keeps_the_steps_and_the_next_watch_works() -> None:
    out = scenario("""
        def fail(batch, logs):
            if batch == 30:
                raise RuntimeError("from the user")
        def interrupt(batch, logs):
            if batch == 30:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.1)
        for name, what in (("failed", fail), ("interrupted", interrupt)):
            kept = []
            def run():
                with tfprof.watch(windows=False) as watch:
                    kept.append(watch)
                    model().fit(dataset(), steps_per_epoch=60, verbose=0,
                                callbacks=[keras.callbacks.LambdaCallback(on_train_batch_begin=what)])
            error = error_of(run)
            out[name] = [error[0], len(kept[0].steps), kept[0].log.events[-1]["outcome"], kept[0].is_running]
        out["next"] = len(fitted(dict(windows=False), n=10).steps)
        out["profile"] = n_kept(started(system=False).stop())
    """)
    assert out["failed"] == ["RuntimeError", 30, "exception", False]
    assert out["interrupted"][0] == "KeyboardInterrupt"
    assert out["interrupted"][1] in (30, 31)
    assert out["interrupted"][2:] == ["interrupted", False]
    assert out["next"] == 10


def test_the_callback_watches_each_fit_that_it_is_passed_to() -> None:
    out = scenario("""
        callback = tfprof.WatchCallback(windows=False)
        out["before"] = error_of(lambda: callback.watch)
        trained = model()
        for n in (20, 30):
            trained.fit(dataset(), steps_per_epoch=n, verbose=0, callbacks=[callback])
        out["lengths"] = [len(watch.steps) for watch in callback.watches]
        out["last"] = len(callback.watch.steps)
        out["is_callback"] = isinstance(callback, keras.callbacks.Callback)
        with tfprof.watch(windows=False) as watch:
            out["profile"] = error_of(lambda: tfprof.profile().__enter__())
            trained.fit(dataset(), steps_per_epoch=5, verbose=0)
        out["beside"] = len(watch.steps)
    """)
    assert (out["profile"][0], out["beside"]) == ("CaptureError", 5), "a profile within a watch"
    assert out["before"][0] == "CaptureError"
    assert "No watch yet" in out["before"][1]
    assert out["lengths"] == [20, 30]
    assert out["last"] == 30
    assert out["is_callback"]


def test_a_killed_process_leaves_its_steps_up_to_the_last_second_and_its_windows(tmp_path: Path) -> None:
    program = """
        def kill(batch, logs):
            if batch == 150:
                time.sleep(1.0)
                print("@@", time.time_ns())
                sys.stdout.flush()
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.01)
        with tfprof.watch(every=50, window_steps=2) as watch:
            model().fit(dataset(), steps_per_epoch=300, verbose=0,
                        callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=kill)])
    """
    done = run_python(PRELUDE + WATCH + textwrap.dedent(program), cwd=tmp_path, TMPDIR=str(tmp_path))
    assert done.returncode == -9
    killed_ns = int(done.stdout.rpartition("@@")[2])
    look = """
        import tempfile
        table = tfprof.recover()
        table = table[table.folder.str.startswith(tempfile.gettempdir())]
        out["rows"] = table.drop(columns=["began"]).to_dict("records")
        found = [tfprof.load(row["folder"]) for row in out["rows"] if "tfprof.steps.bin" in os.listdir(row["folder"])]
        out["kinds"] = [type(one).__name__ for one in found]
        out["steps"] = [one.steps.number.tolist() for one in found]
        out["last_ns"] = [int(one.log.steps["start_ns"][-1]) for one in found]
        out["windows"] = [[profile.steps.name.tolist() for profile in one.windows] for one in found]
        out["view"] = [json.loads(one.dashboard().head)["state"] for one in found]
    """
    out = scenario(look, cwd=tmp_path, TMPDIR=str(tmp_path))
    assert out["kinds"] == ["WatchedRun"], out["rows"]
    (numbers,) = out["steps"]
    assert numbers == list(range(len(numbers)))
    assert killed_ns - out["last_ns"][0] < 2.2e9  # the step that slept a second was still running
    assert out["windows"][0][0] == ["train 50", "train 51"]
    assert out["view"] == ["lost"]


def test_a_disk_that_cannot_be_written_ends_no_training(tmp_path: Path) -> None:
    out = scenario(f"""
        from tfprof_widgets.read import steps_file as writer
        real = writer.FileIO.write
        def full(self, content):
            raise OSError(28, "No space left on device")
        class Full(writer.FileIO):
            write = full
        writer.FileIO = Full
        watch = fitted(dict(logdir={str(tmp_path)!r}, windows=False), n=30)
        out["view"] = json.loads(watch.dashboard().head)
    """)
    assert any("No space left" in notice for notice in out["view"]["notices"])
    assert out["view"]["n_steps"] == 30


def test_the_widget_has_the_state_of_the_moment_and_of_the_end() -> None:
    out = scenario("""
        pass
        heads = []
        with tfprof.watch(windows=False) as watch:
            view = watch.dashboard()
            view.observe(lambda change: heads.append(json.loads(change["new"])), "head")
            model().fit(dataset(0, 0.01), steps_per_epoch=150, verbose=0)
        out["states"] = [head["state"] for head in heads]
        out["steps"] = [head["n_steps"] for head in heads]
        out["last"] = heads[-1]
        out["elapsed_s"] = heads[-1]["elapsed_s"]
    """)
    assert set(out["states"][:-1]) == {"running", "ended"} or set(out["states"][:-1]) == {"running"}
    assert out["states"][-1] == "ended"
    assert out["steps"] == sorted(out["steps"])
    assert len(set(out["steps"])) >= 4
    assert out["last"]["n_steps"] == 150
    assert out["last"]["wait_ratio"] is None or 0 <= out["last"]["wait_ratio"] <= 1


def test_validations_loops_and_ends_of_epochs_are_told_apart_with_their_times() -> None:
    out = scenario("""
        x, y = arrays(5)
        class Saves(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                time.sleep(0.2)
        with tfprof.watch(windows=False) as watch:
            model().fit(x, y, validation_data=(x, y), epochs=3, callbacks=[Saves()], **FIT)
            for batch in tfprof.trace_steps(range(4), name="mine"):
                time.sleep(0.01)
            with tfprof.step(9):
                pass
        is_mine = watch.steps.kind == "other"
        out["kinds"], out["mine"] = watch.steps.kind.tolist(), watch.steps.step_time_ms[is_mine].tolist()
        out["waits"] = watch.steps.wait_ms[is_mine].notna().tolist()
        events = watch.log.events
        ends = [event for event in events if event["kind"] == "epoch_end"]
        out["ends"] = [[event["epoch"], event["seconds"], sorted(event["values"])] for event in ends]
        marks = json.loads(tfprof.load(watch.folder).dashboard().head)["marks"]
        out["validations"] = [[mark["at"], mark["words"]] for mark in marks if mark["kind"] == "validation"]
    """)
    assert out["kinds"] == (["train"] * 5 + ["validation"] * 5) * 3 + ["other"] * 4 + ["train"]
    assert min(out["mine"]) >= 10
    assert out["waits"] == [True] * 4
    assert [epoch for epoch, *_ in out["ends"]] == [0, 1, 2]
    assert all(0.2 <= seconds < 2 for _, seconds, _ in out["ends"])
    assert out["ends"][0][2] == ["loss", "val_loss"]
    assert [step for step, _ in out["validations"]] == [5, 10, 15]
    assert all(words.startswith("validation, ") for _, words in out["validations"])


def steps(n: int, *, ms: float, wait_ms: float, flags: int = 0) -> Steps:
    rows = np.zeros(n, STEP)
    rows["duration_us"], rows["wait_us"], rows["flags"] = 1e3 * ms, 1e3 * wait_ms, flags
    return rows


def training(*parts: Steps) -> Training:
    made = Training(0)
    for part in parts:
        made.add_steps(part)
    return made


def test_figures_are_of_the_latest_steps_and_not_of_those_that_were_profiled() -> None:
    parts = steps(500, ms=4, wait_ms=1), steps(20, ms=10, wait_ms=5), steps(5, ms=90, wait_ms=5, flags=PROFILED)
    latest = training(*parts).latest
    assert len(latest) == N_KEPT
    found = figures(latest)
    assert (found["step_ms"], found["steps_per_s"], found["wait_ratio"]) == pytest.approx((10, 100, 0.5))


def test_where_the_last_waits_are_not_known_those_before_tell_them() -> None:
    """The iterator of an epoch is gone before it can be asked about the last steps."""
    known, unknown = steps(100, ms=4, wait_ms=1), steps(25, ms=4, wait_ms=np.nan)
    assert figures(training(known, unknown).latest)["wait_ratio"] == pytest.approx(0.25)
    assert np.isnan(figures(unknown)["wait_ratio"])


def test_a_step_of_several_batches_is_told_as_such() -> None:
    rows = steps(30, ms=10, wait_ms=0)
    assert training(rows).batches == training().batches == ""
    rows["n_batches"] = 5
    assert "10.0 ms a step (5 batches in one call, 2.00 ms a batch), 100 steps/s" in training(rows).line(0, 0)


def test_without_steps_nothing_is_known() -> None:
    assert all(np.isnan(value) for value in figures(training().latest).values())
