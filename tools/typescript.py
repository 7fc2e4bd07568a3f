"""Declared tables -> `js/src/data/tables.ts`, an interface for the rows that the browser gets: `python -m tools.typescript`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tfprof_widgets.analysis import TABLES, Sent, Table

FILE = Path(__file__).parents[1] / "js" / "src" / "data" / "tables.ts"
_HEAD = "/** Rows of tables, as Python declares and sends them. Made by `python -m tools.typescript`: not to be edited. */\n"
_TYPES = {
    "int": "number",
    "float": "number",
    "number": "number",
    "bool": "boolean",
    "text": "string",
    "object": "unknown",
}
_WORDS = re.compile(r"`[\w ]+`(, `[\w ]+`)* or `[\w ]+`")
"""All that some text may be."""


def interfaces() -> str:
    """The text of the file."""
    return "\n".join([_HEAD, *(_interface(one) for one in TABLES.values() if any(not sent.dtype for sent in one.sent))])


def interface_name(table: Table) -> str:
    """Such as `MemorySummaryRow`."""
    return "".join(word.capitalize() for word in re.findall(r"[a-z]+", table.name)) + "Row"


def _interface(table: Table) -> str:
    fields = (line for sent in table.sent for line in _field(sent))
    return "\n".join(
        [f"/** {_sentence(table.row)} */", f"export interface {interface_name(table)} {{", *fields, "}", ""]
    )


def _field(sent: Sent) -> Iterator[str]:
    column, kind = sent.column, _TYPES[sent.column.kind]
    if column.kind == "text" and _WORDS.fullmatch(column.meaning):
        kind = " | ".join(f'"{word}"' for word in re.findall(r"`([^`]+)`", column.meaning))
    yield f"  /** {_sentence(column.meaning)} */"
    yield f"  readonly {column.name}{'?' * sent.is_sometimes}: {kind}{' | null' * sent.is_nullable};"


def _sentence(text: str) -> str:
    text = text.replace("NaN", "null")
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


if __name__ == "__main__":
    FILE.write_text(interfaces(), encoding="utf-8")
