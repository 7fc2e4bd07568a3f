"""The registry of columns: how tables are written in it, and that what docstrings list is what it says."""

from __future__ import annotations

import pydoc

import tfprof_widgets as tfprof
from tfprof_widgets.analysis import (
    CATEGORIES,
    STEP_CATEGORIES,
    TABLES,
    Column,
    InputPipeline,
    MemoryProfile,
    read_tables,
)

WRITTEN = """
*times:
    time_us      float  in all
    rate         float  over time [ops/s]
a: an op, by name
    name         text   its [whole] name
    *times
b.c: a pair
    first_*times
    *a
"""


def test_a_table_is_its_row_and_its_columns_in_order() -> None:
    table = read_tables(WRITTEN)["a"]
    assert table.row == "an op, by name"
    assert table.columns[1:] == (
        Column("time_us", "float", "in all", "microseconds"),
        Column("rate", "float", "over time", "ops/s"),
    )
    assert table.types == {"name": object, "time_us": float, "rate": float}


def test_columns_of_groups_and_tables_are_taken_over_with_a_prefix_before_their_names() -> None:
    tables = read_tables(WRITTEN)
    assert list(tables) == ["a", "b.c"]
    assert tables["b.c"].names == ("first_time_us", "first_rate", "name", "time_us", "rate")


def test_every_column_has_a_meaning_and_is_named_once_a_table() -> None:
    for table in TABLES.values():
        assert len(set(table.names)) == len(table.names) > 0, table.name
        for column in table.columns:
            assert column.meaning and "*" not in column.name, (table.name, column)
            assert column.kind in ("int", "float", "number", "bool", "text", "object"), (table.name, column)


def test_a_column_of_one_name_has_one_unit() -> None:
    units: dict[str, set[str]] = {}
    for table in TABLES.values():
        for column in table.columns:
            units.setdefault(column.name, set()).add(column.unit)
    assert {name for name, known in units.items() if len(known) > 1} == set()


def test_the_categories_of_a_step_are_columns_of_the_steps() -> None:
    assert set(STEP_CATEGORIES) == set(CATEGORIES)


def test_help_tells_every_column_of_a_table_with_its_type_unit_and_meaning() -> None:
    for owner, name in (
        *((tfprof.Profile, name) for name in ("events", "steps", "ops", "kernels", "layers", "hosts", "system")),
        *((tfprof.ProfileDiff, f"diff(a, b).{name}") for name in ("ops", "memory")),
        *((MemoryProfile, f"memory.{name}") for name in ("timeline", "peak", "unfreed")),
        *((InputPipeline, f"input_pipeline.{name}") for name in ("iterators", "executions")),
    ):
        told = pydoc.render_doc(getattr(owner, name.rpartition(".")[2]))
        assert all(f"{one.name} ({one.kind}" in told and one.meaning in told for one in TABLES[name].columns), name
    assert "duration_ns (float, nanoseconds): how long it took" in pydoc.render_doc(tfprof.Profile.events)
