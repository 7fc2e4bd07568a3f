"""callback: how to begin a capture -> a Keras callback that captures the fits it is given to, without TensorBoard."""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from ...errors import CaptureError
from ..session.record import CaptureRecord
from ..session.session import Capture
from ..session.tf_profiler import import_tensorflow
from ..source.running_frames import frames_outwards, running_frames
from .batch_size import batch_size_of
from .keras_steps import StepMarks
from .patch import METHODS
from .step_marker import marker_class

Begin = Callable[[Callable[[], None]], tuple[Capture, Callable[[CaptureRecord], Any]]]
"""Starts a capture, with the `end_if_over` that it gets, and returns it with what turns its record into a result."""


def make_callback(begin: Begin, *, name: str) -> Any:
    """Return a Keras callback that captures every `fit` (or lone `evaluate`, `predict`) it is passed to.

    Args:
        begin: called as each call begins; step numbers count from 0 in each.
        name: of what a call gives, such as "profile".

    Returns:
        A `keras.callbacks.Callback` with attributes of that name (of the last call, `CaptureError` before it) and of its
        plural (of all calls, oldest first). After a call that failed they hold what was captured before the failure.

    Raises:
        CaptureError: TensorFlow is not installed.
    """
    import_tensorflow()
    return _callback_class(name)(begin)


@functools.cache
def _callback_class(name: str) -> type:
    """Return the callback class; made on first use, since its base lives in Keras."""

    class CapturingCallback(marker_class()):  # type: ignore[misc]
        """Captures the calls it is passed to."""

        def __init__(self, begin: Begin) -> None:
            super().__init__(None)
            self._begin_capture = begin
            self._capture: Capture | None = None
            self._wrap: Callable[[CaptureRecord], Any] = lambda record: record
            self._caller: _Caller | None = None
            self._depth = 0
            self._results: list[Any] = []

        @property
        def _last_result(self) -> Any:
            """What the last call gave.

            Raises:
                CaptureError: no call has been captured, or the first is still running.
            """
            if not self._all_results:
                raise CaptureError(f"No {name} yet: pass the callback to `model.fit(callbacks=[...])` and let it end.")
            return self._results[-1]

        @property
        def _all_results(self) -> list[Any]:
            """What the calls gave, oldest first."""
            self._finish_if_over()
            return list(self._results)

        def _begin(self, kind: str) -> None:
            self._finish_if_over()
            if self._depth == 0:
                capture, self._wrap = self._begin_capture(_weakly(self._finish_if_over))
                self._capture, self._caller = capture, _Caller()
                capture.program.batch_size = batch_size_of(self._caller.arguments)
                capture.program.see(self.model)
                self.marks = StepMarks(capture)
            self._depth += 1
            super()._begin(kind)

        def _end(self) -> None:
            super()._end()
            self._depth -= 1
            if self._depth == 0:
                self._finish("complete")

        def _finish_if_over(self) -> None:
            # Keras tells a callback nothing when a call fails: whoever needs to know afterwards ends its capture.
            if self._caller is not None and not self._caller.is_running:
                self._finish("exception")

        def _finish(self, outcome: Any) -> None:
            capture, self._capture, self._caller = self._capture, None, None
            self._depth = 0
            if capture is None:
                return
            try:
                self.marks.close(is_failed=outcome == "exception")
                capture.stop(outcome=outcome, failure=self.marks.failure if outcome == "exception" else None)
            finally:
                self._results.append(self._wrap(capture.record))

    plural = f"{name}es" if name.endswith("ch") else f"{name}s"
    members = {name: CapturingCallback._last_result, plural: CapturingCallback._all_results}
    return type(f"{name.title()}Callback", (CapturingCallback,), members)


def _weakly(method: Callable[[], None]) -> Callable[[], None]:
    """Return a function that calls `method` as long as its object lives; a capture must not keep its owner alive."""
    reference = weakref.WeakMethod(method)

    def call() -> None:
        alive = reference()
        if alive is not None:
            alive()

    return call


class _Caller:
    """The function whose call is captured, and whether it is still on the stack of its thread."""

    def __init__(self) -> None:
        self._thread_id = threading.get_ident()
        # The frame itself, although it keeps the call's arguments alive: Python uses the id of a frame again at once.
        self._frame = next(
            (frame for frame in frames_outwards(sys._getframe()) if frame.f_code.co_name in METHODS), None
        )

    @property
    def arguments(self) -> dict[str, Any]:
        """The call's, by name; empty where a loop of the user's own drives the callback."""
        return {} if self._frame is None else {name: self._frame.f_locals.get(name) for name in ("x", "batch_size")}

    @property
    def is_running(self) -> bool:
        """True too where a loop of the user's own drives the callback: it ends the capture by Keras' hooks."""
        if self._frame is None:
            return True
        return self._frame in frames_outwards(running_frames().get(self._thread_id, sys._getframe()))
