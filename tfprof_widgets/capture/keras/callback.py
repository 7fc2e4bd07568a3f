"""callback: capture options -> a Keras callback that captures the fits it is given to, without TensorBoard."""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from ...errors import CaptureError
from ..session.record import CaptureOptions, CaptureRecord
from ..session.session import Capture
from ..session.tf_profiler import import_tensorflow
from ..source.running_frames import frames_outwards, running_frames
from .batch_size import batch_size_of
from .keras_steps import StepMarks
from .patch import METHODS
from .step_marker import marker_class


def make_callback(options: CaptureOptions, wrap: Callable[[CaptureRecord], Any]) -> Any:
    """Return a Keras callback that captures every `fit` (or lone `evaluate`, `predict`) it is passed to.

    Args:
        options: what to capture; step numbers count from 0 in each call.
        wrap: turns a record into what the callback's `profile` and `profiles` give, such as a `Profile`.

    Returns:
        A `keras.callbacks.Callback` with `profile` (of the last call, `CaptureError` before it) and `profiles` (of all
        calls, oldest first). After a call that failed they hold what was captured before the failure.

    Raises:
        CaptureError: TensorFlow is not installed.
    """
    import_tensorflow()
    return _callback_class()(options, wrap)


@functools.cache
def _callback_class() -> type:
    """Return the callback class; made on first use, since its base lives in Keras."""

    class ProfileCallback(marker_class()):  # type: ignore[misc]
        """Captures the calls it is passed to; `profile` is the last, `profiles` are all of them."""

        def __init__(self, options: CaptureOptions, wrap: Callable[[CaptureRecord], Any]) -> None:
            super().__init__(None)
            self._options = options
            self._wrap = wrap
            self._capture: Capture | None = None
            self._caller: _Caller | None = None
            self._depth = 0
            self._profiles: list[Any] = []

        @property
        def profile(self) -> Any:
            """What the last call gave.

            Raises:
                CaptureError: no call has been captured, or the first is still running.
            """
            if not self.profiles:
                raise CaptureError("No profile yet: pass the callback to `model.fit(callbacks=[...])` and let it end.")
            return self._profiles[-1]

        @property
        def profiles(self) -> list[Any]:
            """What the calls gave, oldest first."""
            self._finish_if_over()
            return list(self._profiles)

        def _begin(self, kind: str) -> None:
            self._finish_if_over()
            if self._depth == 0:
                capture = Capture(self._options, end_if_over=_weakly(self._finish_if_over))
                capture.start()
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
                self._profiles.append(self._wrap(capture.record))

    return ProfileCallback


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
