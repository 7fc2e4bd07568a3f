"""Rows of numbers, each with a bar -> a table in HTML that needs no script and follows the theme of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_CELL = 'style="text-align:right;padding:2px 8px;white-space:nowrap;background:none"'
_ROOM = 1.05
"""The longest bar ends this part before the right edge."""


@dataclass(frozen=True)
class BarRow:
    """One row, as texts that are escaped when they are drawn; a single cell takes the place of all columns and of the bar."""

    name: str
    cells: Sequence[str]
    bar: float = math.nan
    """How long the bar is; nan for none."""
    line: tuple[float, float] = (math.nan, math.nan)
    """From where to where a thin line lies on it, upright where both are the same; nan for none."""
    title: str = ""
    """What the name tells when it is pointed at."""


def bar_table(
    heading: str, columns: Sequence[str], rows: Sequence[BarRow], *, longest: float, notices: Sequence[str]
) -> str:
    """The table under a heading, above what a reader must know; `longest` takes the whole room, lines beyond it are cut."""
    head = "".join(f"<th {_CELL}>{escape(text)}</th>" for text in (*columns, ""))
    lines = "".join(_row_html(row, len(columns), longest * _ROOM or 1.0) for row in rows)
    told = "".join(f"<li>{escape(text)}</li>" for text in notices)
    return (
        f'<div style="font-size:13px;line-height:1.4"><div style="font-weight:600">{escape(heading)}</div>'
        f'<table style="border-collapse:collapse;width:100%;margin:6px 0;font-size:13px"><thead><tr>{head}</tr></thead>'
        f"<tbody>{lines}</tbody></table>{f'<ul style=margin:0>{told}</ul>' if told else ''}</div>"
    )


def _row_html(row: BarRow, n_columns: int, full: float) -> str:
    name = f'<th scope="row" {_CELL} title="{escape(row.title)}">{escape(row.name)}</th>'
    cells = "".join(f"<td {_CELL}>{escape(text)}</td>" for text in row.cells)
    cells += f'<td style="width:40%;padding:2px 0">{_bar_html(row, full)}</td>'
    if len(row.cells) == 1:
        cells = f'<td colspan="{n_columns}">{escape(row.cells[0])}</td>'
    return f'<tr style="background:none">{name}{cells}</tr>'


def _bar_html(row: BarRow, full: float) -> str:
    """The bar in the accent colour, over it the line in the colour of the text: borders have that where they name none."""
    length = row.bar / full if math.isfinite(row.bar) else 0.0
    drawn = f'<div style="width:{length:.2%};height:14px;background-color:#4c8bf5"></div>'
    low, high = (end / full for end in row.line)
    if math.isfinite(low) and math.isfinite(high):
        width = min(high, 1.0) - low
        # Laid over the bar by a margin: an untrusted notebook keeps no positions.
        shape = "margin-top:-16px;height:18px;border-left" if low == high else "margin-top:-8px;height:0;border-top"
        drawn += f'<div style="margin-left:{low:.2%};width:{width:.2%};{shape}:2px solid"></div>'
    return f'<div aria-hidden="true" style="height:14px;margin:2px 0">{drawn}</div>'
