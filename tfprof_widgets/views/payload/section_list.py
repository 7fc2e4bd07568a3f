"""Analysis results -> the sections of a payload, the ones that a reader needs first in front."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from ...analysis.ops.host_totals import hosts_of
from ...analysis.results import Results
from ...trace.trace import Int32, Int64
from .advice_list import advice_list
from .counters import counter_intervals, counter_table, n_counter_rows
from .hlo_tables import hlo_list, hlo_unit_table
from .kernel_tables import kernel_list, kernel_run_table
from .layer_meta import layer_list
from .meta import pipeline_list, records
from .names import Names, cut_texts
from .op_rates import op_rate_table
from .place_tables import op_place_table
from .scope_meta import scope_list
from .sections import Interval, LateSection, ListSection, TableSection
from .source_meta import source_meta
from .structure_meta import structure_list
from .tables import (
    host_total_table,
    iterator_call_table,
    memory_table,
    occurrence_table,
    op_line_table,
    op_share_table,
    op_table,
    piece_table,
    step_table,
    unit_total_table,
)
from .wire import Rows, Table
from .worker_tables import worker_step_table

_MAX_SOURCE_CHARACTERS = 1_000_000
"""Of one file of code."""
_QUICK_STRUCTURE_EVENTS = 5_000
"""Of more the first paint does not wait for the trees of the ops."""
_NEVER = np.iinfo(np.int64).max


def late_sections(results: Results, names: Names) -> Iterator[LateSection]:
    """What takes long to find: what to change, which comes from everything else, and the cost by structure."""
    yield LateSection("advice", lambda: [cut_texts(row, names.cut) for row in advice_list(results.advice)])
    yield LateSection("next_steps", lambda: [names.cut(text) for text in results.overview.next_steps])
    yield LateSection("advice_notices", lambda: [names.cut(text) for text in results.advice_notices])
    yield LateSection(
        "structure", lambda: [cut_texts(row, names.cut) for row in structure_list(results)], _QUICK_STRUCTURE_EVENTS
    )


def list_sections(results: Results, names: Names) -> Iterator[ListSection]:
    """The lists of the meta object that grow with the program; strings are cut as those of `names`."""
    kernels, hlo_ops, layers, scopes = results.kernels, results.hlo_ops, results.layers, results.scopes
    source = cache(lambda: source_meta(results.source_lines))
    n_files, n_lines = len(source()["source_files"]), len(source()["source_lines"])
    pipelines = cache(lambda: pipeline_list(results))

    def listed(build: Callable[[slice], list[Any]]) -> Callable[[int, int], list[Any]]:
        return lambda begin, end: [cut_texts(row, names.cut) for row in build(slice(begin, end))]

    step_names, memory = results.steps.frame["name"], results.memory
    yield ListSection("step_names", len(step_names), listed(lambda rows: step_names.iloc[rows].tolist()), 20_000)
    yield ListSection("allocators", len(memory.allocators), listed(lambda rows: list(memory.allocators[rows])))
    yield ListSection("memory_summary", len(memory.summary), listed(lambda rows: records(memory.summary.iloc[rows])))
    yield ListSection("pipelines", len(results.input_pipeline.pipelines), listed(lambda rows: pipelines()[rows]), 50)
    yield ListSection("layers", len(layers.entries), listed(partial(layer_list, layers)))
    yield ListSection("source_lines", n_lines, listed(lambda rows: source()["source_lines"][rows]))
    yield ListSection("scopes", len(scopes.entries), listed(partial(scope_list, scopes)), 10_000)
    yield ListSection("kernels", len(kernels.frame), listed(partial(kernel_list, kernels)))
    yield ListSection("hlo_ops", len(hlo_ops.frame), listed(partial(hlo_list, hlo_ops)))
    yield ListSection("source_files", n_files, lambda begin, end: _files(source()["source_files"][begin:end]), 4)


def _files(files: list[dict[str, str]]) -> list[dict[str, str]]:
    kept = _MAX_SOURCE_CHARACTERS
    long = "\n… ({:,} characters)"
    return [
        {**file, "text": text[:kept] + long.format(len(text)) if len(text := file["text"]) > kept else text}
        for file in files
    ]


def table_sections(results: Results, names: Names, lines: Int32) -> Iterator[TableSection]:
    """The tables, each with how it is cut to a window of time.

    Args:
        results: of the trace.
        names: as they are numbered for the browser.
        lines: for each line of the trace its number in the browser.
    """
    yield from _tables_of_ops(results, names, lines)
    yield from _tables_of_runs(results)
    yield from _tables_of_all_executions(results, names, lines)


def _tables_of_ops(results: Results, names: Names, lines: Int32) -> Iterator[TableSection]:
    """What is known of ops and steps as a whole."""
    totals, rates, n_ops = results.unit_totals, op_rate_table(results), len(results.op_shares)
    n_lanes = len(results.occurrences.lane_line)
    yield TableSection("ops", n_ops, partial(op_table, results, names))
    yield TableSection("unit_totals", len(totals.unit), partial(unit_total_table, totals))
    yield TableSection("steps", len(results.steps.frame), partial(step_table, results))
    if len(hosts_of(results.trace)) > 1:
        by_host = results.host_totals
        yield TableSection("host_totals", len(by_host.unit), partial(host_total_table, by_host))
    if not results.op_shares.is_identity:
        yield TableSection("op_shares", len(results.op_shares.unit), partial(op_share_table, results))
    yield TableSection("op_lines", n_lanes, partial(op_line_table, results, lines=lines))
    yield TableSection("op_places", n_ops, partial(op_place_table, results))
    yield TableSection("worker_steps", len(results.workers.frame), partial(worker_step_table, results.workers))
    if rates is not None:
        yield TableSection("op_rates", n_ops, partial(_sliced, rates))


def _tables_of_runs(results: Results) -> Iterator[TableSection]:
    """What happened in steps, pipelines and on devices."""
    pieces, calls = results.steps.pieces, results.input_pipeline.tf_data.calls
    trace, kernels = results.trace, results.kernels
    yield TableSection(
        "step_pieces",
        len(pieces),
        partial(piece_table, results),
        lambda: _lasting(pieces["start_ps"].to_numpy(), pieces["duration_ps"].to_numpy()),
    )
    if not results.hlo_ops.frame.empty:
        yield TableSection("hlo_units", len(results.hlo_ops.unit_row), partial(hlo_unit_table, results.hlo_ops))
    yield TableSection(
        "iterator_calls",
        len(calls),
        partial(iterator_call_table, results),
        lambda: _lasting(calls["start_ps"].to_numpy(np.int64), calls["duration_ps"].to_numpy(np.int64)),
        refers="root",
    )
    if not kernels.frame.empty:
        yield TableSection(
            "kernel_runs",
            len(kernels.run_event),
            partial(kernel_run_table, trace, kernels),
            lambda: _lasting(trace.start_ps[kernels.run_event], trace.duration_ps[kernels.run_event]),
        )


def _tables_of_all_executions(results: Results, names: Names, lines: Int32) -> Iterator[TableSection]:
    """The largest tables: every value of a counter, every execution of an op, every allocation."""
    occurrences, snapshots = results.occurrences, results.memory.snapshots
    n_values = n_counter_rows(results.counters)
    if n_values:
        intervals = partial(counter_intervals, results)
        yield TableSection("counters", n_values, partial(counter_table, results), intervals)
    yield TableSection(
        "occurrences",
        len(occurrences),
        partial(occurrence_table, results, lines=lines),
        lambda: _lasting(occurrences.start_ps, occurrences.duration_ps),
        refers="parent",
    )
    yield TableSection(
        "memory",
        len(snapshots.event),
        partial(memory_table, results, names),
        lambda: _held(snapshots.time_ps, snapshots.is_free, snapshots.freed_at),
        refers="freed_at",
    )


def _sliced(table: Table, rows: Rows) -> Table:
    return Table({name: (values[rows], dtype) for name, (values, dtype) in table.columns.items()})


def _lasting(start_ps: Int64, duration_ps: Int64) -> Interval:
    return start_ps, start_ps + duration_ps


def _held(time_ps: Int64, is_free: np.ndarray, freed_at: Int64) -> Interval:
    """Memory of an allocation is held until it is given back: what is in use in a window may be older than it."""
    end = np.where(freed_at >= 0, time_ps[freed_at], np.where(is_free, time_ps, _NEVER))
    return time_ps, end
