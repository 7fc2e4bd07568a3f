"""A DataFrame -> one table of a report: its first rows, of how many, and what gives all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import pandas as pd

from ...analysis.base.wording import number, size
from .markdown import code, table
from .subject import Room

Row = dict[str, Any]
"""A row of the DataFrame."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One table with its heading."""

    heading: str
    source: str
    """What gives all rows."""
    columns: Sequence[str]
    rows: list[list[str]]
    n_rows: int
    note: str = ""

    def markdown(self) -> str:
        """The heading, how much of it is here, and the table."""
        counted = f"{len(self.rows):,} of {self.n_rows:,} row{'' if self.n_rows == 1 else 's'}; all: `{self.source}`."
        return f"### {self.heading}\n\n{f'{counted} {self.note}'.strip()}\n\n{table(self.columns, self.rows)}"


def part_of(
    heading: str,
    source: str,
    frame: pd.DataFrame,
    cells: dict[str, Callable[[Row], str]],
    *,
    room: Room,
    note: str = "",
    n_rows: int | None = None,
) -> Iterator[Part]:
    """The first rows of a frame; `cells` writes each column."""
    shown: list[Row] = [
        {str(name): value for name, value in row.items()} for row in frame.head(room.rows).to_dict("records")
    ]
    rows = [[write(row) for write in cells.values()] for row in shown]
    n_all = len(frame) if n_rows is None else n_rows
    yield Part(heading=heading, source=source, columns=[*cells], rows=rows, n_rows=n_all, note=note)


def ms(column: str) -> Callable[[Row], str]:
    """A number of ms."""
    return lambda row: number(row[column])


def us_as_ms(column: str) -> Callable[[Row], str]:
    """A number of us, in ms."""
    return lambda row: number(row[column] / 1e3)


def percent(column: str) -> Callable[[Row], str]:
    """A ratio, in percent."""
    return lambda row: number(row[column] * 100)


def count(column: str) -> Callable[[Row], str]:
    """A whole number."""
    return lambda row: f"{row[column]:,}"


def named(column: str, room: Room) -> Callable[[Row], str]:
    """A name of the trace; nothing for an empty one."""
    return lambda row: code(row[column], room.name) if row[column] else ""


def size_of(column: str) -> Callable[[Row], str]:
    """Bytes, with their unit."""
    return lambda row: size(row[column])


def file_name(path: object) -> str:
    """The last part of a path; `Cell [5]` stays what it is."""
    return PurePath(str(path)).name or str(path)
