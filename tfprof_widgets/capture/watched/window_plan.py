"""Wishes to see inside the next steps -> which steps are profiled, and why."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass
from numbers import Integral, Real

from ..session.selection import require_positive

DEFAULT_STEPS = 5
"""Steps of a window that nobody gave a number."""
DEFAULT_WINDOWS = 10
"""So many windows a run opens by itself."""
MAX_TRIES = 3
"""So many windows are opened for one anomaly, where the first do not show it."""
REST_RATIO = 20.0
"""A window that nobody asked for opens after so many times as long as the last one took, its files included."""


@dataclass(frozen=True)
class Wish:
    """A window that is wanted."""

    n_steps: int
    why: str
    at: int | None = None
    """The number of the step to begin with; None: the next one."""
    known_as: str = ""
    """What one is not wished twice by."""
    is_own: bool = True
    """Whether nobody asked for it."""


class WindowPlan:
    """Decides step by step, as the rule of a capture (`steps=plan`), and takes wishes from any thread.

    Args:
        every: a window begins at each step whose number is a multiple of this.
        every_seconds: and one as often as this.
        n_steps: of windows that nobody gave a number.
        max_windows: how many windows open that nobody asked for: those on purpose, by `ask`, are not counted.

    Raises:
        TypeError, ValueError: one of them is no number, or not more than 0; `max_windows` may be 0.
    """

    def __init__(
        self,
        *,
        every: int | None = None,
        every_seconds: float | None = None,
        n_steps: int = DEFAULT_STEPS,
        max_windows: int = DEFAULT_WINDOWS,
    ) -> None:
        steps = "a whole number of steps, such as 1000"
        if every is not None:
            require_positive("every", every, Integral, give=steps)
        if every_seconds is not None:
            require_positive("every_seconds", every_seconds, Real, give="a number of seconds, such as 600.0")
        require_positive("window_steps", n_steps, Integral, give="a whole number of steps, such as 5")
        if max_windows != 0:
            require_positive("max_windows", max_windows, Integral, give="a whole number of windows, or 0 for none")
        self.n_steps = n_steps
        self.max_windows = max_windows
        self.n_own = 0
        """How many have begun that nobody asked for."""
        self.why = ""
        """Of the window that is open, or was the last one."""
        self._every, self._every_seconds = every, every_seconds
        self._due_s = time.monotonic() + (every_seconds or 0.0)
        self._rests_until_s = 0.0
        self._wishes: list[Wish] = []
        self._begin = self._end = -1
        self._n_tried: Counter[str] = Counter()
        self._lock = threading.Lock()

    def ask(self, n_steps: int, why: str) -> None:
        """Profile the next steps, on purpose."""
        with self._lock:
            self._wishes.insert(0, Wish(n_steps, why, is_own=False))

    def suggest(self, why: str, *, known_as: str, at: int | None = None) -> bool:
        """Profile steps, from the next one or the number `at` on, unless there were windows enough; whether it will.

        Args:
            why: is told of the window.
            known_as: while a wish of this name waits, it takes the place of that.
            at: the number of a step, which is not profiled where it has begun by then; None: the next one.
        """
        with self._lock:
            if self.n_own >= self.max_windows or self._is_resting or self._n_tried[known_as] >= MAX_TRIES:
                return False
            self._wishes = [wish for wish in self._wishes if wish.known_as != known_as]
            self._wishes.append(Wish(self.n_steps, why, at, known_as))
            return True

    def rest_after(self, seconds: float) -> None:
        """Note how long the last window and its files took the training."""
        self._rests_until_s = time.monotonic() + REST_RATIO * seconds

    def __call__(self, number: int) -> bool:
        """Whether the step of this number is to be profiled; asked on the thread that trains."""
        if self._begin <= number < self._end:
            return True
        is_behind = number == self._end
        self._end = -1  # a loop may number its steps anew
        if not self._wishes and self._every is None and self._every_seconds is None:
            return False
        wish = self._next(number, is_behind=is_behind)
        if wish is None:
            return False
        self.why, self._begin, self._end = wish.why, number, number + wish.n_steps
        return True

    def _next(self, number: int, *, is_behind: bool) -> Wish | None:
        with self._lock:
            # One that comes too late for its step waits until it is wished for the next such one.
            due = [wish for wish in self._wishes if wish.at is None or wish.at == number]
            asked = next((wish for wish in due if not wish.is_own), None)
            if asked is not None:
                self._wishes.remove(asked)
                return asked
            if self.n_own >= self.max_windows or self._is_resting:
                return None
            if due and not is_behind:  # what the window shows that has just ended is not known yet
                for wish in due:
                    self._wishes.remove(wish)
                    self._n_tried[wish.known_as] += 1
                self.n_own += 1
                return Wish(self.n_steps, "; ".join(wish.why for wish in due))
            if self._every is not None and number % self._every == 0 and number:
                self.n_own += 1
                return Wish(self.n_steps, f"every {self._every:,} steps")
            if self._every_seconds is not None and time.monotonic() >= self._due_s:
                self._due_s = time.monotonic() + self._every_seconds
                self.n_own += 1
                return Wish(self.n_steps, f"every {self._every_seconds:g} s")
            return None

    @property
    def _is_resting(self) -> bool:
        return time.monotonic() < self._rests_until_s
