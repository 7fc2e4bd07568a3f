"""What a session's global step reads before and after its runs -> which runs are profiled, and under which numbers."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

from .session_capture import SessionCapture
from .session_options import HookOptions

REMEMBERED_ANSWERS = 64


class SessionSteps:
    """Numbers the runs of one session, and keeps those that are wanted in its capture.

    In a session that advances the global step, the steps are the runs that advance it, by the global step after them. Until
    one does, runs are counted from 1; with the first that does, those kept by count are left out again.
    """

    def __init__(self, capture: SessionCapture, clock: Callable[[], float] = time.monotonic) -> None:
        self._capture = capture
        answers = _answers(capture)
        self._by_step = StepChoice(capture.options, answers, clock)
        self._by_run = StepChoice(capture.options, answers, clock)
        self._start: int | None = None
        self._number: int | None = None
        """Where the global step stands, or once stood: what is fetched with a run may be from before it; None without one."""
        self._is_exact = False
        self._advances = False
        self._is_profiling = False

    def begin(self, number: int | None) -> None:
        """The session was created, or created again after a failure, with its global step at `number`."""
        self._start = self._number = number
        self._is_exact = True

    def before_run(self, read: Callable[[], int]) -> bool:
        """Whether the run that begins is to be profiled.

        Args:
            read: reads the global step; called only where a wanted step may be due.
        """
        self._is_profiling = False
        if self._capture.has_room and self._may_want():
            if self._number is not None:
                self._observe(read(), is_exact=True)
            self._is_profiling = self._capture.has_room and self._may_want()
        self._is_exact = False  # the run may advance it, even if it fails
        return self._is_profiling

    def after_run(self, read: Callable[[], int], fetched: int | None, content: Callable[[], bytes]) -> None:
        """Number the run that has ended, and keep it if it is wanted.

        Args:
            read: reads the global step; called after profiled runs and the first.
            fetched: the global step as fetched within the run: nothing orders it before or after the training step.
            content: makes the bytes of the run's metadata; called if they are kept.
        """
        self._capture.n_runs += 1
        is_first, is_profiled, self._is_profiling = self._capture.n_runs == 1, self._is_profiling, False
        had_room, before = is_profiled or self._capture.has_room, self._number
        if before is not None:
            is_exact = is_profiled or is_first
            self._observe(read() if is_exact or fetched is None else fetched, is_exact=is_exact)
        if is_profiled:
            self._keep(before, content)
        elif is_first:
            self._took(1)
        elif not had_room:
            self._count_missed(before)

    def end(self, read: Callable[[], int]) -> None:
        """The session ends: of the last run it was not known yet whether it advanced the global step."""
        before = self._number
        if before is not None and self._advances and not self._capture.has_room:
            self._observe(read(), is_exact=True)
            self._count_missed(before)

    def _may_want(self) -> bool:
        """Whether the next run may be wanted, as far as it is known where the global step stands."""
        if not self._advances and self._by_run.wants(self._capture.n_runs + 1):
            return True
        return self._number is not None and (
            self._by_step.wants(self._number + 1) or (not self._is_exact and self._by_step.wants(self._number + 2))
        )

    def _observe(self, number: int, *, is_exact: bool) -> None:
        if not self._advances and self._start is not None and number > self._start:
            self._advances = True
            self._capture.leave_out_all()
        self._number, self._is_exact = number, is_exact

    def _keep(self, before: int | None, content: Callable[[], bytes]) -> None:
        n_runs, number = self._capture.n_runs, self._number
        if not self._advances and self._by_run.wants(n_runs):
            self._capture.keep(n_runs, content())
            self._took(n_runs)
        elif before is None or number is None or number <= before:
            self._capture.n_left_out += 1
        elif self._by_step.wants(before + 1):  # else it was wanted by count, and turned out to be a training step
            self._capture.keep(number, content())
            self._took(n_runs)

    def _took(self, n_runs: int) -> None:
        self._by_run.took(n_runs)
        if self._number is not None:
            self._by_step.took(self._number)

    def _count_missed(self, before: int | None) -> None:
        choice, due = self._by_run, range(self._capture.n_runs, self._capture.n_runs + 1)
        if self._advances and before is not None and self._number is not None:
            choice, due = self._by_step, range(before + 1, self._number + 1)
        for number in due:
            if choice.wants(number):
                self._capture.n_missed += 1
                choice.took(number)


class StepChoice:
    """Which numbers the options want: by the user's rule, every so many, or every so many seconds."""

    def __init__(
        self, options: HookOptions, answers: Callable[[int], bool], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._options, self._answers, self._clock = options, answers, clock
        self._last: tuple[int, float] | None = None

    def wants(self, number: int) -> bool:
        """Whether the step, or run, of this number is wanted."""
        options = self._options
        if options.save_steps is None and options.save_secs is None:
            return self._answers(number)
        if self._last is None:  # the first run makes variables and plans; TensorFlow's hook leaves it out, too
            return False
        if options.save_steps is not None:
            return number >= self._last[0] + options.save_steps
        return options.save_secs is not None and self._clock() >= self._last[1] + options.save_secs

    def took(self, number: int) -> None:
        """From here the next number of steps, or seconds, counts: this one was profiled, or is the first."""
        self._last = number, self._clock()


def _answers(capture: SessionCapture) -> Callable[[int], bool]:
    """The user's rule, asked once per number, as it may be stateful; a failure is a no that is told of."""
    rule = capture.options.rule()

    @functools.lru_cache(maxsize=REMEMBERED_ANSWERS)
    def answer(number: int) -> bool:
        if rule is None:
            return True
        try:
            return bool(rule(number))
        except Exception as error:  # the user's own
            capture.tell("A step was not profiled, as the choice of steps failed", error)
            return False

    return answer
