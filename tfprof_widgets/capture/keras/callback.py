"""callback: how to begin a capture -> a Keras callback that captures the fits it is given to, without TensorBoard."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from ...errors import CaptureError
from ..session.record import CaptureRecord, Outcome
from ..session.session import Capture
from ..source.running_frames import frames_outwards, running_frames
from .batch_size import batch_size_of
from .keras_steps import StepMarks
from .patch import METHODS
from .step_marker import StepMarker

Result = TypeVar("Result")


class CapturingCallback(StepMarker, Generic[Result]):
    """A Keras callback that captures every `fit` (or lone `evaluate`, `predict`) that it is passed to.

    Step numbers count from 0 in each call.
    """

    _result_name: ClassVar[str]
    """What a call gives, such as "profile"; for messages."""

    def __init__(self) -> None:
        super().__init__()
        self._capture: Capture | None = None
        self._caller: _Caller | None = None
        self._depth = 0
        self._results: list[Result] = []

    def _start_capture(self, end_if_over: Callable[[], None]) -> Capture:
        """Start a capture as a call begins, with this `end_if_over`."""
        raise NotImplementedError

    def _result_of(self, record: CaptureRecord) -> Result:
        """What a call gives whose capture has ended with this record."""
        raise NotImplementedError

    @property
    def _last_result(self) -> Result:
        """What the last call gave.

        Raises:
            CaptureError: no call has been captured, or the first is still running.
        """
        if not self._all_results:
            raise CaptureError(
                f"No {self._result_name} yet: pass the callback to `model.fit(callbacks=[...])` and let it end."
            )
        return self._results[-1]

    @property
    def _all_results(self) -> list[Result]:
        """What the calls gave, oldest first; of a call that failed what was captured before."""
        self._finish_if_over()
        return list(self._results)

    def _begin(self, kind: str) -> None:
        self._finish_if_over()
        if self._depth == 0:
            capture = self._start_capture(_weakly(self._finish_if_over))
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

    def _finish(self, outcome: Outcome) -> None:
        capture, self._capture, self._caller = self._capture, None, None
        self._depth = 0
        if capture is None:
            return
        try:
            self.marks.close(is_failed=outcome == "exception")
            capture.stop(outcome=outcome, failure=self.marks.failure if outcome == "exception" else None)
        finally:
            self._results.append(self._result_of(capture.record))


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
