"""Tables as files: one each, with an index that says what is in them, and the same values when read back."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.builders import plane, space
from tfprof_widgets.analysis import TABLES
from tfprof_widgets.errors import TfProfError
from tfprof_widgets.export import INDEX, tables, write_tables

NAMES = {
    *(
        "events",
        "flows",
        "steps",
        "step_guide",
        "attribution",
        "idle",
        "kernel_launches",
        "ops",
        "kernels",
        "copies",
        "hlo_ops",
    ),
    *("program_memory", "layers", "source_lines"),
    *("scopes", "workers", "memory_summary", "memory_timeline", "memory_peak", "counters", "system", "system_findings"),
    *("advice", "variables", "tree_scope", "tree_graph", "tree_op", "tree_code"),
    *("input_categories", "input_ops", "input_pipelines", "input_iterators"),
}


@pytest.fixture(scope="module")
def prof(tmp_path_factory: pytest.TempPathFactory) -> tfprof.Profile:
    return tfprof.load(write_run(tmp_path_factory.mktemp("run"), PLAIN))


def index_of(directory: Path) -> dict[str, Any]:
    return json.loads((directory / INDEX).read_text())["tables"]  # type: ignore[no-any-return]


def assert_same_values(got: pd.DataFrame, expected: pd.DataFrame) -> None:
    assert list(got.columns) == list(expected.columns)
    for name in expected.columns:
        if pd.api.types.is_float_dtype(expected[name]):
            assert np.array_equal(got[name].astype(float).to_numpy(), expected[name].to_numpy(), equal_nan=True), name
        elif pd.api.types.is_numeric_dtype(expected[name]):
            assert got[name].astype(str).tolist() == expected[name].astype(str).tolist(), name


def test_every_table_is_a_csv_file_with_the_same_values(prof: tfprof.Profile, tmp_path: Path) -> None:
    directory = prof.to_csv(tmp_path / "new" / "csv")
    assert {path.stem for path in directory.glob("*.csv")} == NAMES == set(index_of(directory))
    for name, table in tables(prof.run.results).items():
        if len(table.columns):
            assert_same_values(pd.read_csv(directory / f"{name}.csv", dtype=str), table)
    events = pd.read_csv(directory / "events.csv", keep_default_na=False)
    assert events["name"].tolist() == prof.events["name"].tolist()


def test_the_index_names_rows_columns_types_and_units(prof: tfprof.Profile, tmp_path: Path) -> None:
    index = index_of(prof.to_csv(tmp_path))
    assert index["events"]["file"] == "events.csv"
    assert index["events"]["n_rows"] == len(prof.events)
    columns = {column["name"]: column for column in index["events"]["columns"]}
    assert list(columns) == list(prof.events.columns)
    start = {"name": "start_ns", "type": "number", "unit": "nanoseconds"}
    assert columns["start_ns"] == {**start, "meaning": "after the trace origin, the picoseconds behind the point"}
    assert columns["depth"]["type"] == "integer"
    assert columns["name"] == {"name": "name", "type": "text", "unit": "", "meaning": "of the event"}
    units = {column["name"]: column["unit"] for column in index["ops"]["columns"]}
    assert units["self_time_ratio"].startswith("ratio")
    assert units["flop_rate_gflops"] == "GFLOP/s"


def test_the_index_explains_every_column_but_those_of_single_cores_and_gpus(
    prof: tfprof.Profile, tmp_path: Path
) -> None:
    index = index_of(prof.to_csv(tmp_path))
    unexplained = {
        (name, one["name"]) for name, table in index.items() for one in table["columns"] if not one["meaning"]
    }
    assert all(name == "system" and re.match("[cg]pu", column) for name, column in unexplained), unexplained
    heads = {column["name"] for column in index["memory_timeline"]["columns"]}
    assert heads == {"allocator", *TABLES["memory.timeline"].names}


def test_hostile_names_stay_in_their_cell(tmp_path: Path) -> None:
    names = ['a,"b"\n', "=1+1", "\ud800x".encode("utf-8", "backslashreplace").decode(), "", "é"]
    write_tables(tmp_path, {"t": pd.DataFrame({"name": names, "n": range(5)})}, kind="csv")
    got = pd.read_csv(tmp_path / "t.csv", keep_default_na=False)
    assert got["name"].tolist() == [names[0], "'=1+1", *names[2:]], "a spreadsheet takes it for text"


def test_lists_and_objects_in_cells_are_json(tmp_path: Path) -> None:
    write_tables(tmp_path, {"t": pd.DataFrame({"params": [{"a": 1}, None, "text"]})}, kind="csv")
    assert pd.read_csv(tmp_path / "t.csv", keep_default_na=False)["params"].tolist() == ['{"a": 1}', "", "text"]


def test_a_trace_of_nothing_gives_all_files(tmp_path: Path) -> None:
    (tmp_path / "x.xplane.pb").write_bytes(space(plane("/host:CPU")))
    directory = tfprof.load(tmp_path / "x.xplane.pb").to_csv(tmp_path / "csv")
    assert {path.stem for path in directory.glob("*.csv")} == NAMES
    assert all(table["n_rows"] == 0 for name, table in index_of(directory).items() if name in ("events", "ops"))


def test_parquet_without_pyarrow_names_what_to_install(
    prof: tfprof.Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TfProfError, match="`pip install pyarrow` installs it"):
        prof.to_parquet(tmp_path / "parquet")
    assert not (tmp_path / "parquet").exists()


def test_every_table_is_a_parquet_file_with_the_same_values(prof: tfprof.Profile, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason='pyarrow is not installed: pip install -e ".[parquet]"')
    directory = prof.to_parquet(tmp_path)
    assert {path.stem for path in directory.glob("*.parquet")} == NAMES
    for name, table in tables(prof.run.results).items():
        if len(table.columns):
            assert_same_values(pd.read_parquet(directory / f"{name}.parquet"), table)


def test_a_place_that_cannot_be_written_is_named(prof: tfprof.Profile, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TfProfError, match="cannot be written"):
        prof.to_csv(tmp_path / "file")
