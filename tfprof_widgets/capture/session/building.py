"""building: this process -> whether TensorFlow traces or compiles a function, which fills the heap with graphs, and for how long
it has traced.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Mapping
from itertools import islice
from types import FrameType
from typing import Any, Literal

from ..source.running_frames import frames_outwards, running_frames

MAX_DEPTH = 1_000
"""How many frames of a thread are looked at."""
_CALLS = "/tensorflow/python/eager/polymorphic_function/".replace("/", os.sep)
_TRACES = frozenset(("func_graph_from_py_func", "_create_concrete_function", "_build_functions_for_outputs"))
"""Functions of TensorFlow in which it traces, or makes the gradient of what it traced."""

Building = Literal["no", "maybe", "yes"]
"""While a function is traced: yes. Until the call that traced it has returned, it may be optimized, compiled, or run."""


class BuildingWatch:
    """Looks at what threads do. Nobody tells when TensorFlow builds functions, but tracing shows in the stacks of Python."""

    def __init__(self, stacks: Callable[[], Mapping[int, FrameType]] = running_frames) -> None:
        self._stacks = stacks
        self._calls: dict[int, FrameType | None] = {}
        """For each thread that traces or has traced, the call in which it does. A frame keeps what its function holds alive,
        until the look after its end; but of a frame that is gone, the id is that of a next call at once."""

    def look(self) -> Building:
        """Whether a function is being traced or compiled now."""
        calls: dict[int, FrameType | None] = {}
        is_tracing = False
        for thread, frame in self._stacks().items():
            call, traces = _state(frame)
            is_tracing |= traces
            if traces or (call is not None and call is self._calls.get(thread)):
                calls[thread] = call
        self._calls = calls
        return "yes" if is_tracing else "maybe" if calls else "no"


def traced_us() -> int | None:
    """For how long TensorFlow has traced functions in this process so far, in us, by its own counter; None where it has none.

    It grows when a function has been traced, on whatever thread; functions within count once. To read it takes 0.4 us.
    """
    if "tensorflow" not in sys.modules:
        return 0
    counter = _tracing_counter()
    return None if counter is None else counter.value()


@functools.cache
def _tracing_counter() -> Any:
    try:
        from tensorflow.python.eager.polymorphic_function import tracing_compilation

        return tracing_compilation._graph_building_time_counter.get_cell()
    except (ImportError, AttributeError):
        return None


def _state(frame: FrameType | None) -> tuple[FrameType | None, bool]:
    """The outermost call of a `tf.function` that a thread is within, and whether it traces one."""
    call, is_tracing = None, False
    for outer in islice(frames_outwards(frame), MAX_DEPTH):
        code = outer.f_code
        is_tracing = is_tracing or (code.co_name in _TRACES and "tensorflow" in code.co_filename)
        if _CALLS in code.co_filename:
            call = outer
    return call, is_tracing
