"""Steps -> whether they become slower so slowly that no moment tells it."""

from __future__ import annotations

from dataclasses import dataclass

from .level import BLOCK, LONG, MIN_RISE, Level
from .phases import Pace, pace_of

N_STEPS = 1024
"""Of so many steps the pace is told."""
_MOST_KEPT = 64
_N_SD = 8.0
_NOT_YET = 0.1
"""Where less of the rise is there, it has not begun."""
_LITTLE_BY_LITTLE = (0.2, 0.8)
"""Half way between the steps before it and the latest so much of the rise has to be there, or it came at once."""


@dataclass(frozen=True)
class Stretch:
    """Steps in a row."""

    first_number: int
    last_number: int
    first_ns: int
    mean_ms: float
    """Without single slow steps."""
    pace: Pace


class Drift:
    """Looks at the steps that are in no stretch that began at once."""

    def __init__(self) -> None:
        self.before: Stretch | None = None
        """The steps before the drift; None while there was none."""
        self.latest: Stretch | None = None
        """The slowest of it so far."""
        self.fastest: Stretch | None = None
        self.is_open = False
        self.last_number: int | None = None
        """The last step of the drift, once its steps are as fast as before."""
        self._since: list[Stretch] = []
        """Some of the stretches since the fastest."""
        self._every, self._n_seen, self._next_at = 1, 0, N_STEPS

    def look(self, level: Level) -> None:
        """Look at the latest steps once there are enough new ones."""
        if level.n < self._next_at or len(level.rows) < N_STEPS or level.usual is None:
            return
        self._next_at = level.n + LONG
        rows = level.rows.last(N_STEPS)
        mean_ms = float(rows["ms"][rows["ms"] <= level.usual.cut].mean())
        latest = Stretch(
            int(rows["number"][0]), int(rows["number"][-1]), int(rows["start_ns"][0]), mean_ms, pace_of(rows)
        )
        if self.is_open:
            self._go_on(latest)
        else:
            self._compare(latest, level.usual.block_sd)

    def _compare(self, latest: Stretch, block_sd: float) -> None:
        if self.fastest is None or latest.mean_ms < self.fastest.mean_ms:
            self._begin_with(latest)
            return
        self._keep(latest)
        low = self.fastest.mean_ms
        rise = latest.mean_ms - low
        sd = block_sd / (N_STEPS / BLOCK) ** 0.5
        if rise < max(MIN_RISE * low, _N_SD * sd) or latest.pace.ms < (1 + MIN_RISE) * self.fastest.pace.ms:
            return
        rising = [self.fastest, *self._since]
        first = max(i for i, one in enumerate(rising) if one.mean_ms <= low + _NOT_YET * rise)
        rising = rising[first:]
        if latest.last_number - rising[0].last_number < 2 * N_STEPS:
            return
        middle = (rising[0].last_number + latest.last_number) / 2
        half_way = min(rising, key=lambda one: abs(one.last_number - middle)).mean_ms - low
        if half_way > _LITTLE_BY_LITTLE[1] * rise:  # it came at once, long ago
            self._begin_with(latest)
        elif half_way >= _LITTLE_BY_LITTLE[0] * rise:
            self.is_open, self.before, self.latest, self.last_number = True, rising[0], latest, None

    def _begin_with(self, fastest: Stretch) -> None:
        self.fastest, self._since, self._every, self._n_seen = fastest, [], 1, 0

    def _go_on(self, latest: Stretch) -> None:
        assert self.before is not None and self.latest is not None
        if latest.mean_ms < (self.before.mean_ms + self.latest.mean_ms) / 2:
            self.is_open, self.last_number = False, latest.first_number
            self._begin_with(latest)
        elif latest.mean_ms > self.latest.mean_ms:
            self.latest = latest

    def _keep(self, stretch: Stretch) -> None:
        self._n_seen += 1
        if self._n_seen % self._every == 0:
            self._since.append(stretch)
        if len(self._since) > _MOST_KEPT:
            self._since, self._every = self._since[1::2], 2 * self._every
