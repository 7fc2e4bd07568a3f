"""Nothing of the system is installed unasked: only `make system`, which only a person and .ci/run call."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tools import chromium, debian, environment

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were run, each of which fails."""
    found: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        found.append(command)
        return subprocess.CompletedProcess(command, 1, "", "it failed")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.delenv("CHROME", raising=False)
    return found


def is_of_the_system(command: list[str]) -> bool:
    return any(word in ("apt-get", "apt", "sudo", "dpkg") for part in command for word in re.split(r"[/\s]", part))


def test_a_chromium_that_is_missing_is_told_and_not_installed(commands: list[list[str]]) -> None:
    with pytest.raises(chromium.ChromiumMissingError, match="`make system`"):
        chromium.get()
    assert any("playwright" in command for command in commands)
    assert not any(map(is_of_the_system, commands))


def test_a_venv_module_that_is_missing_is_told_and_not_installed(commands: list[list[str]], tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="`make system`"):
        environment.create(tmp_path / "venv")
    assert len(commands) == 1
    assert not is_of_the_system(commands[0])


@pytest.mark.parametrize(("is_root", "first"), [(True, "env"), (False, "/bin/sudo")])
def test_make_system_installs_what_is_missing(
    commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, is_root: bool, first: str
) -> None:
    monkeypatch.setattr(debian.os, "geteuid", lambda: 0 if is_root else 1000)
    monkeypatch.setattr(debian.shutil, "which", lambda name: f"/bin/{name}" if name in ("apt-get", "sudo") else None)
    assert debian.main() == 1
    update, install = [command for command in commands if is_of_the_system(command)]
    assert (update[0], install[0]) == (first, first)
    assert install[-2:] == ["chromium", "fonts-liberation"]


def test_no_other_target_asks_for_it() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    rules = re.findall(r"^[a-z-]+:(.*)\n((?:\t.*\n)*)", makefile, re.MULTILINE)
    assert len(rules) > 10
    assert [body for _, body in rules if "tools.debian" in body] == ["\t@$(PYTHON) -m tools.debian\n"]
    assert not [needed for needed, _ in rules if "system" in needed.partition("##")[0]]
    assert "system;" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
