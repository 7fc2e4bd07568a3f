"""The layers of the package as tables of allowed edges -> what one module imports against them."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tfprof_widgets"
JS = ROOT / "js" / "src"

VIEWS = {
    "timeline",
    "memory_timeline",
    "op_table",
    "input_graph",
    "overview_panel",
    "step_chart",
    "source_view",
    "scope_icicle",
    "tree_view",
    "worker_chart",
    "kernel_table",
    "hlo_table",
    "layer_table",
    "dashboard",
    "diff_panel",
}
"""Modules of `views/` that are a widget each; every other module there is shared by them."""

PYTHON_EDGES: dict[str, set[str]] = {
    "errors": set(),
    "dynamic_messages": set(),
    "store": {"errors", "dynamic_messages"},
    "analysis": {"errors", "store"},
    "export": {"errors", "dynamic_messages", "store", "analysis"},
    "capture": {"errors", "dynamic_messages"},
    "views": {"errors", "store", "analysis"},
    "view": {"errors", "store", "analysis", "views"},
    "profile": {"errors", "store", "analysis", "export", "capture", "views", "view"},
    "experiments": {"errors", "analysis", "capture", "profile"},
    "magics": {"errors", "capture", "profile"},
    "__init__": {"errors", "capture", "profile", "experiments", "magics"},
}
"""Unit -> units it may import besides itself. A `view` may not import another `view`: they meet in the shared link."""

PYTHON_PACKAGES: dict[str, set[str]] = {
    "errors": set(),
    "dynamic_messages": {"google"},
    "store": {"numpy", "google", "pandas", "fsspec"},
    "analysis": {"numpy", "pandas"},
    "export": {"numpy", "pandas", "bokeh", "pyarrow"},
    "capture": {"numpy", "pandas", "psutil", "pynvml", "tensorflow", "keras", "grpc", "IPython"},
    "views": {"numpy", "pandas", "anywidget", "ipywidgets", "traitlets", "bokeh", "IPython"},
    "view": {"numpy", "pandas", "anywidget", "ipywidgets", "traitlets", "bokeh"},
    "profile": {"numpy", "pandas", "IPython", "tqdm"},
    "experiments": {"pandas", "tqdm"},
    "magics": {"IPython", "traitlets"},
    "__init__": {"IPython"},
}
"""Unit -> packages it may import besides the standard library."""

LAZY = {"tensorflow", "grpc", "fsspec", "keras", "bokeh", "IPython"}
"""Packages imported only inside functions, but for IPython in `magics`, which IPython itself loads."""

TYPESCRIPT_EDGES: dict[str, set[str]] = {
    "core": set(),
    "draw": {"core"},
    "link": {"core"},
    "frame": {"core", "draw", "link"},
    "entry": {"core", "draw", "link", "frame"},
}
"""`link` is what reaches Python; `frame` is what else the entries share; a folder of an entry's name belongs to it."""

TYPESCRIPT_PACKAGES: dict[str, set[str]] = {
    "core": {"@dagrejs/dagre", "d3-hierarchy"},
    "draw": {"tabulator-tables"},
    "link": set(),
    "frame": {"tabulator-tables"},
    "entry": {"@dagrejs/dagre"},
}

LINK = {"link", "data", "afm"}
MEMBERS = {
    "profile_views": "profile",
    "profile_structure": "profile",
    "profile_workers": "profile",
    "session_sources": "profile",
    "profile_capture": "profile",
    "profile_exports": "profile",
    "display": "profile",
    "doctor": "profile",
    "remote_dialog": "profile",
    "remote_sources": "profile",
    "many_hosts": "profile",
    "host_pool": "profile",
    "host_process": "profile",
    "host_runs": "profile",
    "profile_hosts": "profile",
    "scaling": "profile",
    "sources": "profile",
    "cell": "magics",
    "comparison": "profile",
    "comparison_views": "profile",
}
"""Modules at the top of the package that belong to the unit of another."""


def python_unit(parts: tuple[str, ...]) -> tuple[str, str]:
    """`(unit, member)` of a module path such as `("views", "timeline")`; the member tells views apart."""
    if parts[:1] == ("views",) and len(parts) > 1 and parts[1] in VIEWS:
        return "view", parts[1]
    if not parts:
        return "__init__", ""
    return MEMBERS.get(parts[0], parts[0]), ""


def imported(tree: ast.Module, package: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...], bool]]:
    """`(line, absolute module path, is at module level)` for every import statement, function bodies included."""
    top_level = {id(node) for node in module_level(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, tuple(alias.name.split(".")), id(node) in top_level
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = (*base, *(node.module or "").split(".")) if node.module else base
            for alias in node.names:
                yield node.lineno, (*module, alias.name), id(node) in top_level


def module_level(tree: ast.Module) -> Iterator[ast.AST]:
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


def python_violations(path: PurePosixPath, source: str) -> list[str]:
    """What one module, at `path` under the package, imports against the tables."""
    parts = tuple(path.with_suffix("").parts)
    package = ("tfprof_widgets", *parts[:-1])
    unit, member = python_unit(parts[:-1] if parts[-1] == "__init__" else parts)
    found = []
    for line, module, is_top in imported(ast.parse(source), package):
        where = f"{path}:{line}"
        if module[0] == "tfprof_widgets":
            other, other_member = python_unit(resolved(module[1:]))
            is_itself = other == unit and other_member == member
            if not is_itself and other not in PYTHON_EDGES[unit]:
                found.append(f"{where}: {unit} {member} must not import {'.'.join(module[1:])}".replace("  ", " "))
        elif module[0] not in sys.stdlib_module_names:
            if module[0] not in PYTHON_PACKAGES[unit]:
                found.append(f"{where}: {unit} must not import {module[0]}")
            elif is_top and module[0] in LAZY and (unit, module[0]) != ("magics", "IPython"):
                found.append(f"{where}: {module[0]} is imported only inside functions")
    return found


def resolved(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The module part of `package.module.name`: what exists as a file or folder."""
    while parts and not (PACKAGE.joinpath(*parts).is_dir() or PACKAGE.joinpath(*parts).with_suffix(".py").is_file()):
        parts = parts[:-1]
    return parts


def typescript_unit(path: PurePosixPath) -> tuple[str, str]:
    """`(unit, entry name)` of a module under js/src."""
    name = path.parts[0].removesuffix(".ts")
    if name in {"core", "draw"}:
        return name, ""
    if name in VIEWS | {"standalone"}:
        return "entry", name
    return ("link" if name in LINK else "frame"), ""


IMPORT_LINE = re.compile(
    r"""
    ^\s*(?:import|export)\s[^;"'=()]*?\bfrom\s*["']([^"']+)["']
    | ^\s*import\s*["']([^"']+)["']
    | \bimport\(\s*["']([^"']+)["']
    """,
    re.MULTILINE | re.VERBOSE,
)
COMMENTS_AND_STRINGS = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | `(?:\\.|[^`\\])*`""",
    re.DOTALL | re.VERBOSE,
)
PAGE_GLOBALS = ("document", "window")


def typescript_violations(path: PurePosixPath, source: str) -> list[str]:
    """What one TypeScript module, at `path` under js/src, imports or touches against the tables."""
    unit, entry = typescript_unit(path)
    found = []
    for match in IMPORT_LINE.finditer(source):
        target = next(group for group in match.groups() if group)
        where = f"{path}:{source.count(chr(10), 0, match.start()) + 1}"
        if target.startswith("."):
            other_path = normal(path.parent / target)
            if other_path.suffix == ".css":
                continue
            other, other_entry = typescript_unit(other_path)
            if (other, other_entry) != (unit, entry) and other not in TYPESCRIPT_EDGES[unit]:
                found.append(f"{where}: {unit} must not import {other_path}")
        elif not any(target == name or target.startswith(f"{name}/") for name in TYPESCRIPT_PACKAGES[unit]):
            found.append(f"{where}: {unit} must not import {target}")
    if unit == "core":
        bare = COMMENTS_AND_STRINGS.sub(" ", source)
        found += [f"{path}: core touches {name}" for name in PAGE_GLOBALS if touches_global(bare, name)]
    return found


def touches_global(code: str, name: str) -> bool:
    """Whether code uses `name` without declaring it as a variable, parameter or field of its own."""
    is_declared = re.search(rf"\b(?:const|let)\s+{name}\b|[({{,;]\s*(?:readonly\s+)?{name}\??\s*:", code)
    return re.search(rf"(?<!\.)\b{name}\b", code) is not None and is_declared is None


def normal(path: PurePosixPath) -> PurePosixPath:
    """`path` without `.` and `..`."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return PurePosixPath(*parts)
