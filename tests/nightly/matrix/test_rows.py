"""The rows of the matrix: the versions that are promised, the lowest of all else, and what Colab has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.nightly.matrix import __main__ as matrix
from tests.nightly.matrix.one_version import CHECKS, Shown
from tests.nightly.matrix.rows import ROWS, colab, lowest, requirements

PYPROJECT = (matrix.ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_each_promised_version_has_a_row() -> None:
    wanted = {name: row.requirements[0] for name, row in ROWS.items()}
    assert {"2.16", "2.18", "2.21"} <= wanted.keys()
    assert all(wanted[name] == f"tensorflow=={name}.*" for name in ("2.16", "2.18", "2.21"))
    assert all(callable(getattr(Shown, check)) for check in CHECKS)
    classified = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PYPROJECT)
    assert sorted({row.python for row in ROWS.values()}) == classified
    (oldest,) = re.findall(r'requires-python = ">=(.+)"', PYPROJECT)
    assert ROWS["lowest"].python == oldest == classified[0]


def test_the_lowest_versions_are_pinned_together() -> None:
    assert lowest(["tensorflow>=2.16", "b>=2,<4", "c>=1; sys_platform == 'no'"]) == ["tensorflow==2.16.*", "b==2"]
    pins = {one.name: str(one.specifier) for one in map(Requirement, ROWS["lowest"].requirements)}
    assert pins["tensorflow"].startswith("==2.16")
    assert {one.name: str(one.specifier).replace(">=", "==") for one in map(Requirement, requirements())} == {
        **pins,
        "tensorflow": "==2.16",
    }


def test_colab_has_all_that_the_package_needs_so_installing_it_changes_nothing_there() -> None:
    has = {canonicalize_name(one.name): next(iter(one.specifier)).version for one in map(Requirement, colab())}
    needed = list(map(Requirement, requirements()))
    assert len(needed) > 8
    assert {one.name: has.get(one.name) for one in needed if not one.specifier.contains(has.get(one.name, "0"))} == {}


def test_a_row_with_other_figures_than_the_rows_above_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def examined(name: str) -> dict[str, Any]:
        (tmp_path / name).mkdir(exist_ok=True)
        digests = {"v100/ops": "same", "v100/steps": "other" if name == "2.21" else "same"}
        return {"versions": {"numpy": "1"}, "passed": list(matrix.ALL_CHECKS), "failures": {}, "digests": digests}

    monkeypatch.setattr(matrix, "examined", examined)
    monkeypatch.setattr(matrix, "BUILD", tmp_path)
    assert matrix.main(["2.16", "2.18"]) == 0
    assert matrix.main(["2.16", "2.21"]) == 1
    assert "2.21: captures: other figures than in the rows above: v100/steps" in capsys.readouterr().out
    assert (tmp_path / "results.md").read_text(encoding="utf-8").count("FAILED") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2.21", "results.md"]
    with pytest.raises(SystemExit, match="No row is called 2.99"):
        matrix.main(["2.99"])
