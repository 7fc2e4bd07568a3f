"""ProfileCallback: the calls it is passed to are captured, without TensorBoard and without a block around them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.capture.scenario import run_scenario

pytestmark = pytest.mark.tensorflow


@pytest.fixture(scope="module")
def run() -> dict[str, Any]:
    return run_scenario("""
        x, y = arrays(20)
        callback = callback_of(steps=range(10, 15))
        out["before"] = error_of(lambda: callback.profile)
        trained = model()
        trained.fit(x, y, epochs=2, validation_data=(x, y), callbacks=[callback], **FIT)
        trained.fit(x, y, callbacks=[callback], **FIT)
        out["fits"] = [steps(record) for record in callback.profiles]
        out["last"] = callback.profile is callback.profiles[-1]
        out["is_callback"] = isinstance(callback, keras.callbacks.Callback)

        callback = callback_of(every=10)
        trained.fit(x, y, epochs=2, callbacks=[callback], **FIT)
        out["every"] = steps(callback.profile)

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


def test_each_fit_gives_a_profile_with_step_numbers_of_its_own(run: dict[str, Any]) -> None:
    assert run["fits"] == [[[10, 11, 12, 13, 14]], [[10, 11, 12, 13, 14]]]
    assert run["last"]
    assert run["is_callback"]


def test_every_gives_a_window_each(run: dict[str, Any]) -> None:
    assert run["every"] == [[0], [10], [20], [30]]


def test_a_lone_evaluate_is_captured(run: dict[str, Any]) -> None:
    assert run["evaluate"] == [list(range(20))]


def test_asking_before_a_fit_says_what_to_do(run: dict[str, Any]) -> None:
    kind, message = run["before"]
    assert kind == "CaptureError"
    assert "callbacks=[...]" in message


def test_a_fit_that_fails_leaves_its_profile(run: dict[str, Any]) -> None:
    assert run["error"] == ["RuntimeError", "from the user"]
    assert run["while_running"] == 0
    assert run["failed"] == [["exception", [list(range(5))]]]
    assert run["after_failure"] == [list(range(20))]
    assert run["function"] != "_WatchedFunction"


def test_a_fit_that_failed_is_finished_by_the_next_fit(run: dict[str, Any]) -> None:
    assert run["not_asked_between"] == ["exception", "complete"]


def test_a_fit_that_failed_keeps_nobody_else_from_capturing(run: dict[str, Any]) -> None:
    assert run["capture_after_failure"] is None
    assert run["callback_after_failure"] is None
    assert run["left"] == [["exception", [list(range(5))]]] * 2


def test_a_callback_inside_a_capture_is_refused(run: dict[str, Any]) -> None:
    assert run["inside_a_capture"][0] == "CaptureError"
