"""What the user asked for (steps, every, every_seconds) -> which steps belong to a window of the capture."""

from __future__ import annotations

import operator
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real

StepRule = Callable[[int], bool]
Steps = range | Iterable[int] | StepRule

DEFAULT_STEPS = 5
"""Steps of a window without a number."""
DEFAULT_WINDOWS = 10
"""Windows that a run opens by itself."""
MAX_TRIES = 3
"""Windows for one anomaly."""
REST_RATIO = 20.0
"""An unasked window opens after so many times as long as the last one took, its files included."""


@dataclass(frozen=True)
class Wish:
    n_steps: int
    why: str
    at: int | None = None
    """Number of the first step; None for the next one."""
    known_as: str = ""
    """The key of a wish, of which there is one at a time."""
    is_own: bool = True
    """Whether nobody asked for it."""


class WindowPolicy:
    """Decides, step by step, whether a window is to be open: neighbours share one, with `every_seconds` each step has its own."""

    is_awake = True
    """Whether it has to be asked before each step."""

    def __init__(
        self,
        rule: StepRule | None,
        *,
        every_seconds: float | None = None,
        description: str = "",
        ends: tuple[int, int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rule, self.description, self.ends = rule, description, ends
        self.why = description
        """Of the window that is open, or was the last one."""
        self._every_seconds, self._clock = every_seconds, clock
        self._due_s = clock()
        self._asked: tuple[int, bool] | None = None

    def opens(self, number: int, n_batches: int = 1) -> bool:
        """Whether the step that begins now, of `n_batches` numbers, is to open a window: one wanted number is enough."""
        if not self._wants_any(number, n_batches):
            return False
        if self._every_seconds is None:
            return True
        now_s = self._clock()
        if now_s < self._due_s:
            return False
        self._due_s = now_s + self._every_seconds
        return True

    def continues(self, number: int, n_batches: int = 1) -> bool:
        """Whether the step `number` belongs to the window that is open now."""
        return False if self._every_seconds is not None else self._wants_any(number, n_batches)

    def _wants_any(self, number: int, n_batches: int) -> bool:
        if n_batches > 1:
            return any(self._wants_any(n, 1) for n in range(number, number + n_batches))
        if self.rule is None:
            return True
        # The end of a step and the begin of the next ask about the same number; a user's rule may be stateful.
        if self._asked is None or self._asked[0] != number:
            self._asked = (number, bool(self.rule(number)))
        return self._asked[1]


class OddPolicy(WindowPolicy):
    """Windows as often as was said, where something is odd, and on demand, wished for from any thread; `max_windows` does not
    bound those by `ask`.
    """

    def __init__(
        self,
        *,
        every: int | None = None,
        every_seconds: float | None = None,
        windows: bool = True,
        window_steps: int = DEFAULT_STEPS,
        max_windows: int = DEFAULT_WINDOWS,
    ) -> None:
        """As of `watch`."""
        super().__init__(None, description="what is odd")
        make_selection(every=every, every_seconds=every_seconds)  # refuses what is none
        require_positive("window_steps", window_steps, Integral, give="a whole number of steps, such as 5")
        if max_windows != 0:
            require_positive("max_windows", max_windows, Integral, give="a whole number of windows, or 0 for none")
        self.n_steps, self.max_windows, self._takes_suggestions = window_steps, max_windows, windows
        self.n_own = 0
        """Number of begun windows without a wish of the user."""
        self._every, self._seconds = every, every_seconds
        self._is_idle = every is None and every_seconds is None
        self.is_awake = not self._is_idle
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
            self.is_awake = True

    def suggest(self, why: str, *, known_as: str, at: int | None = None) -> bool:
        """Profile steps, from the next one or the number `at` on, unless there were windows enough; whether it will."""
        with self._lock:
            is_over = self.n_own >= self.max_windows or self._n_tried[known_as] >= MAX_TRIES
            if is_over or self._is_resting or not self._takes_suggestions:
                return False
            self._wishes = [wish for wish in self._wishes if wish.known_as != known_as]
            self._wishes.append(Wish(self.n_steps, why, at, known_as))
            self.is_awake = True
            return True

    def rest_after(self, seconds: float) -> None:
        """Note how long the last window and its files took the training."""
        self._rests_until_s = time.monotonic() + REST_RATIO * seconds

    def opens(self, number: int, n_batches: int = 1) -> bool:
        """Whether to begin a window with this step; called on the training thread."""
        if self._end < 0 and self._is_idle:
            with self._lock:
                self.is_awake = bool(self._wishes)
            if not self.is_awake:
                return False
        if self.continues(number, n_batches):
            return True
        last, self._end = self._end, -1  # a loop may number its steps anew
        for one in range(number, number + n_batches):
            if (wish := self._next(one, is_behind=one == last)) is not None:
                self.why, self._begin, self._end = wish.why, one, one + wish.n_steps
                return True
        return False

    def continues(self, number: int, n_batches: int = 1) -> bool:
        return self._begin < number + n_batches and number < self._end

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
            if self._seconds is not None and time.monotonic() >= self._due_s:
                self._due_s = time.monotonic() + self._seconds
                self.n_own += 1
                return Wish(self.n_steps, f"every {self._seconds:g} s")
            return None

    @property
    def _is_resting(self) -> bool:
        return time.monotonic() < self._rests_until_s


def make_selection(
    *, steps: Steps | WindowPolicy | None = None, every: int | None = None, every_seconds: float | None = None
) -> WindowPolicy | None:
    """Turn the user's arguments into a `WindowPolicy`; None when all three are None: capture everything."""
    if isinstance(steps, WindowPolicy):
        return steps
    if steps is None and every is None and every_seconds is None:
        return None
    rules: list[StepRule] = []
    words: list[str] = []
    ends = None
    if steps is not None:
        rule, word, ends = _step_rule(steps)
        rules.append(rule)
        words.append(word)
    if every is not None:
        require_positive("every", every, Integral, give="a whole number of steps, such as 100")
        rules.append(lambda number: number % every == 0)
        words.append(f"every={every}")
    if every_seconds is not None:
        require_positive("every_seconds", every_seconds, Real, give="a number of seconds, such as 30.0")
        words.append(f"every_seconds={every_seconds}")
    combined = (lambda number: all(rule(number) for rule in rules)) if len(rules) > 1 else None
    return WindowPolicy(
        rules[0] if len(rules) == 1 else combined, every_seconds=every_seconds, description=", ".join(words), ends=ends
    )


def _step_rule(steps: Steps) -> tuple[StepRule, str, tuple[int, int] | None]:
    """The rule, its words, and the least and the greatest number of it, where known."""
    if callable(steps):
        return steps, f"steps={getattr(steps, '__name__', 'a callable')}", None
    try:
        if isinstance(steps, (str, bytes)):
            raise TypeError
        given = steps if isinstance(steps, range) else [operator.index(one) for one in steps]
    except TypeError:
        raise TypeError(
            f"steps={steps!r} is a {type(steps).__name__}; give a range such as range(10, 20), "
            "a list of step numbers, or a callable that takes a step number."
        ) from None
    numbers: range | frozenset[int]
    if isinstance(given, range):
        numbers = given
    elif isinstance(steps, tuple) and len(given) == 2:
        numbers = _first_to_last(*given)
    else:
        _refuse_either(steps, given)
        numbers = frozenset(given)
    word = f"steps={steps!r}" if isinstance(steps, (range, tuple)) else f"steps={sorted(numbers)}"
    if not numbers:
        raise ValueError(f"{word} selects no step; give a range such as range(10, 20).")
    ordered = numbers if isinstance(numbers, range) else sorted(numbers)
    first, last = sorted((ordered[0], ordered[-1]))
    if first < 0:
        raise ValueError(f"{word} names a negative step; steps count from 0 over the whole capture.")
    return numbers.__contains__, word, (first, last)


def _first_to_last(first: int, last: int) -> range:
    """The steps of a pair including the last, as Keras' TensorBoard callback takes `profile_batch`."""
    if last < first:
        raise ValueError(
            f"steps=({first}, {last}) ends before it begins; give ({last}, {first}) for steps {last} to {first}."
        )
    return range(first, last + 1)


def _refuse_either(steps: object, numbers: Sequence[int]) -> None:
    """Refuse two numbers in order that may be two steps, or the first and the last of many."""
    if len(numbers) == 2 and hasattr(steps, "__getitem__") and abs(numbers[0] - numbers[1]) > 1:
        first, last = sorted(numbers)
        raise ValueError(
            f"steps={steps!r} could be two steps, or all from one to the other; give range({first}, {last + 1}) for steps "
            f"{first} to {last}, or the set {{{first}, {last}}} for these two."
        )


def require_positive(name: str, value: object, kind: type[Real | Integral], *, give: str) -> None:
    """Refuse what is no number, or none above 0."""
    if isinstance(value, bool) or not isinstance(value, kind):
        raise TypeError(f"{name}={value!r} is a {type(value).__name__}; give {give}.")
    if not float(value) > 0:
        raise ValueError(f"{name}={value!r} must be greater than 0; give {give}.")
