"""Column and Table: what a column of a public table is called, its type, its unit and what it means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, cast

Kind = Literal["int", "float", "number", "bool", "text", "object"]
"""`number` is whole or not, as the numbers come; `object` is a list, a tuple or a dict."""

_TYPES: Mapping[Kind, type] = {
    "int": int,
    "float": float,
    "number": float,
    "bool": bool,
    "text": object,
    "object": object,
}
_UNITS = {
    "ps": "picoseconds",
    "ns": "nanoseconds",
    "us": "microseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "micros": "microseconds",
    "bytes": "bytes",
    "pct": "percent",
    "ratio": "ratio, 1 is all",
    "gflops": "GFLOP/s",
    "gibps": "GiB/s",
    "tflops": "TFLOP/s",
    "gbps": "GB/s",
}
"""By the last word of a column's name."""


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    """As the table has it."""
    kind: Kind
    """`int`, `float`, `number` (whole or not, as the numbers come), `bool`, `text`, or `object` (a list, a tuple or a
    dict).
    """
    meaning: str
    """What it tells."""
    unit: str
    """In words; "" for a count, a text, and what another column gives the unit of."""


@dataclass(frozen=True)
class Table:
    """One table."""

    name: str
    """As a user reaches it from a profile: `ops`, `memory.peak`."""
    row: str
    """What one row is, and in which order they come."""
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def types(self) -> dict[str, type]:
        """From each column to `int`, `float`, `bool` or, for text and all else, `object`."""
        return {column.name: _TYPES[column.kind] for column in self.columns}


def unit_of(name: str) -> str:
    """The unit that the last word of a column's name tells; "" for none."""
    return _UNITS.get(name.rsplit("_", 1)[-1], "")


def read_tables(text: str) -> dict[str, Table]:
    """Tables as they are written in this package.

    Args:
        text: for each table a line `name: row`, and indented below it one for each column: name, kind, meaning and, where
            the name does not tell it, the unit in brackets. `*name` stands for the columns of a table further up, or of a
            group, which begins with `*name:`; `prefix_*name` puts that in front of their names.
    """
    found: dict[str, Table] = {}
    name = row = ""
    for line in text.strip().splitlines():
        if line.startswith(" "):
            found[name] = Table(name, row, (*found[name].columns, *_columns(line, found)))
        else:
            name, _, row = line.partition(":")
            name, row = name.removeprefix("*"), row.strip()
            found[name] = Table(name, row, ())
    return {name: table for name, table in found.items() if table.row}


def _columns(line: str, known: Mapping[str, Table]) -> Iterator[Column]:
    prefix, is_group, group = line.strip().partition("*")
    if is_group and group in known:
        yield from (replace(one, name=f"{prefix}{one.name}") for one in known[group].columns)
        return
    name, kind, rest = line.split(maxsplit=2)
    meaning, _, unit = rest.partition(" [")
    yield Column(name, cast(Kind, kind), meaning, unit.removesuffix("]") or unit_of(name))
