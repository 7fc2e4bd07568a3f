"""Declared tables -> `js/src/data/tables.ts`, an interface for the rows that the browser gets: `python -m tools.typescript`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tfprof_widgets.analysis import IN_BROWSER, TABLES, Sent, Table

FILE = Path(__file__).parents[1] / "js" / "src" / "data" / "tables.ts"
_HEAD = (
    "/** Rows of tables, as Python declares (and explains) and sends them: made by `python -m tools.typescript`. */\n"
)
_TYPES = {
    "int": "number",
    "float": "number",
    "number": "number",
    "bool": "boolean",
    "text": "string",
    "object": "unknown",
}
_OF_FIGURES = {
    "float": "number | null",
    "str": "string",
    "bool": "boolean",
    "tuple[str, ...]": "readonly string[]",
    "tuple[int, ...]": "readonly number[]",
}
_WORDS = re.compile(r"`[\w ]+`(, `[\w ]+`)* or `[\w ]+`")
"""All that some text may be."""


def interfaces() -> str:
    """The text of the file."""
    rows = (_interface(one) for one in TABLES.values() if any(not sent.dtype for sent in one.sent))
    return "\n".join([_HEAD, *rows, *_figures()])


def _figures() -> Iterator[str]:
    yield "/** Figures and sentences of `Profile.overview`, under their names there; null for what is not known. */"
    yield "export interface OverviewFigures {"
    yield from (f"  readonly {one.name}: {_OF_FIGURES[str(one.type)]};" for one in IN_BROWSER)
    yield "}\n"


def interface_name(table: Table) -> str:
    """Such as `MemorySummaryRow`."""
    return "".join(word.capitalize() for word in re.findall(r"[a-z]+", table.name)) + "Row"


def _interface(table: Table) -> str:
    row = table.row.replace("NaN", "null").rstrip(".")
    head = [f"/** {row[:1].upper()}{row[1:]}. */", f"export interface {interface_name(table)} {{"]
    return "\n".join([*head, *map(_field, table.sent), "}", ""])


def _field(sent: Sent) -> str:
    column, kind = sent.column, _TYPES[sent.column.kind]
    if column.kind == "text" and _WORDS.fullmatch(column.meaning):
        kind = " | ".join(f'"{word}"' for word in re.findall(r"`([^`]+)`", column.meaning))
    return f"  readonly {column.name}{'?' * sent.is_sometimes}: {kind}{' | null' * sent.is_nullable};"


if __name__ == "__main__":
    FILE.write_text(interfaces(), encoding="utf-8")
