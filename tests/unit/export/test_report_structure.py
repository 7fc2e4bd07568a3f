"""Reports on structure: the expensive operations are those that tfprof's `advise` names, and variables are counted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.unit.export.first_profiler_run import first_profiler_run
from tfprof_widgets.export import ROOMS, report_tables


@pytest.fixture(scope="module")
def folder(shared_directory: Path) -> Path:
    return first_profiler_run(shared_directory)


@pytest.fixture(scope="module")
def old(folder: Path) -> tfprof.Profile:
    return tfprof.load(folder / "profile.context")


def rows(prof: tfprof.Profile, heading: str) -> list[dict[str, str]]:
    for part in report_tables(prof.run.results, ROOMS[0]):
        if part.heading.startswith(heading):
            return [dict(zip(part.columns, row, strict=True)) for row in part.rows]
    return []


@pytest.mark.tensorflow
def test_the_costliest_op_types_are_those_of_tfprofs_advice(old: tfprof.Profile, folder: Path) -> None:
    (told, *_) = json.loads((folder / "advice.json").read_text())["ExpensiveOperationChecker"]
    expected = re.findall(r"operation type: (\w+),.*\(([\d.]+)%\)", told)
    found = [(row["op type"].strip("`"), float(row["of all ops (%)"])) for row in rows(old, "Expensive operations")]
    assert [name for name, _ in found[:3]] == [name for name, _ in expected]
    assert [share for _, share in found[:3]] == pytest.approx([float(share) for _, share in expected], abs=0.1)


@pytest.mark.tensorflow
def test_costly_lines_of_an_old_file_are_those_of_the_program(old: tfprof.Profile) -> None:
    found = rows(old, "Costly lines of code")
    assert len(found) >= 4
    assert all(re.fullmatch(r"`first_profiler_run\.py:\d+`", row["line"]) for row in found)
    assert {row["function"] for row in found} <= {"`_net`", "`main`"}
    assert sum(float(row["of all ops (%)"]) for row in found) == pytest.approx(100, abs=2)


@pytest.mark.tensorflow
def test_variables_are_in_the_report_the_largest_first(old: tfprof.Profile) -> None:
    found = rows(old, "Variables")
    assert [row["variable"] for row in found] == ["`head/weight`", "`images/kernel`"]
    assert found[0]["shape"] == "`8192 x 10`"
    assert found[0]["parameters (count)"] == "81,920"
    assert "82,136 parameters in all" in old.report()


@pytest.mark.tensorflow
def test_variables_of_a_keras_capture_name_their_layers(capture_of: Callable[[str], Path]) -> None:
    prof = tfprof.load(capture_of("nested_fit"))
    found = rows(prof, "Variables")
    assert len(found) == min(10, len(prof.variables))
    assert any("shared" in row["layer"] for row in found)


@pytest.mark.tensorflow
def test_tables_of_an_old_file_hold_its_trees_and_variables(old: tfprof.Profile, tmp_path: Path) -> None:
    index = json.loads((old.to_csv(tmp_path) / "index.json").read_text())["tables"]
    assert index["variables"]["n_rows"] == 2
    for view in ("scope", "graph", "op", "code"):
        assert index[f"tree_{view}"]["n_rows"] == len(old.tree(view, max_depth=1_000_000))
        units = {column["name"]: column["unit"] for column in index[f"tree_{view}"]["columns"]}
        assert units["total_accelerator_micros"] == "microseconds"


def test_a_trace_of_which_no_variables_were_noted_has_no_such_table(tmp_path: Path) -> None:
    prof = tfprof.load(write_run(tmp_path / "run", PLAIN))
    assert rows(prof, "Variables") == []
    assert rows(prof, "Costly lines of code") == []
    assert len(rows(prof, "Expensive operations")) > 0
