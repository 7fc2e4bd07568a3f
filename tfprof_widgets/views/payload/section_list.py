"""Analysis results -> the sections of a payload, the ones that a reader needs first in front."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from ...analysis.advice.batch_room import batch_words
from ...analysis.base.hosts import hosts_of
from ...analysis.base.user_files import UserFiles
from ...analysis.memory.memory_snapshots import Snapshots
from ...analysis.ops.copies import copy_events
from ...analysis.ops.kernel_totals import compute_kernel_totals
from ...analysis.results import AnyResults, Results
from ...trace.trace import Int32, Int64
from .counters import counter_intervals, counter_table, n_counter_rows
from .hlo_graph_list import hlo_graph_list
from .lists import advice_list, hlo_list, kernel_list, layer_list, pipeline_list, scope_list
from .meta import scope_note
from .names import Names, cut_texts
from .op_tables import occurrence_table, op_line_table, op_place_table, op_rates, op_table
from .plain import records
from .roofline_meta import roofline_list
from .run_tables import (
    copy_run_table,
    iterator_call_table,
    kernel_run_table,
    memory_table,
    piece_table,
    step_table,
    worker_step_table,
)
from .sections import Interval, LateList, LateSection, LateTable, ListSection, TableSection
from .source_meta import source_meta
from .structure_meta import structure_list
from .wire import table_of

_MAX_SOURCE_CHARACTERS = 1_000_000
"""Of one file of code."""
_OP_PLACE_BYTES = 14
_TOP_OPS = "occurrences ms:self_time_ms_per_step ratio:self_time_ratio"
_NEVER = np.iinfo(np.int64).max


def late_sections(results: AnyResults, names: Names) -> Iterator[LateSection | LateList | LateTable]:
    """What takes long to find, as it needs the source map or comes from everything else: what to change, lines, layers and
    scopes, and the cost by structure."""

    def late(name: str, find: Callable[[], list[Any]]) -> LateSection:
        return LateSection(name, lambda: [cut_texts(row, names.cut) for row in find()])

    source = cache(lambda: source_meta(results.source_lines))
    yield late("advice", lambda: advice_list(results.advice))
    yield late("next_steps", lambda: list(results.overview.next_steps))
    yield late("advice_notices", lambda: list(results.advice_notices))
    yield late("batch_room", lambda: [*batch_words(results, results.advice)])
    yield late("source_lines", lambda: source()["source_lines"])
    yield late("source_samples", lambda: source()["source_samples"])
    yield LateSection("source_files", lambda: _files(source()["source_files"]))
    yield late("layers", lambda: layer_list(results.layers, results.variables, slice(None)))
    yield late("scopes", lambda: scope_list(results.scopes, slice(None)))
    yield late("scope_note", lambda: [note] if (note := scope_note(results.scopes)) else [])
    yield LateTable("op_places", len(results.op_shares), partial(op_place_table, results), row_bytes=_OP_PLACE_BYTES)
    yield late("structure", lambda: structure_list(results))
    if isinstance(results, Results) and not results.kernels.frame.empty:
        yield late("roofline", lambda: roofline_list(results))
    if _has_copies(results):
        yield late("copies", lambda: records(results.copies))
    yield LateList("hlo_ops", len(results.hlo_ops.frame), _cut(names, lambda rows: _hlo_rows(results, rows)))
    yield late("hlo_graphs", lambda: hlo_graph_list(results))


def _has_copies(results: AnyResults) -> bool:
    """Whether a device copied anything, told without working out of what."""
    if isinstance(results, Results):
        return bool(copy_events(results.trace, results.steps).any())
    return not results.copies.empty


def list_sections(results: AnyResults, names: Names) -> Iterator[ListSection]:
    """The lists of the meta object that grow with the program; strings are cut as those of `names`."""
    kernels = results.kernels
    pipelines = cache(lambda: pipeline_list(results))

    def listed(build: Callable[[slice], list[Any]]) -> Callable[[int, int], list[Any]]:
        return _cut(names, build)

    step_names, memory = results.steps.frame["name"], results.memory
    yield ListSection("step_names", len(step_names), listed(lambda rows: step_names.iloc[rows].tolist()), 20_000)
    yield ListSection("allocators", len(memory.allocators), listed(lambda rows: list(memory.allocators[rows])))
    yield ListSection("memory_summary", len(memory.summary), listed(lambda rows: records(memory.summary.iloc[rows])))
    yield ListSection("pipelines", len(results.input_pipeline.pipelines), listed(lambda rows: pipelines()[rows]), 50)
    yield ListSection("kernels", len(kernels.frame), listed(partial(kernel_list, kernels)))


def _cut(names: Names, build: Callable[[slice], list[Any]]) -> Callable[[int, int], list[Any]]:
    return lambda begin, end: [cut_texts(row, names.cut) for row in build(slice(begin, end))]


def _hlo_rows(results: AnyResults, rows: slice) -> list[dict[str, Any]]:
    return hlo_list(results, UserFiles.of_map(results.source_map), rows)


def _files(files: list[dict[str, str]]) -> list[dict[str, str]]:
    kept = _MAX_SOURCE_CHARACTERS
    long = "\n… ({:,} characters)"
    return [
        {**file, "text": text[:kept] + long.format(len(text)) if len(text := file["text"]) > kept else text}
        for file in files
    ]


def table_sections(results: AnyResults, names: Names, lines: Int32) -> Iterator[TableSection]:
    """The tables, each with how it is cut to a window of time.

    Args:
        results: of the trace.
        names: as they are numbered for the browser.
        lines: for each line of the trace its number in the browser.
    """
    yield from _tables_of_ops(results, names)
    if isinstance(results, Results):
        yield from _tables_of_runs(results, lines)
        yield from _tables_of_all_executions(results, names, lines)


def _tables_of_ops(results: AnyResults, names: Names) -> Iterator[TableSection]:
    """What is known of ops and steps as a whole.

    `top_ops` are those of `compute_top_ops`, a step, where steps are averaged, else of the whole capture.
    `unit_totals` and, host by host, `host_totals` are executions and time of each unit in the whole capture, `step_totals` those
    in the averaged steps, of several hosts host by host; `op_shares` tells which framework ops a unit stands for; `hlo_units`
    has for each unit its row of `hlo_ops`, -1 for none.
    """
    totals, shares, rates, hlo_ops = results.unit_totals, results.op_shares, op_rates(results), results.hlo_ops
    n_ops, pieces = len(shares), results.steps.pieces
    sums = "occurrences:count total_ps self_ps"
    yield TableSection("ops", n_ops, partial(op_table, results, names))
    yield TableSection("top_ops", len(results.top_ops), partial(table_of, results.top_ops, i4="host op", f8=_TOP_OPS))
    yield TableSection("unit_totals", len(totals.unit), partial(table_of, totals, i4="unit", f8=sums))
    yield TableSection("steps", len(results.steps.frame), partial(step_table, results))
    has_hosts = len(hosts_of(results.trace)) > 1
    if results.is_averaged.any():
        inside, owner = results.step_totals, "host unit" if has_hosts else "unit"
        yield TableSection("step_totals", len(inside.unit), partial(table_of, inside, i4=owner, f8=sums))
    if has_hosts:
        by_host = results.host_totals
        yield TableSection("host_totals", len(by_host.unit), partial(table_of, by_host, i4="host unit", f8=sums))
    if not shares.is_identity:
        yield TableSection("op_shares", len(shares.unit), partial(table_of, shares, i4="unit op", f8="ratio"))
    yield TableSection("worker_steps", len(results.workers.frame), partial(worker_step_table, results.workers))
    if rates is not None:
        yield TableSection("op_rates", n_ops, partial(table_of, rates, f8=" ".join(rates)))
    yield TableSection("step_pieces", len(pieces), partial(piece_table, results), lambda: _rows_last(pieces))
    if not hlo_ops.frame.empty:
        yield TableSection("hlo_units", len(hlo_ops.unit_row), partial(table_of, hlo_ops, i4="hlo:unit_row"))


def _tables_of_runs(results: Results, lines: Int32) -> Iterator[TableSection]:
    """What can be idle, and what happened in pipelines and on devices."""
    trace, calls, kernels = results.trace, results.tf_data.calls, results.kernels
    n_lanes = len(results.occurrences.lane_line)
    yield TableSection("op_lines", n_lanes, partial(op_line_table, results, lines=lines))
    build = partial(iterator_call_table, results)
    yield TableSection("iterator_calls", len(calls), build, lambda: _rows_last(calls), refers="root")
    copies = np.flatnonzero(copy_events(trace, results.steps))
    if len(copies):
        yield TableSection(
            "copy_runs",
            len(copies),
            partial(copy_run_table, results),
            lambda: _lasting(trace.start_ps[copies], trace.duration_ps[copies]),
        )
    if not kernels.frame.empty:
        yield from _kernel_totals(results)
        yield TableSection(
            "kernel_runs",
            len(kernels.run_event),
            partial(kernel_run_table, trace, kernels),
            lambda: _lasting(trace.start_ps[kernels.run_event], trace.duration_ps[kernels.run_event]),
        )


def _kernel_totals(results: Results) -> Iterator[TableSection]:
    """Of each kernel its executions and time in the whole capture, and in the averaged steps."""
    trace, steps, averaged = results.trace, results.steps, results.is_averaged
    whole = compute_kernel_totals(trace, results.kernels)
    found = {"kernel_totals": whole}
    if averaged.any():
        inside = np.append(averaged, False)[steps.event_step]
        found["kernel_step_totals"] = compute_kernel_totals(trace, results.kernels, inside)
    owner = "host kernel" if len(hosts_of(trace)) > 1 else "kernel"
    sums = "occurrences:count total_ps min_ps max_ps"
    for name, totals in found.items():
        yield TableSection(name, len(totals.kernel), partial(table_of, totals, i4=owner, f8=sums))


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
        lambda: _held(snapshots),
        refers="freed_at",
    )


def _rows_last(frame: pd.DataFrame) -> Interval:
    return _lasting(frame["start_ps"].to_numpy(np.int64), frame["duration_ps"].to_numpy(np.int64))


def _lasting(start_ps: Int64, duration_ps: Int64) -> Interval:
    return start_ps, start_ps + duration_ps


def _held(snapshots: Snapshots) -> Interval:
    """Memory of an allocation is held until it is given back, and what is in use then is so until the allocator's next event:
    both may be older than a window in which they count."""
    time, allocator = snapshots.time_ps, snapshots.allocator_id
    is_last = np.append(allocator[1:] != allocator[:-1], True)[: len(time)]
    until = np.where(is_last, _NEVER, np.append(time[1:], 0)[: len(time)])
    freed = np.where(snapshots.freed_at >= 0, time[snapshots.freed_at], np.where(snapshots.is_free, time, _NEVER))
    return time, np.maximum(until, freed)
