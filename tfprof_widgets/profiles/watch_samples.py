"""Samples of the machine, however many -> at most some hundred rows that a chart draws: each is the mean of neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..trace.watched import SAMPLE_COLUMNS

MAX_ROWS = 600


class SampleBins:
    """Rows of `SAMPLE_COLUMNS`; where there are too many, each two become one."""

    def __init__(self) -> None:
        self._rows: list[npt.NDArray[np.float64]] = []
        self._waiting: list[npt.NDArray[np.float64]] = []
        self._width = 1

    def add(self, row: Sequence[float] | npt.NDArray[np.float64]) -> None:
        """Take the next sample."""
        self._waiting.append(np.asarray(row, np.float64))
        if len(self._waiting) < self._width:
            return
        self._rows.append(np.mean(self._waiting, axis=0))
        self._waiting = []
        if len(self._rows) >= MAX_ROWS:
            pairs = np.array(self._rows[: len(self._rows) // 2 * 2]).reshape(-1, 2, len(SAMPLE_COLUMNS))
            self._rows = list(pairs.mean(axis=1))
            self._width *= 2

    def columns(self, started_ns: int) -> dict[str, npt.NDArray[np.float64]]:
        """`time_s` after the start, and the other columns as they are; no rows before the first sample."""
        table = np.array(self._rows).reshape(-1, len(SAMPLE_COLUMNS))
        values = dict(zip(SAMPLE_COLUMNS, table.T, strict=True))
        return {"time_s": (values.pop("time_ns") - started_ns) / 1e9, **values}
