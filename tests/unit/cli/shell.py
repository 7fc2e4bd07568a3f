"""The words of a command -> what `tfprof` answers, in this process or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.layers import ROOT
from tfprof_widgets.cli import main


@dataclass(frozen=True)
class Answer:
    """What a command wrote, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def value(self) -> Any:
        """The JSON that it printed, without what JSON has no word for."""
        return json.loads(self.out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))

    def refused(self) -> str:
        """The one line that says why nothing was done."""
        assert self.out == ""
        return self._line()

    def refused_in_json(self) -> str:
        """The same line, which standard output holds as JSON."""
        assert self.value == {"error": self._line().removeprefix("tfprof: ").rstrip("\n")}
        return self.err

    def _line(self) -> str:
        assert self.status == 2
        assert self.err.startswith("tfprof: ")
        assert self.err.count("\n") == 1
        assert self.err.endswith("\n")
        return self.err


class Shell:
    """Runs commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: object) -> Answer:
        """What a command answers."""
        self._capsys.readouterr()
        try:
            status = main([str(word) for word in words])
        except SystemExit as end:
            status = int(end.code or 0)
        told = self._capsys.readouterr()
        return Answer(status, told.out, told.err)


def start(*words: object, **variables: str) -> subprocess.Popen[str]:
    """`python -m tfprof_widgets ...` as a process."""
    return subprocess.Popen(
        [sys.executable, "-m", "tfprof_widgets", *map(str, words)],
        cwd=Path("/"),
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
