"""Events of a Chrome trace that cannot be read -> how many were left out and why, in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ...errors import TraceError


class OddEventError(TraceError):
    """An event is not what the format asks for: it is left out, and the others are read."""

    def __init__(self, text: str, what: str = "odd") -> None:
        super().__init__(text)
        self.what = what
        """What is odd, as it is counted: one of a few."""


@dataclass
class LeftOut:
    """Those of one file."""

    n_read: int = 0
    """How many events the file had so far, those that were left out included."""
    is_of_xprof: bool = False
    """Whether there was an empty object, which is left out without a word."""
    _kinds: Counter[str] = field(default_factory=Counter)
    _first: str = ""

    def take(self, events: Iterable[Any], take_up: Callable[[Any], None]) -> None:
        """Take up events one by one; those for which that raises an `OddEventError` are left out."""
        for event in events:  # JSON has no columns; this loop is what makes them
            try:
                if event or event != {}:
                    take_up(event)
                else:  # XProf's converter ends its list so, to need no comma before it
                    self.is_of_xprof = True
            except OddEventError as error:
                self._first = self._first or f"event {self.n_read}: {error}"
                self._kinds[error.what] += 1
            self.n_read += 1

    @property
    def notices(self) -> tuple[str, ...]:
        """One sentence where events were left out, else none."""
        if not self._kinds:
            return ()
        kinds = ", ".join(f"{what} ({n:,})" for what, n in self._kinds.most_common())
        n_all = self._kinds.total()
        return (
            f"{n_all:,} of {self.n_read:,} events {'was' if n_all == 1 else 'were'} left out: {kinds}. "
            f"The first is {self._first}.",
        )

    def check_some(self, *, found_any: bool) -> None:
        """Refuse a file that has nothing but such events.

        Raises:
            TraceError: it names the first.
        """
        if self._kinds and not found_any:
            raise TraceError(f"none of its events can be shown; the first odd one is {self._first}")
