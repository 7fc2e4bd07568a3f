"""Functions that are traced and compiled while the profiler runs: what they take of the heap ends no capture."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.capture.scenario import run_scenario
from tfprof_widgets.capture.session.bounds import BoundWatch
from tfprof_widgets.capture.session.building import COMPILE_FACTOR, GRACE_S, BuildingWatch

TF = "/kit/tensorflow/python"
RUNS = (f"{TF}/eager/polymorphic_function/polymorphic_function.py", "__call__")
TRACES = (f"{TF}/framework/func_graph.py", "func_graph_from_py_func")
MINE = ("/home/me/train.py", "<module>")


def stack(*calls: tuple[str, str]) -> Any:
    """The innermost frame of a thread, whose outermost call is the first."""
    frame = None
    for file, name in calls:
        frame = SimpleNamespace(f_code=SimpleNamespace(co_filename=file, co_name=name), f_back=frame)
    return frame


class Program:
    """A program of one thread, at a place and a time that the test sets."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.at = stack(MINE)
        self.watch = BuildingWatch(lambda: {1: self.at}, lambda: self.now_s)

    def looks(self, now_s: float, *calls: tuple[str, str]) -> bool:
        self.now_s, self.at = now_s, stack(MINE, *calls)
        return self.watch.look()


def test_a_call_that_traced_builds_until_it_returns() -> None:
    program = Program()
    assert not program.looks(0, RUNS), "a call that runs what was traced before"
    assert program.looks(1, RUNS, TRACES)
    assert program.looks(5, RUNS, TRACES, MINE), "the user's own function is what is traced"
    assert program.looks(6, RUNS), "optimizing and compiling"
    assert not program.looks(7)
    assert not program.looks(8, RUNS)


def test_a_call_that_goes_on_long_after_it_traced_runs() -> None:
    program = Program()
    program.looks(1, RUNS, TRACES)
    program.looks(2, RUNS, TRACES)
    assert program.looks(2 + GRACE_S + COMPILE_FACTOR, RUNS)
    assert not program.looks(2.1 + GRACE_S + COMPILE_FACTOR, RUNS)


def test_a_thread_that_ended_builds_nothing() -> None:
    program = Program()
    assert program.looks(1, RUNS, TRACES)
    threads: dict[int, Any] = {}
    program.watch._stacks = lambda: threads
    assert not program.watch.look()


def test_what_grows_meanwhile_does_not_count_and_what_is_freed_after_it_neither() -> None:
    heap, building, hits = [0], [True], list[str]()
    watch = BoundWatch(
        hits.append, seconds=60, n_bytes=1000, read_heap=lambda: heap[0], is_building=lambda: building[0]
    )
    watch.start()
    heap[0] = 1_000_000
    time.sleep(0.15)
    building[0] = False
    time.sleep(0.15)
    heap[0] = 500_000
    time.sleep(0.15)
    assert hits == []
    heap[0] += 4000
    time.sleep(0.3)
    assert hits == ["bytes"]


@pytest.fixture(scope="module")
def run() -> dict[str, Any]:
    return run_scenario(
        """
        import ctypes
        import tfprof_widgets as tfprof
        malloc = ctypes.CDLL(None).malloc
        malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p

        def long(x):
            y = x
            for i in range(1500):
                y = y * 1.001 + tf.reduce_mean(y)
            return x + 1  # the rest is traced, and never runs

        for name, marked in (("marked", True), ("unmarked", False)):
            function = tf.function(long, autograph=False)
            with tfprof.profile(max_bytes=1_000_000, system=False) as profile:
                if marked:
                    with tfprof.step(0):
                        function(tf.zeros([8]))
                else:
                    function(tf.zeros([8]))
            out[name] = {"outcome": profile.capture.outcome, "windows": len(profile.capture.windows),
                         "n_bytes": profile.capture.n_bytes, "notices": list(profile.notices),
                         "n_tracing": function.experimental_get_tracing_count()}

        try:
            with tfprof.profile(max_bytes=3_000_000, system=False) as profile:
                with tfprof.step(0):
                    held = [malloc(50_000) for _ in range(2000)]
                    kept = tf.zeros([1000, 1000]) + 1
                    time.sleep(2.5)
                    kept2 = tf.zeros([2000, 1000]) + 1
                    kept * tf.zeros([1 << 40, 1, 1])
        except tf.errors.ResourceExhaustedError as error:
            out["error"] = type(error).__name__
        failure = profile.memory_failure
        out["failure"] = {"windows": len(profile.capture.windows), "is_recorded": failure.is_recorded,
                          "sentence": failure.sentence, "in_use": failure.in_use_bytes, "line": failure.line}
        """,
        TF_CPU_ALLOCATOR_USE_BFC="true",
        TF_CPU_BFC_MEM_LIMIT_IN_MB="128",
    )


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", ["marked", "unmarked"])
def test_tracing_a_large_function_does_not_end_a_capture(run: dict[str, Any], name: str) -> None:
    traced = run[name]
    assert traced["n_tracing"] == 1, "within the capture"
    assert (traced["outcome"], traced["windows"]) == ("complete", 1), traced["notices"]
    assert traced["n_bytes"] < 1_000_000, "the bound was not met indeed"


@pytest.mark.tensorflow
def test_a_bound_that_was_met_in_vain_lets_the_capture_go_on_within_the_step_up_to_its_failure(
    run: dict[str, Any],
) -> None:
    told = run["failure"]
    assert run["error"] == "ResourceExhaustedError"
    assert told["windows"] == 2
    assert told["is_recorded"]
    assert told["in_use"] >= 8_000_000, "what was made after the session had been opened again"
    assert told["line"]
