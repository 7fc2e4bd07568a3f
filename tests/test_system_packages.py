"""Nothing of the system is installed unasked: `make system` does it, root's own checks, and those of who set ALLOW_APT=1."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tools import chromium, debian, environment, system

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were run, each of which fails; for a user who is not root and allowed nothing."""
    found: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        found.append(command)
        return subprocess.CompletedProcess(command, 1, "", "it failed")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.delenv("CHROME", raising=False)
    monkeypatch.delenv("ALLOW_APT", raising=False)
    monkeypatch.setattr(debian.os, "geteuid", lambda: 1000)
    has(monkeypatch, "apt-get", "sudo")
    return found


def has(monkeypatch: pytest.MonkeyPatch, *programs: str) -> None:
    """These programs are the only ones on the PATH."""
    monkeypatch.setattr(debian.shutil, "which", lambda name: f"/bin/{name}" if name in programs else None)


def is_of_the_system(command: list[str]) -> bool:
    return any(word in ("apt-get", "apt", "sudo", "dpkg") for part in command for word in re.split(r"[/\s]", part))


def get_chromium() -> None:
    with pytest.raises(chromium.ChromiumMissingError, match="`make system`"):
        chromium.get()


def make_environment(venv: Path) -> None:
    with pytest.raises(SystemExit, match="`make system`"):
        environment.create(venv)


def test_a_chromium_that_is_missing_is_told_and_not_installed(commands: list[list[str]]) -> None:
    get_chromium()
    assert any("playwright" in command for command in commands)
    assert not any(map(is_of_the_system, commands))


def test_a_venv_module_that_is_missing_is_told_and_not_installed(
    commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda _: None)
    make_environment(tmp_path / "venv")
    assert len(commands) == 1
    assert not is_of_the_system(commands[0])


@pytest.mark.parametrize(("is_root", "first"), [(True, "env"), (False, "/bin/sudo")])
def test_root_and_who_allows_it_get_packages_where_nothing_else_helps(
    commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_root: bool, first: str
) -> None:
    monkeypatch.setattr(debian.os, "geteuid", lambda: 0 if is_root else 1000)
    if not is_root:
        monkeypatch.setenv("ALLOW_APT", "1")
    get_chromium()
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda _: None)
    make_environment(tmp_path / "venv")
    own = [command for command in commands if is_of_the_system(command)]
    assert [command[0] for command in own] == [first] * 4
    wanted = [["chromium", "fonts-liberation"], environment.missing_packages()]
    assert [command[command.index("--no-install-recommends") + 1 :] for command in own[1::2]] == wanted
    assert commands.index(own[0]) > next(i for i, command in enumerate(commands) if "install" in command)


@pytest.mark.parametrize(("is_root", "first"), [(True, "env"), (False, "/bin/sudo")])
def test_make_system_installs_what_is_missing(
    commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, is_root: bool, first: str
) -> None:
    monkeypatch.setattr(debian.os, "geteuid", lambda: 0 if is_root else 1000)
    assert system.main() == 1
    update, install = [command for command in commands if is_of_the_system(command)]
    assert (update[0], install[0]) == (first, first)
    assert install[-2:] == ["chromium", "fonts-liberation"]


def test_no_other_target_asks_for_it() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    rules = re.findall(r"^[a-z-]+:(.*)\n((?:\t.*\n)*)", makefile, re.MULTILINE)
    assert len(rules) > 10
    assert [body for _, body in rules if "tools.system" in body] == ["\t@$(PYTHON) -m tools.system\n"]
    assert not [before for before, _ in rules if re.search(r"\bsystem\b", before.partition("##")[0])]
    assert "sudo" not in makefile


def test_uv_is_used_where_it_is_there_and_pip_where_it_fails(
    commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    has(monkeypatch, "uv")
    venv = tmp_path / "venv"
    make_environment(venv)
    assert environment.install(venv, ["numpy"]) == "it failedit failed"
    programs = [[Path(command[0]).name, *command[1:3]] for command in commands]
    assert [program[:2] for program in programs[::2]] == [["uv", "venv"], ["uv", "pip"]]
    assert [program[1:] for program in programs[1::2]] == [["-m", "venv"], ["-m", "pip"]]
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda _: None)
    assert environment.missing_packages() == []
