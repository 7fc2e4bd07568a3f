"""Name scopes -> their part of the meta object of a pack; `js/src/model/graph/scopes.ts` reads it."""

from __future__ import annotations

from typing import Any

from ...analysis.layers.scopes import Scopes


def scope_list(scopes: Scopes, rows: slice) -> list[dict[str, Any]]:
    """One `{name, parent}` per scope: the last part of its path, and the row of the scope around it or -1."""
    entries = scopes.entries.iloc[rows]
    return [
        {"name": str(name), "parent": int(parent)}
        for name, parent in zip(entries["name"], entries["parent"], strict=True)
    ]


def scope_note(scopes: Scopes) -> str:
    """Which ops are charged to a scope around their own; "" where none are."""
    if not scopes.n_folded_ops:
        return ""
    n, m = scopes.n_folded_ops, len(scopes.op_entry)
    return f"{n:,} of {m:,} ops lie too deep and are shown in a scope around their own"
