"""A package -> its names, each imported from the module that its `__init__.py` says when it is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def first_use(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package that imports its names under `if TYPE_CHECKING:`, where type checkers and
    readers see them: importing all of a package for one name would take half a second.
    """
    module = sys.modules[package]

    @cache
    def homes() -> dict[str, str]:
        import ast

        spec = module.__spec__
        source = spec.loader.get_source(package) if spec is not None and spec.loader is not None else ""  # type: ignore[attr-defined]
        imports = (
            node for node in ast.walk(ast.parse(source or "")) if isinstance(node, ast.ImportFrom) and node.level == 1
        )
        return {alias.name: node.module or "" for node in imports for alias in node.names}

    def get(name: str) -> Any:
        if name.startswith("__") or name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f".{homes()[name]}", package), name, None)
        if found is None:
            found = import_module(f".{homes()[name]}.{name}".replace("..", "."), package)
        setattr(module, name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(module), *homes()})

    return get, names
