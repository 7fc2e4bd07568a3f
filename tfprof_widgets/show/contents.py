"""Analysis -> the sections of a payload, those that a reader needs first in front."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from ..analysis.advice.host import batch_words
from ..analysis.analysis import Analysis
from ..analysis.attribution import ATTRIBUTION, drawn_rows
from ..analysis.common import hosts_of
from ..analysis.comparison.changes import UNCHANGED
from ..analysis.comparison.comparison import RunDiff
from ..analysis.comparison.words import verdict_of
from ..analysis.facts import Facts
from ..analysis.memory.moments import Snapshots
from ..analysis.ops.executions import Occurrences
from ..analysis.ops.kernels import kernel_sums
from ..analysis.ops.other import COPIES, copy_events
from ..analysis.places import UserFiles
from ..trace.arrays import Float64, Int32, Int64
from ..trace.stats import ranges
from ..trace.trace import Session, Trace
from .counters import Positions, counter_intervals, counter_table, n_counter_rows
from .lists import (
    advice_list,
    fields_of,
    hlo_graph_list,
    hlo_list,
    kernel_list,
    layer_list,
    memory_list,
    pipeline_list,
    plain,
    records,
    roofline_list,
    source_meta,
    structure_list,
)
from .pack import Interval, Section, Table, table_of
from .tables import (
    Names,
    copy_run_table,
    cut_texts,
    iterator_call_table,
    kernel_run_table,
    memory_table,
    occurrence_table,
    op_line_table,
    op_place_table,
    op_rates,
    op_table,
    piece_table,
    step_table,
    worker_step_table,
)

_MAX_SOURCE_CHARACTERS = 1_000_000
"""Of one file of code."""
_OP_PLACE_BYTES = 10
_NEVER = np.iinfo(np.int64).max


def sections_of(results: Analysis, names: Names, lines: Int32) -> dict[str, Section]:
    """All tables and lists by name; late ones first, so that they are there wherever anything is: in a saved notebook, in a
    page of a long capture."""
    found = [*_late_sections(results, names), *_list_sections(results, names), *_table_sections(results, names, lines)]
    return {one.name: one for one in found}


def _list(
    name: str, build: Callable[[Any], list[Any]], n_rows: int = 0, *, row_bytes: int = 4096, is_late: bool = False
) -> Section:
    return Section(name, n_rows, build, row_bytes, is_late=is_late, is_list=True)


def _columns(name: str, n_rows: int, build: Callable[[Any], Table], *, row_bytes: int = 0, **more: Any) -> Section:
    return Section(name, n_rows, build, row_bytes or build(slice(0, 0)).row_bytes, **more)


def _late_sections(results: Analysis, names: Names) -> Iterator[Section]:
    """Slow tables, which need the source map or all others: advice, lines, layers, and the cost by structure."""

    def late(name: str, find: Callable[[], list[Any]]) -> Section:
        return _list(name, _cut(names, lambda _: find()), is_late=True)

    source = cache(lambda: source_meta(results.source_lines))
    yield late("advice", lambda: advice_list(results.advice))
    yield late("advice_notices", lambda: list(results.advice_notices))
    yield late("attribution", lambda: _attribution(results))
    yield late("batch_room", lambda: [*batch_words(results, results.advice)])
    yield late("source_lines", lambda: source()["source_lines"])
    yield late("source_samples", lambda: source()["source_samples"])
    yield _list("source_files", lambda _: _files(source()["source_files"]), is_late=True)
    yield late("layers", lambda: layer_list(results.layers, results.variables, slice(None)))
    n_ops, build = len(results.op_shares), partial(op_place_table, results)
    yield _columns("op_places", n_ops, build, row_bytes=_OP_PLACE_BYTES, is_late=True)
    yield late("structure", lambda: structure_list(results))
    if results.has_events and not results.kernels.frame.empty:
        yield late("roofline", lambda: roofline_list(results))
    if copy_events(results.trace, results.steps).any() if results.has_events else not results.copies.empty:
        yield late("copies", lambda: records(results.copies[COPIES.in_browser()]))
    hlo_rows = _cut(names, lambda rows: hlo_list(results, UserFiles.of_map(results.source_map), rows))
    yield _list("hlo_ops", hlo_rows, len(results.hlo_ops.frame), is_late=True)
    yield late("hlo_graphs", lambda: hlo_graph_list(results))


_DECIMALS = 5
"""Of ms that are drawn."""


def _attribution(results: Analysis) -> list[dict[str, Any]]:
    """What has the time of typical steps; nothing where that is not known."""
    if not results.has_events or not len(results.steps):
        return []
    rows = drawn_rows(results, results.claimed, results.overview.typical_steps)
    return records(rows[ATTRIBUTION.in_browser()].round(_DECIMALS))


def _list_sections(results: Analysis, names: Names) -> Iterator[Section]:
    """The lists of the meta object that grow with the program; strings are cut as those of `names`."""
    kernels = results.kernels
    pipelines = cache(lambda: pipeline_list(results))
    step_names, memory = results.steps.frame["name"], results.memory
    n_pipelines = len(results.input_pipeline.pipelines)
    yield _list("step_names", _cut(names, lambda rows: step_names.iloc[rows].tolist()), len(step_names), row_bytes=200)
    yield _list("allocators", _cut(names, lambda rows: list(memory.allocators[rows])), len(memory.allocators))
    yield _list("memory_summary", _cut(names, partial(memory_list, results)), len(memory.allocators))
    yield _list("pipelines", _cut(names, lambda rows: pipelines()[rows]), n_pipelines, row_bytes=80_000)
    yield _list("kernels", _cut(names, partial(kernel_list, kernels)), len(kernels.frame))


def _cut(names: Names, build: Callable[[slice], list[Any]]) -> Callable[[slice], list[Any]]:
    return lambda rows: [cut_texts(row, names.cut) for row in build(rows)]


def _files(files: list[dict[str, str]]) -> list[dict[str, str]]:
    kept = _MAX_SOURCE_CHARACTERS
    long = "\n… ({:,} characters)"
    return [
        {**file, "text": text[:kept] + long.format(len(text)) if len(text := file["text"]) > kept else text}
        for file in files
    ]


def _table_sections(results: Analysis, names: Names, lines: Int32) -> Iterator[Section]:
    """The tables, each with how it is cut to a window of time.

    `op_shares` maps units to framework ops.
    """
    whole, shares, rates, hlo_ops = results.host_sums, results.op_shares, op_rates(results), results.hlo_ops
    n_ops, pieces = len(shares), results.steps.pieces
    sums = "occurrences:count total_ps self_ps"
    yield _columns("ops", n_ops, partial(op_table, results, names))
    totals = whole.on_all_hosts()
    yield _columns("unit_totals", len(totals.unit), partial(table_of, totals, i4="unit", f8=sums))
    yield _columns("steps", len(results.steps.frame), partial(step_table, results))
    has_hosts = len(hosts_of(results.trace)) > 1
    if results.is_averaged.any():
        inside, owner = results.step_sums, "host unit" if has_hosts else "unit"
        yield _columns("step_totals", len(inside.unit), partial(table_of, inside, i4=owner, f8=sums))
    if has_hosts:
        yield _columns("host_totals", len(whole.unit), partial(table_of, whole, i4="host unit", f8=sums))
    if not shares.is_identity:
        yield _columns("op_shares", len(shares.unit), partial(table_of, shares, i4="unit op", f8="ratio"))
    yield _columns("worker_steps", len(results.workers.frame), partial(worker_step_table, results.workers))
    if rates is not None:
        yield _columns("op_rates", n_ops, partial(table_of, rates, f8=" ".join(rates)))
    yield _columns("step_pieces", len(pieces), partial(piece_table, results), interval=lambda: _rows_last(pieces))
    if not hlo_ops.frame.empty:
        yield _columns("hlo_units", len(hlo_ops.unit_row), partial(table_of, hlo_ops, i4="hlo:unit_row"))
    if results.has_events:
        yield from _tables_of_runs(results, lines)
        yield from _tables_of_all_executions(results, names, lines)


def _tables_of_runs(results: Analysis, lines: Int32) -> Iterator[Section]:
    trace, calls, kernels = results.trace, results.tf_data.calls, results.kernels
    n_lanes = len(results.occurrences.lane_line)
    yield _columns("op_lines", n_lanes, partial(op_line_table, results, lines=lines))
    build = partial(iterator_call_table, results)
    yield _columns("iterator_calls", len(calls), build, interval=lambda: _rows_last(calls), refers="root")
    copies = np.flatnonzero(copy_events(trace, results.steps))
    if len(copies):
        yield _columns(
            "copy_runs", len(copies), partial(copy_run_table, results), interval=lambda: _lasting(trace, copies)
        )
    if not kernels.frame.empty:
        yield from _kernel_totals(results)
        runs, build = kernels.run_event, partial(kernel_run_table, trace, kernels)
        yield _columns("kernel_runs", len(runs), build, interval=lambda: _lasting(trace, runs))


def _kernel_totals(results: Analysis) -> Iterator[Section]:
    """Executions and time of each kernel in the whole capture, and in the averaged steps."""
    trace, steps, averaged = results.trace, results.steps, results.is_averaged
    whole = kernel_sums(trace, results.kernels)
    found = {"kernel_totals": whole}
    if averaged.any():
        inside = np.append(averaged, False)[steps.event_step]
        found["kernel_step_totals"] = kernel_sums(trace, results.kernels, inside)
    owner = "host kernel" if len(hosts_of(trace)) > 1 else "kernel"
    sums = "occurrences:count total_ps min_ps max_ps"
    for name, totals in found.items():
        yield _columns(name, len(totals.kernel), partial(table_of, totals, i4=owner, f8=sums))


def _tables_of_all_executions(results: Analysis, names: Names, lines: Int32) -> Iterator[Section]:
    """The largest tables: every value of a counter, every execution of an op, every allocation."""
    occurrences, snapshots = results.occurrences, results.memory.snapshots
    if n_values := n_counter_rows(results.counters):
        intervals = partial(counter_intervals, results.counters)
        yield _columns("counters", n_values, partial(counter_table, results.counters), interval=intervals)
    executed = partial(occurrence_table, results, lines=lines)
    yield _columns("occurrences", len(occurrences), executed, interval=lambda: _lasting(occurrences), refers="parent")
    allocated = partial(memory_table, results, names)
    yield _columns("memory", len(snapshots.event), allocated, interval=lambda: _held(snapshots), refers="freed_at")


def _rows_last(frame: pd.DataFrame) -> Interval:
    start_ps = frame["start_ps"].to_numpy(np.int64)
    return start_ps, start_ps + frame["duration_ps"].to_numpy(np.int64)


def _lasting(runs: Trace | Occurrences, rows: Int64 | Int32 | slice = slice(None)) -> Interval:
    return runs.start_ps[rows], runs.start_ps[rows] + runs.duration_ps[rows]


def _held(snapshots: Snapshots) -> Interval:
    """When memory is held, to its release, and the use lasts, to the allocator's next event: both may begin before a window."""
    time, allocator = snapshots.time_ps, snapshots.allocator_id
    is_last = np.append(allocator[1:] != allocator[:-1], True)[: len(time)]
    until = np.where(is_last, _NEVER, np.append(time[1:], 0)[: len(time)])
    freed = np.where(snapshots.freed_at >= 0, time[snapshots.freed_at], np.where(snapshots.is_free, time, _NEVER))
    return time, np.maximum(until, freed)


N_STEPS = 8
"""Around it, of which the first parts have most of the events."""
KEPT_STEPS = 3
"""Around the typical step, of which a page has every event."""
_FEW_STEPS = 9
"""A capture of fewer typical steps is shown whole."""
_MARGIN = 0.05
_MIN_SPAN_PS = 1000.0
N_BINS = 512
_BLOCK_EVENTS = 2**20
_SPARSE = 10
"""Sessions that fill less than this part of the capture are shown before the time between them."""

Span = tuple[float, float]


def bounds_of(facts: Facts, duration_ps: int) -> Span:
    """The whole capture as the timeline draws it, in ps: from 0 to the end of the last event or step, at least 1 us."""
    steps = facts.steps.frame
    end = int((steps["start_ps"] + steps["duration_ps"]).max()) if len(steps) else 0
    return 0.0, float(max(1_000_000, duration_ps, end))


def first_view(results: Analysis, bounds: Span, n_steps: int = 1) -> Span:
    """The typical step, with more around it where asked for; the whole capture where it is few steps or has none; one session
    where they are far apart."""
    few = _span_of(results, n_steps)
    if few is not None:
        is_most = bounds[1] - bounds[0] < max(3, _FEW_STEPS / n_steps) * (few[1] - few[0])
        return bounds if is_most else _fitted(few, bounds)
    sessions = results.trace.sessions
    if len(sessions) > 1 and _captured_ps(sessions, bounds) < (bounds[1] - bounds[0]) / _SPARSE:
        return _fitted((float(sessions[0].start_ps), float(sessions[0].stop_ps)), bounds)
    return bounds


def kept_view(results: Analysis, bounds: Span) -> Span:
    """The span of which a page has every event: three typical steps; without steps the first view."""
    return _span_of(results, KEPT_STEPS) or first_view(results, bounds)


def _span_of(results: Analysis, n_steps: int) -> Span | None:
    """When at most so many usual steps around the typical one begin and end, of its host."""
    columns = (results.steps.frame[name].to_numpy() for name in ("host", "session", "start_ps", "duration_ps"))
    host, session, start_ps, duration_ps = columns
    if not results.overview.typical_steps:
        return None
    typical = results.overview.typical_steps[0]
    of_one = np.flatnonzero(host == host[typical])
    around = int(np.searchsorted(of_one, typical))
    few = typical_steps(results.is_averaged[of_one], session[of_one], n_steps, around=around)
    first, last = of_one[list(few or (around, around))].tolist()
    return float(start_ps[first]), float(start_ps[last] + duration_ps[last])


def _captured_ps(sessions: Sequence[Session], bounds: Span) -> float:
    ordered = sorted(sessions, key=lambda session: session.start_ps)
    between, reached = 0.0, ordered[0].stop_ps
    for session in ordered[1:]:
        between += max(0.0, min(session.start_ps, bounds[1]) - reached)
        reached = max(reached, session.stop_ps)
    return bounds[1] - bounds[0] - between


def typical_steps(
    is_averaged: np.ndarray, session: np.ndarray, n_steps: int = N_STEPS, *, around: int | None = None
) -> tuple[int, int] | None:
    """First and last of at most so many neighbouring usual steps of one session, in the middle or around one; else None."""
    usual = np.flatnonzero(is_averaged)
    if not len(usual):
        return None
    first = last = int(usual[max(0, (len(usual) - n_steps) // 2)]) if around is None else around
    like = np.asarray(is_averaged, np.bool_) & (session == session[first])
    while around is not None and first > 0 and like[first - 1] and last - first < n_steps // 2:
        first -= 1
    while last - first + 1 < n_steps and last + 1 < len(like) and like[last + 1]:
        last += 1
    while last - first + 1 < n_steps and first > 0 and like[first - 1]:
        first -= 1
    return first, last


def _fitted(span: Span, bounds: Span) -> Span:
    """A span with a margin on both sides, moved and cut to lie within the bounds."""
    pad = max(_MIN_SPAN_PS, (span[1] - span[0]) * _MARGIN)
    length = min(bounds[1] - bounds[0], span[1] - span[0] + 2 * pad)
    start = min(max(span[0] - pad, bounds[0]), bounds[1] - length)
    return start, start + length


def activity(trace: Trace, positions: Positions, bounds: Span) -> dict[str, list[float]]:
    """Busy share of each of 512 bins of the capture, 0 to 1: by `host` the mean over its lines, by `device` of any stream."""
    first_rows = np.flatnonzero(positions.row_depth == 0)
    lines = positions.lines[positions.row_line[first_rows]].tolist()
    hosts: list[Int64] = []
    devices: dict[int, list[int]] = {}
    for row, number in zip(first_rows.tolist(), lines, strict=True):
        line = trace.lines[number]
        plane = trace.planes[line.plane]
        if plane.is_host and not line.is_derived:
            hosts.append(np.array([row], np.int64))
        elif plane.is_device and not line.is_derived:
            devices.setdefault(line.plane, []).append(row)
    groups = {"host": hosts, "device": [np.array(rows, np.int64) for rows in devices.values()]}
    return {kind: _busy(trace, positions, rows, bounds) for kind, rows in groups.items()}


def _busy(trace: Trace, positions: Positions, groups: list[Int64], bounds: Span) -> list[float]:
    """Share of each bin in which an event of a group of rows is on, the mean over the groups; none without groups."""
    if not groups:
        return []
    covered, scale = np.zeros(N_BINS + 1), N_BINS / (bounds[1] - bounds[0])
    for rows in groups:  # bounded by the lines of the trace
        begin = positions.row_offsets[rows]
        chosen = ranges(begin, positions.row_offsets[rows + 1] - begin)
        start = trace.start_ps[events := positions.order[chosen]]
        end = start + trace.nesting.span_ps[events]
        if len(rows) > 1:
            start, end = _joined(start, end)
        for first in range(0, len(start), _BLOCK_EVENTS):  # by block, to spare memory
            on, off = (ps[first : first + _BLOCK_EVENTS].astype(np.float64) for ps in (start, end))
            covered += _passed((on - bounds[0]) * scale) - _passed((off - bounds[0]) * scale)
    return [round(share, 4) for share in np.clip(np.diff(covered) / len(groups), 0, 1).tolist()]


def _joined(start: Int64, end: Int64) -> tuple[Int64, Int64]:
    """Of events that overlap each what those that began before it leave."""
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    return np.maximum(start, np.append(start[:1], end[:-1])), end


def _passed(times: Float64) -> Float64:
    """For each edge of the bins the sum of how far it is after the times before it, in bins."""
    times = np.clip(times, 0, N_BINS)
    bins = times.astype(np.intp)
    n, total = (np.bincount(bins, weights, N_BINS + 1).cumsum() for weights in (None, times))
    return np.append(0.0, np.arange(1, N_BINS + 1) * n[:-1] - total[:-1])


MOST_ROWS = 1000
"""What changed beyond noise comes first, then what changed most."""
MOST_OPS = 200
"""Ops that one row selects in the timelines, such as those of a layer."""
_SHOWN_STEPS = 3
"""In which a reader sees when something in b starts later than in a."""

Cut = Callable[[str], str]


Row = Mapping[Hashable, Any]


@dataclass(frozen=True)
class _Kind:
    """How a table of a `RunDiff` is shown."""

    name: Callable[[Row], str]
    detail: str = ""
    """The column that tells equal names apart."""
    values: tuple[str, str, str, str] = ("a_ms", "b_ms", "change_ms", "noise_ms")
    key: tuple[str, ...] = ()
    """The key of a row of several ops in both runs."""
    selects: Callable[[Row], tuple[str, str]] = lambda _row: ("", "")
    """What any other row selects in the timelines of a and of b, "" for nothing."""


def _both(name: str) -> tuple[str, str]:
    return name, name


_KINDS: Mapping[str, _Kind] = {
    "ops": _Kind(
        lambda row: row["name"], "type", selects=lambda row: (row["a_name"], row["name"] if _is_in_b(row) else "")
    ),
    "layers": _Kind(lambda row: row["layer"], "class_name", key=("layer", "class_name", "kind", "device")),
    "source_lines": _Kind(
        lambda row: row["code"].strip() or row["bucket"], key=("file", "line", "function", "code", "bucket", "device")
    ),
    "kernels": _Kind(lambda row: row["name"], "op_name", selects=lambda row: _both(row["op_name"] or row["name"])),
    "iterators": _Kind(lambda row: row["name"], "long_name", selects=lambda row: _both(row["long_name"])),
    "memory": _Kind(lambda row: row["allocator"], "metric", ("a", "b", "change", "noise")),
}


def diff_content(
    diff: RunDiff, *, titles: Sequence[str], notices: Sequence[str], cut: tuple[Cut, Cut]
) -> dict[str, Any]:
    """All that a comparison shows beside its timelines."""
    cut_a, cut_b = cut
    is_in_a = diff.ops["a_name"] != ""
    names = (diff.ops.loc[is_in_a & ~_is_in_b(diff.ops), "a_name"], diff.ops.loc[~is_in_a, "name"])
    return {
        "titles": list(titles),
        "verdict": verdict_of(diff),
        "notices": [*notices, *_nothing_in_common(diff)],
        "is_per_step": diff.is_per_step,
        "n_events": [diff.a.trace.n_events, diff.b.trace.n_events],
        "step_times": _step_times(diff),
        "categories": cut_texts(records(diff.categories), cut_b),
        "tables": [table for name in _KINDS if (table := _table(name, diff, cut))["n_rows"]],
        "pairs": [[cut_a(a), cut_b(b)] for a, b in _renamed(diff.ops)],
        "lone": [[own(text) for text in column.head(MOST_ROWS)] for own, column in zip(cut, names, strict=True)],
        "alignment": _alignment(diff),
    }


def _nothing_in_common(diff: RunDiff) -> list[str]:
    ops = diff.ops
    if (
        not (diff.a.trace.n_events and diff.b.trace.n_events)
        or ops.empty
        or (_is_in_b(ops) & (ops["a_name"] != "")).any()
    ):
        return []
    return ["No op is in both runs: they are different programs, so only their step times can be compared."]


def _step_times(diff: RunDiff) -> dict[str, Any] | None:
    if not diff.is_per_step:
        return None
    times = diff.step_times
    found = fields_of(times, "a_ms", "b_ms", "ratio", "noise_ms", "n_a", "n_b")
    low, high = times.interval
    return found | {
        "interval": [plain(low), plain(high)],
        "is_known": bool(times.is_known),
        "is_beyond_noise": bool(times.is_beyond_noise),
    }


def _alignment(diff: RunDiff) -> dict[str, Any]:
    """Where both timelines begin, in ps: at the start of a typical step of each, or of the capture where a run has none."""
    starts, steps, spans = [], [], []
    for one in (diff.a, diff.b):
        frame = one.steps.frame
        few = typical_steps(one.is_averaged, frame["session"].to_numpy()) if len(frame) else None
        if few is None or not diff.is_per_step:
            bounds: Span = bounds_of(one, int(one.trace.end_ps.max()) if one.trace.n_events else 0)
            start, step, span = 0.0, "", (bounds[1] - bounds[0])
        else:
            row, last = few[0], min(few[1], few[0] + _SHOWN_STEPS - 1)
            step = str(frame["step"].iloc[row])
            start = float(frame["start_ps"].iloc[row])
            span = float(frame["start_ps"].iloc[last] + frame["duration_ps"].iloc[last]) - start
        starts.append(start)
        steps.append(step)
        spans.append(span)
    return {"start_ps": starts, "step": steps, "span_ps": max(spans)}


# ---- tables ---------------------------------------------------------------------------------------------------------


def _table(name: str, diff: RunDiff, cut: tuple[Cut, Cut]) -> dict[str, Any]:
    kind, frame = _KINDS[name], getattr(diff, name)
    changed = ~frame["state"].isin(UNCHANGED).to_numpy(np.bool_)
    # Positions of the rows that are shown, in the order of the table: those that changed beyond noise in any case
    order = np.argsort(~changed, kind="stable")[:MOST_ROWS]
    chosen = np.sort(order)
    shown = frame.iloc[chosen]
    rows, cut_b = shown.to_dict("records"), cut[1]
    numbers = dict(zip(("a", "b", "change", "noise"), kind.values, strict=True)) | {"ratio": "ratio"}
    columns = {
        "name": [cut_b(kind.name(row)) for row in rows],
        "detail": [cut_b(str(text)) for text in shown[kind.detail]] if kind.detail else [""] * len(shown),
        "place": [f"{row['file']}:{row['line']}" if "file" in row and not row["bucket"] else "" for row in rows],
        "where": shown["device"].astype(str).str.lower().tolist() if "device" in shown else [""] * len(shown),
        "unit": shown["unit"].tolist() if "unit" in shown else ["ms"] * len(shown),
        **{key: [plain(value) for value in shown[column].tolist()] for key, column in numbers.items()},
        "state": shown["state"].tolist(),
        "ops": _ops_of(name, diff, rows, cut),
    }
    is_noise_known = bool(frame[kind.values[-1]].notna().any())
    counts = {"n_rows": len(frame), "n_changed": int(changed.sum()), "is_noise_known": is_noise_known}
    return {"id": name, **counts, "columns": columns}


def _ops_of(name: str, diff: RunDiff, rows: list[dict[Hashable, Any]], cut: tuple[Cut, Cut]) -> list[list[list[str]]]:
    """For each row what it selects in the timelines of a and of b."""
    kind = _KINDS[name]
    if kind.key:
        sides = [_Members(one, name, own_cut) for one, own_cut in zip((diff.a, diff.b), cut, strict=True)]
        return [[side.of(tuple(row[key] for key in kind.key)) for side in sides] for row in rows]
    return [[[own(text)] if text else [] for own, text in zip(cut, kind.selects(row), strict=True)] for row in rows]


def _is_in_b(ops: Any) -> Any:
    return (ops["b_count"] > 0) | (ops["b_ms"] > 0)


class _Members:
    """The ops of each layer, or of each source line, of one run."""

    def __init__(self, facts: Facts, name: str, cut: Cut) -> None:
        found = facts.layers if name == "layers" else facts.source_lines
        shares = facts.op_shares
        labels = [tuple(row) for row in found.entries[list(_KINDS[name].key[:-1])].itertuples(index=False)]
        self._ops: dict[tuple[Hashable, ...], list[str]] = {}
        entries, is_device = found.op_entry.tolist(), np.asarray(shares.is_device).tolist()
        for op, entry in enumerate(entries):  # one turn per op
            if entry < 0:
                continue
            names = self._ops.setdefault((*labels[entry], "Device" if is_device[op] else "Host"), [])
            if len(names) < MOST_OPS:
                names.append(cut(shares.name[op]))

    def of(self, key: tuple[Hashable, ...]) -> list[str]:
        return self._ops.get(key, [])


def _renamed(ops: pd.DataFrame) -> list[tuple[str, str]]:
    """Names in a and in b of ops that are called differently in the two runs."""
    both = ops[(ops["a_name"] != "") & (ops["a_name"] != ops["name"])]
    return list(zip(both["a_name"].tolist(), both["name"].tolist(), strict=True))
