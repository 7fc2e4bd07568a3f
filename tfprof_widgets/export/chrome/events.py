"""Events of a trace -> texts of Chrome trace events, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...trace.trace import Bool, Trace
from ...trace.whole_stats import last_of_each_name, whole_stats
from ..json_text import StatTexts, microseconds

CHUNK = 2**15
"""So many events are text at once: some 10 MB."""
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
        args = self._args(rows)
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

    def _args(self, rows: slice) -> list[str]:
        """The member `args` of each event with the comma before it, "" where an event has no stats."""
        stats = last_of_each_name(whole_stats(self._trace, np.arange(rows.start, rows.stop)))
        members = self._stats.members(stats.key, stats.kind, stats.bits)
        ends = np.cumsum(stats.n)
        spans = zip((ends - stats.n).tolist(), ends.tolist(), strict=True)
        return [f',"args":{{{",".join(members[low:high])}}}' if high > low else "" for low, high in spans]


def outliving(trace: Trace) -> Bool:
    """Which timed events start inside another of their line and end after it: viewers drop those, or cut them.

    What is left nests. Only lines in which something overlaps are walked through.
    """
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
