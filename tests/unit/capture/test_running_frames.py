"""The frames of all threads, asked for while Python collects garbage, and samples of the main thread's lines."""

from __future__ import annotations

import gc
import sys
import threading
import time
import weakref
from collections.abc import Callable

import pytest

from tests.warm_process import run_python
from tfprof_widgets.capture import FrameTable, LineSampler, calls, frames_outwards, running_frames

PROGRAM = """
import gc, threading
from tfprof_widgets.capture import running_frames

class Graph:
    def __init__(self):
        self.itself, self.current = self, threading.local()
        self.current.stack = []

never = 1_000_000
for _ in range(300):
    gc.set_threshold(never)
    Graph()
    gc.set_threshold(1)
    running_frames()
    gc.set_threshold(never)
print("ended", gc.isenabled())
"""

RUNS_ON = """
import gc, threading, time
from tfprof_widgets.capture import frames_outwards, running_frames

class Garbage:
    def __init__(self):
        self.itself = self
    def __del__(self):
        time.sleep(0.0002)  # the other thread runs on meanwhile, and leaves the frames that are being read

def narrow(n):
    return wide(n - 1) + 1 if n > 0 else 0

def wide(n):
    a = b = c = d = e = f = g = h = n
    return narrow(n - 1) + a - b + c - d + e - f + g - h if n > 0 else 0

def dive():
    while not ended.is_set():
        narrow(30), wide(9)

ended = threading.Event()
diver = threading.Thread(target=dive)
diver.start()
never = 1_000_000
gc.set_threshold(never)
names, begin = set(), time.monotonic()
while time.monotonic() - begin < 1:
    for frame in frames_outwards(running_frames()[diver.ident]):
        names.add(frame.f_code.co_name)
        gc.set_threshold(never)
        Garbage()
        gc.set_threshold(1)
    gc.set_threshold(never)
ended.set()
diver.join()
print("ended", {"narrow", "wide"} <= names)
"""


def test_garbage_that_is_collected_meanwhile_stops_nobody() -> None:
    assert run_python(PROGRAM, timeout_s=60).stdout == "ended True\n"


def test_the_frames_of_a_thread_that_runs_on_while_garbage_is_collected_are_read_without_harm() -> None:
    assert run_python(RUNS_ON, timeout_s=30).stdout == "ended True\n"


@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_collector_is_as_it_was(*, is_enabled: bool) -> None:
    was_enabled = gc.isenabled()
    (gc.enable if is_enabled else gc.disable)()
    try:
        frames = running_frames()
        left = gc.isenabled()
    finally:
        (gc.enable if was_enabled else gc.disable)()
    assert threading.get_ident() not in frames
    assert left == is_enabled


def test_what_a_function_holds_goes_with_it_though_its_frame_was_seen() -> None:
    """A batch of another thread, also where no garbage is collected for long, as by default between a few calls."""

    class Batch:
        pass

    alive: list[weakref.ref[Batch]] = []
    begun, ended = threading.Event(), threading.Event()

    def train() -> None:
        batch = Batch()
        alive.append(weakref.ref(batch))
        begun.set()
        ended.wait(10)

    before = gc.get_threshold()
    gc.set_threshold(1_000_000)
    try:
        thread = threading.Thread(target=train)
        thread.start()
        assert begun.wait(10)
        assert train.__code__ in [frame.f_code for frame in frames_outwards(running_frames()[thread.ident or 0])]
        ended.set()
        thread.join()
        assert alive[0]() is None
    finally:
        gc.set_threshold(*before)


def test_an_error_leaves_the_collector_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise RuntimeError("an audit hook refuses")

    monkeypatch.setattr(sys, "_current_frames", refuse)
    with pytest.raises(RuntimeError, match="refuses"):
        running_frames()
    assert gc.isenabled()


def spin(until: Callable[[], bool]) -> None:
    while not until():
        sum(range(100))


def test_samples_are_of_the_line_that_runs() -> None:
    sampler, table = LineSampler(interval_s=0.001), FrameTable()
    sampler.start()
    sampler.start()
    deadline_s = time.monotonic() + 10
    spin(lambda: len(sampler._samples) > 20 or time.monotonic() > deadline_s)
    sampler.stop()
    n = len(sampler._samples)
    assert n > 20
    columns = sampler.columns(table)
    assert set(table.files) == {__file__}
    own = "test_samples_are_of_the_line_that_runs"  # it runs for an instant before and after
    assert {"spin"} <= set(table.frames["function"]) <= {"spin", "<lambda>", own}
    assert columns["time_ns"] == sorted(columns["time_ns"])
    assert len(columns["frame"]) == n
    sampler.start()
    spin(lambda: len(sampler._samples) > n or time.monotonic() > deadline_s)
    sampler.stop()
    assert len(sampler._samples) > n, "a next window adds to it"


def others_seen(run: Callable[[threading.Event], object]) -> list[str]:
    """Functions at which samples saw another thread run Python, while this one only waits."""
    ended, sampler, table = threading.Event(), LineSampler(interval_s=0.001), FrameTable()
    thread = threading.Thread(target=run, args=(ended,))
    thread.start()
    sampler.start()
    deadline_s = time.monotonic() + 10
    while len(sampler._samples) < 40 and time.monotonic() < deadline_s:
        time.sleep(0.05)
    sampler.stop()
    ended.set()
    thread.join()
    functions = table.frames["function"]
    return [functions[row] for row in sampler.columns(table)["other"] if row >= 0]


def test_another_thread_that_runs_python_is_seen_and_one_that_waits_is_not() -> None:
    seen = others_seen(lambda ended: spin(ended.is_set))
    assert len(seen) > 4  # of 40: where cores are busy it does not get on between two samples
    assert {*seen} <= {"spin", "<lambda>"}
    assert not others_seen(threading.Event.wait)
    assert not others_seen(lambda ended: time.sleep(0.5))


def test_samples_that_cost_too_much_are_taken_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_SHARE", 1e-9)
    monkeypatch.setattr(calls, "N_FIRST", 5)
    sampler = LineSampler(interval_s=0.001)
    sampler.start()
    deadline_s = time.monotonic() + 0.5
    spin(lambda: time.monotonic() > deadline_s)
    sampler.stop()
    assert 0 < len(sampler._samples) <= 5


def test_a_clock_that_counts_whole_ticks_of_a_thread_does_not_end_sampling(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the sandbox gVisor does: 40 samples had taken 0.4 s of a processor by its clock, and the next were 2 s away."""
    monkeypatch.setattr(time, "thread_time", lambda: 1e6)
    monkeypatch.setattr(calls, "N_FIRST", 5)
    sampler = LineSampler(interval_s=0.001)
    sampler.start()
    deadline_s = time.monotonic() + 10
    spin(lambda: len(sampler._samples) > 10 or time.monotonic() > deadline_s)
    sampler.stop()
    assert len(sampler._samples) > 10
