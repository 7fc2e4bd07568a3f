"""The layers of the Python package -> what its modules import against them, and the circles that their imports make."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tfprof_widgets"

EDGES: dict[str, set[str]] = {
    "errors": set(),
    "trace": {"errors"},
    "formats": {"errors", "trace"},
    "analysis": {"errors", "trace", "formats.hlo"},
    "opening": {"errors", "trace", "formats", "analysis"},
    "capture": {"errors", "trace", "formats.wire", "formats.sidecar", "formats.watch_log"},
    "export": {"errors", "trace", "formats.wire", "formats.sidecar", "formats.saved", "opening", "analysis"},
    "views": {"errors", "trace", "analysis"},
    "progress": {"analysis", "capture", "views"},
    "display": {"errors", "export", "views"},
    "measured_advice": {"errors", "analysis", "capture"},
    "profiled_run": {"errors", "trace", "formats", "opening", "analysis", "capture", "export", "views"},
    "profile_views": {"analysis", "export", "views", "profiled_run", "measured_advice"},
    "profiles": {
        *("errors", "trace", "opening", "analysis", "export", "views"),
        *("profiled_run", "profile_views", "display", "progress"),
    },
    "comparing": {"errors", "formats", "analysis", "export", "views", "profiles", "display"},
    "several_runs": {"analysis", "export", "profiles"},
    "watching_state": {"errors", "trace", "analysis", "views", "profiles"},
    "loading": {
        *("errors", "trace", "formats", "opening", "analysis", "export", "views"),
        *("profiles", "watching_state", "display", "progress"),
    },
    "capturing": {"errors", "formats", "opening", "capture", "views", "profiles", "progress"},
    "watching": {
        *("errors", "trace", "formats", "analysis", "capture", "views"),
        *("profiles", "loading", "watching_state", "progress"),
    },
    "sessions": {"errors", "formats", "opening", "capture", "profiles"},
    "experiments": {"errors", "analysis", "capture", "export", "progress"},
    "notebook": {
        *("errors", "analysis", "capture", "views"),
        *("profiles", "comparing", "loading", "capturing", "watching", "progress"),
    },
    "commands": {
        *("errors", "analysis", "views", "notebook", "__init__"),
        *("profiles", "comparing", "loading", "capturing", "progress"),
    },
    "__init__": {
        *("errors", "trace", "analysis", "export", "views", "capture", "experiments", "notebook"),
        *("profiles", "comparing", "several_runs", "loading", "capturing", "watching", "sessions"),
    },
    "__main__": {"commands"},
}
"""What each folder and module at the top of the package may import besides itself: folders, modules, or units of folders
(`formats.hlo`)."""

ORDERS: dict[str, tuple[str, ...]] = {
    "trace": (),
    "formats": ("wire", "sidecar", "saved", "watch_log", "hlo", "xspace", "chrome", "v1"),
    "analysis": (
        *("columns", "base", "steps", "xla", "ops", "input", "memory", "layers", "idle", "source", "hosts", "system"),
        *(
            "timeline",
            "roofline",
            "facts",
            "graph",
            "failure",
            "advice",
            "overview",
            "comparison",
            "watched",
            "cluster",
            "results",
        ),
        *("selection", "experiments"),
    ),
    "opening": (),
    "capture": (
        "machine",
        "source",
        "session",
        "keras",
        "v1",
        "watched",
        "remote",
        "checks",
        "restoring",
        "experiments",
    ),
    "export": (
        "atomic",
        "json_text",
        "run_dir",
        "text",
        "tree_text",
        "tables",
        "table_list",
        "sql_query",
        "chrome",
        "pprof",
        "report",
    ),
    "views": ("payload", "widgets", "page"),
    "experiments": (),
    "commands": (),
    "notebook": ("cell", "doctor_report", "last_runs", "live_cell", "options", "dialog", "warming", "magics"),
}
"""The units inside each folder, the lowest first: each may import those before it. None: the folder is one unit.

A unit is a folder, with all modules in it, or a module beside folders. Their `__init__.py` files belong to no unit and
import nothing.
"""

WIDGETS = PurePosixPath("views/widgets")
"""Its modules with an `entry` are a widget each and may not import each other: they meet in the shared link."""

PACKAGES: dict[str, set[str]] = {
    "errors": set(),
    "trace": {"numpy", "pandas"},
    "formats": {"numpy", "google", "pandas"},
    "analysis": {"numpy", "pandas"},
    "opening": {"numpy", "pandas", "fsspec", "aiohttp"},
    "capture": {"numpy", "packaging", "pandas", "psutil", "pynvml", "tensorflow", "keras", "grpc", "IPython"},
    "export": {"numpy", "pandas", "bokeh", "duckdb", "pyarrow"},
    "views": {"numpy", "pandas", "anywidget", "ipywidgets", "traitlets", "bokeh", "IPython"},
    "progress": {"IPython", "tqdm"},
    "display": set(),
    "measured_advice": set(),
    "profiled_run": {"pandas"},
    "profile_views": set(),
    "profiles": {"pandas"},
    "comparing": {"pandas"},
    "several_runs": {"pandas"},
    "watching_state": {"numpy"},
    "loading": {"numpy", "pandas"},
    "capturing": set(),
    "watching": {"numpy"},
    "sessions": set(),
    "experiments": {"pandas", "tqdm"},
    "notebook": {"pandas", "ipywidgets", "IPython", "traitlets"},
    "cli": {"pandas"},
    "__init__": {"IPython"},
    "__main__": set(),
}
"""Which packages each may import besides the standard library."""

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


def unit_of(path: PurePosixPath) -> tuple[str, ...]:
    """The unit of a module: `("analysis", "ops")`, `("trace",)`, `("errors",)`; of an `__init__.py` the folder it is of.

    Raises:
        LookupError: no table has it.
    """
    top, *rest = path.parts
    if not rest:
        top = path.stem
    if top not in EDGES or (rest and top not in ORDERS):
        raise LookupError(
            f"{path} belongs to no layer: put it into a folder that `tests/layers.py` has, or add one there"
        )
    inner = ORDERS.get(top, ())
    if not rest or not inner or rest == ["__init__.py"]:
        return (top,)
    name = rest[0].removesuffix(".py")
    if name not in inner:
        raise LookupError(f"{path} belongs to no unit of {top}: ORDERS in `tests/layers.py` has {', '.join(inner)}")
    return top, name


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
            if target not in PACKAGES[unit[0]]:
                found.append(f"{where}: {unit[0]} must not import {target}")
            elif is_top and target in LAZY and (path.as_posix(), target) not in LOADED_BY_IPYTHON:
                found.append(f"{where}: {target} is imported only inside functions")
        elif not _is_allowed(unit, unit_of(target)):
            found.append(f"{where}: {'.'.join(unit)} must not import {target}")
        elif path != target and _is_view(path, modules) and _is_view(target, modules):
            found.append(f"{where}: the widget {path.stem} must not import {target}")
    return found


def _is_view(path: PurePosixPath, modules: Modules) -> bool:
    """Whether a module is one widget."""
    return path.parent == WIDGETS and re.search(r"^    entry = ", modules[path], re.M) is not None


def _is_allowed(unit: tuple[str, ...], other: tuple[str, ...]) -> bool:
    if unit == other or (len(other) == 1 and unit[0] == other[0]):
        return True
    if unit[0] != other[0]:
        return not EDGES[unit[0]].isdisjoint((other[0], ".".join(other)))
    order = ORDERS[unit[0]]
    return len(unit) > 1 and order.index(other[1]) < order.index(unit[1])


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
    """Sets of folders that import each other, also inside functions and for types only."""
    edges: dict[str, set[str]] = {}
    for path, source in modules.items():
        here = edges.setdefault(_folder(path), set())
        here |= {_folder(target) for _, target, _ in imports(path, source, modules) if not isinstance(target, str)}
    return circles(edges)


def _folder(path: PurePosixPath) -> str:
    """The folder of a module; a module at the top is its own."""
    return str(path.parent) if len(path.parts) > 1 else str(path)


def module_circles(modules: Modules) -> list[set[str]]:
    """Sets of modules that cannot be imported without each other."""
    edges = {
        str(path): {str(t) for _, t, is_top in imports(path, source, modules) if is_top and not isinstance(t, str)}
        for path, source in modules.items()
    }
    return circles(edges)


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
