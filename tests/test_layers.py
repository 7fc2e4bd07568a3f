"""Every import of the Python package goes along the edges that `tests/layers.py` allows, and none closes a circle."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

import tfprof_widgets
from tests.layers import (
    PACKAGE,
    ROOT,
    deep_imports,
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
    assert len(modules) > 150
    assert violations(modules) == []


def test_folders_do_not_import_each_other_in_a_circle_not_even_lazily_or_for_types() -> None:
    assert folder_circles(package_modules()) == []


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    assert module_circles(package_modules()) == []


def test_a_module_in_no_unit_is_refused() -> None:
    for path in ("helpers.py", "utils/x.py", "top/x.py"):
        with pytest.raises(LookupError):
            unit_of(PurePosixPath(path))


def test_no_file_is_longer_than_800_lines_but_that_of_profile() -> None:
    sources = [*PACKAGE.rglob("*.py"), *(path for suffix in ("ts", "css") for path in JS.rglob(f"*.{suffix}"))]
    assert len(sources) > 250
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
        ("read/hlo.py", "def f():\n    import pyarrow\n"),
        ("analysis/ops/ops.py", "if TYPE_CHECKING:\n    from ...show.widgets import View\n"),
        ("analysis/ops/ops.py", "from ...trace import Trace\n"),
        ("capture/session.py", "try:\n    import keras\nexcept ImportError:\n    keras = None\n"),
        ("show/widgets.py", "from .. import profiles\n"),
        ("errors.py", "import numpy as np\n"),
    ],
)
def test_a_planted_import_is_found(path: str, planted: str) -> None:
    assert len(_violations_with(path, planted)) == len(_violations_with(path, "")) + 1


def _violations_with(path: str, planted: str) -> list[str]:
    modules = package_modules()
    modules[PurePosixPath(path)] += planted
    return violations_of(PurePosixPath(path), modules)


def test_tests_import_packages_so_that_moving_a_module_edits_no_test() -> None:
    assert [line for path in (ROOT / "tests").rglob("*.py") for line in deep_imports(path)] == []


def test_circles_are_found_by_lazy_imports_and_by_types_too() -> None:
    modules = {
        PurePosixPath("trace/a.py"): "def f():\n    from ..read import b\n",
        PurePosixPath("read/b.py"): "if TYPE_CHECKING:\n    from ..trace.a import f\n",
        PurePosixPath("trace/c.py"): "from .a import f\n",
    }
    assert folder_circles(modules) == [{"trace/a.py", "read/b.py"}]
    assert module_circles(modules) == [{"trace/a.py", "read/b.py"}]
