"""Every public table: its columns in order, with their types, on captures of a Keras fit, of a compiled one and of GPUs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tfprof_widgets.analysis import TABLES

OF_A_PROFILE = (
    *("events", "flows", "steps", "workers", "ops", "kernels", "copies", "hlo_ops", "layers", "source_lines", "scopes"),
    *("variables", "hosts", "stragglers", "communication", "advice_table", "counters", "system", "system_findings"),
    *("overview.breakdown", "overview.top_ops", "overview.tf_functions", "memory.summary"),
    *(f"input_pipeline.{name}" for name in ("categories", "ops", "steps", "hosts", "pipelines", "iterators")),
)
"""What a user reaches by name."""
OF_AN_ALLOCATOR = tuple(name for name in TABLES if name.startswith("memory.") and name != "memory.summary")
"""Methods of `prof.memory`."""
OF_A_DIFF = tuple(name.removeprefix("diff(a, b).") for name in TABLES if name.startswith("diff(a, b)."))


@pytest.fixture(scope="module", params=["keras_fit", "xla_fit", "v100", "written"])
def prof(
    request: pytest.FixtureRequest, capture_of: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> tfprof.Profile:
    kind: str = request.param
    if kind == "written":
        return tfprof.load(write_run(tmp_path_factory.mktemp("run"), PLAIN))
    return tfprof.load(capture_of(kind))


IS_OF_KIND: dict[str, Callable[[pd.Series], bool]] = {
    "int": pd.api.types.is_integer_dtype,
    "float": pd.api.types.is_float_dtype,
    "number": pd.api.types.is_numeric_dtype,
    "bool": pd.api.types.is_bool_dtype,
    "text": lambda column: all(isinstance(value, str) for value in column),
    "object": pd.api.types.is_object_dtype,
}


def check(frame: pd.DataFrame, name: str) -> None:
    """That a frame has the columns that are declared."""
    table = TABLES[name]
    assert tuple(frame.columns) == table.names
    assert frame.index.equals(pd.RangeIndex(len(frame)))
    wrong = {
        one.name: (str(frame[one.name].dtype), one.kind)
        for one in table.columns
        if not IS_OF_KIND[one.kind](frame[one.name])
    }
    assert wrong == {}


@pytest.mark.parametrize("name", OF_A_PROFILE)
def test_a_table_has_its_columns_in_order_and_of_their_types(prof: tfprof.Profile, name: str) -> None:
    holder, _, attribute = name.rpartition(".")
    check(getattr(getattr(prof, holder) if holder else prof, attribute), name)


@pytest.mark.parametrize("name", [name for name in OF_A_PROFILE if "." not in name])
def test_help_of_a_table_says_once_what_a_row_is_and_when_there_is_none(name: str) -> None:
    row, _, told = (inspect.getdoc(getattr(tfprof.Profile, name)) or "").partition("\n\n")
    note, _, columns = told.partition("Columns:\n")
    assert row == f"A table: a row is {TABLES[name].row}."
    assert len(columns.splitlines()) == len(TABLES[name].columns)
    assert "one row" not in note.lower()
    assert ", ".join(TABLES[name].names) not in note
    assert name in ("hosts", "system") or re.search(r"\b[Ee]mpty (where|when|without) ", " ".join(note.split()))


def test_trees_and_op_types_have_their_columns(prof: tfprof.Profile) -> None:
    for view in ("scope", "graph", "op", "code"):
        check(prof.tree(view), "tree(view)")
    check(prof.select().op_statistics(by="type"), 'select().op_statistics(by="type")')


def test_tables_of_a_comparison_have_their_columns(prof: tfprof.Profile) -> None:
    diff = tfprof.diff(prof, prof)
    for name in OF_A_DIFF:
        check(getattr(diff, name), f"diff(a, b).{name}")


@pytest.mark.parametrize("name", OF_AN_ALLOCATOR)
def test_a_table_of_an_allocator_has_its_columns(prof: tfprof.Profile, name: str) -> None:
    for allocator in prof.memory.allocators:
        check(getattr(prof.memory, name.removeprefix("memory."))(allocator), name)


def test_growth_of_an_allocator(prof: tfprof.Profile) -> None:
    for allocator in prof.memory.allocators:
        growth = prof.memory.growth(allocator)
        assert growth.n_steps == len(prof.memory.steps(allocator))
        assert np.isnan(growth.bytes_per_step) == (growth.n_steps < 2)
        assert bool(growth.sentence) == growth.is_significant


def test_executions_of_a_pipeline(prof: tfprof.Profile) -> None:
    pipeline = prof.input_pipeline
    assert len(pipeline.pipelines)
    for row in pipeline.pipelines["id"].tolist():
        executions = pipeline.executions(row)
        check(executions, "input_pipeline.executions")
        assert executions["latency_us"].is_monotonic_decreasing
        check(pipeline.execution(row).reset_index(drop=True), "input_pipeline.execution")
        assert set(pipeline.execution(row)["id"]) <= set(pipeline.iterators["id"])
    assert isinstance(pipeline.is_input_bound, bool)
    assert isinstance(pipeline.sentence, str)
    parts = ("enqueue", "read_on_demand", "read_in_advance", "preprocessing", "unclassified")
    assert sum(getattr(pipeline, f"{part}_ms") for part in parts) == pytest.approx(pipeline.categories["time_ms"].sum())


def test_layers_lines_and_scopes_share_out_the_self_time_of_all_ops(prof: tfprof.Profile) -> None:
    for device, ops in prof.ops.groupby("device"):
        self_us = pytest.approx(ops["total_self_time_us"].sum())
        for table in (prof.layers, prof.source_lines, prof.scopes):
            side = table[table["device"] == device]
            assert side["self_time_us"].sum() == self_us
        phases = ["forward_time_us", "backward_time_us", "optimizer_time_us", "other_time_us"]
        assert prof.layers.loc[prof.layers["device"] == device, phases].to_numpy().sum() == self_us
    assert set(prof.layers["kind"]) <= {"layer", "loss", "metrics", "optimizer", "input", "other"}
    assert (prof.source_lines["bucket"] == "").eq(prof.source_lines["line"] > 0).all()


def test_what_a_capture_of_its_kind_must_hold(prof: tfprof.Profile, request: pytest.FixtureRequest) -> None:
    kind = request.node.callspec.params["prof"]
    assert (len(prof.kernels) > 0) == (kind in ("v100", "written"))
    assert (len(prof.hlo_ops) > 0) == (kind in ("xla_fit", "written"))
    assert (prof.layers["kind"] == "layer").any()
    assert set(prof.workers["host"]) == set(prof.steps["host"])
    assert len(prof.workers) == len(prof.steps)


def test_the_ranks_count_from_one_the_most_costly_first(prof: tfprof.Profile) -> None:
    for table in (prof.ops, prof.kernels, prof.hlo_ops):
        assert table["rank"].tolist() == list(range(1, len(table) + 1))
    assert prof.kernels["total_time_us"].is_monotonic_decreasing
    for _, side in prof.hlo_ops.groupby("device"):
        assert side["total_self_time_us"].is_monotonic_decreasing
