"""Faults at random moments of captures, each in a process of its own -> what was kept, and does the next one work?

python -m tests.nightly.trainings.faults [n_faults] [seed]
"""

from __future__ import annotations

import json
import math
import random
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.warm_process import run_python

SESSION_S = 0.3
"""In place of the 20 s after which a session is written: what a killed process may lose."""
SLACK_S = 0.5
"""A step, and what a busy machine adds to one."""

TRAINING = """
import json, os, pathlib, resource, signal, struct, sys, threading, time
import tensorflow as tf
import tfprof_widgets as tfprof
from tfprof_widgets.capture import control
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job is started deaf to it
control.LONGEST_SESSION_S = {session_s}
done = os.open("steps", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def train(seconds, fault=lambda i: None):
    end_s = time.monotonic() + seconds
    x = tf.ones([64, 64])
    for i in tfprof.trace_steps(iter(int, 1)):
        if time.monotonic() > end_s:
            break
        for _ in range(5):
            x = tf.tanh(tf.matmul(x, x))
        yield_step(fault)

n_done, is_over = 0, False
def yield_step(fault):
    global n_done
    fault(n_done)
    n_done += 1
    if not is_over:
        os.write(done, struct.pack("d", time.monotonic()))

def note_fault():
    '''What is lost counts until now: what comes later cannot be written.'''
    pathlib.Path("fault").write_bytes(struct.pack("d", time.monotonic()))

def after(seconds, action):
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()

def told(prof):
    '''What the process itself has of it, and whether it can capture again.'''
    try:
        kept = 0 if prof is None else len(prof.steps)
    except tfprof.EmptyTraceError:
        kept = 0
    with tfprof.profile(system=False) as again:
        with tfprof.step(0):
            tf.matmul(tf.ones([8, 8]), tf.ones([8, 8]))
    print("@@" + json.dumps({{"kept": kept, "next": len(again.steps) == 1}}), flush=True)

prof = None  # of a capture that was interrupted before it began
"""

LOOK = """
import json, pathlib, sys
import tensorflow as tf
import tfprof_widgets as tfprof
place = {logdir!r}
table = tfprof.recover()
folders = table.folder.tolist() if place is None else [place] if pathlib.Path(place).exists() else []
kept = 0
for folder in folders[:1]:
    kept = len(tfprof.load(folder).steps)
with tfprof.profile(system=False) as again:
    with tfprof.step(0):
        tf.matmul(tf.ones([8, 8]), tf.ones([8, 8]))
print("@@" + json.dumps({{"kept": kept, "next": len(again.steps) == 1, "n_found": len(folders)}}))
"""

BLOCK = """
try:
    with tfprof.profile(system=False, logdir={logdir!r}) as prof:
        train({seconds}{fault})
except BaseException as error:
    print(type(error).__name__, flush=True)
"""
SETTLE = """
for _ in range(40):  # what is still to come
    try:
        time.sleep(0.02)
    except KeyboardInterrupt:
        pass
told(prof)
"""


@dataclass(frozen=True)
class Fault:
    """One way to end a training: what its process does, and how it ends by that."""

    kind: str
    program: str
    ends: tuple[int, ...] = (0,)
    """Exit statuses that are right; negative for a signal."""
    is_told: bool = True
    """Whether the process lives on and tells of its own profile."""
    may_lose: bool = False
    """Whether the last session may be lost."""


SIGNAL = "after({at}, lambda: os.kill(os.getpid(), signal.{name}))" + BLOCK
FAULTS = (
    Fault("exception", "def fail(i):\n    if i == {step}: raise RuntimeError\n" + BLOCK.replace("{fault}", ", fail") + SETTLE),
    Fault("SIGINT", SIGNAL.replace("{name}", "SIGINT") + SETTLE),
    Fault(
        "SIGINT x 10",
        "after({at}, lambda: [(os.kill(os.getpid(), signal.SIGINT), time.sleep({gap})) for _ in range(10)])" + BLOCK + SETTLE,
    ),
    Fault("SIGTERM", SIGNAL.replace("{name}", "SIGTERM") + "time.sleep(5)", (-signal.SIGTERM,), is_told=False),
    Fault("SIGHUP", SIGNAL.replace("{name}", "SIGHUP") + "time.sleep(5)", (-signal.SIGHUP,), is_told=False),
    Fault("SIGKILL", SIGNAL.replace("{name}", "SIGKILL") + "time.sleep(5)", (-signal.SIGKILL,), is_told=False, may_lose=True),
    Fault(
        "os._exit",
        "def fail(i):\n    if i == {step}: os._exit(7)\n" + BLOCK.replace("{fault}", ", fail") + "os._exit(7)",
        (7,),
        is_told=False,
        may_lose=True,
    ),
    Fault(
        "exit of main thread",
        "def run():\n" + BLOCK.replace("\n", "\n    ").replace("{seconds}", "9")
        + "\nthreading.Thread(target=run, daemon=True).start()\ntime.sleep({at} + 0.2)\nis_over = True\nsys.exit(3)",
        (3,),
        is_told=False,
    ),
    Fault(
        "no room",  # for any file of the process: what is not written by then cannot be
        "free, filled = resource.RLIM_INFINITY, threading.Event()\ndef fill():\n    note_fault()\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, free))\n    filled.set()\nafter({at}, fill)" + BLOCK
        + "filled.wait(9)\nresource.setrlimit(resource.RLIMIT_FSIZE, (free, free))\ntold(prof)\n",
        may_lose=True,
    ),
    Fault(
        "no descriptors",
        "held = []\ndef use_up(i):\n    if i != {step}: return\n    try:\n"
        "        while True: held.append(os.open('/dev/null', 0))\n"
        "    except OSError: pass\nresource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))\n"
        + BLOCK.replace("{fault}", ", use_up") + "for one in held: os.close(one)\ntold(prof)\n",
    ),
    Fault(
        "fork",
        "child = False\ndef fork(i):\n    global child\n    if i == {step} and os.fork() == 0:\n"
        "        child = True\n        raise RuntimeError\n"
        + BLOCK.replace("{fault}", ", fork") + "if child: os._exit(0)\ntold(prof)\n",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What became of one capture."""

    kind: str
    has_logdir: bool
    n_done: int
    n_kept: int
    lost_s: float
    """How much of the training the lost steps took; 0 where none was."""
    is_within: bool
    """Whether no more was lost than is said, and the process ended as it would have."""
    next_works: bool
    complaint: str = ""


def run_fault(fault: Fault, chance: random.Random) -> Outcome:
    """Train with a capture, have the fault happen, and look at what is left."""
    with tempfile.TemporaryDirectory(prefix="tfprof-tests-", ignore_cleanup_errors=True) as folder:
        here = Path(folder)
        logdir = str(here / "logs") if chance.random() < 0.5 else None
        (here / "tmp").mkdir()
        values = {
            "logdir": logdir,
            "at": round(chance.uniform(0.02, 1.3), 3),
            "step": chance.randrange(5, 120),
            "gap": chance.choice((0.0, 0.005, 0.03)),
            "seconds": 1.0,
            "fault": "",
        }
        program = TRAINING.format(session_s=SESSION_S) + fault.program.format(**values)
        done = _run(program, here)
        times = struct.unpack(f"{(here / 'steps').stat().st_size // 8}d", (here / "steps").read_bytes())
        look = done if fault.is_told else _run(LOOK.format(logdir=logdir), here)
        found = _answer(look)
        complaint = ""
        if done.returncode not in fault.ends:
            complaint = f"ended with {done.returncode}: {done.stderr[-1500:]}"
        elif not found:
            complaint = f"{look.stdout[-500:]} {look.stderr[-1500:]}"
        n_kept = int(found.get("kept", 0))
        noted = here / "fault"
        until_s = struct.unpack("d", noted.read_bytes())[0] if noted.exists() else math.inf
        lost = [at_s for at_s in times[n_kept:] if at_s < until_s]
        # The step in which it happens is not whole, and may have been noted already.
        lost_s = lost[-1] - times[max(n_kept - 1, 0)] if len(lost) > 1 else 0.0
        bound_s = SESSION_S + SLACK_S if fault.may_lose else 0.0
        return Outcome(
            fault.kind, logdir is not None, len(times), n_kept, lost_s,
            is_within=not complaint and lost_s <= bound_s, next_works=bool(found.get("next")), complaint=complaint,
        )  # fmt: skip


def _run(program: str, here: Path) -> subprocess.CompletedProcess[str]:
    return run_python(program, cwd=here, timeout_s=60, TMPDIR=str(here / "tmp"))


def _answer(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    _, is_there, text = done.stdout.rpartition("@@")
    found: dict[str, Any] = json.loads(text.splitlines()[0]) if is_there else {}
    return found


def run_faults(n_faults: int, seed: int) -> list[Outcome]:
    """Each kind in turn."""
    chance = random.Random(seed)
    return [run_fault(FAULTS[i % len(FAULTS)], chance) for i in range(n_faults)]


def table(outcomes: Iterable[Outcome]) -> str:
    """A line for each kind."""
    rows = list(outcomes)
    lines = [
        f"{'fault':20} {'times':>5} {'steps':>6} {'kept':>6} {'lost':>5} {'most lost':>10} {'within':>7} {'next works':>11}"
    ]
    for kind in dict.fromkeys(one.kind for one in rows):
        own = [one for one in rows if one.kind == kind]
        n_done, n_kept = sum(one.n_done for one in own), sum(min(one.n_kept, one.n_done) for one in own)
        lines.append(
            f"{kind:20} {len(own):5} {n_done:6} {n_kept:6} {n_done - n_kept:5} {max(one.lost_s for one in own):8.2f} s "
            f"{sum(one.is_within for one in own):7} {sum(one.next_works for one in own):11}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)
    print(f"{wanted} faults, seed {seed}, sessions of {SESSION_S:g} s")
    outcomes = run_faults(wanted, seed)
    print(table(outcomes))
    for one in outcomes:
        if not (one.is_within and one.next_works):
            print(one)
    sys.exit(not all(one.is_within and one.next_works for one in outcomes))
