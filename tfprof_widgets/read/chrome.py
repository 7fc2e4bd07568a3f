"""Chrome trace events -> a `Trace`: spans, instants, counters and flows on numbered tracks."""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import EmptyTraceError, TraceError
from ..trace.arrays import Int32, Int64
from ..trace.building import EventMetadata, assemble, event_metadata, session_around
from ..trace.capture_facts import clean_text
from ..trace.stats import Stats, packed_stats
from ..trace.trace import (
    DERIVED_LINE_BASE,
    MAX_PS,
    EventTable,
    Line,
    Plane,
    StatKind,
    StatRow,
    StringTable,
    Trace,
    in_order,
    nest,
)
from .chrome_json import (
    Document,
    LeftOut,
    Marker,
    OddEventError,
    Real,
    args_of,
    id_of,
    link_id_of,
    not_shared,
    number_or_text,
    phase_of,
    picoseconds,
    read_marker,
    stat_rows,
    text_of,
)
from .saved import SavedProfile

UNFINISHED = -1
"""Duration of a span whose end is unknown yet."""
LONGEST_PS = 2**62
"""Longer durations become this, which is longer than any that a trace can hold."""
_INSTANTS, _BEGINS, _ENDS, _FLOWS = frozenset("iIRn"), frozenset("BbS"), frozenset("EeF"), frozenset("stf")
_OWN_EXTRA = frozenset("CstfM")
"""Phases that this package writes for viewers, whose content is also in stats or in the marker."""
_MOST_VALUE = 1e300
"""Counters beyond it, infinite ones and those that are no number are left out."""
COUNTERS, OVERLAPPING, ANNOTATIONS = "Counters", "overlapping", "annotations"
"""Kinds of tracks beside threads."""
_ON_STREAM, _OVER_STREAM = (
    frozenset(("kernel", "gpu_memcpy", "gpu_memset")),
    frozenset(("gpu_user_annotation", "cuda_sync")),
)
"""Categories of `torch.profiler`: what ran on a stream of a GPU, and what lies over that."""
_LAUNCHES = "ac2g"
_TORCH_STEP = re.compile(r"ProfilerStep#(\d{1,9})")
_TORCH_COPY = re.compile(r"Memcpy \w+ \((\w+) -> (\w+)\)")

Track = tuple[Hashable, Hashable, str]
"""Process, thread, and kind of the track: "" for a thread, `COUNTERS`, `OVERLAPPING` or `ANNOTATIONS`."""


@dataclass(slots=True)
class Edge:
    """The begin or the end of a span of two trace events."""

    track: Hashable
    """Begins and ends of one track match as brackets do."""
    time_ps: int
    row: int
    """Of a begin; of an end -1."""
    stats: Sequence[StatRow]


@dataclass(slots=True)
class FlowEnd:
    flow: Hashable
    time_ps: int
    track: int
    phase: str
    is_enclosed: bool
    """Whether it belongs to the span around it; else to the next one."""


def _longs() -> array[int]:
    return array("q")


@dataclass
class Collected:
    """All of a file: columns of one entry per event, and what is between events."""

    start_us: array[int] = field(default_factory=_longs)
    start_rest_ps: array[int] = field(default_factory=_longs)
    """The start less whole microseconds: together they hold more than 64 bits of picoseconds."""
    duration_ps: array[int] = field(default_factory=_longs)
    track: array[int] = field(default_factory=_longs)
    name_id: array[int] = field(default_factory=_longs)
    stat_row: array[int] = field(default_factory=_longs)
    """Row of each stat's event."""
    stat_key: array[int] = field(default_factory=_longs)
    stat_kind: array[int] = field(default_factory=_longs)
    stat_bits: array[int] = field(default_factory=lambda: array("Q"))
    n_occurrences: dict[int, int] = field(default_factory=dict)
    """Of the events that are aggregated."""
    edges: list[Edge] = field(default_factory=list)
    flows: list[FlowEnd] = field(default_factory=list)
    tracks: dict[Track, int] = field(default_factory=dict)
    names: dict[tuple[str, Hashable, Hashable], Any] = field(default_factory=dict)
    """Value of metadata events by their name, process and thread."""
    gpus: set[Hashable] = field(default_factory=set)
    """Processes that are GPUs to `torch.profiler`, each with its number, their threads streams."""
    torch_hosts: set[Hashable] = field(default_factory=set)
    """Processes in which PyTorch ran ops."""
    ignored: Counter[str] = field(default_factory=Counter)
    left_out: LeftOut = field(default_factory=LeftOut)
    n_negative: int = 0
    """Durations below 0, which became 0."""
    n_values_left_out: int = 0
    """Values of counters that are no finite numbers."""

    @property
    def n_events(self) -> int:
        return len(self.track)

    def add_stats(self, row: int, stats: Sequence[StatRow]) -> None:
        for key, kind, bits in stats:
            self.stat_row.append(row)
            self.stat_key.append(key)
            self.stat_kind.append(kind)
            self.stat_bits.append(bits)


class Collector:
    """Takes up events; `is_own` says that this package wrote them."""

    def __init__(self, strings: StringTable, *, unsigned: frozenset[str] = frozenset(), is_own: bool = False) -> None:
        self.found = Collected()
        self._strings = strings
        self._unsigned = unsigned
        self._is_own = is_own

    def add(self, events: Iterable[Any]) -> None:
        """Take up some events, but for those that cannot be read."""
        self.found.left_out.take(events, self._add)

    def _add(self, event: Any) -> None:
        phase = phase_of(event)
        if phase == "X":
            self._span(event)
        elif self._is_own and (phase in _OWN_EXTRA or (phase == "i" and event.get("cat") == "step")):
            return
        elif phase in _INSTANTS:
            if self._is_own and event.get("cat") == "aggregated":
                self._aggregated(event)
            else:
                self._row(event, "", picoseconds(event, "ts"), 0, self._args(event))
        elif phase in _BEGINS or phase in _ENDS:
            self._edge(event, phase)
        elif phase == "C":
            self._counter(event)
        elif phase in _FLOWS:
            if not self._is_own and event.get("cat") == _LAUNCHES:
                return  # of equal `correlation`, by which arrows are found, too
            flow = (*self._async_id(event), text_of(event, "name"))
            is_enclosed = phase != "f" or event.get("bp") == "e"
            time_ps = picoseconds(event, "ts")
            self.found.flows.append(FlowEnd(flow, time_ps, self._track(event, ""), phase, is_enclosed))
        elif phase == "M":
            self._name(event)
        else:
            self.found.ignored[phase] += 1

    def _span(self, event: dict[str, Any]) -> None:
        told = UNFINISHED if event.get("dur") is None else picoseconds(event, "dur")
        is_negative = told < 0 and event.get("dur") is not None
        category = "" if self._is_own else text_of(event, "cat")
        if category == "Op":
            event = event | {"name": _op_name(event)}
        elif category in _ON_STREAM and type(event.get("pid")) is int:
            self.found.gpus.add(event["pid"])
        elif category == "cpu_op":
            self.found.torch_hosts.add(id_of(event, "pid"))
        duration = 0 if is_negative else min(told, LONGEST_PS)
        kind = ANNOTATIONS if category in _OVER_STREAM else ""
        self._row(event, kind, picoseconds(event, "ts"), duration, self._args(event))
        self.found.n_negative += is_negative

    def _edge(self, event: dict[str, Any], phase: str) -> None:
        time_ps = picoseconds(event, "ts")
        args = self._args(event)
        is_thread = phase in "BE"
        at = (id_of(event, "tid"),) if is_thread else ("", *self._async_id(event))
        track: Hashable = (id_of(event, "pid"), *at)
        row = -1
        if phase in _BEGINS:
            row = self.found.n_events
            self._row(event, "" if is_thread or self._is_own else OVERLAPPING, time_ps, UNFINISHED, args)
        self.found.edges.append(Edge(track, time_ps, row, args if row < 0 else ()))

    def _async_id(self, event: dict[str, Any]) -> tuple[Hashable, ...]:
        local = event.get("id2")
        id_ = str(local) if isinstance(local, dict) else link_id_of(event)
        return (id_, text_of(event, "cat"), text_of(event, "scope"))

    def _counter(self, event: dict[str, Any]) -> None:
        """Each series as an event with the stat that counters of devices have, so that `counters` finds it."""
        series = event.get("args")
        if not isinstance(series, dict):
            raise OddEventError("it is a counter without args", "counter without args")
        time_ps = picoseconds(event, "ts")
        name = " ".join(part for part in (text_of(event, "name"), str(event.get("id", ""))[:80]) if part)
        for what, value in series.items():
            value = number_or_text(value) if type(value) is str else value
            if isinstance(value, (int, float, Real)) and -_MOST_VALUE < _number(value) < _MOST_VALUE:
                one = {"pid": event.get("pid"), "name": name if len(series) == 1 else f"{name} {what}"}
                stats = stat_rows({"counter_value": float(value)}, self._strings, self._unsigned)
                self._row(one, COUNTERS, time_ps, 0, stats)
            else:
                self.found.n_values_left_out += 1

    def _name(self, event: dict[str, Any]) -> None:
        args = event.get("args")
        if not isinstance(args, dict):
            return
        what = text_of(event, "name")
        value = args.get("sort_index" if what.endswith("sort_index") else "name")
        if type(value) in (str, int):
            thread = id_of(event, "tid") if what.startswith("thread") else None
            self.found.names[what, id_of(event, "pid"), thread] = value

    def _row(self, event: dict[str, Any], kind: str, start_ps: int, duration_ps: int, stats: Sequence[StatRow]) -> None:
        found = self.found
        name, track = text_of(event, "name"), self._track(event, kind)  # before anything is added: they may be odd
        found.add_stats(found.n_events, stats)
        whole, rest = divmod(start_ps, 1_000_000)
        found.start_us.append(whole)
        found.start_rest_ps.append(rest)
        found.duration_ps.append(duration_ps)
        found.name_id.append(self._strings.id_of(name))
        found.track.append(track)

    def _track(self, event: dict[str, Any], kind: str) -> int:
        track = (id_of(event, "pid"), None if kind == COUNTERS else id_of(event, "tid"), kind)
        return self.found.tracks.setdefault(track, len(self.found.tracks))

    def _args(self, event: dict[str, Any]) -> Sequence[StatRow]:
        args = args_of(event)
        if not self._is_own:
            if category := text_of(event, "cat"):
                args = {"cat": category} | args | _torch_stats(category, text_of(event, "name"), args)
            if type(step := args.get("step_num")) is str and step.isdecimal():
                args = args | {"_r": 1}  # what says that it marks a step, and XProf's converter leaves out
        return stat_rows(args, self._strings, self._unsigned, is_own=self._is_own) if args else ()

    def _aggregated(self, event: dict[str, Any]) -> None:
        """An event with its number of runs and total time, which stand among its args."""
        args = args_of(event)
        count, total_ps = args.pop("$occurrences", None), picoseconds(args, "$total_us")
        if type(count) is not int or not 0 < count < 2**31:
            raise OddEventError(f"its $occurrences are {str(count)[:40]}, not a count", "bad $occurrences")
        del args["$total_us"]
        row = self.found.n_events
        self._row(event, "", picoseconds(event, "ts"), min(max(0, total_ps), LONGEST_PS), self._args(event))
        self.found.n_occurrences[row] = count


def _torch_stats(category: str, name: str, args: dict[str, Any]) -> dict[str, Any]:
    """What TensorFlow's profiler notes of a step, a launch, a kernel or a copy, of one that `torch.profiler` saw."""
    if category == "user_annotation" and (step := _TORCH_STEP.fullmatch(name)):
        return {"step_num": int(step[1]), "graph_type": "ProfilerStep", "_r": 1}
    if type(call := args.get("correlation")) is not int:
        return {}
    stats: dict[str, Any] = {"correlation_id": call}
    if category == "kernel":
        sizes = {key: args[key] for key in ("grid", "block") if isinstance(args.get(key), list)}
        launch = {"regs": args.get("registers per thread", 0), "static_shared": args.get("shared memory")}
        launch |= {key: ",".join(map(str, size)) for key, size in sizes.items()}
        stats["kernel_details"] = " ".join(f"{key}:{value}" for key, value in launch.items() if value is not None)
    elif category == "gpu_memcpy":
        ends = copy.groups() if (copy := _TORCH_COPY.fullmatch(name)) else ("unknown", "unknown")
        source, target = (end.lower() for end in ends)
        stats["memcpy_details"] = f"kind_src:{source} kind_dst:{target} size:{args.get('bytes', 0)}"
    elif category == "gpu_memset":
        stats["Memset_details"] = f"num_bytes:{args.get('bytes', 0)}"
    return stats


def _op_name(event: dict[str, Any]) -> str:
    """The name of an op; of TensorFlow's old timelines, which keep node and type in `args`, `node:type`."""
    args = args_of(event)
    node, op = args.get("name"), args.get("op")
    return f"{node}:{op}" if type(node) is str and type(op) is str else text_of(event, "name")


def _number(value: float | Real) -> float:
    """A counter's value for comparing: integers of any size stay what they are."""
    return float(value) if isinstance(value, Real) else value


_GENERIC_CONTEXT = 0
"""The type of contexts that say nothing of who handed work to whom. Source: semantics 2.3."""


def match_edges(found: Collected) -> int:
    """Fill in the durations of spans of two events, and give the stats of the end to the span."""
    by_track: defaultdict[Hashable, list[Edge]] = defaultdict(list)
    for edge in found.edges:
        by_track[edge.track].append(edge)
    n_ends = 0
    for edges in by_track.values():  # one round per event of these kinds
        edges.sort(key=lambda edge: edge.time_ps)  # stable: at one time the order of the file counts
        waiting: list[Edge] = []
        for edge in edges:
            if edge.row >= 0:
                waiting.append(edge)
            elif waiting:
                begin = waiting.pop()
                found.duration_ps[begin.row] = min(edge.time_ps - begin.time_ps, LONGEST_PS)
                found.add_stats(begin.row, edge.stats)
            else:
                n_ends += 1
    found.edges.clear()
    return n_ends


def link_flows(
    found: Collected,
    strings: StringTable,
    *,
    start_ps: Int64,
    duration_ps: Int64,
    line: Int32,
    line_of_track: Int32,
    shift_ps: int,
) -> int:
    """Give events the stats `_p` and `_c`, by which arrows between them are found again."""
    places = _Places(start_ps, duration_ps, line)
    chains: defaultdict[Hashable, list[FlowEnd]] = defaultdict(list)
    for end in found.flows:
        chains[end.flow].append(end)
    links = _Links(found, strings)
    n_lost = 0
    for chain in chains.values():  # one round per arrow
        chain.sort(key=lambda end: (end.time_ps, "stf".index(end.phase)))
        rows = [
            places.find(int(line_of_track[end.track]), end.time_ps - shift_ps, is_enclosed=end.is_enclosed)
            for end in chain
        ]
        n_lost += sum(not links.add(source, target) for source, target in pairwise(rows))
    found.flows.clear()
    return n_lost


class _Links:
    """Gives events the stats of contexts: what an event hands on is one context, and it takes from one."""

    def __init__(self, found: Collected, strings: StringTable) -> None:
        self._found = found
        self._strings = strings
        self._context: dict[int, int] = {}
        self._consumers: set[int] = set()

    def add(self, source: int, target: int) -> bool:
        """Link two events; whether that was possible."""
        if source < 0 or target < 0 or source == target or target in self._consumers:
            return False
        if source not in self._context:
            self._context[source] = len(self._context)
            self._found.add_stats(source, _link(self._strings, "_pt", "_p", self._context[source]))
        self._consumers.add(target)
        self._found.add_stats(target, _link(self._strings, "_ct", "_c", self._context[source]))
        return True


def _link(strings: StringTable, type_name: str, id_name: str, number: int) -> Sequence[StatRow]:
    return (
        (strings.id_of(type_name), StatKind.INT64, _GENERIC_CONTEXT),
        (strings.id_of(id_name), StatKind.INT64, number),
    )


class _Places:
    """Which event of a line is on top at a time."""

    def __init__(self, start_ps: Int64, duration_ps: Int64, line: Int32) -> None:
        self._order = np.lexsort((-duration_ps, start_ps, line))
        self._line = line[self._order]
        self._start = start_ps[self._order]
        self._end = self._start + duration_ps[self._order]
        self._parent = nest(self._line, self._start, self._end - self._start).parent

    def find(self, line: int, time_ps: int, *, is_enclosed: bool) -> int:
        """The event around a time, or the one that starts next; -1 for none."""
        time_ps = max(-LONGEST_PS, min(time_ps, LONGEST_PS))  # as far as any event can lie, and what 64 bits hold
        low, high = np.searchsorted(self._line, [line, line + 1])
        starts = self._start[low:high]
        if not is_enclosed:
            at = int(low + np.searchsorted(starts, time_ps))
            return int(self._order[at]) if at < high else -1
        at = int(low + np.searchsorted(starts, time_ps, side="right")) - 1
        if at < low:
            return -1
        while at >= 0 and self._end[at] < time_ps:
            at = int(self._parent[at])
        return int(self._order[at]) if at >= 0 else -1


_MOST_PLANES = 2**15 - 1
"""Numbers of planes are in 16 bits."""
_OLD_CPU = re.compile(r"/(?:device:CPU|cpu):\d+ Compute$", re.IGNORECASE)
_OLD_GPU = re.compile(r"/(?:device:GPU|gpu):(\d+)(?:/stream:\S+)? Compute$", re.IGNORECASE)
"""Processes of `tf.compat.v1`'s `timeline.Timeline`, which all name their device so."""


@dataclass(frozen=True)
class Tracks:
    """Planes and lines, lines by plane, and the line of each track."""

    planes: tuple[Plane, ...]
    lines: tuple[Line, ...]
    line_of_track: Int32


def own_tracks(found: Collected, marker: Marker) -> Tracks:
    """The planes and lines that the trace had, and where the threads of the file are among them."""
    first = len(marker.planes) + 1
    line_of_track = np.zeros(len(found.tracks), np.int32)
    for (process, thread, _), track in found.tracks.items():
        line = thread - first if isinstance(thread, int) else -1
        if not 0 <= line < len(marker.lines) or process != marker.lines[line].plane + 1:
            raise TraceError(
                f"thread {str(thread)[:40]!r} of process {str(process)[:40]!r} is not in its member tfprof"
            )
        line_of_track[track] = line
    if any(a.plane > b.plane for a, b in zip(marker.lines, marker.lines[1:], strict=False)):
        raise TraceError("the lines of its member tfprof are not in the order of their planes")
    return Tracks(marker.planes, marker.lines, line_of_track)


def foreign_tracks(found: Collected) -> Tracks:
    """Planes and lines of another tool's file, in the order it asks for, else in that of their first events."""
    processes = list(dict.fromkeys(process for process, _, _ in found.tracks))
    processes.sort(key=lambda process: _place(found, "process_sort_index", process))
    if len(processes) > _MOST_PLANES:
        raise TraceError(f"it has {len(processes)} processes, more than {_MOST_PLANES}, the limit")
    number = {process: i for i, process in enumerate(processes)}
    planes = _planes([_process_name(found, process) for process in processes])
    tracks = sorted(found.tracks, key=lambda track: (number[track[0]], _line_place(found, track)))
    line_of_track = np.zeros(len(tracks), np.int32)
    line_of_track[[found.tracks[track] for track in tracks]] = np.arange(len(tracks))
    lines = tuple(
        Line(number[track[0]], _line_id(track, i), _thread_name(found, track), "") for i, track in enumerate(tracks)
    )
    return Tracks(planes, lines, line_of_track)


def _planes(names: list[str]) -> tuple[Plane, ...]:
    """One plane per process; the compute processes of old timelines as the host or the device they stand for."""
    taken: set[str] = set()
    planes: list[Plane] = []
    for name in names:
        gpu = _OLD_GPU.search(name)
        known = "/host:CPU" if _OLD_CPU.search(name) else f"/device:GPU:{gpu[1]}" if gpu else name
        planes.append(Plane(name if known in taken else known, ""))
        taken.add(known)
    return tuple(planes)


def _process_name(found: Collected, process: Hashable) -> str:
    if process in found.gpus:
        return f"/device:GPU:{process}"
    if found.torch_hosts == {process}:
        return "/host:CPU"
    return clean_text(found.names.get(("process_name", process, None), f"Process {process}"))


def _thread_name(found: Collected, track: Track) -> str:
    process, thread, kind = track
    if kind == COUNTERS:
        return COUNTERS
    if process in found.gpus:
        return f"Stream #{thread}{f' ({kind})' if kind else ''}"
    name = clean_text(found.names.get(("thread_name", process, thread), f"Thread {thread}"))
    return f"{name} ({OVERLAPPING})" if kind else name


def _line_id(track: Track, position: int) -> int:
    """The thread's own number where it has one, else one beyond those of any thread, or one of a line derived from others."""
    _, thread, kind = track
    if kind == ANNOTATIONS:
        return DERIVED_LINE_BASE + 100 + position % 200
    return thread if type(thread) is int and not kind and 0 <= thread < 2**32 else 2**32 + position


def _place(found: Collected, what: str, process: Hashable, thread: Hashable = None) -> int:
    index = found.names.get((what, process, thread), 0)
    return index if type(index) is int else 0


def _line_place(found: Collected, track: Track) -> tuple[bool, int, int]:
    process, thread, kind = track
    return kind == COUNTERS, _place(found, "thread_sort_index", process, thread), found.tracks[track]


_UNIX_US = range(10**15, 10**16)
"""Microseconds since 1970 of two centuries; smaller times count from when something started."""

_UNLINKED = (
    "XProf's converter to JSON leaves out what links the threads of a step: here work of other threads counts to no step. "
    "The .xplane.pb of the same run has the links; load that."
)


@dataclass(frozen=True)
class ChromeTrace:
    trace: Trace
    saved: SavedProfile | None
    """What `to_chrome_trace` put beside the events; None for files of other tools."""


def read_chrome_trace(content: bytes, *, source: str = "") -> ChromeTrace:
    """Read a Chrome trace: of this package as it was; of others processes as planes, threads and counters as lines, unread events
    in a notice, arrows as stats `_p` and `_c` for `flows`, and TensorFlow's old names as the analyses know them."""
    where = source or "The trace"
    if not content:
        raise EmptyTraceError(f"{where} is empty (0 bytes): write it again.")
    try:
        return _Reader(content).read()
    except TraceError as error:
        raise type(error)(f"{where} is no readable Chrome trace: {error}.") from error.__cause__
    except RecursionError as error:
        raise TraceError(f"{where} is no readable Chrome trace: its args are nested too deeply.") from error


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._document = Document(content)
        self._strings = StringTable()
        self.warnings: list[str] = []

    def read(self) -> ChromeTrace:
        marker = read_marker(self._document.find_marker(), self._strings)
        unsigned = marker.unsigned if marker else frozenset()
        collector = Collector(self._strings, unsigned=unsigned, is_own=marker is not None)
        for batch in self._document.events():
            collector.add(batch)
        found = collector.found
        if n_ends := match_edges(found):
            self.warnings.append(f"{n_ends} ends of spans without a begin were left out.")
        found.left_out.check_some(found_any=bool(found.n_events or found.ignored))
        self.warnings += found.left_out.notices
        if found.n_negative:
            self.warnings.append(f"{found.n_negative:,} durations below 0 are shown as 0.")
        if found.n_values_left_out:
            self.warnings.append(
                f"{found.n_values_left_out:,} values of counters are no finite numbers and were left out."
            )
        if found.ignored:
            phases = ", ".join(f"{phase} ({n})" for phase, n in found.ignored.most_common(5))
            self.warnings.append(f"Events of phases that mean nothing here were left out: {phases}.")
        if found.left_out.is_of_xprof and self._is_unlinked():
            self.warnings.append(_UNLINKED)
        if self._document.is_truncated:
            self.warnings.append("The file ends inside its list of events: the program that wrote it was stopped.")
        if not found.torch_hosts:  # another tool's kernels
            found.gpus.clear()
        tracks = own_tracks(found, marker) if marker else foreign_tracks(found)
        return ChromeTrace(self._trace(found, tracks, marker), marker.saved if marker else None)

    def _is_unlinked(self) -> bool:
        """Whether nothing links other threads' work to steps: no event has a run's or group's number."""
        texts = set(self._strings.texts)
        return "ThreadpoolListener::Region" in texts or not texts & {"run_id", "group_id"}

    def _trace(self, found: Collected, tracks: Tracks, marker: Marker | None) -> Trace:
        origin_ns, start_ps, shift_ps = self._starts(found, is_own=marker is not None)
        duration_ps = self._durations(found, start_ps)
        line = tracks.line_of_track[np.array(found.track, np.int64)]
        if found.flows:
            n_lost = link_flows(
                found,
                self._strings,
                start_ps=start_ps,
                duration_ps=duration_ps,
                line=line,
                line_of_track=tracks.line_of_track,
                shift_ps=shift_ps,
            )
            if n_lost:
                self.warnings.append(f"{n_lost} arrows end in no event, or beside another one, and were left out.")
        planes = np.array([one.plane for one in tracks.lines], np.int32)
        plane = planes[line] if len(planes) else np.empty(0, np.int32)
        metadata = event_metadata(np.array(found.name_id, np.int64), plane, marker.metadata if marker else ())
        table = self._table(found, start_ps, duration_ps, line, metadata, marker)
        return assemble(
            table,
            metadata.table,
            planes=tracks.planes,
            lines=tracks.lines,
            sessions=marker.sessions if marker else (session_around(table, host=""),),
            origin_ns=marker.origin_ns if marker else origin_ns,
            strings=self._strings.texts,
            blobs=self._strings.blobs,
            warnings=(*(marker.warnings if marker else ()), *self.warnings),
        )

    def _starts(self, found: Collected, *, is_own: bool) -> tuple[int, Int64, int]:
        """Unix time of the origin (0: unknown), starts after it, and what was subtracted from them."""
        whole, rest = np.array(found.start_us, np.int64), np.array(found.start_rest_ps, np.int64)
        first_us = 0
        if not is_own and len(whole) and not -MAX_PS <= int(whole.min()) * 1_000_000 <= MAX_PS // 2:
            first_us = int(whole.min())
            whole = np.where(whole > first_us + MAX_PS, MAX_PS, whole - first_us)
        limit_us = MAX_PS // 1_000_000 - 1
        cut = np.clip(whole, -limit_us, limit_us)
        if n_cut := int(np.count_nonzero(cut != whole)):
            self.warnings.append(f"{n_cut} starts over 13 days from the first were cut to that range.")
        return first_us * 1000 if first_us in _UNIX_US else 0, cut * 1_000_000 + rest, first_us * 1_000_000

    def _durations(self, found: Collected, start_ps: Int64) -> Int64:
        duration_ps = np.array(found.duration_ps, np.int64)
        is_unfinished = duration_ps == UNFINISHED
        cut = np.clip(duration_ps, 0, MAX_PS)
        if n_cut := int(np.count_nonzero(duration_ps > MAX_PS)):
            self.warnings.append(f"{n_cut} durations over 13 days were cut to that range.")
        if n_unfinished := int(np.count_nonzero(is_unfinished)):
            end_ps = int((start_ps + cut).max())
            cut[is_unfinished] = np.minimum(end_ps - start_ps[is_unfinished], MAX_PS)
            self.warnings.append(f"{n_unfinished} spans have no end: they are shown until the end of the trace.")
        return cut

    def _table(
        self,
        found: Collected,
        start_ps: Int64,
        duration_ps: Int64,
        line: np.ndarray[tuple[int], np.dtype[np.int32]],
        metadata: EventMetadata,
        marker: Marker | None,
    ) -> EventTable:
        n = found.n_events
        row = np.array(found.stat_row, np.int64)
        key, kind = np.array(found.stat_key, np.int32), np.array(found.stat_kind, np.uint8)
        bits = np.array(found.stat_bits, np.uint64)
        kept = not_shared(metadata, row, key, kind, bits)
        kept = kept[np.argsort(row[kept], kind="stable")]  # those of an end came after those of other events
        n_occurrences = np.zeros(n, np.int32)
        n_occurrences[list(found.n_occurrences)] = list(found.n_occurrences.values())
        return in_order(
            EventTable(
                start_ps=start_ps,
                duration_ps=duration_ps,
                line_id=line,
                metadata_id=metadata.row_of_event,
                session_id=marker.session_of(n) if marker else np.zeros(n, np.int32),
                n_occurrences=n_occurrences,
                stats=packed_stats(Stats(np.bincount(row[kept], minlength=n), key[kept], kind[kept], bits[kept])),
            )
        )
