"""Steps of one pace -> what is usual among them, and how much that varies by itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .rows import LatestRows, Rows

Floats = npt.NDArray[np.float64]

KEPT = 2048
"""What is usual is told from so many of the latest steps at most."""
COLUMNS = ("ms", "wait_ms", "outside_ms")
"""Of rows, in which a change of pace is looked for: the whole step, and what of it has a time of its own."""
SHORT, BLOCK, LONG = 16, 64, 256
"""A change of pace is looked for in so many steps in a row: a large one shows in few."""
FEWEST = 112
"""With fewer steps nothing is usual yet."""
FEWEST_BLOCKS = 8
"""With fewer how blocks vary is not known."""
MIN_RISE = 0.15
"""What changes by less is what clocks and caches do."""
MIN_RISE_MS = 0.05
MOSTLY_KNOWN = 0.8
"""tf.data forgets the waits of some steps: a column of which so many rows are known tells what is usual."""
_SLOW = 3.0
"""A step that takes so many times the usual is slow, where that is beyond what is usual."""


@dataclass(frozen=True)
class Usual:
    """What is usual in milliseconds."""

    median: float
    mean: float
    """Of times cut at `cut`."""
    cut: float
    """Above what nearly all steps take: single slow ones do not move a mean of times that are cut here."""
    high: Floats
    """Of each of `COLUMNS`: hardly a step in ten takes longer, nor ever most of `SHORT` in a row. Infinite where not known."""
    slow: float
    """A single step that takes longer is slow."""
    block_sd: float
    """Standard deviation of the means of `BLOCK` steps; infinite while not known."""

    def rise(self, n_sd: float) -> float:
        """By how much the mean of steps has to be larger to mean something."""
        return max(MIN_RISE * self.mean, MIN_RISE_MS, n_sd * self.block_sd)


class Level:
    """Steps of one pace, as they come."""

    def __init__(self, first: Rows | None = None, *, n_left_out: int = 0) -> None:
        """Begin with some rows.

        Args:
            first: these.
            n_left_out: so many of the first steps are no measure: what they use is traced and filled.
        """
        self.rows = LatestRows(KEPT)
        self.usual: Usual | None = None
        """None while there are too few steps."""
        self.n = 0
        self._n_left_out = n_left_out
        self._next_at = FEWEST
        if first is not None:
            self.add(first)

    def add(self, rows: Rows) -> bool:
        """Take the next steps, at most `until_look`; whether they ended a block."""
        left_out = min(self._n_left_out, len(rows))
        self._n_left_out -= left_out
        self.rows.append(rows[left_out:])
        n_blocks = self.n // BLOCK
        self.n += len(rows) - left_out
        if self.n >= self._next_at:
            self.find_usual()
            self._next_at = self.n + (BLOCK if self.n < 2 * LONG else 2 * LONG)
        return self.n // BLOCK > n_blocks

    def until_look(self) -> int:
        """How many steps to take before the next look at blocks."""
        length = BLOCK if self.n < 2 * LONG else LONG
        return self._n_left_out or length - self.n % length

    def find_usual(self) -> None:
        """Look at the rows anew; the latest are left out where there are enough, as they may be of another pace."""
        rows = self.rows.last()
        self.usual = usual_of(rows[: -LONG if len(rows) >= 3 * LONG else None]) if len(rows) >= FEWEST else None

    def keep_last(self, n: int) -> None:
        """Begin anew with the last `n` rows: the pace became faster."""
        self.rows.keep_last(n)
        self.find_usual()


def usual_of(rows: Rows) -> Usual:
    """What is usual among at least `FEWEST` steps, in order."""
    ms = rows["ms"]
    median, most = np.quantile(ms, (0.5, 0.98)).tolist()
    cut = max(_SLOW * median, most)
    cut_ms = np.minimum(ms, cut)
    blocks = cut_ms[len(ms) % BLOCK :].reshape(-1, BLOCK).mean(axis=1)
    block_sd = (
        max(float(blocks.std(ddof=1)), float(cut_ms.std()) / BLOCK**0.5) if len(blocks) >= FEWEST_BLOCKS else np.inf
    )
    return Usual(
        median=median,
        mean=float(cut_ms.mean()),
        cut=cut,
        high=np.array([_high(rows[name], max(MIN_RISE * median, MIN_RISE_MS)) for name in COLUMNS]),
        slow=max(_SLOW * median, 1.5 * most),
        block_sd=block_sd,
    )


def known_or_usual(values: Floats) -> Floats:
    """Values, with the median of those that are known where one is not; 0 where none is."""
    is_known = np.isfinite(values)
    return values if is_known.all() else np.where(is_known, values, np.median(values[is_known]) if is_known.any() else 0.0)


def _high(values: Floats, rise: float) -> float:
    if np.isfinite(values).mean() < MOSTLY_KNOWN:
        return np.inf
    values = known_or_usual(values)
    median, high = np.quantile(values, (0.5, 0.9)).tolist()
    shorts = np.sort(values[: len(values) // SHORT * SHORT].reshape(-1, SHORT), axis=1)[:, SHORT // 2]
    return float(max(high, 1.1 * np.quantile(shorts, 0.98), median + rise))
