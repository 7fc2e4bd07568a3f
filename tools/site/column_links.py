"""Docstrings with a list of columns -> the same with a link to the table that the site has of them."""

from __future__ import annotations

import re
from typing import Any

import griffe

from tfprof_widgets.analysis.columns.registry import TABLES
from tools.site.reference import anchor

LISTED = "\n\nColumns:\n"


class ColumnLinks(griffe.Extension):
    """`tell_columns` ends docstrings in a list for `help`; a page has room for a table, once."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Shorten the docstring of one member."""
        if obj.docstring is None:
            return
        text, found, listed = obj.docstring.value.partition(LISTED)
        if found:
            columns = tuple(re.findall(r"^ *(\w+) \(", listed, re.M))  # `steps` of several things have their own
            names = [
                name for name, table in TABLES.items() if (name.rpartition(".")[2], table.names) == (obj.name, columns)
            ]
            links = " or ".join(f"[columns of `{name}`](tables.md#{anchor(name)})" for name in names)
            obj.docstring.value = f"{text}\n\nSee the {links}."
