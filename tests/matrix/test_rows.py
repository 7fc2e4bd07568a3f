"""The rows of the matrix: the versions that are promised, and the lowest of all else."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Any

import pytest

from tests.matrix import __main__ as matrix
from tests.matrix.one_version import CHECKS, Shown


def test_each_promised_version_has_a_row() -> None:
    wanted = {name: requirements[0] for name, requirements in matrix.ROWS.items()}
    assert {"2.16", "2.18", "2.21"} <= wanted.keys()
    assert all(wanted[name] == f"tensorflow=={name}.*" for name in ("2.16", "2.18", "2.21"))
    assert all(callable(getattr(Shown, check)) for check in CHECKS)


def test_the_lowest_versions_are_pinned_together(monkeypatch: pytest.MonkeyPatch) -> None:
    requirements = ["numpy>=1.26", "b>=2,<4", "tensorflow>=2.16; extra == 'tensorflow'", "c; extra == 'dev'"]
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: requirements)
    assert matrix.lowest() == ["tensorflow==2.16.*", "numpy==1.26", "b==2"]


def test_a_row_with_other_figures_than_the_rows_above_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def examined(name: str) -> dict[str, Any]:
        digests = {"v100/ops": "same", "v100/steps": "other" if name == "2.21" else "same"}
        return {"versions": {"numpy": "1"}, "passed": list(CHECKS), "failures": {}, "digests": digests}

    monkeypatch.setattr(matrix, "examined", examined)
    monkeypatch.setattr(matrix, "BUILD", tmp_path)
    assert matrix.main(["2.16", "2.18"]) == 0
    assert matrix.main(["2.16", "2.21"]) == 1
    assert "2.21: captures: other figures than in the rows above: v100/steps" in capsys.readouterr().out
    assert (tmp_path / "results.md").read_text(encoding="utf-8").count("FAILED") == 1
    with pytest.raises(SystemExit, match="No row is called 2.99"):
        matrix.main(["2.99"])


def test_an_environment_that_cannot_be_made_fails_its_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(matrix, "BUILD", tmp_path)
    monkeypatch.setitem(matrix.ROWS, "2.16", ["no such requirement"])
    monkeypatch.setattr(matrix.sys, "executable", "/bin/false")
    found = matrix.examined("2.16")
    assert list(found["failures"]) == ["install"]
    json.dumps(found)
