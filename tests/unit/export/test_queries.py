"""Queries over the tables of a profile: the rows are those of the tables, only what is named is made, nothing else is reached."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.unit.export.duckdb_needed import needs_duckdb
from tfprof_widgets.errors import TfProfError
from tfprof_widgets.export import table_makers
from tfprof_widgets.loading import load_profile
from tfprof_widgets.profiles import Profile


@pytest.fixture
def prof(keras_xplane: Path) -> Profile:
    """A Keras training."""
    return load_profile(keras_xplane)


def test_the_list_has_every_table_and_its_columns(prof: Profile) -> None:
    listed = prof.tables
    makers = table_makers(prof.run.results)
    assert set(listed.names) == {*makers, "system_findings"}
    for name, make in makers.items():
        columns = list(map(str, make().columns))
        if columns:
            known = listed.frame[listed.frame["table"] == name]
            assert known["column"].tolist() == columns
            assert (known["meaning"] != "").all()


def test_the_list_computes_nothing_and_prints_types_and_units(prof: Profile) -> None:
    text = str(prof.tables)
    assert "step_frame" not in vars(prof.run.results)
    assert "steps: a row is a training step, by start\n" in text
    line, *_ = [one for one in text.splitlines() if one.startswith("  step_time_ms ")]
    assert line.split()[1] == "float"
    assert line.endswith("[milliseconds]")
    assert repr(prof.tables).startswith(f"<TableList: {len(prof.tables.names)} tables")
    assert prof.tables._repr_html_().count("<details>") == len(prof.tables.names)


def test_the_machine_has_a_column_for_each_core(prof: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = pd.DataFrame({"time_ms": [0.0], "cpu0_pct": [5.0], "gpu0_name": ["x"]})
    monkeypatch.setattr(type(prof.run), "system", property(lambda _: samples))
    known = prof.tables.frame.set_index(["table", "column"])
    assert known.loc[("system", "cpu0_pct"), ["type", "unit"]].tolist() == ["float", "percent"]
    assert known.loc[("system", "gpu0_name"), "type"] == "text"


@needs_duckdb
def test_the_rows_are_those_of_the_tables(prof: Profile) -> None:
    found = prof.sql(
        "select name, sum(self_ns) / 1e6 as self_ms from events group by name order by self_ms desc limit 5"
    )
    expected = (prof.events.groupby("name")["self_ns"].sum() / 1e6).sort_values(ascending=False).head(5)
    assert found["name"].tolist() == expected.index.tolist()
    np.testing.assert_allclose(found["self_ms"], expected)
    joined = prof.sql("select s.name, count(*) as n from events join steps s using (step) group by all order by 1")
    assert joined["n"].sum() == (prof.events["step"] >= 0).sum()
    assert len(joined) == len(prof.steps)


@needs_duckdb
def test_every_table_can_be_asked_for(prof: Profile) -> None:
    names = prof.tables.names
    counts = prof.sql("select " + ", ".join(f"(select count(*) from {name})" for name in names)).iloc[0].tolist()
    makers = {**table_makers(prof.run.results), "system_findings": lambda: prof.system_findings}
    assert dict(zip(names, counts, strict=True)) == {name: len(makers[name]()) for name in names}


@needs_duckdb
def test_only_what_a_query_names_is_computed(prof: Profile) -> None:
    prof.sql('SELECT count(*) FROM "Steps"')
    made = vars(prof.run.results)
    assert "step_frame" in made
    assert not {"ops", "op_graph", "layers", "memory", "input_pipeline"} & set(made)


@needs_duckdb
def test_a_table_without_rows_knows_its_columns_and_their_types(prof: Profile) -> None:
    assert prof.kernels.empty
    found = prof.sql("select name, max(total_time_us) as most from kernels where name like '%conv%' group by name")
    assert list(found.columns) == ["name", "most"]
    assert found.empty
    types = prof.sql("describe kernels").set_index("column_name")["column_type"]
    assert (types["name"], types["total_time_us"]) == ("VARCHAR", "DOUBLE")


@needs_duckdb
def test_lists_are_the_text_of_their_json(prof: Profile) -> None:
    found = prof.sql("select json_extract_string(params, '$.name') as name from input_iterators where id = 0")
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
def test_a_query_reaches_nothing_but_the_tables(prof: Profile, query: str, told: str) -> None:
    of_the_program = pd.DataFrame({"a": [1]})
    with pytest.raises(TfProfError, match=r".") as error:
        prof.sql(query)
    assert told in str(error.value)
    assert "\n" not in str(error.value)
    assert len(of_the_program) == 1


def test_without_duckdb_the_extra_is_named(prof: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    own = builtins.__import__

    def missing(name: str, *given: Any, **more: Any) -> Any:
        if name == "duckdb":
            raise ModuleNotFoundError("No module named 'duckdb'")
        return own(name, *given, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(TfProfError, match=r'`pip install -U "duckdb>=1\.1"` installs it'):
        prof.sql("select 1")
