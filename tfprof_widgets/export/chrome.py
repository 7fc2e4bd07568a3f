"""A profile -> Chrome trace events, which Perfetto, chrome://tracing and speedscope open and `load` reads back."""

from __future__ import annotations

import base64
import gzip
import io
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from ..analysis.analysis import Analysis
from ..analysis.timeline import KINDS, Counters, Flows
from ..errors import TfProfError
from ..read.saved import SavedProfile
from ..trace.arrays import Bool
from ..trace.building import last_of_each_name, whole_stats
from ..trace.trace import StatKind, Trace
from .files import StatTexts, compact, microseconds, plain, quoted, real, replacing

CHUNK = 2**15
"""Events that are text at once: some 10 MB."""
_SPAN = '{"ph":"X",%s,"ts":%s,"dur":%s,"name":%s%s}'
_INSTANT = '{"ph":"i","s":"t",%s,"ts":%s,"name":%s%s}'
_BEGIN = '{"ph":"b","cat":"overlapping","id":"%d",%s,"ts":%s,"name":%s%s}'
_END = '{"ph":"e","cat":"overlapping","id":"%d",%s,"ts":%s,"name":%s}'
_AGGREGATED = '{"ph":"i","s":"t","cat":"aggregated",%s,"ts":%s,"name":%s%s}'
_COUNT, _TOTAL = "$occurrences", "$total_us"
"""Members of the `args` of an aggregated event beside its stats."""


def process_of(plane: int) -> int:
    """The `pid` of a plane. Viewers keep 0 for themselves."""
    return plane + 1


def thread_of(trace: Trace, line: int) -> int:
    """The `tid` of a line: none equals a `pid`, which viewers would take for the main thread."""
    return len(trace.planes) + 1 + line


def place(trace: Trace, line: int) -> str:
    """Process and thread of a line as members of an event."""
    return f'"pid":{process_of(trace.lines[line].plane)},"tid":{thread_of(trace, line)}'


def event_texts(trace: Trace) -> Iterator[list[str]]:
    """The events in the order of the trace; a list of texts for every `CHUNK` of them."""
    writer = _Writer(trace)
    for low in range(0, trace.n_events, CHUNK):
        yield writer.texts(slice(low, min(low + CHUNK, trace.n_events)))


class _Writer:
    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._stats = StatTexts(trace)
        self._places = np.array([place(trace, line) for line in range(len(trace.lines))], object)
        self._is_async = outliving(trace)

    def texts(self, rows: slice) -> list[str]:
        trace = self._trace
        stats = last_of_each_name(whole_stats(self._trace, np.arange(rows.start, rows.stop)))
        members = self._stats.members(stats.key, stats.kind, stats.bits)
        stop = np.cumsum(stats.n)
        spans = zip((stop - stats.n).tolist(), stop.tolist(), strict=True)
        args = [f',"args":{{{",".join(members[low:high])}}}' if high > low else "" for low, high in spans]
        places = self._places[trace.line_id[rows]].tolist()
        names = self._stats.strings(trace.name_id[rows]).tolist()
        starts = microseconds(trace.start_ps[rows])
        durations = microseconds(trace.duration_ps[rows])
        texts = list(map(_SPAN.__mod__, zip(places, starts, durations, names, args, strict=True)))
        duration, count = trace.duration_ps[rows], trace.n_occurrences[rows]
        for i in np.flatnonzero((duration == 0) & (count == 0)).tolist():
            texts[i] = _INSTANT % (places[i], starts[i], names[i], args[i])
        for i in np.flatnonzero(count > 0).tolist():  # only compiled programs have these, one per op
            told = f'"{_COUNT}":{count[i]},"{_TOTAL}":{durations[i]}'
            more = f',"args":{{{told},{args[i][9:]}' if args[i] else f',"args":{{{told}}}'
            texts[i] = _AGGREGATED % (places[i], starts[i], names[i], more)
        outliving_rows = np.flatnonzero(self._is_async[rows])
        ends = microseconds(trace.ends(rows)[outliving_rows])
        for i, end in zip(outliving_rows.tolist(), ends, strict=True):
            number = rows.start + i
            begin = _BEGIN % (number, places[i], starts[i], names[i], args[i])
            texts[i] = f"{begin},\n{_END % (number, places[i], end, names[i])}"
        return texts


def outliving(trace: Trace) -> Bool:
    """Which timed events start inside another of their line and end after it: viewers drop those, or cut them."""
    timed = trace.n_occurrences == 0
    found = np.zeros(trace.n_events, np.bool_)
    cut = (trace.nesting.span_ps < trace.duration_ps) & timed
    for line in np.unique(trace.line_id[cut]).tolist():
        low, high = trace.line_offsets[line : line + 2].tolist()
        rows = low + np.flatnonzero((timed & (trace.duration_ps > 0))[low:high])
        open_ends: list[int] = []
        for row, start, end in zip(
            rows.tolist(), trace.start_ps[rows].tolist(), trace.ends(rows).tolist(), strict=True
        ):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            if open_ends and end > open_ends[-1]:
                found[row] = True
            else:
                open_ends.append(end)
    return found


VERSION = 1
MOST_SENT = 3_000_000
"""Events of a trace for a page: some 70 MB compressed, which the kernel writes in half a minute."""
_SENT_LEVEL = 1
_PIECE_BYTES = 4 * 2**20
_FLOW_START = '{"ph":"s","cat":"%s","id":%d,%s,"ts":%s,"name":"%s"}'
_FLOW_END = '{"ph":"f","bp":"e","cat":"%s","id":%d,%s,"ts":%s,"name":"%s"}'


def write_chrome_trace(
    path: Path, results: Analysis, *, saved: SavedProfile, on_events: Callable[[int], object] = lambda _: None
) -> None:
    """Write the file; gzip where its name ends in `.gz`. It stands there whole or not at all."""
    with replacing(path) as file:
        stream_chrome_trace(file, results, saved=saved, on_events=on_events)


def stream_chrome_trace(
    file: BinaryIO, results: Analysis, *, saved: SavedProfile, on_events: Callable[[int], object] = lambda _: None
) -> None:
    """The same into an open file, piece by piece: memory does not grow with the trace."""
    trace = results.trace
    file.write(b'{"traceEvents":[\n')
    is_first = True

    def write(texts: list[str]) -> None:
        nonlocal is_first
        if texts:
            file.write((("" if is_first else ",\n") + ",\n".join(texts)).encode("utf-8", "backslashreplace"))
            is_first = False

    write(_names(trace))
    for texts in event_texts(trace):
        write(texts)
        on_events(min(CHUNK, len(texts)))
    for texts in chain(_flow_texts(trace, results.flows), _counter_texts(results.counters), [_step_texts(results)]):
        write(texts)
    # Last: Perfetto stops at a member that it does not know.
    file.write(b'\n],\n"tfprof":')
    file.write(compact(_marker(trace, saved)).encode("utf-8", "backslashreplace"))
    file.write(b"}\n")


def chrome_trace_in_pieces(
    results: Analysis, *, saved: Callable[[], SavedProfile], as_text: bool
) -> tuple[dict[str, Any], list[bytes]]:
    """The compressed trace in pieces for a page; as text where it says that buffers do not reach it."""
    if (n_events := results.trace.n_events) > MOST_SENT:
        raise TfProfError(f"{n_events:,} events are too many to hand over; the limit is {MOST_SENT:,}.")
    whole = io.BytesIO()
    with gzip.GzipFile(fileobj=whole, mode="wb", compresslevel=_SENT_LEVEL) as packed:
        stream_chrome_trace(cast(BinaryIO, packed), results, saved=saved())
    content = whole.getvalue()
    pieces = [content[low : low + _PIECE_BYTES] for low in range(0, len(content), _PIECE_BYTES)]
    head: dict[str, Any] = {"n_bytes": len(content)}
    if not as_text:
        return head, pieces
    return {**head, "data": [base64.b64encode(piece).decode() for piece in pieces]}, []


def _names(trace: Trace) -> list[str]:
    several_hosts = len({plane.host for plane in trace.planes}) > 1
    texts = []
    for i, plane in enumerate(trace.planes):
        name = f"{plane.host} {plane.name}" if several_hosts else plane.name
        where = f'"pid":{process_of(i)}'
        texts.append(f'{{"ph":"M",{where},"name":"process_name","args":{{"name":{quoted(name)}}}}}')
        texts.append(f'{{"ph":"M",{where},"name":"process_sort_index","args":{{"sort_index":{i}}}}}')
    for i, line in enumerate(trace.lines):
        name = line.display_name or line.name or str(line.id)
        where = place(trace, i)
        texts.append(f'{{"ph":"M",{where},"name":"thread_name","args":{{"name":{quoted(name)}}}}}')
        texts.append(f'{{"ph":"M",{where},"name":"thread_sort_index","args":{{"sort_index":{i}}}}}')
    return texts


def _flow_texts(trace: Trace, flows: Flows) -> Iterator[list[str]]:
    """Each flow as an arrow between the starts of its two events."""
    places = np.array([place(trace, line) for line in range(len(trace.lines))], object)
    kinds = np.array(KINDS, object)
    for low in range(0, len(flows.kind), CHUNK):
        rows = slice(low, low + CHUNK)
        kind = kinds[flows.kind[rows]].tolist()
        number = range(low, low + len(kind))
        ends = []
        for event, form in ((flows.from_event[rows], _FLOW_START), (flows.to_event[rows], _FLOW_END)):
            where = places[trace.line_id[event]].tolist()
            columns = zip(kind, number, where, microseconds(trace.start_ps[event]), kind, strict=True)
            ends.append(map(form.__mod__, columns))
        yield list(chain.from_iterable(zip(*ends, strict=True)))


def _counter_texts(counters: Counters) -> Iterator[list[str]]:
    """Each value of a counter at its time, in the first process, as no plane owns it."""
    for counter in counters.counters:
        name = quoted(f"{counter.name} [{counter.unit}]" if counter.unit else counter.name)
        for low in range(0, len(counter.time_ps), CHUNK):
            rows = slice(low, low + CHUNK)
            values = map(_number, counter.value[rows].tolist())
            columns = zip(microseconds(counter.time_ps[rows]), repeat(name), values, strict=False)
            yield list(map('{"ph":"C","pid":1,"ts":%s,"name":%s,"args":{"value":%s}}'.__mod__, columns))


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else real(value)


def _step_texts(results: Analysis) -> list[str]:
    if not results.trace.lines:
        return []
    frame = results.steps.frame
    where = place(results.trace, 0)
    columns = zip(microseconds(frame["start_ps"].to_numpy(np.int64)), frame["step"], frame["step_time_ms"], strict=True)
    return [
        f'{{"ph":"i","s":"g","cat":"step",{where},"ts":{ts},"name":{quoted(f"Step {step}")},'
        f'"args":{{"step_time_ms":{real(float(time_ms))}}}}}'
        for ts, step, time_ms in columns
    ]


def _marker(trace: Trace, saved: SavedProfile) -> dict[str, Any]:
    """What viewers have no word for and `load` needs to give the same trace."""
    change = np.flatnonzero(np.append(True, trace.session_id[1:] != trace.session_id[:-1]))[: trace.n_events]
    stats = trace.stats
    keys = np.concatenate([stats.keys[stats.shapes.key], trace.metadata_stat_key])
    kinds = np.concatenate([stats.shapes.kind, trace.metadata_stat_kind])
    unsigned, signed = (np.unique(keys[kinds == kind]) for kind in (StatKind.UINT64, StatKind.INT64))
    return {
        "version": VERSION,
        "origin_ns": trace.origin_ns,
        "planes": [
            {"name": plane.name, "host": plane.host, "stats": {key: plain(value) for key, value in plane.stats.items()}}
            for plane in trace.planes
        ],
        "lines": [[line.plane, line.id, line.name, line.display_name] for line in trace.lines],
        "sessions": [[one.host, one.start_ps, one.stop_ps] for one in trace.sessions],
        "session_runs": np.column_stack([change, trace.session_id[change]]).tolist(),
        "unsigned": [trace.strings[key] for key in np.setdiff1d(unsigned, signed).tolist()],
        "metadata": list(_metadata(trace)),
        "warnings": list(trace.warnings),
        "profile": saved.document(),
    }


def _metadata(trace: Trace) -> Iterator[list[Any]]:
    """Plane, name, name to show and stats of what events share; among them the programs that XLA compiled."""
    told = np.flatnonzero((np.diff(trace.metadata_stat_offsets) > 0) | (trace.display_name_id >= 0))
    for row in told.tolist():  # some thousand, whatever the number of events
        shown = int(trace.display_name_id[row])
        stats = {name: plain(value) for name, value in trace.metadata_stats_of(row).items()}
        plane, name = int(trace.metadata_plane_id[row]), trace.strings[trace.metadata_name_id[row]]
        yield [plane, name, trace.strings[shown] if shown >= 0 else "", stats]
