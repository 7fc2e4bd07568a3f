"""A table of variants -> horizontal bars with intervals, as HTML that needs no script and follows the theme of the page."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..analysis.base.wording import number
from ..export.report.bar_table import BarRow, bar_table

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("", "samples/s", "95 % interval", "ms a step", "ratio")


@dataclass(frozen=True)
class ExperimentChart:
    """Bars of an experiment; a notebook shows it."""

    title: str
    """Name of the experiment."""
    html: str
    """The text of the chart."""

    def __repr__(self) -> str:
        return f"<ExperimentChart {self.title}>"

    def _repr_html_(self) -> str:
        return self.html


def make_chart(table: pd.DataFrame, *, title: str, sentence: str, notices: tuple[str, ...]) -> ExperimentChart:
    """One bar per variant: samples per second, with its 95 % interval as a line; below it what a reader must know."""
    rows = table.to_dict("records")
    ends = [row[key] for row in rows for key in ("samples_per_second", "high") if math.isfinite(row[key])]
    # An interval of two repeats can reach far out: it may take half of the room, and is cut there.
    rates = [row["samples_per_second"] for row in rows if math.isfinite(row["samples_per_second"])]
    longest = min(max(ends, default=1.0), 2 * max(rates, default=1.0))
    bars = [_bar_row(row) for row in rows]
    return ExperimentChart(title, bar_table(sentence, _COLUMNS, bars, longest=longest, notices=notices))


def _bar_row(row: dict[Any, Any]) -> BarRow:
    rate, low, high = row["samples_per_second"], row["low"], row["high"]
    if not math.isfinite(rate):
        return BarRow(str(row["variant"]), ("out of memory",))
    interval = f"{number(low)} to {number(high)}" if math.isfinite(low) and high < 1e9 else "unknown"
    cells = (number(rate), interval, number(row["step_time_ms"]), f"{row['ratio']:.2f}")
    return BarRow(str(row["variant"]), cells, rate, (low, high))
