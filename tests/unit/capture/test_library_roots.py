"""Programs in all kinds of places: whose code a file is, by where Python found its libraries."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tfprof_widgets.capture import frames, is_below, is_user_file, look_for_libraries


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Roots of this test alone."""
    look_for_libraries()
    yield
    look_for_libraries()


def installed(folder: Path, name: str) -> Path:
    """A package with one module and what pip leaves of its installation, unpacked into a folder."""
    (folder / name).mkdir(parents=True)
    module = folder / name / "__init__.py"
    module.write_text("")
    known = folder / f"{name}-1.0.dist-info"
    known.mkdir()
    (known / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (known / "RECORD").write_text(f"{name}/__init__.py,,\n{name}-1.0.dist-info/METADATA,,\n../bin/tool,,\n")
    return module


def test_a_package_on_the_path_is_a_library_and_what_lies_beside_it_is_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = installed(tmp_path, "unpacked")
    (tmp_path / "mine").mkdir()
    assert is_user_file(str(module)), "nothing tells that Python would find it"
    monkeypatch.syspath_prepend(tmp_path)
    look_for_libraries()
    assert not is_user_file(str(module))
    for name in ("mine/net.py", "work.py", "unpacked_too/a.py"):
        assert is_user_file(str(tmp_path / name)), name


def test_a_framework_that_was_never_installed_is_known_by_its_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = type(sys)("keras")
    kit.__file__ = str(tmp_path / "keras" / "__init__.py")
    monkeypatch.setitem(sys.modules, "keras", kit)
    assert not is_user_file(str(tmp_path / "keras/src/utils/traceback_utils.py"))
    assert is_user_file(str(tmp_path / "work.py"))


def test_packages_of_debian_and_colab_are_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    folders = ["/usr/local/lib/python3.12/dist-packages", "/usr/lib/python3/dist-packages"]
    monkeypatch.setattr(frames.site, "getsitepackages", lambda: folders)
    frames._library_roots.cache_clear()
    look_for_libraries()
    for folder in folders:
        assert not is_user_file(f"{folder}/keras/src/layers/layer.py")
    assert is_user_file("/content/train.py")
    frames._library_roots.cache_clear()


@pytest.mark.parametrize(
    "name",
    ["site-packages-demo/train.py", "site-packages/train.py", "dist-packages/train.py", "lib/python3.12/train.py"],
)
def test_the_name_of_a_folder_alone_makes_no_library(tmp_path: Path, name: str) -> None:
    assert is_user_file(str(tmp_path / name))


@pytest.mark.parametrize(
    "name", ["/tmp/ipykernel_12/345.py", "/tmp/ipython-input-1234.py", "<ipython-input-3-abc>", "<stdin>"]
)
def test_cells_are_the_users(name: str) -> None:
    assert is_user_file(name)


def test_a_project_that_holds_its_environment_and_an_editable_install(tmp_path: Path) -> None:
    """A Python of its own in the project's folder, into which the project is installed as editable."""
    project = tmp_path / "project"
    environment = project / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    installed(packages, "einops")
    (packages / "__editable__.mine-1.0.pth").write_text(f"{project / 'src'}\n")
    (project / "src" / "mine").mkdir(parents=True)
    mine = project / "src" / "mine" / "net.py"
    mine.write_text("")
    (project / "train.py").write_text(
        "import runpy, sys\n"
        "import einops, mine.net\n"
        "known = runpy.run_path(sys.argv[1])\n"
        "for file in (__file__, mine.net.__file__, einops.__file__, runpy.__file__):\n"
        "    print(known['is_below'](file, known['library_roots']()))\n"
    )
    command = [str(environment / "bin" / "python"), "train.py", frames.__file__]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=project, env=os.environ | {"PYTHONPATH": ""}
    )
    assert run.stdout.split() == ["False", "False", "True", "True"], run.stderr


def test_what_begins_with_the_name_of_a_root_is_not_in_it() -> None:
    roots = ("/usr/lib/site-packages", "/kit/six.py")
    assert is_below("/usr/lib/site-packages/a.py", roots)
    assert is_below("/kit/six.py", roots)
    assert not is_below("/usr/lib/site-packages-demo/a.py", roots)
    assert not is_below("/kit/six.pyx", roots)


def test_what_else_lies_on_the_path_harms_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path / "sound", "sound")
    damaged = installed(tmp_path / "damaged", "damaged")
    (damaged.parent.parent / "damaged-1.0.dist-info" / "RECORD").write_bytes(b"\xff\xfe,,\n")
    gone = tmp_path / "gone"
    looked = Path.glob

    def glob(self: Path, pattern: str) -> Iterator[Path]:
        if self == gone:
            raise OSError(107, "Transport endpoint is not connected")
        return iter(looked(self, pattern))

    monkeypatch.setattr(Path, "glob", glob)
    odd: list[object] = [b"bytes", Path("here"), 5, [], str(gone), str(tmp_path / "damaged"), str(tmp_path / "sound")]
    monkeypatch.setattr(sys, "path", [*odd, *sys.path])
    look_for_libraries()
    assert not is_user_file(str(tmp_path / "sound" / "sound" / "__init__.py"))
    assert is_user_file(str(tmp_path / "gone" / "work.py"))
