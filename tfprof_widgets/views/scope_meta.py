"""Name scopes -> their part of the meta object of a pack; `js/src/core/scopes.ts` reads it."""

from __future__ import annotations

from typing import Any

from ..analysis.scopes import Scopes


def scope_meta(scopes: Scopes) -> dict[str, Any]:
    """`scopes`, one `{name, parent}` per scope: the last part of its path, and the row of the scope around it or -1."""
    entries = scopes.entries
    return {
        "scopes": [
            {"name": str(name), "parent": int(parent)}
            for name, parent in zip(entries["name"], entries["parent"], strict=True)
        ]
    }
