"""Chrome trace events, one by one -> lists of columns: spans, instants, counters and flows on numbered tracks."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...trace.string_table import StatRow, StringTable
from .json_reader import Real
from .left_out import LeftOut, OddEventError
from .members import args_of, id_of, link_id_of, number_or_text, phase_of, picoseconds, text_of
from .stats import stat_rows

UNFINISHED = -1
"""In place of the duration of a span whose end is not known yet."""
LONGEST_PS = 2**62
"""Longer durations become this, which is longer than any that a trace can hold."""
_INSTANTS, _BEGINS, _ENDS, _FLOWS = frozenset("iIRn"), frozenset("BbS"), frozenset("EeF"), frozenset("stf")
_OWN_EXTRA = frozenset("CstfM")
"""Phases that this package writes for viewers: what they tell is also in the stats of events or in the marker."""
_MOST_VALUE = 1e300
"""Counters beyond it, infinite ones and those that are no number are left out."""
COUNTERS, OVERLAPPING = "Counters", "overlapping"
"""Kinds of tracks beside threads."""

Track = tuple[Hashable, Hashable, str]
"""Process, thread, and what else but a thread it is: "", `COUNTERS` or `OVERLAPPING`."""


@dataclass(slots=True)
class Edge:
    """The begin or the end of a span that two trace events tell of."""

    track: Hashable
    """Begins and ends of one track match as brackets do."""
    time_ps: int
    row: int
    """Of a begin; of an end -1."""
    stats: Sequence[StatRow]


@dataclass(slots=True)
class FlowEnd:
    """One end of an arrow."""

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
    """What is left of the start after whole microseconds: together they hold more than 64 bits of picoseconds."""
    duration_ps: array[int] = field(default_factory=_longs)
    track: array[int] = field(default_factory=_longs)
    name_id: array[int] = field(default_factory=_longs)
    stat_row: array[int] = field(default_factory=_longs)
    """Of each stat the event that has it."""
    stat_key: array[int] = field(default_factory=_longs)
    stat_kind: array[int] = field(default_factory=_longs)
    stat_bits: array[int] = field(default_factory=lambda: array("Q"))
    n_occurrences: dict[int, int] = field(default_factory=dict)
    """Of the events that are aggregated."""
    edges: list[Edge] = field(default_factory=list)
    flows: list[FlowEnd] = field(default_factory=list)
    tracks: dict[Track, int] = field(default_factory=dict)
    names: dict[tuple[str, Hashable, Hashable], Any] = field(default_factory=dict)
    """What metadata events say: `(their name, process, thread)` to the value."""
    ignored: Counter[str] = field(default_factory=Counter)
    """How many events of each phase mean nothing here."""
    left_out: LeftOut = field(default_factory=LeftOut)
    n_negative: int = 0
    """Durations below 0, which became 0."""
    n_values_left_out: int = 0
    """Values of counters that are no finite numbers."""

    @property
    def n_events(self) -> int:
        """How many there are."""
        return len(self.track)

    def add_stats(self, row: int, stats: Sequence[StatRow]) -> None:
        """Give stats to an event."""
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
            self._flow(event, phase)
        elif phase == "M":
            self._name(event)
        else:
            self.found.ignored[phase] += 1

    def _span(self, event: dict[str, Any]) -> None:
        told = UNFINISHED if event.get("dur") is None else picoseconds(event, "dur")
        is_negative = told < 0 and event.get("dur") is not None
        if not self._is_own and event.get("cat") == "Op":
            event = event | {"name": _op_name(event)}
        duration = 0 if is_negative else min(told, LONGEST_PS)
        self._row(event, "", picoseconds(event, "ts"), duration, self._args(event))
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

    def _flow(self, event: dict[str, Any], phase: str) -> None:
        flow = (*self._async_id(event), text_of(event, "name"))
        is_enclosed = phase != "f" or event.get("bp") == "e"
        time_ps = picoseconds(event, "ts")
        self.found.flows.append(FlowEnd(flow, time_ps, self._track(event, ""), phase, is_enclosed))

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
                args = {"cat": category} | args
            if type(step := args.get("step_num")) is str and step.isdecimal():
                args = args | {"_r": 1}  # what says that it marks a step, and XProf's converter leaves out
        return stat_rows(args, self._strings, self._unsigned, is_own=self._is_own) if args else ()

    def _aggregated(self, event: dict[str, Any]) -> None:
        """An event with how often it ran, and how long in all, which stand among its args."""
        args = args_of(event)
        count, total_ps = args.pop("$occurrences", None), picoseconds(args, "$total_us")
        if type(count) is not int or not 0 < count < 2**31:
            raise OddEventError(f"its $occurrences are {str(count)[:40]}, not a count", "bad $occurrences")
        del args["$total_us"]
        row = self.found.n_events
        self._row(event, "", picoseconds(event, "ts"), min(max(0, total_ps), LONGEST_PS), self._args(event))
        self.found.n_occurrences[row] = count


def _op_name(event: dict[str, Any]) -> str:
    """The name of an op; of TensorFlow's old timelines, which keep node and type in `args`, `node:type`."""
    args = args_of(event)
    node, op = args.get("name"), args.get("op")
    return f"{node}:{op}" if type(node) is str and type(op) is str else text_of(event, "name")


def _number(value: float | Real) -> float:
    """What a counter counts, for comparing: integers of any size stay what they are."""
    return float(value) if isinstance(value, Real) else value
