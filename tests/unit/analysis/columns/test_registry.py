"""Declarations of tables: how they are written, where they are found, and that docstrings list what they say."""

from __future__ import annotations

import pydoc

import pytest

import tfprof_widgets as tfprof
from tfprof_widgets.analysis import TABLES, InputPipeline, MemoryProfile, read_tables, table

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


def test_columns_of_groups_and_tables_are_taken_over_with_a_prefix_before_their_names() -> None:
    tables = read_tables(WRITTEN)
    assert [name for name, found in tables.items() if found.row] == ["a", "b.c"]
    assert tables["b.c"].names == ("first_time_us", "first_rate", "name", "time_us", "rate")


def test_every_table_is_declared_by_the_module_that_is_looked_in() -> None:
    assert [found.name for found in TABLES.values()] == list(TABLES)
    with pytest.raises(LookupError, match="names no module"):
        table("nowhere: a row\n    name  text  its name")


def test_what_the_browser_gets_is_declared_by_name_dtype_and_mark() -> None:
    kernels, copies, timeline = (TABLES[name] for name in ("kernels", "copies", "memory.timeline"))
    assert set(kernels.in_browser()) - set(kernels.in_browser(is_full=False)) == {
        *("occurrences", "total_time_us", "min_time_us", "max_time_us")
    }
    assert copies.in_browser() == list(copies.names)
    assert [one.column.name for one in copies.sent if one.is_nullable] == ["bytes_per_copy", "gb_per_s"]
    assert list(timeline.by_dtype) == ["f8"]
    assert {"heap_bytes", "fragmentation_ratio"} <= set(timeline.by_dtype["f8"].split())


def test_every_column_has_a_meaning_and_is_named_once_a_table() -> None:
    for found in TABLES.values():
        assert len(set(found.names)) == len(found.names) > 0, found.name
        for column in found.columns:
            assert column.meaning and "*" not in column.name, (found.name, column)
            assert column.kind in ("int", "float", "number", "bool", "text", "object"), (found.name, column)


def test_a_column_of_one_name_has_one_unit() -> None:
    units: dict[str, set[str]] = {}
    for found in TABLES.values():
        for column in found.columns:
            units.setdefault(column.name, set()).add(column.unit)
    assert {name for name, known in units.items() if len(known) > 1} == set()


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
