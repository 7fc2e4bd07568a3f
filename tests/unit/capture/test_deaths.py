"""However a process ends within a capture, what was recorded is kept, and it ends as it would have without."""

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
        from tfprof_widgets.capture import windows
        from tfprof_widgets.trace import scratch
        roomy = pathlib.Path("roomy").absolute()
        roomy.mkdir()
        with tfprof.profile(system=False) as prof:
            some_steps(3)
            full = pathlib.Path(os.environ["TMPDIR"])
            free_bytes, parents = scratch.free_bytes, scratch._parents
            windows.free_bytes = scratch.free_bytes = lambda place: 2**30 if roomy in (place, *place.parents) else 10
            scratch._parents = lambda: [full, roomy]
            rename, copytree = pathlib.Path.rename, windows.place_run
            def place_run(*_):
                raise OSError(28, "No space left on device")
            windows.place_run = place_run
        windows.free_bytes = scratch.free_bytes = free_bytes
        windows.place_run, scratch._parents = copytree, parents
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


def test_thirty_ctrl_c_during_a_stop_lose_nothing(survived: dict[str, Any]) -> None:
    assert survived["pressed"] == [0, 1, 2]


def test_a_logdir_with_a_name_too_long_is_told_and_the_capture_kept(survived: dict[str, Any]) -> None:
    kept, notices = survived["long_name"]
    assert kept == [0, 1, 2]
    assert "File name too long" in notices[0]


def test_a_program_that_has_used_up_its_file_descriptors_keeps_its_capture(survived: dict[str, Any]) -> None:
    assert survived["no_files"] == [0, 1, 2]
    assert survived["files_later"] == survived["files_given_back"]


def test_a_disk_that_fills_meanwhile_is_left_for_one_with_room(survived: dict[str, Any]) -> None:
    assert survived["filled"] == [[0, 1, 2], 1]
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
