"""Files, lines and functions of the user's -> how a sentence names them.

place_of(source_map, path, line) == "Cell [3]:7"
enclosing_function(lines, line) == "on_train_batch_end"
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

import pandas as pd

from ...trace.source_map import SourceMap

_DEFINITION = re.compile(r"\s*(?:async\s+)?def\s+(\w+)")
_CLASS = re.compile(r"\s*class\s+(\w+)")
COMPREHENSIONS = frozenset(("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"))
"""Before Python 3.12 these are functions of their own, of which nobody thinks as such."""


def place_of(source_map: SourceMap | None, path: str, line: int) -> str:
    """`train.py:7`; of a notebook's cell, whose path only its kernel knows, what the notebook shows: `Cell [3]:7`."""
    title = path
    if source_map is not None:
        named = source_map.files["title"][(source_map.files["file"] == path) & (source_map.files["title"] != "")]
        title = path if named.empty else str(named.iloc[-1])
    return f"{last_part(title)}:{line}"


def noted_place(source_map: SourceMap | None, table: Literal["layers", "functions"], key: str, name: str) -> str:
    """`file:line` of the last row of a table whose column `key` is `name`; empty where none has a file."""
    if source_map is None:
        return ""
    rows: pd.DataFrame = getattr(source_map, table)
    found = rows[(rows[key] == name) & (rows["file"] >= 0)]
    return "" if found.empty else f"{last_part(title_of(source_map, found['file'].iloc[-1]))}:{found['line'].iloc[-1]}"


def title_of(source_map: SourceMap, file: int) -> str:
    """What the notebook shows of a file, by its row, or its path."""
    row = source_map.files.iloc[file]
    return str(row["title"] or row["file"])


def line_text(text: str, line: int) -> str:
    """A line of a text (from 1) without indentation, empty where it has none such."""
    lines = text.split("\n")
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def last_part(path: str) -> str:
    """The name of a file without its directories."""
    return path.replace("\\", "/").rpartition("/")[2]


def enclosing_function(lines: Sequence[str], line: int) -> str:
    """The function in whose body a line (from 1) is, by indentation, as a cell may hold what is no Python; "" for none."""
    return next((found[1] for text in _heads(lines, line) if (found := _DEFINITION.match(text))), "")


def enclosing_class(lines: Sequence[str], line: int, function: str) -> str:
    """The class whose method a function is in whose body a line (from 1) is; "" for none."""
    heads = iter(_heads(lines, line))
    if not any((found := _DEFINITION.match(text)) and found[1] == function for text in heads):
        return ""
    outer = _CLASS.match(next(heads, ""))
    return outer[1] if outer else ""


def function_body(lines: Sequence[str], line: int) -> Sequence[str]:
    """The lines of the function in which a line (from 1) is, by indentation; of one that is in no function the line alone."""
    head = next((text for text in _heads(lines, line) if _DEFINITION.match(text)), "")
    if not head:
        return lines[max(line - 1, 0) : line]
    begin = max(at for at, text in enumerate(lines[:line]) if text == head)
    outside = (at for at, text in enumerate(lines) if at > begin and text.strip() and _indent(text) <= _indent(head))
    return lines[begin : next(outside, len(lines))]


def result_is_used(text: str, function: str) -> bool:
    """Whether a file calls a function of its own and does something with what it returns; False of a text that is no Python."""
    tree = parsed(text)
    if tree is None:
        return False
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and id(node) not in alone)
    return any(function in (getattr(one.func, "id", ""), getattr(one.func, "attr", "")) for one in calls)


@lru_cache(16)
def parsed(text: str) -> ast.Module | None:
    """A file or a cell, whose lines that are not Python count as blank; None where it is no Python."""
    lines = ["" if line.lstrip().startswith(("%", "!")) else line for line in text.split("\n")]
    try:
        return ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _heads(lines: Sequence[str], line: int) -> Iterator[str]:
    """The lines that begin the blocks in which a line is, the innermost first; the line itself may be a definition."""
    if not 0 < line <= len(lines):
        return
    indent = _indent(lines[line - 1]) + 1
    for text in reversed(lines[:line]):  # bounded by the length of a file
        if text.strip() and _indent(text) < indent:
            indent = _indent(text)
            yield text


def _indent(text: str) -> int:
    expanded = text.expandtabs()
    return len(expanded) - len(expanded.lstrip())
