"""Names of tables -> `TableList`: what a query may ask for, each table with its rows, columns, types and units."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from ..analysis.columns.column import Column, Kind, unit_of
from .tables import columns_of, table_of, type_of

_COLUMNS = ("table", "column", "type", "unit", "meaning")


@dataclass(frozen=True)
class TableList:
    """The tables of a profile by the names that `Profile.sql` knows; it prints and displays itself."""

    names: tuple[str, ...]
    """Of the tables."""
    columns: dict[str, tuple[Column, ...]]
    """Of each table."""

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per column, in the order of the tables: `table, column, type, unit, meaning`, all of them text. The types
        are `int`, `float`, `number` (whole or not), `bool`, `text` and `object`, a list or a dict that a query sees as the
        text of its JSON; the unit is empty for a count and a text."""
        rows = [(name, one.name, one.kind, one.unit, one.meaning) for name in self.names for one in self.columns[name]]
        return pd.DataFrame(rows, columns=list(_COLUMNS), dtype=object)

    def __repr__(self) -> str:
        return f"<TableList: {len(self.names)} tables, {len(self.frame)} columns; print it, or see its frame>"

    def __str__(self) -> str:
        return "\n".join(line for name in self.names for line in self._lines(name))

    def _lines(self, name: str) -> Iterable[str]:
        columns = self.columns[name]
        yield f"{name}: {_row(name)}"
        width = max((len(one.name) for one in columns), default=0)
        for one in columns:
            unit = f" [{one.unit}]" if one.unit else ""
            yield f"  {one.name:<{width}}  {one.kind:<6}  {one.meaning}{unit}"

    def _repr_html_(self) -> str:
        parts = []
        for name in self.names:
            rows = "".join(
                f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in (one.name, one.kind, one.unit, one.meaning))}</tr>"
                for one in self.columns[name]
            )
            head = f"<summary><b>{html.escape(name)}</b>: {html.escape(_row(name))}</summary>"
            parts.append(f"<details>{head}<table>{rows}</table></details>")
        return "\n".join(parts)


def list_tables(names: Iterable[str], system: pd.DataFrame) -> TableList:
    """The list of these tables.

    Args:
        names: as files of tables have them.
        system: the samples of the machine, which have a column for each core and GPU of it.
    """
    known = {name: columns_of(name) for name in names}
    if "system" in known:
        listed = {one.name for one in known["system"]}
        more = [str(name) for name in system.columns if name not in listed]
        known["system"] += tuple(Column(name, _KINDS[type_of(system[name])], "", unit_of(name)) for name in more)
    return TableList(tuple(known), known)


_KINDS: dict[str, Kind] = {"boolean": "bool", "integer": "int", "number": "float", "text": "text"}


def _row(name: str) -> str:
    table = table_of(name)
    return "" if table is None else f"a row is {table.row}"
