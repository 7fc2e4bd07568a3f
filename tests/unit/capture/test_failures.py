"""Whatever ends the user's code, what was captured is kept, nothing is left behind, and the next capture works."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.capture.scenario import run_scenario

pytestmark = pytest.mark.tensorflow

NEXT = """
        def next_works():
            capture = started(system=False)
            model().fit(*arrays(5), **FIT)
            record = capture.stop()
            return steps(record) == [list(range(5))] and not record.notices
"""


@pytest.fixture(scope="module")
def run() -> dict[str, Any]:
    return run_scenario(
        NEXT
        + """
        x, y = arrays(20)

        class At(keras.callbacks.Callback):
            def __init__(self, action):
                super().__init__()
                self.action = action
            def on_train_batch_begin(self, batch, logs=None):
                if batch == 7:
                    self.action()

        def raise_error():
            raise RuntimeError("from the user")

        def out_of_python_memory():
            raise MemoryError("42 bytes")

        def out_of_tensor_memory():
            tf.zeros([1 << 45]) + 1

        def press_ctrl_c():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)

        for name, action in {"exception": raise_error, "memory": out_of_python_memory, "tensor": out_of_tensor_memory,
                             "ctrl_c": press_ctrl_c}.items():
            capture = started()
            trained = model()
            error = error_of(lambda: trained.fit(x, y, callbacks=[At(action)], **FIT))
            record = capture.stop(outcome="interrupted" if error[0] == "KeyboardInterrupt" else "exception")
            out[name] = {"error": error, "outcome": record.outcome, "steps": steps(record), "next": next_works(),
                         "function": type(trained.train_function).__name__}
    """
    )


@pytest.mark.parametrize(
    ("how", "error", "outcome"),
    [
        ("exception", "RuntimeError", "exception"),
        ("memory", "MemoryError", "exception"),
        ("tensor", "ResourceExhaustedError", "exception"),
        ("ctrl_c", "KeyboardInterrupt", "interrupted"),
    ],
)
def test_a_failure_in_the_training_keeps_its_steps_and_lets_the_next_capture_work(
    run: dict[str, Any], how: str, error: str, outcome: str
) -> None:
    assert run[how]["error"][0] == error
    assert run[how]["outcome"] == outcome
    assert run[how]["steps"] == [list(range(7))], "the step that failed is none of them"
    assert run[how]["next"]
    assert run[how]["function"] != "_WatchedFunction"


LEFT_RUNNING = """
        tf.profiler.experimental.start("/tmp/never_written")
        capture = started(system=False)
        with step(0):
            tf.constant(1.0) + 1
        record = capture.stop()
        out["stale"] = {"notices": record.notices, "steps": steps(record), "next": next_works()}

        outer = started(system=False)
        out["nested"] = error_of(lambda: started())
        with step(3):
            pass
        out["outer"] = steps(outer.stop())

        left = started(system=True)
        fit = keras.Model.fit
        del left
        gc.collect()
        out["abandoned_is_unwrapped"] = keras.Model.fit is not fit
        del fit
        capture = started(system=False)
        out["abandoned"] = list(capture.stop().notices)
        out["after_abandoned"] = next_works()

        kept = started(system=False)
        with step(4):
            pass
        import tfprof_widgets
        ended = tfprof_widgets.stop()
        out["ended"] = len(ended.steps), kept.is_running, tfprof_widgets.stop() is None
        out["after_stop"] = next_works()
"""
"""Sessions and captures that somebody left running."""

REFUSED = """
        capture = started(system=False)
        tf.profiler.experimental.stop()
        out["stolen"] = error_of(capture.stop)
        out["stolen_record"] = capture.record.run_dirs
        out["after_stolen"] = next_works()

        capture = started(system=False)
        out["same_record"] = capture.stop() is capture.stop()
        out["twice"] = error_of(capture.start)
        out["never"] = error_of(Capture().stop)

        capture = Capture(CaptureOptions(system=False))
        really_start = tf.profiler.experimental.start
        def refuse(logdir):
            raise tf.errors.InternalError(None, None, "no driver")
        tf.profiler.experimental.start = refuse
        out["refused"] = error_of(capture.start)
        out["refused_is_unwrapped"] = "tfprof" not in keras.Model.fit.__code__.co_filename
        tf.profiler.experimental.start = really_start
        out["after_refused"] = next_works()
"""
"""Sessions that end or do not start as they should."""

INTERRUPTED = """
        really_stop = tf.profiler.experimental.stop
        def stop_and_interrupt():
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.3)
            really_stop()
        capture = started(system=False)
        with step(0):
            pass
        tf.profiler.experimental.stop = stop_and_interrupt
        out["interrupted_stop"] = error_of(capture.stop)
        out["interrupted_record"] = steps(capture.record)
        capture = started(system=False)
        with step(0):
            pass
        out["interrupted_twice"] = error_of(lambda: capture.stop(outcome="interrupted"))
        out["interrupted_twice_record"] = steps(capture.record)
        tf.profiler.experimental.stop = really_stop
        out["after_interrupts"] = next_works()
"""
"""Ctrl-C while a capture stops."""

FILES = """
        capture = started(system=False)
        record = capture.stop()
        folder = record.run_dirs[0]
        gc.collect()  # TensorFlow's garbage must not be freed in a fork: its threads, for which that waits, are not there
        child = os.fork()
        if child == 0:
            del record, capture
            gc.collect()
            os._exit(0)
        os.waitpid(child, 0)
        out["after_fork"] = folder.exists()
        del record, capture
        gc.collect()
        out["files_die_with_the_record"] = not folder.exists()
"""
"""How long files live."""


@pytest.fixture(scope="module")
def sessions() -> dict[str, Any]:
    return run_scenario(NEXT + LEFT_RUNNING + REFUSED + INTERRUPTED + FILES)


def test_a_session_left_running_by_someone_is_stopped_and_told_of(sessions: dict[str, Any]) -> None:
    (notice,) = sessions["stale"]["notices"]
    assert "left running" in notice
    assert sessions["stale"]["steps"] == [[0]]
    assert sessions["stale"]["next"]


def test_a_capture_inside_another_is_refused_and_the_outer_goes_on(sessions: dict[str, Any]) -> None:
    kind, message = sessions["nested"]
    assert kind == "CaptureError"
    assert "`tfprof_widgets.stop()`" in message
    assert sessions["outer"] == [[3]]


def test_a_capture_whose_owner_is_gone_blocks_nobody(sessions: dict[str, Any]) -> None:
    assert sessions["abandoned_is_unwrapped"]
    assert "left running" in sessions["abandoned"][0]
    assert sessions["after_abandoned"]


def test_a_capture_left_running_can_be_ended(sessions: dict[str, Any]) -> None:
    assert sessions["ended"] == [1, False, True]
    assert sessions["after_stop"]


def test_a_session_that_someone_else_stopped_is_an_error_that_says_so(sessions: dict[str, Any]) -> None:
    kind, message = sessions["stolen"]
    assert kind == "CaptureError"
    assert "someone else" in message
    assert sessions["stolen_record"] == []
    assert sessions["after_stolen"]


def test_stop_is_idempotent_and_start_is_not(sessions: dict[str, Any]) -> None:
    assert sessions["same_record"]
    assert sessions["twice"][0] == "CaptureError"
    assert sessions["never"][0] == "CaptureError"


def test_a_profiler_that_does_not_start_leaves_nothing_behind(sessions: dict[str, Any]) -> None:
    kind, message = sessions["refused"]
    assert kind == "CaptureError"
    assert "no driver" in message
    assert sessions["refused_is_unwrapped"]
    assert sessions["after_refused"]


def test_ctrl_c_while_files_are_written_loses_none(sessions: dict[str, Any]) -> None:
    assert sessions["interrupted_stop"][0] == "KeyboardInterrupt"
    assert sessions["interrupted_record"] == [[0]]
    assert sessions["interrupted_twice"] is None, "the first interrupt is on its way to the user already"
    assert sessions["interrupted_twice_record"] == [[0]]
    assert sessions["after_interrupts"]


def test_files_live_as_long_as_the_record_and_a_forked_child_leaves_them_alone(sessions: dict[str, Any]) -> None:
    assert sessions["after_fork"]
    assert sessions["files_die_with_the_record"]


@pytest.fixture(scope="module")
def full_disk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run_scenario(
        NEXT
        + """
        import resource
        blocked = pathlib.Path("a_file")
        blocked.write_text("no folder")
        capture = started(system=False, logdir=blocked)
        with step(0):
            pass
        record = capture.stop()
        out["no_logdir"] = {"notices": record.notices, "steps": steps(record)}

        def stop_on_full_disk(**how):
            capture = started(system=False)
            model().fit(*arrays(5), **FIT)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
            error = error_of(lambda: capture.stop(**how))
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            return error, list(capture.record.notices), [str(path) for path in capture.record.run_dirs]

        os.mkdir("elsewhere")
        capture = started(system=False, logdir="logs")
        with step(0):
            pass
        os.chdir("elsewhere")
        out["relative_logdir"] = steps(capture.stop())
        os.chdir("..")
        out["in_the_logdir"] = len(list(pathlib.Path("logs").rglob("*.xplane.pb")))

        from tfprof_widgets.capture import windows
        stop_session, windows.stop_session = windows.stop_session, lambda logdir: 1 / 0
        capture = started(system=False)
        out["defect"] = error_of(capture.stop)
        windows.stop_session = stop_session
        out["defect_is_over"] = not capture.is_running
        out["after_defect"] = error_of(lambda: started(system=False).stop())

        out["full"] = stop_on_full_disk()
        out["full_after_error"] = stop_on_full_disk(outcome="exception")
        out["next"] = next_works()
    """,
        cwd=tmp_path_factory.mktemp("cwd"),
    )


def test_a_logdir_that_cannot_be_written_leaves_the_capture_where_it_was_and_says_so(full_disk: dict[str, Any]) -> None:
    (notice,) = full_disk["no_logdir"]["notices"]
    assert "a_file" in notice
    assert "prof.save" not in notice
    assert "free" in notice
    assert full_disk["no_logdir"]["steps"] == [[0]]


def test_a_relative_logdir_is_that_of_the_start_of_the_capture(full_disk: dict[str, Any]) -> None:
    assert full_disk["relative_logdir"] == [[0]]
    assert full_disk["in_the_logdir"] == 1


def test_no_failure_of_a_stop_blocks_the_next_capture(full_disk: dict[str, Any]) -> None:
    assert full_disk["defect"][0] == "ZeroDivisionError"
    assert full_disk["defect_is_over"]
    assert full_disk["after_defect"] is None


def test_a_program_that_ends_within_a_capture_ends() -> None:
    """A context manager entered by hand is left when the interpreter has no threads to give any more."""
    body = """
        import tfprof_widgets
        left_open = tfprof_widgets.profile()
        left_open.__enter__()
        out["is_running"] = True
    """
    assert run_scenario(body, TFPROF_WHOLE_END="1")["is_running"]


def test_a_full_disk_is_an_error_with_folder_and_free_space(full_disk: dict[str, Any]) -> None:
    error, notices, dirs = full_disk["full"]
    assert error[0] == "CaptureError"
    assert "tfprof-" in error[1]
    assert "free" in error[1]
    assert notices == [error[1]]
    assert dirs == []
    assert full_disk["next"]


def test_a_full_disk_does_not_replace_the_users_own_exception(full_disk: dict[str, Any]) -> None:
    error, notices, _ = full_disk["full_after_error"]
    assert error is None
    assert len(notices) == 1
