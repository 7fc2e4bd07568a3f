"""A table of variants -> horizontal bars with intervals, as HTML that needs no script and follows the theme of the page."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..analysis.base.wording import number

if TYPE_CHECKING:
    import pandas as pd

_ROOM = 1.05
"""The longest bar or interval ends this part before the right edge."""


@dataclass(frozen=True)
class ExperimentChart:
    """Bars of a result; a notebook shows it, and `html` is its text."""

    title: str
    html: str

    def __repr__(self) -> str:
        return f"<ExperimentChart {self.title}>"

    def _repr_html_(self) -> str:
        return self.html


def make_chart(table: pd.DataFrame, *, title: str, sentence: str, notices: tuple[str, ...]) -> ExperimentChart:
    """One bar per variant: samples per second, with its 95 % interval as a line; below it what a reader must know."""
    rows = [row._asdict() for row in table.itertuples(index=False)]  # type: ignore[operator, misc]
    ends = [row[key] for row in rows for key in ("samples_per_second", "high") if math.isfinite(row[key])]
    # An interval of two repeats can reach far out: it may take half of the room, and is cut there.
    rates = [row["samples_per_second"] for row in rows if math.isfinite(row["samples_per_second"])]
    full = min(max(ends, default=1.0), 2 * max(rates, default=1.0)) * _ROOM or 1.0
    lines = "".join(_line(row, full) for row in rows)
    told = "".join(f"<li>{html.escape(text)}</li>" for text in notices)
    head = "".join(f"<th {_CELL}>{text}</th>" for text in ("", "samples/s", "95 % interval", "ms a step", "ratio", ""))
    return ExperimentChart(
        title,
        f'<div style="font-size:13px;line-height:1.4"><div style="font-weight:600">{html.escape(sentence)}</div>'
        f'<table style="border-collapse:collapse;width:100%;margin:6px 0"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody>'
        f"</table>{f'<ul style=margin:0>{told}</ul>' if told else ''}</div>",
    )


_CELL = 'style="text-align:right;padding:2px 8px;white-space:nowrap;background:none"'


def _line(row: dict[str, Any], full: float) -> str:
    rate = row["samples_per_second"]
    name = f'<th scope="row" {_CELL}>{html.escape(str(row["variant"]))}</th>'
    if not math.isfinite(rate):
        return f'<tr style="background:none">{name}<td colspan="5">out of memory</td></tr>'
    texts = (
        number(rate),
        _range(row["low"], row["high"]),
        number(row["step_time_ms"]),
        f"{row['ratio']:.2f}",
    )
    cells = "".join(f"<td {_CELL}>{text}</td>" for text in texts)
    return f'<tr style="background:none">{name}{cells}<td style="width:55%;padding:2px 0">{_bar(row, full)}</td></tr>'


def _bar(row: dict[str, Any], full: float) -> str:
    """A bar in the accent colour, its interval as a thin line in the colour of the text."""
    width = 100 * row["samples_per_second"] / full
    bar = f'<div style="position:absolute;left:0;top:2px;bottom:2px;width:{width:.2f}%;background:#4c8bf5"></div>'
    if math.isfinite(row["low"]) and math.isfinite(row["high"]):
        left, right = 100 * row["low"] / full, min(100 * row["high"] / full, 100.0)
        bar += (
            f'<div style="position:absolute;left:{left:.2f}%;top:50%;width:{max(right - left, 0.2):.2f}%;height:0;'
            'border-top:2px solid currentColor"></div>'
        )
    return f'<div aria-hidden="true" style="position:relative;height:18px">{bar}</div>'


def _range(low: float, high: float) -> str:
    return f"{number(low)} to {number(high)}" if math.isfinite(low) and high < 1e9 else "unknown"
