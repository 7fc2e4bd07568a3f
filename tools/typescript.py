"""Declared tables -> `js/src/data/tables.ts`, the rows, categories and families of the browser: `python -m tools.typescript`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from tfprof_widgets.analysis import CATEGORY_LABELS, FAMILIES, IN_BROWSER, STEP_CATEGORIES, TABLES, Sent, Table

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
    "texts": "readonly string[]",
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
    return "\n".join([_HEAD, *rows, *_figures(), *_numbered()])


def _figures() -> Iterator[str]:
    yield "/** Figures and sentences of `Profile.overview`, under their names there; null for what is not known. */"
    yield "export interface OverviewFigures {"
    yield from (f"  readonly {one.name}: {_OF_FIGURES[str(one.type)]};" for one in IN_BROWSER)
    yield "}\n"


def _numbered() -> Iterator[str]:
    yield "/** What a screen calls the categories of step time, in the order of their ids. */"
    yield "export const CATEGORY_LABELS: Readonly<Record<string, string>> = {"
    yield from (f'  {name}: "{label}",' for name, label in zip(STEP_CATEGORIES, CATEGORY_LABELS, strict=True))
    yield "};"
    yield "export const CATEGORIES: readonly string[] = Object.keys(CATEGORY_LABELS);\n"
    yield "/** Slice families in the order of their ids in the `names` table. */"
    yield f"export const FAMILIES = {json.dumps(FAMILIES)} as const;\n"


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
