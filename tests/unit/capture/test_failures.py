"""Whatever ends the user's code or its process, what was captured is kept, nothing is left behind, and the next capture works."""

from __future__ import annotations

import json
import signal
import subprocess
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from tests.unit.capture.scenario import PRELUDE, run_scenario
from tests.warm_process import run_python

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


def test_what_was_left_running_is_told_of_and_ended_and_what_runs_goes_on(sessions: dict[str, Any]) -> None:
    (notice,) = sessions["stale"]["notices"]
    assert "left running" in notice
    assert sessions["stale"]["steps"] == [[0]]
    kind, message = sessions["nested"]
    assert kind == "CaptureError"
    assert "`tfprof_widgets.stop()`" in message
    assert sessions["outer"] == [[3]]
    assert sessions["abandoned_is_unwrapped"]
    assert "left running" in sessions["abandoned"][0]
    assert sessions["ended"] == [1, False, True]
    assert sessions["stale"]["next"] and sessions["after_abandoned"] and sessions["after_stop"]


def test_a_session_that_ends_or_does_not_start_as_it_should_is_an_error_and_leaves_nothing_behind(
    sessions: dict[str, Any],
) -> None:
    for how, words in (("stolen", "someone else"), ("refused", "no driver")):
        kind, message = sessions[how]
        assert kind == "CaptureError"
        assert words in message
        assert sessions[f"after_{how}"]
    assert sessions["stolen_record"] == []
    assert sessions["refused_is_unwrapped"]
    assert sessions["same_record"], "to stop twice is to stop"
    assert sessions["twice"][0] == sessions["never"][0] == "CaptureError"


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

        from tfprof_widgets.capture import control
        stop_session, control.stop_session = control.stop_session, lambda logdir: 1 / 0
        capture = started(system=False)
        out["defect"] = error_of(capture.stop)
        control.stop_session = stop_session
        out["defect_is_over"] = not capture.is_running
        out["after_defect"] = error_of(lambda: started(system=False).stop())

        out["full"] = stop_on_full_disk()
        out["full_after_error"] = stop_on_full_disk(outcome="exception")
        out["next"] = next_works()
    """,
        cwd=tmp_path_factory.mktemp("cwd"),
    )


def test_a_logdir_is_that_of_the_start_and_one_that_cannot_be_written_leaves_the_capture_where_it_was(
    full_disk: dict[str, Any],
) -> None:
    (notice,) = full_disk["no_logdir"]["notices"]
    assert "a_file" in notice
    assert "prof.save" not in notice
    assert "free" in notice
    assert full_disk["no_logdir"]["steps"] == [[0]]
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


def test_a_full_disk_is_an_error_with_folder_and_free_space_but_beside_the_users_own(full_disk: dict[str, Any]) -> None:
    error, notices, dirs = full_disk["full"]
    assert error[0] == "CaptureError"
    assert "tfprof-" in error[1]
    assert "free" in error[1]
    assert notices == [error[1]]
    assert dirs == []
    assert full_disk["next"]
    error, notices, _ = full_disk["full_after_error"]
    assert error is None
    assert len(notices) == 1


CAPTURE = """
import tfprof_widgets as tfprof
from tfprof_widgets.capture import control
def some_steps(n):
    for i in range(n):
        with step(i):
            tf.matmul(tf.ones([8, 8]), tf.ones([8, 8]))
def captured(end, n=5, **options):
    with tfprof.profile(system=False, **options):
        some_steps(n)
        end()
"""

LOOK = """
import tempfile
import tfprof_widgets as tfprof
table = tfprof.recover()
table = table[table.folder.str.startswith(tempfile.gettempdir())]  # not what other tests left elsewhere
out["rows"] = table.drop(columns=["began", "folder"]).to_dict("records")
out["steps"] = [tfprof.load(folder).steps.step.tolist() for folder in table.folder]
out["lines"] = [bool(len(tfprof.load(folder).source_lines)) for folder in table.folder]
capture = started(system=False)
with step(9):
    pass
out["next"] = steps(capture.stop())
out["still_there"] = all(pathlib.Path(folder).exists() for folder in table.folder)
"""


def scenario(body: str, **how: Any) -> dict[str, Any]:
    """What a program puts into `out`."""
    return run_scenario(CAPTURE + textwrap.dedent(body), **how)


def die(program: str, tmp_path: Path) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """How a program ends, and what another process finds afterwards."""
    done = run_python(PRELUDE + CAPTURE + program, cwd=tmp_path, TMPDIR=str(tmp_path))
    return done, run_scenario(LOOK, cwd=tmp_path, TMPDIR=str(tmp_path))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_process_ends_the_capture_first(tmp_path: Path, number: signal.Signals) -> None:
    # `nohup`, under which tests may run, has SIGHUP ignored.
    program = f"signal.signal({number:d}, signal.SIG_DFL)\ncaptured(lambda: (os.kill(os.getpid(), {number:d}), time.sleep(30)))"
    done, found = die(program, tmp_path)
    assert done.returncode == -number, "it dies of the same signal"
    (row,) = found["rows"]
    assert (row["state"], row["n_windows"], row["n_steps"]) == ("ended", 1, 5)
    assert row["size_bytes"] > 1000
    assert found["steps"] == [[0, 1, 2, 3, 4]]
    assert found["next"] == [[9]]
    assert found["still_there"], "the next capture sweeps it, but not yet"


def test_a_signal_leaves_the_lines_of_the_program_too(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        PRELUDE + CAPTURE + "made = model()\n"
        "captured(lambda: (made.fit(*arrays(3), **FIT), os.kill(os.getpid(), signal.SIGTERM), time.sleep(30)))\n"
    )
    done = run_python(f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')", TMPDIR=str(tmp_path))
    assert done.returncode == -signal.SIGTERM
    assert run_scenario(LOOK, TMPDIR=str(tmp_path))["lines"] == [True]


def test_a_program_that_hangs_in_tensorflow_still_dies_of_sigterm_with_its_capture_kept(tmp_path: Path) -> None:
    program = """
def hang():
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM))
    timer.daemon = True
    timer.start()
    tf.queue.FIFOQueue(1, tf.float32).dequeue()  # Python runs no handler before this returns
captured(hang)
"""
    begin_s = time.monotonic()
    done, found = die(program, tmp_path)
    assert done.returncode == -signal.SIGTERM
    assert time.monotonic() - begin_s < 30
    assert found["steps"] == [[0, 1, 2, 3, 4]]


def test_sigterm_with_logdir_leaves_the_run_where_it_was_to_be(tmp_path: Path) -> None:
    done, found = die("captured(lambda: (os.kill(os.getpid(), 15), time.sleep(30)), logdir='logs')", tmp_path)
    assert done.returncode == -signal.SIGTERM
    assert found["rows"] == []
    assert len(list((tmp_path / "logs").rglob("*.xplane.pb"))) == 1


def test_the_programs_own_handler_runs_and_is_put_back(tmp_path: Path) -> None:
    out = scenario(
        """
heard = []
def hear(number, frame):
    heard.append(number)
signal.signal(signal.SIGTERM, hear)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
with tfprof.profile(system=False) as prof:
    some_steps(3)
    out["ignored"] = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.1)
    out["heard"] = list(heard)
    some_steps(2)
out["steps"] = prof.steps.step.tolist()
out["put_back"] = signal.getsignal(signal.SIGTERM) is hear and signal.set_wakeup_fd(-1) == -1
with tfprof.profile(system=False) as prof:
    late = lambda *_: None
    signal.signal(signal.SIGTERM, late)
out["late"] = signal.getsignal(signal.SIGTERM) is late
import sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
try:
    captured(lambda: (os.kill(os.getpid(), 15), time.sleep(30)))
except SystemExit as error:
    out["exit"] = error.code
""",
        TMPDIR=str(tmp_path),
    )
    assert out == {"ignored": True, "heard": [15], "steps": [0, 1, 2], "put_back": True, "late": True, "exit": 9}
    rows = run_scenario(LOOK, TMPDIR=str(tmp_path))["rows"]
    assert [row["n_steps"] for row in rows] == [5, 3], "the process may have ended by each of them"


KILLED = """
def end():
    control.LONGEST_SESSION_S = 0.0
    with step(5):
        pass
    control.LONGEST_SESSION_S = 20.0
    some_steps(3)
    {end}
captured(end)
"""


@pytest.mark.parametrize(("end", "status"), [("os.kill(os.getpid(), 9)", -9), ("os._exit(4)", 4)])
def test_what_cannot_be_noticed_leaves_the_windows_that_were_closed(tmp_path: Path, end: str, status: int) -> None:
    done, found = die(KILLED.replace("{end}", end), tmp_path)
    assert done.returncode == status
    assert [row["n_windows"] for row in found["rows"]] == [1]
    assert found["steps"] == [[0, 1, 2, 3, 4, 5]]
    assert found["next"] == [[9]]


@pytest.mark.parametrize("system", [True, False])
def test_a_capture_that_is_killed_within_its_window_leaves_its_steps(tmp_path: Path, system: bool) -> None:
    program = f"""
with tfprof.profile(system={system}, steps=range(2, 100)):
    some_steps(5)
    time.sleep(1.2)
    with step(5):
        pass
    time.sleep(0.5)
    os.kill(os.getpid(), 9)
"""
    done = run_python(PRELUDE + CAPTURE + program, cwd=tmp_path, TMPDIR=str(tmp_path))
    assert done.returncode == -9
    look = """
        import tempfile
        table = tfprof.recover()
        (folder,) = table.folder[table.folder.str.startswith(tempfile.gettempdir())]
        run = tfprof.load(folder)
        out["run"] = [type(run).__name__, run.steps.number.tolist(), run.steps.profiled.tolist(), len(run.windows)]
        out["report"] = run.report()
    """
    out = scenario(look, cwd=tmp_path, TMPDIR=str(tmp_path))
    assert out["run"] == ["WatchedRun", [0, 1, 2, 3, 4, 5], [False, False, True, True, True, True], 0]
    assert "it runs still, or its process was killed" in out["report"]


def test_a_daemon_thread_that_captures_at_the_exit_of_python_loses_nothing(tmp_path: Path) -> None:
    program = """
began = threading.Event()
def run():
    captured(lambda: (began.set(), time.sleep(60)))
threading.Thread(target=run, daemon=True).start()
began.wait(60)
sys.exit(3)
"""
    done, found = die(program, tmp_path)
    assert done.returncode == 3
    assert found["steps"] == [[0, 1, 2, 3, 4]]


def test_an_exit_from_a_thread_ends_its_capture_as_an_exception_does(tmp_path: Path) -> None:
    program = """
thread = threading.Thread(target=captured, args=(sys.exit,))
thread.start()
thread.join()
capture = started(system=False)
with step(0):
    pass
assert steps(capture.stop()) == [[0]]
"""
    done, found = die(program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert found["rows"] == [], "Python ended in peace, and its profiles with it"


FAULTS = """
        import resource
        press = lambda: [(os.kill(os.getpid(), signal.SIGINT), time.sleep(0.01)) for _ in range(30)]
        really_stop = tf.profiler.experimental.stop
        def slow_stop():
            threading.Thread(target=press, daemon=True).start()
            time.sleep(0.6)
            really_stop()
        tf.profiler.experimental.stop = slow_stop
        try:
            with tfprof.profile(system=False) as prof:
                some_steps(3)
        except KeyboardInterrupt:
            out["pressed"] = prof.steps.step.tolist()
        tf.profiler.experimental.stop = really_stop

        with tfprof.profile(system=False, logdir="x" * 300) as prof:
            some_steps(3)
        out["long_name"] = prof.steps.step.tolist(), list(prof.notices)

        held, (soft, hard) = [], resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
        with tfprof.profile(system=False) as prof:
            some_steps(3)
            try:
                while True:
                    held.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                pass
        for one in held:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        out["no_files"] = prof.steps.step.tolist()
        out["files_given_back"] = len(os.listdir("/proc/self/fd"))
        with tfprof.profile(system=False) as prof:
            some_steps(3)
        out["files_later"] = len(os.listdir("/proc/self/fd"))

        # The disk of the folder fills: another one is taken.
        from tfprof_widgets.capture import control
        from tfprof_widgets.trace import scratch
        roomy = pathlib.Path("roomy").absolute()
        roomy.mkdir()
        with tfprof.profile(system=False) as prof:
            some_steps(3)
            full = pathlib.Path(os.environ["TMPDIR"])
            free_bytes, parents = scratch.free_bytes, scratch._parents
            control.free_bytes = scratch.free_bytes = lambda place: 2**30 if roomy in (place, *place.parents) else 10
            scratch._parents = lambda: [full, roomy]
            rename, copytree = pathlib.Path.rename, control.place_run
            def place_run(*_):
                raise OSError(28, "No space left on device")
            control.place_run = place_run
        control.free_bytes = scratch.free_bytes = free_bytes
        control.place_run, scratch._parents = copytree, parents
        out["filled"] = prof.steps.step.tolist(), len(list(roomy.rglob("*.xplane.pb")))
        del prof
        gc.collect()
        out["nothing_stays"] = list(map(str, roomy.iterdir()))
        """


@pytest.fixture(scope="module")
def survived(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Faults that the process outlives."""
    place = tmp_path_factory.mktemp("survived")
    return scenario(
        FAULTS,
        cwd=place,
        TMPDIR=str(place),
    )


def test_faults_that_the_process_outlives_lose_no_step(survived: dict[str, Any]) -> None:
    told, notices = survived["long_name"]
    assert survived["pressed"] == told == survived["no_files"] == [0, 1, 2]
    assert "File name too long" in notices[0]
    assert survived["files_later"] == survived["files_given_back"]
    assert survived["filled"] == [[0, 1, 2], 1], "on another disk"
    assert survived["nothing_stays"] == []


def test_a_fork_that_falls_through_the_block_leaves_the_capture_to_its_parent(tmp_path: Path) -> None:
    program = """
child = 0
with tfprof.profile(system=False) as prof:
    some_steps(2)
    child = os.fork()
    some_steps(2)
if not child:
    told = "".join(prof.notices)
    ends = signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    del prof
    gc.collect()
    print(json.dumps([told, ends]), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(json.dumps(prof.steps.step.tolist()), flush=True)
"""
    done = run_python(PRELUDE + CAPTURE + program, cwd=tmp_path, TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    (told, ends), kept = map(json.loads, done.stdout.splitlines()[-2:])
    assert "fork" in told
    assert ends, "a worker of the program is ended by it at once"
    assert len(kept) == 4


def test_one_session_that_cannot_be_written_does_not_end_the_capture_and_two_do(tmp_path: Path) -> None:
    out = scenario(
        """
        import resource
        free = resource.RLIM_INFINITY
        def limit(n_bytes):
            resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, free))
        def capture(limits):
            with tfprof.profile(system=False) as prof:
                for n_bytes in limits:
                    control.LONGEST_SESSION_S = 20.0
                    some_steps(3)
                    control.LONGEST_SESSION_S = 0.0
                    limit(n_bytes)
                    some_steps(1)
                    limit(free)
            return len(prof.steps), len(prof.notices), prof.capture.n_steps
        out["once"] = capture([free, 2000, free])
        out["twice"] = capture([free, 2000, 2000, free])
        """,
        cwd=tmp_path,
    )
    assert out["once"] == [8, 1, 12], "four steps are lost with their session"
    assert out["twice"] == [4, 2, 16]


def test_a_long_capture_is_written_in_sessions_between_its_steps(tmp_path: Path) -> None:
    out = scenario(
        """
        control.LONGEST_SESSION_S = 0.5
        made = model()
        made.fit(*arrays(5), **FIT)
        class Slow(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                time.sleep(0.05)
        with tfprof.profile(system=False, logdir="logs") as prof:
            made.fit(*arrays(40), callbacks=[Slow()], **FIT)
        out["steps"] = prof.steps.step.tolist()
        out["loaded"] = tfprof.load("logs").steps.step.tolist()
        out["runs"] = sorted(path.name.partition(".")[2] for path in pathlib.Path("logs/plugins/profile").iterdir())
        out["notices"] = list(prof.notices)
        out["cards"] = [card.severity for card in prof.advice]
        with tfprof.profile(system=False, logdir="logs") as prof:
            some_steps(3)
        out["newest"] = tfprof.load("logs").steps.step.tolist()
        """,
        cwd=tmp_path,
    )
    assert out["steps"] == list(range(40)), "no step lies across a border"
    assert out["loaded"] == list(range(40)), "a log directory opens all windows of its newest capture"
    assert out["runs"][:3] == ["", "w2", "w3"]
    assert len(out["runs"]) <= 6
    assert out["notices"] == []
    assert out["newest"] == [0, 1, 2]
