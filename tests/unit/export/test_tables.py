"""Tables as files, the same when read back, and queries over them, which reach nothing else."""

from __future__ import annotations

import builtins
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.builders import plane, space
from tests.table_goldens import ATTRIBUTES, VIEWS
from tests.unit.export.duckdb_needed import needs_duckdb
from tfprof_widgets.errors import TfProfError
from tfprof_widgets.export import INDEX, table_makers, tables, write_tables
from tfprof_widgets.loading import load_profile
from tfprof_widgets.profiles import Profile

NAMES = {
    *(name for name in ATTRIBUTES if name not in ("hosts", "stragglers", "communication", "roofline")),
    *("memory_summary", "memory_timeline", "memory_peak", "advice", *(f"tree_{view}" for view in VIEWS)),
    *(f"input_{name}" for name in ("categories", "ops", "pipelines", "iterators")),
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


def test_hostile_names_stay_in_their_cell_and_lists_and_objects_are_json(tmp_path: Path) -> None:
    names = ['a,"b"\n', "=1+1", "\ud800x".encode("utf-8", "backslashreplace").decode(), "", "é"]
    params = [{"a": 1}, None, "text", [1, "b"], ""]
    write_tables(tmp_path, {"t": pd.DataFrame({"name": names, "params": params})}, kind="csv")
    got = pd.read_csv(tmp_path / "t.csv", keep_default_na=False)
    assert got["name"].tolist() == [names[0], "'=1+1", *names[2:]], "a spreadsheet takes it for text"
    assert got["params"].tolist() == ['{"a": 1}', "", "text", '[1, "b"]', ""]


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


@pytest.fixture
def training(keras_xplane: Path) -> Profile:
    """A Keras training."""
    return load_profile(keras_xplane)


def test_the_list_has_every_table_and_its_columns(training: Profile) -> None:
    listed = training.tables
    makers = table_makers(training.run.results)
    assert set(listed.names) == {*makers, "system_findings"}
    for name, make in makers.items():
        columns = list(map(str, make().columns))
        if columns:
            known = listed.frame[listed.frame["table"] == name]
            assert known["column"].tolist() == columns
            assert (known["meaning"] != "").all()


def test_the_list_computes_nothing_and_prints_types_and_units(training: Profile) -> None:
    text = str(training.tables)
    assert "step_frame" not in vars(training.run.results)
    assert "steps: a row is a training step, by start\n" in text
    line, *_ = [one for one in text.splitlines() if one.startswith("  step_time_ms ")]
    assert line.split()[1] == "float"
    assert line.endswith("[milliseconds]")
    assert repr(training.tables).startswith(f"<TableList: {len(training.tables.names)} tables")
    assert training.tables._repr_html_().count("<details>") == len(training.tables.names)


def test_the_machine_has_a_column_for_each_core(training: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = pd.DataFrame({"time_ms": [0.0], "cpu0_pct": [5.0], "gpu0_name": ["x"]})
    monkeypatch.setattr(type(training.run), "system", property(lambda _: samples))
    known = training.tables.frame.set_index(["table", "column"])
    assert known.loc[("system", "cpu0_pct"), ["type", "unit"]].tolist() == ["float", "percent"]
    assert known.loc[("system", "gpu0_name"), "type"] == "text"


@needs_duckdb
def test_the_rows_are_those_of_the_tables(training: Profile) -> None:
    found = training.sql(
        "select name, sum(self_ns) / 1e6 as self_ms from events group by name order by self_ms desc limit 5"
    )
    expected = (training.events.groupby("name")["self_ns"].sum() / 1e6).sort_values(ascending=False).head(5)
    assert found["name"].tolist() == expected.index.tolist()
    np.testing.assert_allclose(found["self_ms"], expected)
    joined = training.sql("select s.name, count(*) as n from events join steps s using (step) group by all order by 1")
    assert joined["n"].sum() == (training.events["step"] >= 0).sum()
    assert len(joined) == len(training.steps)


@needs_duckdb
def test_every_table_can_be_asked_for(training: Profile) -> None:
    names = training.tables.names
    counts = training.sql("select " + ", ".join(f"(select count(*) from {name})" for name in names)).iloc[0].tolist()
    makers = {**table_makers(training.run.results), "system_findings": lambda: training.system_findings}
    assert dict(zip(names, counts, strict=True)) == {name: len(makers[name]()) for name in names}


@needs_duckdb
def test_only_what_a_query_names_is_computed(training: Profile) -> None:
    training.sql('SELECT count(*) FROM "Steps"')
    made = vars(training.run.results)
    assert "step_frame" in made
    assert not {"ops", "op_graph", "layers", "memory", "input_pipeline"} & set(made)


@needs_duckdb
def test_a_table_without_rows_knows_its_columns_and_their_types(training: Profile) -> None:
    assert training.kernels.empty
    found = training.sql("select name, max(total_time_us) as most from kernels where name like '%conv%' group by name")
    assert list(found.columns) == ["name", "most"]
    assert found.empty
    types = training.sql("describe kernels").set_index("column_name")["column_type"]
    assert (types["name"], types["total_time_us"]) == ("VARCHAR", "DOUBLE")


@needs_duckdb
def test_lists_are_the_text_of_their_json(training: Profile) -> None:
    found = training.sql("select json_extract_string(params, '$.name') as name from input_iterators where id = 0")
    assert found["name"].tolist() == ["PrefetchDataset"] or found["name"].str.contains("Prefetch").all()


@needs_duckdb
@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("select nam from ops", 'column "nam" not found'),
        ("selec", "syntax error"),
        ("", "one SELECT statement, and this is none"),
        ("select 1; select 2", "SELECT and SELECT"),
        ("drop table ops", "this is DROP"),
        ("insert into ops select * from ops", "this is INSERT"),
        ("copy ops to '/tmp/stolen.csv'", "this is COPY"),
        ("attach '/tmp/x.db'", "this is ATTACH"),
        ("install httpfs", "this is LOAD"),
        ("set enable_external_access = true", "this is SET"),
        ("select * from '/etc/passwd'", "does not exist"),
        ("select * from read_text('/etc/passwd')", "disabled"),
        ("select * from read_csv('https://example.org/x.csv')", "disabled"),
        ("select * from glob('/*')", "disabled"),
        ("select * from of_the_program", "does not exist"),
    ],
)
def test_a_query_reaches_nothing_but_the_tables(training: Profile, query: str, told: str) -> None:
    of_the_program = pd.DataFrame({"a": [1]})
    with pytest.raises(TfProfError, match=r".") as error:
        training.sql(query)
    assert told in str(error.value)
    assert "\n" not in str(error.value)
    assert len(of_the_program) == 1


def test_without_duckdb_the_extra_is_named(training: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    own = builtins.__import__

    def missing(name: str, *given: Any, **more: Any) -> Any:
        if name == "duckdb":
            raise ModuleNotFoundError("No module named 'duckdb'")
        return own(name, *given, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(TfProfError, match=r'`pip install -U "duckdb>=1\.1"` installs it'):
        training.sql("select 1")
