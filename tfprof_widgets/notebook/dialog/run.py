"""One press of the Capture button -> a thread that captures, and what is known of it at any moment."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from ...capture.remote.client import Watch
from ...errors import TfProfError
from .rows import Moment, State, WorkerRow

Phase: TypeAlias = Literal["capturing", "reading", "done", "failed", "cancelled"]
Capture: TypeAlias = Callable[[Mapping[str, Any], "CaptureRun"], Any]
"""Captures with the arguments of `capture_remote` and returns the profile; the run is told how it goes on."""

_logger = logging.getLogger(__name__)
_OVER: tuple[Phase, ...] = ("done", "failed", "cancelled")
_TELL_EVERY_S = 0.25
"""Front ends drop messages that come too fast, and nobody reads faster."""


class CancelledError(Exception):
    """The capture was ended before its time."""


class CaptureRun(Watch):
    """A capture in a thread of its own, so that the kernel runs cells meanwhile. It watches itself: see `Watch`."""

    def __init__(
        self, arguments: Mapping[str, Any], *, capture: Capture, tell: Callable[[], None], take: Callable[[Any], None]
    ) -> None:
        """Capture with `arguments`: `tell` is called after each change, `take` with the profile, both in the thread."""
        self._arguments = arguments
        self._capture, self._tell, self._take = capture, tell, take
        self._rows = {address: WorkerRow(address) for address in arguments["addresses"]}
        self._attempt = 0
        self._delay_s = 0.0
        self._asked_s = self._told_s = time.monotonic()
        self._is_cancelled = threading.Event()
        self.phase: Phase = "capturing"
        """What goes on; the last three are for good."""
        self.problem = ""
        """Why there is no profile, or none to see; empty unless something failed."""
        self._thread = threading.Thread(target=self._run, name="tfprof-capture", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def cancel(self) -> None:
        """Have it end; workers with `tfprof.serve` stop at once, TensorFlow's own server when its time is over."""
        self._is_cancelled.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until it has ended; False when it has not by then."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    @property
    def is_over(self) -> bool:
        """Whether all is done but telling of it."""
        return self.phase in _OVER

    @property
    def rows(self) -> Sequence[WorkerRow]:
        """What is known of each worker, in the order given."""
        return tuple(self._rows.values())

    @property
    def moment(self) -> Moment:
        """Where the attempt is."""
        return Moment(
            attempt=self._attempt,
            n_attempts=self._arguments["num_tracing_attempts"],
            delay_s=self._delay_s,
            duration_s=self._arguments["duration_ms"] / 1e3,
            elapsed_s=time.monotonic() - self._asked_s,
        )

    def asked(self, attempt: int, delay_ms: int) -> None:
        """All workers have been asked: what they said before counts no more."""
        self._attempt, self._delay_s, self._asked_s = attempt, delay_ms / 1e3, time.monotonic()
        self._rows = {address: WorkerRow(address) for address in self._rows}
        self._changed()

    def answered(self, answer: Any) -> None:
        """One worker answered."""
        state: State = "failed" if answer.failure else "answered"
        self._rows[answer.address] = WorkerRow(answer.address, state, len(answer.xspace), answer.failure)
        self._changed()

    def waiting(self) -> None:
        """Time goes by.

        Raises:
            CancelledError: nobody wants the capture any more.
        """
        if self._is_cancelled.is_set():
            raise CancelledError
        if time.monotonic() - self._told_s > _TELL_EVERY_S:
            self._changed()

    def reading(self) -> None:
        """All answers are here."""
        self.phase = "reading"
        self._changed()

    def _changed(self) -> None:
        self._told_s = time.monotonic()
        self._tell()

    def _run(self) -> None:
        phase: Phase = "done"
        try:
            profile = self._capture(self._arguments, self)
            self.reading()
            self._take(profile)
        except CancelledError:
            phase = "cancelled"
            self._rows = {
                address: replace(row, state="dropped") if row.state == "asked" else row
                for address, row in self._rows.items()
            }
        except TfProfError as error:
            phase, self.problem = "failed", str(error)
        except Exception as error:  # else nobody would hear of it
            _logger.exception("the capture of %s failed", ", ".join(self._rows))
            phase, self.problem = "failed", f"{type(error).__name__}: {error}"
        self.phase = phase
        self._tell()
