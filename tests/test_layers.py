"""Every import of the Python package goes along the edges that `tests/layers.py` allows, and none closes a circle."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import PurePosixPath

import pytest

import tfprof_widgets
from tests.layers import (
    LAZY,
    PACKAGE,
    ROOT,
    circles,
    folder_circles,
    module_circles,
    package_modules,
    unit_of,
    violations,
    violations_of,
)
from tests.typescript_layers import JS


def test_modules_import_only_along_the_allowed_edges() -> None:
    modules = package_modules()
    assert len(modules) > 300
    assert violations(modules) == []


def test_folders_do_not_import_each_other_in_a_circle_not_even_lazily_or_for_types() -> None:
    assert folder_circles(package_modules()) == []


def test_modules_do_not_need_each_other_to_be_imported() -> None:
    assert module_circles(package_modules()) == []


def test_a_module_in_no_unit_is_refused() -> None:
    for path in ("helpers.py", "analysis/helpers.py", "analysis/gpu/x.py", "utils/x.py"):
        with pytest.raises(LookupError):
            unit_of(PurePosixPath(path))


def test_no_file_is_longer_than_800_lines_but_that_of_profile() -> None:
    sources = [*PACKAGE.rglob("*.py"), *(path for suffix in ("ts", "css") for path in JS.rglob(f"*.{suffix}"))]
    assert len(sources) > 300
    long = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n") for path in sources}
    most = dict.fromkeys(long, 800) | {"tfprof_widgets/profiles.py": 900}
    assert {name: n for name, n in long.items() if n > most[name]} == {}


def test_no_module_is_called_as_a_public_function() -> None:
    functions = {name for name in tfprof_widgets.__all__ if callable(getattr(tfprof_widgets, name))}
    assert functions & {name for path in package_modules() for name in (path.stem, path.parent.name)} == set()


@pytest.mark.parametrize(
    ("path", "planted"),
    [
        ("trace/trace.py", "def f():\n    from ..analysis.ops import ops\n"),
        ("trace/trace.py", "from ..formats.xspace import xspace\n"),
        ("trace/trace.py", "import tensorflow\n"),
        ("formats/xspace/xspace.py", "from ..chrome import chrome_trace\n"),
        ("formats/hlo/modules.py", "def f():\n    import pyarrow\n"),
        ("analysis/base/events.py", "from ..steps import steps\n"),
        ("analysis/ops/ops.py", "from ...formats.chrome import chrome_trace\n"),
        (
            "analysis/ops/ops.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..advice import advice\n",
        ),
        ("analysis/ops/ops.py", "from ...views.widgets.base import View\n"),
        ("analysis/ops/ops.py", "def f():\n    import ipywidgets\n"),
        ("capture/session/session.py", "import tensorflow as tf\n"),
        ("capture/session/session.py", "try:\n    import keras\nexcept ImportError:\n    keras = None\n"),
        ("capture/session/session.py", "from tfprof_widgets.read import opening as open_file\n"),
        ("capture/session/session.py", "from ..keras import callback\n"),
        ("views/widgets/timeline.py", "from .views import OpTable\n"),
        ("views/widgets/timeline.py", "from . import diff_panel\n"),
        ("views/payload/payload.py", "from ..widgets.base import View\n"),
        ("views/widgets/base.py", "from ... import profiles\n"),
        ("profiles.py", "from .notebook.magics import TfProfMagics\n"),
        ("errors.py", "import numpy as np\n"),
        ("errors.py", "from .trace import trace\n"),
    ],
)
def test_a_planted_import_is_found(path: str, planted: str) -> None:
    assert len(_violations_with(path, planted)) == len(_violations_with(path, "")) + 1


@pytest.mark.parametrize(
    ("path", "planted"),
    [
        ("capture/session/session.py", "def f():\n    import tensorflow as tf\n    return tf\n"),
        ("capture/session/session.py", "if TYPE_CHECKING:\n    import tensorflow as tf\n"),
        ("views/widgets/timeline.py", "from .base import View\nfrom ...analysis.steps import steps\n"),
        ("analysis/xla/hlo_cost.py", "from ...formats.hlo import modules\n"),
        ("analysis/ops/ops.py", "from ...trace.trace import Trace\nfrom .ops import Ops\nimport numpy as np\n"),
    ],
)
def test_an_allowed_import_is_let_through(path: str, planted: str) -> None:
    assert _violations_with(path, planted) == _violations_with(path, "")


def _violations_with(path: str, planted: str) -> list[str]:
    modules = package_modules()
    modules[PurePosixPath(path)] += planted
    return violations_of(PurePosixPath(path), modules)


def test_circles_of_folders_are_found_by_lazy_imports_too() -> None:
    modules = {
        PurePosixPath("trace/a.py"): "def f():\n    from ..formats.wire import b\n",
        PurePosixPath("formats/wire/b.py"): "from ...trace.a import f\n",
        PurePosixPath("trace/c.py"): "from .a import f\n",
    }
    assert folder_circles(modules) == [{"trace", "formats/wire"}]
    assert module_circles(modules) == []


def test_circles_are_the_groups_that_reach_each_other() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"a"}}) == [{"a", "b", "c"}]


def test_importing_the_package_loads_no_heavy_package() -> None:
    code = "import sys, tfprof_widgets; print(sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = ast.literal_eval(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    )
    assert "tfprof_widgets" in loaded
    assert LAZY & set(loaded) == set()
