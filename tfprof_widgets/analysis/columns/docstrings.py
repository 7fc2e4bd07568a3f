"""The registry of columns -> the docstrings of what gives a table, so that `help` tells each column."""

from __future__ import annotations

import inspect

from .column import Table
from .registry import TABLES


def tell_columns(owner: type, prefix: str = "") -> None:
    """Add what a row is, and its columns, to the docstrings of the members of a class that give a table.

    Args:
        owner: the class.
        prefix: what stands before the members' names in the registry, such as `memory.`.
    """
    for name in dir(owner):
        table, member = TABLES.get(prefix + name), inspect.getattr_static(owner, name)
        if table is not None and member.__doc__ is not None:  # python -OO has no docstrings
            told = [f"A table: a row is {table.row}.", inspect.cleandoc(member.__doc__)]
            told = told if isinstance(member, property) else told[::-1]
            member.__doc__ = "\n\n".join([*filter(None, told), _listed(table)])


def _listed(table: Table) -> str:
    lines = [
        f"    {one.name} ({', '.join(filter(None, (one.kind, one.unit)))}): {one.meaning}" for one in table.columns
    ]
    return "\n".join(["Columns:", *lines])
