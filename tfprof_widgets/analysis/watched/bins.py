"""Steps, however many -> a few hundred bins of neighbours that a chart draws, in memory that does not grow.

A bin holds a fixed number of steps, 1 at first; when all bins are full, each two become one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ...trace.watched import PROFILED, Steps, trained
from ..base.units import US_PER_MS

COLUMNS: tuple[str, ...] = (
    *("first_ordinal", "first_number", "start_s", "n", "mean_ms", "min_ms", "max_ms", "p95_ms"),
    *("wait_ms", "outside_ms", "loss", "profiled"),
)
"""Of `StepBins.columns`, in this order."""
P95 = 0.95
REREAD_ROWS = 2**16
"""So many rows are read again in one call, at least a bin: about 2 ms."""

_SUMS = ("duration", "wait", "n_wait", "outside", "n_outside", "loss", "n_loss", "profiled")

Floats = npt.NDArray[np.float64]
Reread = Callable[[int, int], Steps]


class StepBins:
    """The bins of one training; steps of validation and prediction are in none."""

    def __init__(self, max_bins: int = 600, *, started_ns: int | None = None, reread: Reread | None = None) -> None:
        """Begin without steps.

        Args:
            max_bins: even.
            started_ns: what `start_s` counts from; the begin of the first step where it is None.
            reread: gives all rows added so far from one to before another, of any kind, or fewer where it cannot: 95th
                percentiles of bins that became one come from them. Without it they are not known.
        """
        self.started_ns = started_ns
        self.n_steps = 0
        """Of training."""
        self.n_rows = 0
        """Of any kind."""
        self.width = 1
        """Steps of a full bin."""
        self._reread = reread
        self._most = max_bins
        self._sums = {name: np.zeros(max_bins) for name in _SUMS}
        self._min, self._max, self._p95 = (
            np.full(max_bins, np.inf),
            np.full(max_bins, -np.inf),
            np.full(max_bins, np.nan),
        )
        self._first_number, self._first_row = np.zeros(max_bins, np.int64), np.zeros(max_bins, np.int64)
        self._first_ns = np.zeros(max_bins, np.int64)
        self._waits_for_p95 = np.zeros(max_bins, np.bool_)
        self._open = np.empty(0, np.float32)
        """Durations of the steps in the last bin, which is not full."""

    def add(self, rows: Steps) -> None:
        """Take the next steps, of any kind, and work on percentiles that are still to be found for a millisecond or two."""
        self._take(rows)
        self._find_some_p95()

    def settle(self) -> None:
        """Find all percentiles that can be."""
        while self._find_some_p95():
            pass

    def columns(self) -> dict[str, Floats]:
        """One row a bin, in the order the steps came.

        Returns:
            `COLUMNS`: the ordinal of its first step of training from 0, that step's number and begin; how many steps; their
            times, NaN where not known; the share of them that was profiled. `p95_ms` is exact; NaN while it is not known.
        """
        n_bins = self._n_bins()
        first = np.arange(n_bins, dtype=np.float64) * self.width
        n = np.minimum(self.n_steps - first, self.width)
        sums = {name: values[:n_bins] for name, values in self._sums.items()}
        p95 = self._p95[:n_bins].copy()
        if len(self._open):
            p95[-1] = np.quantile(self._open, P95)
        with np.errstate(invalid="ignore"):
            means = {name: sums[name] / sums[f"n_{name}"] for name in ("wait", "outside", "loss")}
        found = (
            *(first, self._first_number[:n_bins], (self._first_ns[:n_bins] - (self.started_ns or 0)) / 1e9, n),
            *(sums["duration"] / n / US_PER_MS, self._min[:n_bins] / US_PER_MS, self._max[:n_bins] / US_PER_MS),
            *(p95 / US_PER_MS, means["wait"] / US_PER_MS, means["outside"] / US_PER_MS),
            *(means["loss"], sums["profiled"] / n),
        )
        return dict(zip(COLUMNS, (np.asarray(values, np.float64) for values in found), strict=True))

    def _n_bins(self) -> int:
        return -(-self.n_steps // self.width)

    def _take(self, rows: Steps) -> None:
        places = self.n_rows + np.flatnonzero(trained(rows))
        self.n_rows += len(rows)
        rows = rows[places - (self.n_rows - len(rows))]
        if len(rows) and self.started_ns is None:
            self.started_ns = int(rows["start_ns"][0])
        while len(rows):
            room = self._most * self.width - self.n_steps
            if room == 0:
                self._merge()
                continue
            self._fill(rows[:room], places[:room])
            rows, places = rows[room:], places[room:]

    def _fill(self, rows: Steps, places: npt.NDArray[np.int64]) -> None:
        """Put steps into the bins that have room for all of them."""
        bins = (self.n_steps + np.arange(len(rows))) // self.width
        starts = np.flatnonzero(np.diff(bins, prepend=-1))
        is_new = (self.n_steps + starts) % self.width == 0
        hit, new, begun = bins[starts], bins[starts[is_new]], starts[is_new]
        self._first_number[new] = rows["number"][begun]
        self._first_ns[new] = rows["start_ns"][begun]
        self._first_row[new] = places[begun]
        for name, values in _summed(rows).items():
            self._sums[name][hit] += np.add.reduceat(values, starts)
        duration = rows["duration_us"]
        self._min[hit] = np.minimum(self._min[hit], np.minimum.reduceat(duration, starts))
        self._max[hit] = np.maximum(self._max[hit], np.maximum.reduceat(duration, starts))
        self._close_full(np.concatenate([self._open, duration]), first=int(hit[0]))
        self.n_steps += len(rows)

    def _close_full(self, durations: npt.NDArray[np.float32], *, first: int) -> None:
        """Find the percentiles of the bins that these durations fill, from the bin `first` on, and keep the rest."""
        n_full = len(durations) // self.width
        self._open = durations[n_full * self.width :].copy()
        if n_full:
            filled = durations[: n_full * self.width].reshape(n_full, self.width)
            self._p95[first : first + n_full] = np.quantile(filled, P95, axis=1)

    def _merge(self) -> None:
        half = self._most // 2
        for values in self._sums.values():
            values[:half] = values[0::2] + values[1::2]
            values[half:] = 0.0
        self._min[:half], self._max[:half] = (
            self._min.reshape(half, 2).min(axis=1),
            self._max.reshape(half, 2).max(axis=1),
        )
        self._min[half:], self._max[half:] = np.inf, -np.inf
        for first in (self._first_number, self._first_ns, self._first_row):
            first[:half] = first[0::2].copy()
        self._p95[:] = np.nan
        self._waits_for_p95[:half], self._waits_for_p95[half:] = self._reread is not None, False
        self.width *= 2

    def _find_some_p95(self) -> bool:
        """Read the last of the bins that wait again, as many as `REREAD_ROWS` hold; whether there were any."""
        waiting = np.flatnonzero(self._waits_for_p95)
        if self._reread is None or not len(waiting):
            return False
        last = int(waiting[-1])
        first = max(last + 1 - max(REREAD_ROWS // self.width, 1), 0)
        first = last - int(np.argmin(np.append(self._waits_for_p95[first : last + 1][::-1], False))) + 1
        n_full = self.n_steps // self.width
        end = int(self._first_row[last + 1]) if last + 1 < self._n_bins() else self.n_rows
        self._waits_for_p95[first : last + 1] = False
        rows = self._reread(int(self._first_row[first]), end)
        durations = rows["duration_us"][trained(rows)]
        n_bins = last + 1 - first
        if last < n_full and len(durations) >= n_bins * self.width:
            filled = durations[: n_bins * self.width].reshape(n_bins, self.width)
            self._p95[first : last + 1] = np.quantile(filled, P95, axis=1)
        return True


def _summed(rows: Steps) -> dict[str, Floats]:
    """What is added up in bins: times and losses that are known, and how many those are."""
    found = {"duration": rows["duration_us"].astype(np.float64)}
    for name, column in (("wait", "wait_us"), ("outside", "outside_us"), ("loss", "loss")):
        values = rows[column].astype(np.float64)
        is_known = np.isfinite(values)
        found[name], found[f"n_{name}"] = np.where(is_known, values, 0.0), is_known.astype(np.float64)
    found["profiled"] = (rows["flags"] & PROFILED != 0).astype(np.float64)
    return found
