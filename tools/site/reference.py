"""What the package exports and its registry of columns -> the pages of the API reference, as Markdown."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType

import tfprof_widgets as tfprof
from tfprof_widgets.analysis.columns.column import Table
from tfprof_widgets.analysis.columns.registry import TABLES

KIND_WORDS = {"int": "whole number", "float": "number", "number": "number", "text": "text", "bool": "true or false"}
INTRODUCTION = """# API reference

Everything here is reached as `tfprof.NAME` after `import tfprof_widgets as tfprof`. The name of a number ends in its unit: `_ns`,
`_us`, `_ms`, `_s`, `_bytes`, `_pct`, and `_ratio` for a share where 1 is all. Times of events count from the start of the trace.
The [tables page](tables.md) lists each column of each table.
"""
TABLES_INTRODUCTION = """# Tables

Every table of a profile is a pandas `DataFrame` with the columns below, in this order, also where it has no rows. Here `prof` is
a profile and `watch` a watched training.
"""


def reference_page() -> str:
    """The public names by what they are."""
    names = [name for name in tfprof.__all__ if name not in ("load_ipython_extension", "unload_ipython_extension")]
    public = {name: getattr(tfprof, name) for name in names}
    errors = [name for name, value in public.items() if inspect.isclass(value) and issubclass(value, Exception)]
    # `step` and `trace_steps` are classes that are used, and named, as functions are
    classes = [name for name in names if name[0].isupper() and name not in errors]
    modules = {name: value for name, value in public.items() if isinstance(value, ModuleType)}
    functions = [name for name in names if name not in {*errors, *classes, *modules}]
    sections = [
        INTRODUCTION,
        *_section("Functions", [f"tfprof_widgets.{name}" for name in functions]),
        *_section("Classes", [f"tfprof_widgets.{name}" for name in classes]),
        *_section("Errors", [f"tfprof_widgets.{name}" for name in errors]),
    ]
    for name, module in modules.items():
        title = f"tfprof.{name}"
        sections += [f"## {title}\n", _fenced(inspect.cleandoc(module.__doc__ or ""))]
        sections += [_entry(f"tfprof_widgets.{name}.{member}") for member in module.__all__]
    return "\n".join(sections)


def _section(title: str, paths: list[str]) -> Iterator[str]:
    yield f"## {title}\n"
    yield from map(_entry, paths)


def _entry(path: str) -> str:
    return f"::: {path}\n    options:\n      heading_level: 3\n"


def _fenced(text: str) -> str:
    """A module's docstring keeps its own layout."""
    return f"```text\n{text}\n```\n"


def tables_page() -> str:
    """Each table of the registry, with a row for each of its columns."""
    return "\n".join([TABLES_INTRODUCTION, *map(_table, TABLES.values())])


def anchor(name: str) -> str:
    """Where the tables page has a table."""
    return "table-" + "".join(letter if letter.isalnum() else "-" for letter in name).strip("-")


def _table(table: Table) -> str:
    rows = [
        f"| `{one.name}` | {KIND_WORDS.get(one.kind, one.kind)} | {one.unit} | {_cell(one.meaning)} |"
        for one in table.columns
    ]
    head = f"## `{table.name}` {{ #{anchor(table.name)} }}\n\nA row is {table.row}.\n"
    return "\n".join([head, "| column | type | unit | what it holds |", "|---|---|---|---|", *rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
