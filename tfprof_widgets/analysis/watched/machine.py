"""Samples of the machine -> what it did before some time and during it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...trace.watched import SAMPLE_COLUMNS

KEPT = 600
Span = tuple[int, int | None]
"""Unix times of a begin and an end; None: until now."""
_CPU, _OWN = SAMPLE_COLUMNS.index("cpu_pct"), SAMPLE_COLUMNS.index("process_cpu_pct")
_MOST_BEFORE = 60
_FEWEST_BEFORE = 3
_BUSY_PCT = 60.0
"""Load of all cores, below which others leave enough of them."""
_OTHERS_ROSE_PCT, _OTHERS_ROSE_MUCH_PCT = 10.0, 25.0
"""Of all cores; by much is enough without a machine that is full: memory is shared, too."""
_BUSY_SHARE = 0.3
"""Of the samples."""
_MOSTLY, _LEAST_PART = 0.8, 0.2
_THROTTLED_CLOCK = 0.9
_IDLER_PCT = 15.0


@dataclass(frozen=True)
class BeforeAndSince:
    """Medians of a column's samples before some time and during it; NaN where there are none."""

    before: float
    since: float

    @property
    def rise(self) -> float:
        """NaN where either is not known."""
        return self.since - self.before


class Machine:
    """The latest samples."""

    def __init__(self, n_cores: int) -> None:
        self.n_cores = n_cores
        self._rows = np.empty((0, len(SAMPLE_COLUMNS)))

    def add(self, row: Any) -> None:
        """Take the next sample."""
        self._rows = np.concatenate([self._rows, row[None]])[-KEPT:]

    @property
    def last_ns(self) -> int:
        """The time of the last sample; 0 where the machine is not sampled."""
        return int(self._rows[-1, 0]) if len(self._rows) else 0

    def n_during(self, span: Span) -> int:
        """How many samples are about a span."""
        return len(self._during(span))

    def around(self, column: str, span: Span) -> BeforeAndSince:
        """What a column was before a span, in its last minute, and during it."""
        i = SAMPLE_COLUMNS.index(column)
        return BeforeAndSince(*(_middle(rows[:, i]) for rows in (self._before(span), self._during(span))))

    def is_busy_with_others(self, span: Span) -> bool:
        """Whether other processes took cores during a span that were free, or this process's, when the machine was quiet."""
        is_about, part = self._about(span)
        if not is_about.any():
            return False
        during = self._rows[is_about]
        quiet = self._others(self._rows[self._rows[:, 0] <= span[0]])
        quiet = quiet[np.isfinite(quiet)]
        rose = self._others(during) - (float(np.quantile(quiet, 0.1)) if len(quiet) >= _FEWEST_BEFORE else 0.0)
        rose /= part[is_about]  # a sample of which the span is half shows half of it
        is_so = (rose >= _OTHERS_ROSE_MUCH_PCT) | ((rose >= _OTHERS_ROSE_PCT) & (during[:, _CPU] >= _BUSY_PCT))
        return float(is_so.mean()) >= _BUSY_SHARE and self.around("cpu_pct", span).since >= _OTHERS_ROSE_MUCH_PCT

    def is_busier(self, span: Span) -> bool:
        """Whether other processes took more of the machine during a span than in the minute before, and not only what this
        one left: a process that waits for something else leaves cores to whoever wants them."""
        before, since = self._before(span), self._during(span)
        rises = (_middle(load(since)) - _middle(load(before)) for load in (self._others, lambda rows: rows[:, _CPU]))
        return min(rises) >= _OTHERS_ROSE_PCT

    def is_throttled(self, span: Span) -> bool:
        """Whether the GPU's clock fell, and the driver says that heat or power lowers it."""
        clock = self.around("gpu_clock_mhz", span)
        return self.around("gpu_throttled", span).since >= 0.5 and clock.since <= _THROTTLED_CLOCK * clock.before

    def is_gpu_idler(self, span: Span) -> bool:
        """Whether the GPU is busy for less of the time than before."""
        return self.around("gpu_pct", span).rise <= -_IDLER_PCT

    def _others(self, rows: Any) -> Any:
        """The load of other processes, of all cores."""
        return rows[:, _CPU] - rows[:, _OWN] / self.n_cores

    def _before(self, span: Span) -> Any:
        return self._rows[self._rows[:, 0] <= span[0]][-_MOST_BEFORE:]

    def _during(self, span: Span) -> Any:
        return self._rows[self._about(span)[0]]

    def _about(self, span: Span) -> tuple[Any, Any]:
        """Which samples are about a span, and which part of each is: it is about the time since the one before."""
        times = self._rows[:, 0]
        lengths = np.maximum(np.diff(times, prepend=times[:1]), 1)
        since, until = span[0], np.inf if span[1] is None else span[1]
        inside = np.minimum(times, until) - np.maximum(times - lengths, since)
        part = np.clip(inside / lengths, _LEAST_PART, 1)
        return (inside > 0) & ((part >= _MOSTLY) | (2 * inside >= until - since)), part


def sample_rows(given: Any) -> Any:
    """Samples of a table, or one row of them, as rows of `SAMPLE_COLUMNS`; columns that are not there are not known."""
    if isinstance(given, pd.DataFrame):
        return given.reindex(columns=SAMPLE_COLUMNS).to_numpy(np.float64)
    return np.asarray(given, np.float64).reshape(-1, len(SAMPLE_COLUMNS))


def _middle(values: Any) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else float("nan")
