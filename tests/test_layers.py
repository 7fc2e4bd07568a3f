"""Every import line of Python and TypeScript goes along the edges that `tests/layers.py` allows."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import PurePosixPath

import pytest

from tests.layers import JS, LAZY, PACKAGE, VIEWS, python_violations, typescript_violations


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
