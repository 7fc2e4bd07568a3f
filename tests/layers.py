"""The layers of the Python package -> what its modules import against them, and the circles that their imports make."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tfprof_widgets"

EDGES: dict[str, set[str]] = {
    "errors": set(),
    "lazy": set(),
    "trace": {"errors"},
    "read": {"errors", "trace"},
    "analysis": {"errors", "trace", "read"},
    "capture": {"errors", "trace", "read"},
    "export": {"errors", "trace", "read", "analysis"},
    "show": {"errors", "trace", "analysis"},
    "top": {"errors", "trace", "read", "analysis", "capture", "export", "show"},
    "notebook": {"errors", "analysis", "capture", "show", "top"},
    "cli": {"errors", "analysis", "show", "top", "notebook", "__init__"},
    "__init__": {"errors", "lazy", "trace", "analysis", "capture", "export", "show", "top", "notebook"},
    "__main__": {"cli"},
}
"""What each package may import besides itself; `top` is the public modules beside the packages. The `__init__.py` of a
package imports `lazy` and, for type checkers, its own modules."""

TOP = {
    *("profiles", "profiled_run", "profile_views", "loading", "capturing", "watching", "watching_state", "comparing"),
    *("several_runs", "sessions", "experiments", "progress", "display"),
}

PACKAGES: dict[str, set[str]] = {
    "errors": set(),
    "lazy": set(),
    "trace": {"numpy", "pandas"},
    "read": {"numpy", "google", "pandas", "fsspec", "aiohttp"},
    "analysis": {"numpy", "pandas"},
    "capture": {"numpy", "packaging", "pandas", "psutil", "pynvml", "tensorflow", "keras", "grpc", "IPython"},
    "export": {"numpy", "pandas", "bokeh", "duckdb", "pyarrow"},
    "show": {"numpy", "pandas", "anywidget", "ipywidgets", "traitlets", "bokeh", "IPython"},
    "top": {"numpy", "pandas", "IPython", "tqdm"},
    "notebook": {"pandas", "ipywidgets", "IPython", "traitlets"},
    "cli": {"pandas"},
    "__init__": {"IPython"},
    "__main__": set(),
}
"""Which packages of others each may import besides the standard library."""

LOADED_BY_IPYTHON = {("notebook/magics.py", "IPython")}
LAZY = {"tensorflow", "grpc", "fsspec", "keras", "bokeh", "IPython"}
"""Packages imported only inside functions, but for IPython in the magics, which IPython itself loads."""

Modules = Mapping[PurePosixPath, str]
"""The text of each module by its path below the package."""


def package_modules() -> dict[PurePosixPath, str]:
    """Every module of the package."""
    return {
        PurePosixPath(path.relative_to(PACKAGE).as_posix()): path.read_text(encoding="utf-8")
        for path in PACKAGE.rglob("*.py")
    }


def unit_of(path: PurePosixPath) -> str:
    """The row of the tables that a module belongs to.

    Raises:
        LookupError: no table has it.
    """
    name = path.parts[0] if len(path.parts) > 1 else path.stem
    unit = "top" if len(path.parts) == 1 and name in TOP else name
    if unit not in EDGES or (len(path.parts) > 1 and unit in ("top", "cli", "errors", "lazy")):
        raise LookupError(
            f"{path} belongs to no layer: put it into a package that `tests/layers.py` has, or add one there"
        )
    return unit


def violations(modules: Modules) -> list[str]:
    """What modules import against the tables, a line each."""
    return [line for path in modules for line in violations_of(path, modules)]


def violations_of(path: PurePosixPath, modules: Modules) -> list[str]:
    """What one of the modules imports against the tables."""
    unit, source = unit_of(path), modules[path]
    found = []
    for line, target, is_top in imports(path, source, modules):
        where = f"{path}:{line}"
        if isinstance(target, str):
            if target not in PACKAGES[unit]:
                found.append(f"{where}: {unit} must not import {target}")
            elif is_top and target in LAZY and (path.as_posix(), target) not in LOADED_BY_IPYTHON:
                found.append(f"{where}: {target} is imported only inside functions")
        elif unit != (other := unit_of(target)) and other not in EDGES[unit]:
            if not (path.name == "__init__.py" and other == "lazy"):
                found.append(f"{where}: {unit} must not import {target}")
        elif target.name == "__init__.py" and len(target.parts) > 1:
            found.append(f"{where}: a module imports modules, not the package {target.parent}")
    return found


def deep_imports(path: Path) -> list[str]:
    """What a test imports that a move of modules would break: anything but the package, its packages and top modules."""
    found = []
    for node, _ in import_nodes(path.read_text(encoding="utf-8")):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        found += [f"{path}:{node.lineno}: {name}" for name in names if _is_deep(name.split("."))]
    return found


def _is_deep(parts: list[str]) -> bool:
    """Whether a dotted name leads below a package or a top module of `tfprof_widgets`."""
    return parts[0] == "tfprof_widgets" and len(parts) > 2


def imports(path: PurePosixPath, source: str, modules: Modules) -> Iterator[tuple[int, PurePosixPath | str, bool]]:
    """`(line, module of the package or name of another one, whether it is imported at once)`, functions included.

    The standard library and an import that leads to no module are left out.
    """
    for node, is_at_once in import_nodes(source):
        for name in _names(node, ("tfprof_widgets", *path.parent.parts)):
            if name[0] != "tfprof_widgets":
                if name[0] not in sys.stdlib_module_names:
                    yield node.lineno, name[0], is_at_once
            elif (target := _module(name[1:], modules)) is not None:
                yield node.lineno, target, is_at_once


@cache
def import_nodes(source: str) -> list[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The imports of a module, functions included, and whether each runs when the module is imported."""
    tree = ast.parse(source)
    at_once = {id(node) for node in at_import(tree)}
    return [(node, id(node) in at_once) for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]


def _names(node: ast.Import | ast.ImportFrom, package: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    if isinstance(node, ast.Import):
        return [tuple(alias.name.split(".")) for alias in node.names]
    base = package[: len(package) - node.level + 1] if node.level else ()
    module = (*base, *node.module.split(".")) if node.module else base
    return [(*module, alias.name) for alias in node.names]


def _module(name: tuple[str, ...], modules: Modules) -> PurePosixPath | None:
    """The module that holds `name`: itself, or what it is imported from."""
    for parts in (name, name[:-1]):
        for path in (PurePosixPath(*parts).with_suffix(".py") if parts else None, PurePosixPath(*parts, "__init__.py")):
            if path in modules:
                return path
    return None


def at_import(tree: ast.Module) -> Iterator[ast.AST]:
    """Nodes that run when the module is imported: not in functions, not under `if TYPE_CHECKING`."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
            continue
        yield node
        waiting += ast.iter_child_nodes(node)


def folder_circles(modules: Modules) -> list[set[str]]:
    """Sets of folders and of modules directly in a package that import each other, also inside functions and for types only."""
    return _circles(modules, lambda path: "/".join(path.parts[:2]))


def module_circles(modules: Modules) -> list[set[str]]:
    """Sets of modules that import each other, also inside functions and for types only."""
    return _circles(modules, str)


def _circles(modules: Modules, name: Callable[[PurePosixPath], str]) -> list[set[str]]:
    edges: dict[str, set[str]] = {}
    for path, source in modules.items():
        if path.name != "__init__.py":
            targets = (target for _, target, _ in imports(path, source, modules) if not isinstance(target, str))
            edges.setdefault(name(path), set()).update(name(one) for one in targets if one.name != "__init__.py")
    return circles({one: others - {one} for one, others in edges.items()})


def circles(edges: Mapping[str, set[str]]) -> list[set[str]]:
    """The sets of two or more nodes that reach each other."""
    reached: dict[str, set[str]] = {}
    for start in edges:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for other in edges.get(waiting.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        reached[start] = seen
    found: list[set[str]] = []
    for node in edges:
        group = {other for other in reached[node] if node in reached.get(other, ())} | {node}
        if len(group) > 1 and group not in found:
            found.append(group)
    return found
