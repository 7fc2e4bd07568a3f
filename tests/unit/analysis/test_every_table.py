"""Declarations of tables, and that each table has its columns, of the same types, whatever the trace lacks or holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pandas as pd
import pytest

from tests import layers
from tests.builders import Event, Plane, U, aggregated, event, line, plane, session, space, trace
from tests.hlo_drawings import computation, instruction, metadata_plane, module
from tfprof_widgets.analysis import (
    TABLES,
    Analysis,
    aggregate_ops,
    flow_table,
    read_tables,
    select,
)
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace, merge_traces

CPU, GPU = "/host:CPU", "/device:GPU:0"
DETAILS = "regs:32 static_shared:16 dynamic_shared:8 grid:1,2,3 block:4,5,6 occ_pct:62.5"
PROGRAM = module(
    "mod", computation("main", instruction("x", "parameter"), instruction("dot.2", "dot", reads="x x", op="m/d:MatMul"))
)


def allocation(kind: str, at_us: float, address: int, in_use: int) -> Event:
    return event(
        f"Memory{kind}",
        at_us,
        0,
        allocator_name="bfc",
        addr=address,
        requested_bytes=90,
        allocation_bytes=100,
        bytes_allocated=in_use,
        bytes_reserved=0,
        bytes_available=900,
        peak_bytes_in_use=500,
        fragmentation=0.25,
        tf_op="m/d",
        region_type="output",
        data_type=1,
        shape="[2]",
    )


def one_step(k: int) -> Iterator[Event]:
    at = 100 * k
    yield event("train", at, 90, _r=1, step_num=k)
    yield event("Iterator::Root", at + 1, 5, id=1, parent_id=0)
    yield event("Iterator::Root::Map", at + 2, 3, id=2, parent_id=1)
    yield event("m/d:MatMul", at + 10, 20)
    yield event("step", at + 31, 2, tf_function_call="concrete-xla", tracing_count=1)
    yield event("cuLaunchKernel", at + 35, 5, correlation_id=U(k + 1))
    yield event("dot.2", at + 50, 9, hlo_op="dot.2", program_id=1)
    yield allocation("Allocation", at + 60, k, 500 + 100 * k)


def kernel(k: int, name: str = "gemm") -> Event:
    return event(name, 100 * k + 40, 8, correlation_id=U(k + 1), tf_op="m/d:MatMul", kernel_details=DETAILS)


def everything(*, hosts_pid: int = 1) -> list[Plane]:
    """A trace in which no table is empty."""
    stream = line("Stream #7(Compute)", *(kernel(k) for k in range(4)), id=7)
    steps = [one for k in range(4) for one in one_step(k)]
    return [
        session(),
        metadata_plane({1: PROGRAM}),
        plane(CPU, line("main", *steps), process_id=hosts_pid),
        plane(GPU, stream, device_vendor="Nvidia", memory_size=U(2**34)),
    ]


SELECTED = ("ops", "steps", "events", "layers", "source_lines", "scopes", "hlo_ops", "kernels")


def tables_of(results: Analysis) -> dict[str, pd.DataFrame]:
    """All tables by name; those of one allocator or pipeline only where there is one."""
    memory, data, overview = results.memory, results.input_pipeline, results.overview
    found = {
        "steps": results.step_frame,
        "events": results.events,
        "flows": flow_table(results.trace, results.flows),
        "ops": results.ops,
        "ops with idle": aggregate_ops(results.occurrences, shares=results.op_shares, idle=True),
        "hlo_ops": results.hlo_ops.frame,
        "kernels": results.kernels.frame,
        "layers": results.layers.frame,
        "layer entries": results.layers.entries,
        "source_lines": results.source_lines.frame,
        "source entries": results.source_lines.entries,
        "source files": results.source_lines.files,
        "sampled lines": results.source_lines.sampled,
        "scopes": results.scopes.frame,
        "scope entries": results.scopes.entries,
        "workers": results.workers.frame,
        "memory summary": memory.summary,
        "breakdown": overview.breakdown,
        "tf_functions": overview.tf_functions,
        "input ops": data.ops,
        "categories": data.categories,
        "iterators": data.iterators,
        "pipelines": data.pipelines,
        "input steps": data.steps,
        "input hosts": data.hosts,
        "idle": results.idle,
        "kernel_launches": results.kernel_launches,
        "copies": results.copies,
        "counters": results.counters.frame,
        "program_memory": results.program_memory,
        "variables": results.variables,
        "stragglers": results.stragglers,
        "communication": results.communication,
        "calls": data.tf_data.calls,
        "slowest calls": data.tf_data.slowest_calls,
    }
    for allocator in memory.allocators[:1]:
        found |= {
            "timeline": memory.timeline(allocator),
            "peak": memory.peak(allocator),
            "live": memory.live(allocator, 0.1),
            "lifetimes": memory.lifetimes(allocator),
            "memory steps": memory.steps(allocator),
            "unfreed": memory.unfreed(allocator),
        }
        memory.growth(allocator)
    for part in (
        select(results, time_range_ns=(0, 10**6), step=None, ops=None),
        select(results, time_range_ns=(5, 5), step=None, ops=("x",)),
    ):
        found |= {f"selected {name} {part!r}": getattr(part, name) for name in SELECTED}
        found[f"selected types {part!r}"] = part.op_statistics(by="type", idle=True)
    return found


def kinds(frame: pd.DataFrame) -> dict[str, str]:
    """Types of columns; pandas has had two for text."""
    return {
        str(name): "text" if str(dtype) in ("object", "str") else str(dtype) for name, dtype in frame.dtypes.items()
    }


def of(*planes: Plane) -> Callable[[], Trace]:
    return lambda: trace(*planes)


def two_sessions() -> Trace:
    """Windows of one run: every id of the first occurs again in the second."""
    later = session(start_ns=1_700_000_000_000_000_000 + 10**9)
    return merge_traces([trace(*everything()), trace(later, *everything()[1:])])


def two_hosts() -> Trace:
    return merge_traces([read_xspace(space(*everything(hosts_pid=k)), host=f"host{k}") for k in (1, 2)])


def huge(name: str, start_ps: int, duration_ps: int, **stats: object) -> Event:
    return Event(name, start_ps, duration_ps, tuple(stats.items()))


EDGES: dict[str, Callable[[], Trace]] = {
    "nothing": of(plane(CPU)),
    "an empty line": of(plane(CPU, line("main"))),
    "only metadata": of(metadata_plane({1: PROGRAM})),
    "one op": of(plane(CPU, line("main", event("a/b:MatMul", 0, 5)))),
    "one event": of(plane(CPU, line("main", event("x", 0, 5)))),
    "one instant": of(plane(CPU, line("main", event("a:MatMul", 0, 0)))),
    "one step": of(plane(CPU, line("main", event("train", 0, 5, _r=1, step_num=0)))),
    "a step without time": of(plane(CPU, line("main", event("train", 0, 0, _r=1, step_num=0)))),
    "one allocation": of(plane(CPU, line("main", allocation("Allocation", 1, 1, 500)))),
    "one deallocation": of(plane(CPU, line("main", allocation("Deallocation", 1, 1, 500)))),
    "one iterator": of(plane(CPU, line("main", event("Iterator::Root", 0, 5, id=1)))),
    "one kernel": of(plane(GPU, line("Stream #7(Compute)", kernel(0), id=7), device_vendor="Nvidia")),
    "aggregated": of(plane(CPU, line("main", aggregated("a:B", 5, 7), aggregated("train", 5, 7, _r=1)))),
    "a device without ops": of(
        plane(CPU, line("main", event("train", 0, 9, _r=1, step_num=0))), plane(GPU, line("Stream #1"))
    ),
    "a program without module": of(plane(CPU, line("main", event("dot.2", 0, 5, hlo_op="dot.2", program_id=9)))),
    "a module without events": of(
        metadata_plane({1: PROGRAM}), plane(CPU, line("main", event("a:MatMul", 0, 5, program_id=1)))
    ),
    "before the beginning": of(
        plane(CPU, line("main", huge("a:A", -(2**62), 5), huge("b:B", 5, -5), huge("train", -9, 5, _r=1, step_num=1)))
    ),
    "beyond the end": of(
        plane(CPU, line("main", huge("a:A", 2**62, 2**62), huge("train", 2**59, 2**59, _r=1, step_num=1)))
    ),
    "two sessions": two_sessions,
    "two hosts": two_hosts,
}


@cache
def edge_tables(edge: str) -> dict[str, pd.DataFrame]:
    return tables_of(Analysis(EDGES[edge]()))


@pytest.fixture(scope="module")
def full() -> dict[str, pd.DataFrame]:
    return tables_of(Analysis(trace(*everything())))


MAY_BE_EMPTY = (
    *("source files", "sampled lines", "selected", "copies", "variables", "stragglers", "communication"),
    "program_memory",
)


def test_the_model_trace_fills_every_table(full: dict[str, pd.DataFrame]) -> None:
    empty = [name for name, table in full.items() if not len(table) and not name.startswith(MAY_BE_EMPTY)]
    assert empty == []


@pytest.mark.parametrize("edge", EDGES)
def test_every_table_keeps_its_columns_and_types(edge: str, full: dict[str, pd.DataFrame]) -> None:
    tables = edge_tables(edge)
    assert {name: kinds(table) for name, table in tables.items()} == {name: kinds(full[name]) for name in tables}
    moved = [name for name, table in tables.items() if not table.index.equals(pd.RangeIndex(len(table)))]
    assert [name for name in moved if not name.startswith("selected")] == []


@pytest.mark.parametrize("edge", EDGES)
def test_no_number_of_a_table_is_infinite_or_a_ratio_beyond_1(edge: str) -> None:
    for name, rows in edge_tables(edge).items():
        for column in map(str, rows.select_dtypes("number")):
            values = rows[column].to_numpy(np.float64)
            assert not np.isinf(values).any(), (name, column)
            if column.endswith("_ratio"):
                told = values[~np.isnan(values)]
                assert ((told >= 0) & (told <= 1 + 1e-9)).all(), (name, column)


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


def test_every_module_that_declares_tables_is_looked_in() -> None:
    declares = re.compile(r"^from \S*\btable import (?:.*\W)?table$", re.MULTILINE)
    paths = [path for path, text in layers.package_modules().items() if declares.search(text)]
    modules = {".".join(("tfprof_widgets", *path.with_suffix("").parts)) for path in paths}
    assert {found.module for found in TABLES.values()} == modules
    assert [found.name for found in TABLES.values()] == list(TABLES)


def test_what_the_browser_gets_is_declared_by_name_dtype_and_mark() -> None:
    kernels, copies, timeline = (TABLES[name] for name in ("kernels", "copies", "memory.timeline"))
    assert set(kernels.in_browser()) - set(kernels.in_browser(is_full=False)) == {
        *("occurrences", "total_time_us", "min_time_us", "max_time_us")
    }
    assert copies.in_browser() == list(copies.names)
    assert [one.column.name for one in copies.sent if one.is_nullable] == ["bytes_per_copy", "gb_per_s"]
    assert list(timeline.by_dtype) == ["f8"]
    assert {"heap_bytes", "stack_bytes"} <= set(timeline.by_dtype["f8"].split())


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
