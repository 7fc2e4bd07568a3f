"""`sql`: rows of the tables of a run, and which there are."""

from __future__ import annotations

from pathlib import Path

from tests.unit.cli.shell import Shell
from tests.unit.export.duckdb_needed import needs_duckdb
from tfprof_widgets.loading import load_profile


def test_without_a_query_it_lists_the_tables(tfprof: Shell, run: Path) -> None:
    told = tfprof("sql", run)
    assert (told.status, told.out) == (0, f"{load_profile(run).tables}\n")
    rows = tfprof("sql", run, "--json").value
    assert {"table": "steps", "column": "start_ms", "type": "float", "unit": "milliseconds"}.items() <= next(
        row for row in rows if (row["table"], row["column"]) == ("steps", "start_ms")
    ).items()


@needs_duckdb
def test_rows(tfprof: Shell, run: Path) -> None:
    query = "select step, step_time_ms from steps order by step limit 2"
    steps = load_profile(run).steps.head(2)
    found = tfprof("sql", run, query, "--json").value
    assert found == [
        {"step": step, "step_time_ms": ms} for step, ms in zip(steps["step"], steps["step_time_ms"], strict=True)
    ]
    told = tfprof("sql", run, query)
    assert told.out.splitlines()[0].split() == ["step", "step_time_ms"]
    assert len(told.out.splitlines()) == 3


@needs_duckdb
def test_a_query_that_means_nothing(tfprof: Shell, run: Path) -> None:
    assert 'Referenced column "nam" not found' in tfprof("sql", run, "select nam from ops").refused()
    assert "one SELECT statement" in tfprof("sql", run, "drop table ops").refused()
