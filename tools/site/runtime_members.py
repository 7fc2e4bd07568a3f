"""What griffe read in the source of a class -> the same with the docstrings that declarations of tables complete."""

from __future__ import annotations

import inspect
import re
from functools import cached_property
from importlib import import_module
from typing import Any

import griffe

from tfprof_widgets.analysis import TABLES, TableProperty
from tools.site.reference import TABLES_PAGE, anchor

CALLED = (property, cached_property)


class RuntimeMembers(griffe.Extension):
    """Completes the classes of the package."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Take over the docstrings that the class has at run time."""
        made = (
            getattr(import_module(cls.module.path), cls.name, None) if isinstance(cls.parent, griffe.Module) else None
        )
        for name in list(cls.members) if isinstance(made, type) else ():
            there = inspect.getattr_static(made, name, None)
            if not (inspect.isfunction(there) or isinstance(there, CALLED)):
                continue
            member = cls.members[name]
            if there.__doc__ and not name.startswith("_"):
                text = _linked(name, inspect.cleandoc(there.__doc__))
                member.docstring = griffe.Docstring(text, parent=member, parser="google")
            if isinstance(there, TableProperty) and isinstance(member, griffe.Attribute):
                member.value, member.annotation, member.labels = None, "pd.DataFrame", {"property"}


def _linked(name: str, text: str) -> str:
    """A docstring with a link in place of the list of columns, which is for `help`: a site has room for a table, once."""
    told, found, listed = text.partition("\n\nColumns:\n")
    if not found:
        return text
    columns = tuple(re.findall(r"^    (\w+) \(", listed, re.MULTILINE))
    last = {one: re.sub(r"\([^)]*\)", "", one).rpartition(".")[2] for one in TABLES}
    (table,) = (one for one in TABLES if last[one] == name and TABLES[one].names == columns)
    return f"{told}\n\n[Its columns]({TABLES_PAGE}#{anchor(table)})"
