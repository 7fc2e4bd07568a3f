"""What is installed and how: the files of the archives, one version, and an import that loads nothing until a name is used."""

from __future__ import annotations

import ast
import email
import re
import resource
import subprocess
import sys
import tarfile
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import tfprof_widgets

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "tfprof_widgets" / "static"
LONGEST_IMPORT_S = 0.05
LARGEST_WHEEL_BYTES = 1_680_000
"""Deflated by itself, each of 700 files: 1.24 MB of Python (a third of that are docstrings and comments), 0.25 MB
of JavaScript and styles, 0.11 MB of the files' names and 0.05 MB of their hashes and what PyPI shows."""
N_RUNS = 7


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The archive of the source, and the wheel that was made from it alone."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (source,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return source, wheel


@pytest.fixture(scope="module")
def held(archives: tuple[Path, Path]) -> dict[str, bytes]:
    """Path -> content of each file in the wheel."""
    with zipfile.ZipFile(archives[1]) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_holds_the_package_and_nothing_else(held: dict[str, bytes]) -> None:
    modules = {f"tfprof_widgets/{path.relative_to(tfprof_widgets.__path__[0])}" for path in _sources()}
    bundles = {f"tfprof_widgets/static/{path.name}" for path in STATIC.iterdir()}
    assert {name for name in held if ".dist-info/" not in name} == modules | bundles | {"tfprof_widgets/py.typed"}
    assert all(held[name] == (ROOT / name).read_bytes() for name in bundles)


def test_the_wheel_is_small(archives: tuple[Path, Path]) -> None:
    assert archives[1].stat().st_size < LARGEST_WHEEL_BYTES


def test_the_wheel_has_the_licences_of_the_package_and_of_the_javascript_in_it(held: dict[str, bytes]) -> None:
    licences = {name.rpartition("/")[2]: text for name, text in held.items() if ".dist-info/licenses/" in name}
    wanted = {"LICENSE": ROOT / "LICENSE", "licenses.txt": STATIC / "licenses.txt"}
    assert licences == {name: path.read_bytes() for name, path in wanted.items()}


def test_the_metadata_has_the_one_version_and_the_pictures_of_the_readme_are_there(held: dict[str, bytes]) -> None:
    (metadata,) = (text for name, text in held.items() if name.endswith(".dist-info/METADATA"))
    told = email.message_from_bytes(metadata)
    assert told["Version"] == tfprof_widgets.__version__
    assert not [
        line for line in (ROOT / "pyproject.toml").read_text("utf-8").splitlines() if line.startswith("version")
    ]
    assert told["Description-Content-Type"] == "text/markdown"
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", str(told.get_payload()))
    assert pictures
    assert all((ROOT / picture).is_file() for picture in pictures)


def test_the_source_archive_holds_what_the_javascript_is_built_from(archives: tuple[Path, Path]) -> None:
    with tarfile.open(archives[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    js = {path.relative_to(ROOT).as_posix() for path in (ROOT / "js" / "src").rglob("*.ts")}
    assert js <= names
    build = {f"js/{name}" for name in ("build.mjs", "licenses.mjs", "package.json", "package-lock.json")}
    assert {*build, "notebooks/quickstart.ipynb", "CHANGELOG.md", "docs/semantics.md"} <= names
    assert not [name for name in names if "node_modules" in name or name.startswith("tests/")]


def _sources() -> list[Path]:
    return list(Path(tfprof_widgets.__path__[0]).rglob("*.py"))


def test_each_public_name_is_imported_from_where_its_type_is_declared() -> None:
    tree = ast.parse((ROOT / "tfprof_widgets" / "__init__.py").read_text(encoding="utf-8"))
    (declared,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in declared.body if isinstance(node, ast.ImportFrom) and node.level and node.module]
    homes = {alias.name: f".{node.module}" for node in imports for alias in node.names}
    defined = {"experiments", "load_ipython_extension", "unload_ipython_extension"}
    assert homes.keys() | defined == set(tfprof_widgets.__all__)
    for name, home in homes.items():
        assert getattr(tfprof_widgets, name) is getattr(import_module(home, "tfprof_widgets"), name)
    assert tfprof_widgets.experiments is import_module("tfprof_widgets.experiments")


def test_names_are_listed_before_they_are_imported_and_others_are_refused() -> None:
    code = (
        "import tfprof_widgets as t; print(set(t.__all__) <= set(dir(t)), 'load' in vars(t), hasattr(t, 'lod'));"
        "from tfprof_widgets import *; print(load is t.load, 'load' in vars(t))"
    )
    assert _told(code) == "True False False\nTrue True\n"


def test_the_import_loads_no_other_package() -> None:
    packages = ast.literal_eval(
        _told("import sys; a = set(sys.modules); import tfprof_widgets; print(set(sys.modules) - a)")
    )
    foreign = {name for name in packages if name.partition(".")[0] not in sys.stdlib_module_names}
    assert foreign == {"tfprof_widgets", "tfprof_widgets.lazy"}


def test_the_import_is_fast() -> None:
    with_import, bare = (min(_seconds(code) for _ in range(N_RUNS)) for code in ("import tfprof_widgets", "pass"))
    assert with_import - bare < LONGEST_IMPORT_S


def _seconds(code: str) -> float:
    """Of a processor, so that a busy machine decides nothing."""
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    _told(code)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime - begin.ru_utime + end.ru_stime - begin.ru_stime


def _told(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
