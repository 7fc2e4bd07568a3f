"""The layers of the package as a table of allowed edges, checked against every import line in Python and TypeScript."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

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
    "worker_chart",
    "kernel_table",
    "hlo_table",
    "layer_table",
    "dashboard",
}
"""Modules of `views/` that are a widget each; every other module there is shared by them."""

PYTHON_EDGES: dict[str, set[str]] = {
    "errors": set(),
    "store": {"errors"},
    "analysis": {"errors", "store"},
    "export": {"errors", "store", "analysis"},
    "capture": {"errors"},
    "views": {"errors", "store", "analysis"},
    "view": {"errors", "store", "analysis", "views"},
    "profile": {"errors", "store", "analysis", "export", "capture", "views", "view"},
    "magics": {"errors", "capture", "profile"},
    "__init__": {"errors", "capture", "profile", "magics"},
}
"""Unit -> units it may import besides itself. A `view` may not import another `view`: they meet in the shared link."""

PYTHON_PACKAGES: dict[str, set[str]] = {
    "errors": set(),
    "store": {"numpy", "google", "pandas"},
    "analysis": {"numpy", "pandas"},
    "export": {"numpy", "pandas", "bokeh"},
    "capture": {"numpy", "pandas", "psutil", "pynvml", "tensorflow", "keras", "IPython"},
    "views": {"numpy", "pandas", "anywidget", "ipywidgets", "traitlets", "bokeh", "IPython"},
    "view": {"numpy", "pandas", "anywidget", "ipywidgets", "traitlets", "bokeh"},
    "profile": {"numpy", "pandas", "IPython", "tqdm"},
    "magics": {"IPython", "traitlets"},
    "__init__": {"IPython"},
}
"""Unit -> packages it may import besides the standard library."""

LAZY = {"tensorflow", "keras", "bokeh", "IPython"}
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
MEMBERS = {"profile_views": "profile", "display": "profile", "sources": "profile", "cell": "magics"}
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


def python_modules() -> list[PurePosixPath]:
    return sorted(PurePosixPath(path.relative_to(PACKAGE).as_posix()) for path in PACKAGE.rglob("*.py"))


def typescript_modules() -> list[PurePosixPath]:
    return sorted(PurePosixPath(path.relative_to(JS).as_posix()) for path in JS.rglob("*.ts"))


def test_python_modules_import_only_along_the_allowed_edges() -> None:
    modules = python_modules()
    assert len(modules) > 20
    violations = [
        line for path in modules for line in python_violations(path, (PACKAGE / path).read_text(encoding="utf-8"))
    ]
    assert violations == []


def test_typescript_modules_import_only_along_the_allowed_edges() -> None:
    modules = typescript_modules()
    assert len(modules) > 10
    violations = [
        line for path in modules for line in typescript_violations(path, (JS / path).read_text(encoding="utf-8"))
    ]
    assert violations == []


def test_every_view_module_is_named_in_the_table() -> None:
    widgets = {
        path.stem
        for path in (PACKAGE / "views").glob("*.py")
        if re.search(r"^    entry = ", path.read_text(encoding="utf-8"), re.M)
    }
    assert widgets == VIEWS


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("store/x.py", "def f():\n    from ..analysis import steps\n"),
        ("store/x.py", "import tensorflow\n"),
        ("analysis/x.py", "def f():\n    import ipywidgets\n"),
        ("analysis/x.py", "from ..views.base import View\n"),
        ("capture/x.py", "import tensorflow as tf\n"),
        ("capture/x.py", "try:\n    import keras\nexcept ImportError:\n    keras = None\n"),
        ("capture/x.py", "from tfprof_widgets.store.trace import Trace\n"),
        ("views/timeline.py", "from .op_table import OpTable\n"),
        ("views/timeline.py", "from . import dashboard\n"),
        ("views/base.py", "from .timeline import Timeline\n"),
        ("views/base.py", "from .. import profile\n"),
        ("profile.py", "from .magics import TfProfMagics\n"),
        ("errors.py", "import numpy as np\n"),
        ("errors.py", "from .store import trace\n"),
    ],
)
def test_a_forbidden_python_import_is_found(path: str, source: str) -> None:
    assert len(python_violations(PurePosixPath(path), source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("capture/x.py", "def f():\n    import tensorflow as tf\n    return tf\n"),
        ("capture/x.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import tensorflow as tf\n"),
        ("views/timeline.py", "from .base import View\nfrom ..analysis import steps\n"),
        ("analysis/x.py", "from ..store.trace import Trace\nfrom .steps import Steps\nimport numpy as np\n"),
    ],
)
def test_an_allowed_python_import_is_let_through(path: str, source: str) -> None:
    assert python_violations(PurePosixPath(path), source) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("core/x.ts", 'import { a } from "../draw/y.js";'),
        ("core/x.ts", "const w = window.innerWidth;"),
        ("core/x.ts", 'document.createElement("div");'),
        ("core/x.ts", 'import { Tabulator } from "tabulator-tables";'),
        ("draw/x.ts", 'import type { Link } from "../link";'),
        ("draw/x.ts", 'import { mount } from "../view";'),
        ("view.ts", 'import { x } from "./timeline";'),
        ("link.ts", 'import { paint } from "./draw/paint";'),
        ("timeline.ts", 'import {\n  a,\n  b,\n} from "./op_table";'),
        ("timeline/gestures.ts", 'export { a } from "../dashboard";'),
        ("timeline.ts", 'const later = await import("./standalone");'),
    ],
)
def test_a_forbidden_typescript_import_is_found(path: str, source: str) -> None:
    assert len(typescript_violations(PurePosixPath(path), source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("core/x.ts", '// the document says\nimport { a } from "./y";\nconst s = "window.x";'),
        (
            "timeline.ts",
            'import "./timeline.css";\nimport { a } from "./timeline/gestures";\nimport { b } from "./draw/y";',
        ),
        ("timeline/gestures.ts", 'import type { Link } from "../link";'),
    ],
)
def test_an_allowed_typescript_import_is_let_through(path: str, source: str) -> None:
    assert typescript_violations(PurePosixPath(path), source) == []


def test_importing_the_package_loads_no_heavy_package() -> None:
    code = "import sys, tfprof_widgets; print(sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = ast.literal_eval(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    )
    assert "tfprof_widgets" in loaded
    assert LAZY & set(loaded) == set()
