"""What the package exports, and the tables that it declares -> the pages of the API reference, as Markdown."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import tfprof_widgets as tfprof
from tfprof_widgets.analysis import TABLES, Table

KIND_WORDS = {"int": "whole number", "float": "number", "number": "number", "text": "text", "bool": "true or false"}
TABLES_PAGE = "tables.md"
INTRODUCTION = """# API reference

Everything here is reached as `tfprof.NAME` after `import tfprof_widgets as tfprof`. The name of a number ends in its unit: `_ns`,
`_us`, `_ms`, `_s`, `_bytes`, `_pct`, and `_ratio` for a share where 1 is all. Times of events count from the start of the trace.
The [tables page](tables.md) lists each column of each table.
"""
TABLES_INTRODUCTION = """---
search:
  boost: 0.5
---

# Tables

Every table of a profile is a pandas `DataFrame` with the columns below, in this order, also where it has no rows. Here `prof` is
a profile and `watch` a watched training.
"""


def reference_pages() -> dict[str, str]:
    """The text of each page below `api`, by its name: one lists the public names, the others are about them."""
    names = [name for name in tfprof.__all__ if name not in ("load_ipython_extension", "unload_ipython_extension")]
    public = {name: getattr(tfprof, name) for name in names}
    errors = [name for name in names if inspect.isclass(public[name]) and issubclass(public[name], Exception)]
    modules = [name for name in names if isinstance(public[name], ModuleType)]
    # `step` and `trace_steps` are classes that are used, and named, as functions are
    classes = [name for name in names if name[0].isupper() and name not in {"Profile", *errors}]
    functions = [name for name in names if name[0].islower() and name not in modules]
    parts = {
        "functions.md": ("Functions", functions),
        "profile.md": ("Profile", ["Profile"]),
        "classes.md": ("Classes", classes),
        "errors.md": ("Errors", errors),
    }
    pages = {
        page: _page(title, [f"tfprof_widgets.{name}" for name in chosen]) for page, (title, chosen) in parts.items()
    }
    lists = [_listed(page, title, {name: public[name] for name in chosen}) for page, (title, chosen) in parts.items()]
    for name in modules:
        module, page, title = public[name], f"{name}.md", f"tfprof.{name}"
        members = {f"{name}.{member}": getattr(module, member) for member in module.__all__}
        about = f"::: tfprof_widgets.{name}\n    options: {{members: false, show_root_heading: false}}\n"
        pages[page] = _page(title, [f"tfprof_widgets.{member}" for member in members], about)
        lists.append(_listed(page, title, members))
    return {"index.md": "\n".join([INTRODUCTION, *lists]), **pages}


def _page(title: str, paths: list[str], about: str = "") -> str:
    return "\n".join([f"# {title}\n", about, *(f"::: {path}\n" for path in paths)])


def _listed(page: str, title: str, public: dict[str, Any]) -> str:
    """A table of names, each with the first sentence about it."""
    rows = [f"| [`{name}`]({page}#tfprof_widgets.{name}) | {_cell(_first(value))} |" for name, value in public.items()]
    return "\n".join([f"## {title}\n", "| name | |", "|---|---|", *rows, ""])


def _first(value: Any) -> str:
    text = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    return text.partition(". ")[0].rstrip(".:") + "."


def tables_page() -> str:
    """Each table, with a row for each of its columns."""
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
