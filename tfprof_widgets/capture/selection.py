"""What the user asked for (steps, every, every_seconds) -> which steps belong to a window of the capture."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Real

StepRule = Callable[[int], bool]
Steps = range | Iterable[int] | StepRule


class Selection:
    """Decides, step by step, whether a window is to be open: neighbours share one, with `every_seconds` each step has its own."""

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


def make_selection(
    *, steps: Steps | None = None, every: int | None = None, every_seconds: float | None = None
) -> Selection | None:
    """Turn the user's arguments into a `Selection`; None when all three are None: capture everything."""
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
    return Selection(
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
