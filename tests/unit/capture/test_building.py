"""Functions that are traced and compiled while the profiler runs: what they take of the heap ends no capture."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.capture.scenario import Scenario
from tfprof_widgets.capture import DOUBT_BYTES, HEAP_BYTES_PER_FILE_BYTE, BoundWatch, Building, BuildingWatch

TF = "/kit/tensorflow/python"
RUNS = (f"{TF}/eager/polymorphic_function/polymorphic_function.py", "__call__")
TRACES = (f"{TF}/framework/func_graph.py", "func_graph_from_py_func")
MINE = ("/home/me/train.py", "<module>")


def call(file: str, name: str, caller: Any = None) -> Any:
    """A frame of a function that runs."""
    return SimpleNamespace(f_code=SimpleNamespace(co_filename=file, co_name=name), f_back=caller)


class Program:
    """A program of one thread, at a place that the test sets."""

    def __init__(self) -> None:
        self.at: dict[int, Any] = {1: call(*MINE)}
        self.watch = BuildingWatch(lambda: self.at)

    def looks(self, frame: Any) -> Building:
        self.at[1] = frame
        return self.watch.look()


def test_a_call_that_traced_may_compile_until_it_returns() -> None:
    program, script = Program(), call(*MINE)
    assert program.looks(call(*RUNS, script)) == "no", "a call that runs what was traced before"
    traced = call(*RUNS, script)
    assert program.looks(call(*TRACES, traced)) == "yes"
    assert program.looks(call(*MINE, call(*TRACES, traced))) == "yes", "the user's own function is what is traced"
    assert program.looks(traced) == "maybe"
    assert program.looks(traced) == "maybe"
    assert program.looks(script) == "no"
    assert program.looks(traced) == "no"


def test_the_next_call_in_a_loop_is_another_one() -> None:
    program, script = Program(), call(*MINE)
    assert program.looks(call(*TRACES, call(*RUNS, script))) == "yes"
    assert program.looks(call(*RUNS, script)) == "no"


def test_a_thread_that_ended_builds_nothing() -> None:
    program = Program()
    assert program.looks(call(*TRACES, call(*RUNS))) == "yes"
    program.at.clear()
    assert program.watch.look() == "no"


class Watched:
    """A watch on a heap that the test lets grow, bounded at 1,000 bytes."""

    def __init__(self) -> None:
        self.building: Building = "yes"
        self.heap = 0
        self.hits: list[str] = []
        self.watch = BoundWatch(
            self.hits.append, seconds=60, n_bytes=1000, read_heap=lambda: self.heap, building=lambda: self.building
        )
        self.watch.start()

    def grow(self, n_bytes: int, seconds: float) -> None:
        """Evenly, for so long or until the watch calls."""
        for _ in range(int(seconds / 0.05)):
            if not self.hits:
                self.heap += n_bytes
                time.sleep(0.05)


def test_what_grows_while_a_function_is_traced_does_not_count_and_what_is_freed_after_it_neither() -> None:
    watched = Watched()
    watched.grow(10_000_000, 0.3)
    watched.building = "no"
    time.sleep(0.2)
    watched.heap -= 30_000_000
    time.sleep(0.5)
    assert watched.hits == []
    watched.grow(500, 5)
    assert watched.hits == ["bytes"]
    watched.watch.cancel()


def test_a_call_that_traced_and_fills_the_heap_without_end_is_looked_at() -> None:
    watched = Watched()
    time.sleep(0.2)
    watched.building = "maybe"
    doubtful = int(DOUBT_BYTES * HEAP_BYTES_PER_FILE_BYTE)
    watched.grow(doubtful // 20, 0.5)
    assert watched.hits == [], "compiling takes so much"
    watched.grow(doubtful // 5, 5)
    assert watched.hits == ["bytes"]
    watched.watch.cancel()


BUILDS = """
        import contextlib
        import tfprof_widgets as tfprof
        from tfprof_widgets.capture import control

        control.LONGEST_SESSION_S = 600.0  # a busy machine traces for longer than a session lasts otherwise
        BOUNDS = {"max_seconds": 600, "system": False}

        def told(profile, function):
            record = profile.capture
            return {"outcome": record.outcome, "windows": len(record.windows), "n_bytes": record.n_bytes,
                    "notices": list(profile.notices), "n_tracing": function.experimental_get_tracing_count()}

        def step(number):
            return tfprof.step(number) if MARKED else contextlib.nullcontext()

        def long(x):
            y = x
            for i in range(1500):
                y = y * 1.001 + tf.reduce_mean(y)
            return x + 1  # the rest is traced, and never runs

        function = tf.function(long, autograph=False)
        with tfprof.profile(max_bytes=1_000_000, **BOUNDS) as profile, step(0):
            function(tf.zeros([8]))
        out["traced"] = told(profile, function)

        def compiled(x):
            for _ in range(8):
                x = tf.tanh(x * 1.001) + tf.reduce_sum(x) * tf.sin(x)
            return x

        function = tf.function(compiled, jit_compile=True, input_signature=[tf.TensorSpec([None])])
        with tfprof.profile(max_bytes=800_000, **BOUNDS) as profile:
            for i in range(6):
                with step(i):
                    # within a step another shape is compiled anew, and not traced
                    function(tf.zeros([10 if i == 4 and MARKED else 9]))
                    time.sleep(0.2)
        out["compiled"] = told(profile, function)
"""


@pytest.fixture(
    scope="module", params=[True, pytest.param(False, marks=pytest.mark.nightly)], ids=["marked", "unmarked"]
)
def built(scenario: Scenario, request: pytest.FixtureRequest) -> dict[str, Any]:
    """What became of captures within which functions were traced and compiled, in marked steps or without any."""
    return scenario(BUILDS.replace("MARKED", str(request.param))) | {"is_marked": request.param}


@pytest.mark.nightly
def test_tracing_a_large_function_does_not_end_a_capture(built: dict[str, Any]) -> None:
    traced = built["traced"]
    assert traced["n_tracing"] == 1, "within the capture"
    assert (traced["outcome"], traced["windows"]) == ("complete", 1), traced["notices"]
    assert traced["n_bytes"] < 1_000_000, "the bound was not met indeed"


@pytest.mark.nightly
def test_compiling_by_xla_does_not_end_a_capture(built: dict[str, Any]) -> None:
    compiled = built["compiled"]
    assert compiled["n_tracing"] == 1
    assert compiled["outcome"] == "complete", compiled
    # In a program without steps a slow machine may take it for growth, write the file, and go on with a next one.
    assert compiled["windows"] == 1 or (not built["is_marked"] and compiled["windows"] == 2), compiled


@pytest.mark.nightly
def test_a_bound_that_was_met_in_vain_lets_the_capture_go_on_up_to_its_failure(scenario: Scenario) -> None:
    out = scenario(
        """
        import ctypes
        import tfprof_widgets as tfprof
        malloc = ctypes.CDLL(None).malloc
        malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
        try:
            with tfprof.profile(max_bytes=3_000_000, system=False) as profile:
                kept = tf.zeros([1000, 1000]) + 1
                held = []
                for _ in range(20):
                    held += [malloc(50_000) for _ in range(100)]
                    time.sleep(0.1)
                time.sleep(1.5)
                kept2 = tf.zeros([2000, 1000]) + 1
                kept * tf.zeros([1 << 40, 1, 1])
        except tf.errors.ResourceExhaustedError as error:
            out["error"] = type(error).__name__
        failure = profile.memory_failure
        out.update(windows=len(profile.capture.windows), is_recorded=failure.is_recorded, in_use=failure.in_use_bytes,
                   line=failure.line)
        """,
        TF_CPU_ALLOCATOR_USE_BFC="true",
        TF_CPU_BFC_MEM_LIMIT_IN_MB="128",
    )
    assert out["error"] == "ResourceExhaustedError"
    assert out["windows"] == 2
    assert out["is_recorded"]
    assert out["in_use"] >= 8_000_000, "what was made after the session had been opened again"
    assert out["line"]
