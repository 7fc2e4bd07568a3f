"""building: the threads of this process -> whether TensorFlow traces or compiles a function, which fills the heap with graphs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from types import FrameType

MAX_DEPTH = 1_000
"""How many frames of a thread are looked at."""
GRACE_S = 1.0
COMPILE_FACTOR = 3.0
"""A call that traced is taken to compile for at most `GRACE_S` and so many times as long as it traced; then it runs."""
_CALLS = "/tensorflow/python/eager/polymorphic_function/"
_TRACES = frozenset(("func_graph_from_py_func", "_create_concrete_function", "_build_functions_for_outputs"))
"""Functions of TensorFlow in which it traces, or makes the gradient of what it traced."""


class BuildingWatch:
    """Looks at what threads do. Nobody tells when TensorFlow builds functions, but tracing shows in the stacks of Python;
    what follows it in the same call (optimizing, compiling) does not, and is taken to last until that call has returned.
    """

    def __init__(
        self,
        stacks: Callable[[], Mapping[int, FrameType]] = sys._current_frames,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stacks, self._clock = stacks, clock
        self._traced: dict[int, tuple[float, float]] = {}
        """For each thread in a call that traced: when it was first and last seen to trace."""

    def look(self) -> bool:
        """Whether a function is being traced or compiled now, as far as looks often enough can tell."""
        now_s, stacks = self._clock(), self._stacks()
        for thread in self._traced.keys() - stacks.keys():
            del self._traced[thread]
        for thread, frame in stacks.items():
            is_call, is_tracing = _state(frame)
            begin_s, end_s = self._traced.get(thread, (now_s, now_s))
            if is_tracing:
                self._traced[thread] = begin_s, now_s
            elif not is_call or now_s > end_s + GRACE_S + COMPILE_FACTOR * (end_s - begin_s):
                self._traced.pop(thread, None)
        return bool(self._traced)


def _state(frame: FrameType | None) -> tuple[bool, bool]:
    """Whether a thread is within a call of a `tf.function`, and whether it traces one."""
    is_call = False
    for _ in range(MAX_DEPTH):
        if frame is None:
            break
        code = frame.f_code
        if code.co_name in _TRACES and "tensorflow" in code.co_filename:
            return True, True
        is_call = is_call or _CALLS in code.co_filename
        frame = frame.f_back
    return is_call, False
