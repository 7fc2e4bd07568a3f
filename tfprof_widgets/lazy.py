"""A package -> its names, each imported from the module that its `__init__.py` says when the name is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def first_use(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package that imports its names under `if TYPE_CHECKING:`."""
    module = sys.modules[package]

    @cache
    def homes() -> dict[str, str]:
        import ast

        loader: Any = module.__spec__.loader if module.__spec__ else None
        nodes = ast.walk(ast.parse(loader.get_source(package)))
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 1]
        return {alias.name: node.module or "" for node in imports for alias in node.names}

    def get(name: str) -> Any:
        home = None if name.startswith("__") else homes().get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        holder = import_module(f".{home}", package) if home else module
        # A name that the holder does not have is a module in it.
        found = vars(holder)[name] if name in vars(holder) else import_module(f"{holder.__name__}.{name}")
        setattr(module, name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(module), *homes()})

    return get, names
