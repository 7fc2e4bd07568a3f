"""Tables of one host -> sums that are small enough to travel: ops, steps, memory, exchanges, its timeline in low detail."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...errors import TfProfError
from ...trace.arrays import Bool, Int64, SmallInt
from ...trace.building import assemble, event_metadata, merge_traces
from ...trace.stats import Stats, packed_stats, ranges
from ...trace.trace import DERIVED_LINE_BASE, EventTable, Line, Plane, StringTable, Trace, in_order
from ..common import PS_PER_MS, Types, dense_codes, sum_by, typed_table
from ..grouping import N_UNITS
from ..layers.layers import OpMemory
from ..memory.growth import MemoryGrowth
from ..memory.memory import MemoryProfile
from ..ops.ops import op_sums
from ..steps.categories import CATEGORY_LABELS, GUIDE_CATEGORIES, STEP_CATEGORIES
from ..steps.spans import choose_steps, kinds_of
from ..steps.steps import Steps
from ..tables import TABLES

if TYPE_CHECKING:
    from ..facts import Facts


OWNER = "owner"
"""The column of a stacked table with the number of the host that a row comes from."""
_REFERENCES: Mapping[str, Mapping[str, str]] = {
    "steps": {"session": "sessions"},
    "units": {"op": "ops", "hlo": "hlo_ops"},
    "variants": {"op": "ops"},
    "pairs": {"hlo": "hlo_ops", "op": "ops"},
    "kinds": {"unit": "units"},
    "peaks": {"allocator": "memory"},
    "held": {"allocator": "memory"},
    "pipelines": {"bottleneck": "iterators"},
    "iterators": {"parent_id": "iterators", "pipeline": "pipelines"},
}
"""Columns that hold rows of a table of the same host, -1 for none."""
_MOMENTS = {"steps": "start_ps", "memory": "peak_at_ms", "iterators": "start_ms"}
"""Columns that hold times after the origin of the host."""


@dataclass(frozen=True, eq=False, repr=False)
class PackedFrame:
    """A DataFrame as arrays, which travel and stack many times faster; its index is lost."""

    columns: dict[str, npt.NDArray[Any]]
    dtypes: dict[str, str]
    """How pandas held each column."""

    @classmethod
    def of(cls, frame: pd.DataFrame) -> PackedFrame:
        """The rows of a DataFrame; equal texts are one object."""
        return cls(
            {str(name): _plain(frame[name].to_numpy()) for name in frame.columns},
            {str(name): str(frame[name].dtype) for name in frame.columns},
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self.columns, self.dtypes)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.columns[name]

    def of_host(self, host: str) -> PackedFrame:
        """The same with another name in all rows of a column `host`; without one as it is."""
        if "host" not in self.columns:
            return self
        return PackedFrame({**self.columns, "host": np.full(len(self), host, np.object_)}, self.dtypes)

    @property
    def frame(self) -> pd.DataFrame:
        """The DataFrame."""
        return _stacked([self])


def _arrived(columns: Mapping[str, npt.NDArray[Any]], dtypes: dict[str, str]) -> PackedFrame:
    """What was pickled; texts that several hosts have are there once."""
    return PackedFrame({name: _plain(values) for name, values in columns.items()}, dtypes)


def _plain(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.dtype != np.object_:
        return values
    shared = np.empty(len(values), np.object_)
    for i, value in enumerate(values.tolist()):  # one turn per row of a small table
        shared[i] = sys.intern(value) if type(value) is str else value
    return shared


def _stacked(frames: Sequence[PackedFrame]) -> pd.DataFrame:
    filled = [frame for frame in frames if len(frame)] or frames[:1]
    return pd.DataFrame({name: _column(filled, name) for name in filled[0].columns})


def _column(frames: Sequence[PackedFrame], name: str) -> pd.Series[Any]:
    """A column of several tables. A damaged host may hold what others have not, such as no number among whole ones: then it
    is of a type that holds all of them."""
    values = np.concatenate([frame.columns[name] for frame in frames])
    told = {frame.dtypes[name] for frame in frames}
    return pd.Series(values, dtype=told.pop() if len(told) == 1 else values.dtype)


class Stack(dict[str, pd.DataFrame]):
    """The tables of at least one host by name, those of all hosts one below the other, made when first asked for.

    What refers to a row of another table of its host refers to that row in the stack, and times are after the common origin.
    """

    def __init__(
        self, hosts: Sequence[Mapping[str, PackedFrame]], n_sessions: Sequence[int], shift_ps: Sequence[int]
    ) -> None:
        """Take the tables of each host, how many sessions it has, and by how much its times move."""
        super().__init__()
        self._hosts = hosts
        self._n_sessions = n_sessions
        self.shift_ps = np.array(shift_ps, np.int64)

    def __missing__(self, name: str) -> pd.DataFrame:
        frames = [one[name] for one in self._hosts]
        owner = np.repeat(np.arange(len(frames)), [len(frame) for frame in frames])
        frame = _stacked(frames).assign(**{OWNER: owner})
        for column, other in _REFERENCES.get(name, {}).items():
            row = frame[column].to_numpy(np.int64)
            frame[column] = np.where(row < 0, -1, row + self.first_row(other)[owner])
        if name in _MOMENTS:
            shift = self.shift_ps[owner]
            frame[_MOMENTS[name]] += shift if _MOMENTS[name].endswith("_ps") else shift / PS_PER_MS
        self[name] = frame
        return frame

    def first_row(self, name: str) -> Int64:
        """Where the rows of each host begin in a stacked table, and behind the last one how many there are."""
        n = self._n_sessions if name == "sessions" else [len(one[name]) for one in self._hosts]
        return np.append(0, np.cumsum(n, dtype=np.int64))


def united(frame: pd.DataFrame, keys: Sequence[str], rules: Mapping[str, str]) -> tuple[pd.DataFrame, Int64]:
    """Rows with the same keys as one."""
    firsts = [name for name, rule in rules.items() if rule == "first" and frame[name].dtype == np.object_]
    known = frame.assign(**{name: frame[name].where(frame[name] != "", None) for name in firsts})
    groups = known.groupby(list(keys), sort=False)
    found = groups.agg(dict(rules)).reset_index().fillna(dict.fromkeys(firsts, ""))
    return found.astype(frame.dtypes[list(found.columns)].to_dict()), np.asarray(groups.ngroup(), np.int64)


def with_rest(frame: pd.DataFrame, most: int, rest: Callable[[pd.DataFrame], Mapping[str, object]]) -> pd.DataFrame:
    """The first rows, and where there are more one row in place of the others, as `rest` makes it of them."""
    if len(frame) <= most:
        return frame
    row = pd.DataFrame([rest(frame.iloc[most:])], columns=frame.columns)
    return pd.concat([frame.iloc[:most], row], ignore_index=True).astype(frame.dtypes.to_dict())


def interned(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts, equal ones as one object, in a pickle as in memory: the hosts of a run have mostly the same."""
    return tuple(sys.intern(str(text)) for text in texts)


MAX_EXCHANGES = 500
"""Of one host; those with less exposed time are one row for each kind of exchange."""
OTHER_EXCHANGES = "other exchanges"
"""The name of such a row."""


def summarize_communication(frame: pd.DataFrame) -> PackedFrame:
    """Keep the rows with the most exposed time, and add up the others of each kind."""
    if len(frame) <= MAX_EXCHANGES:
        return PackedFrame.of(frame)
    kept, rest = frame.iloc[:MAX_EXCHANGES], frame.iloc[MAX_EXCHANGES:]
    sums = ["occurrences", "total_time_us", "exposed_time_us", "time_ratio", "bytes"]
    others = rest.groupby(["host", "kind"], as_index=False, sort=False).agg(dict.fromkeys(sums, "sum"))
    total = others["total_time_us"].to_numpy()
    exposed = others["exposed_time_us"].to_numpy()
    others["overlap_ratio"] = np.where(total > 0, 1 - exposed / np.maximum(total, 1e-9), 0.0)
    others["name"] = OTHER_EXCHANGES
    others["type"] = OTHER_EXCHANGES
    return PackedFrame.of(pd.concat([kept, others[list(frame.columns)]], ignore_index=True))


MAX_PEAK_ROWS = 100
"""Of one allocator those that held most; the others are one row, `OTHERS`."""
MAX_OPS = 1_000
"""That allocated most; the others are one op, `OTHERS`."""
OTHER_OPS = "other ops"
OP_COLUMNS = ["name", "type", "allocated_bytes", "peak_bytes"]
PEAK_TYPES: Types = TABLES["memory.peak"].types


def summarize_memory(memory: MemoryProfile, by_op: OpMemory) -> dict[str, PackedFrame]:
    """Keep what does not need every allocation."""
    growths = [memory.growth(name) for name in memory.allocators]
    order = np.argsort(-by_op.allocated_bytes, kind="stable")
    ops = pd.DataFrame({name: getattr(by_op, name) for name in OP_COLUMNS}, columns=OP_COLUMNS)
    ops = with_rest(ops.iloc[np.append(np.sort(order[:MAX_OPS]), order[MAX_OPS:])], MAX_OPS, _other_ops)
    top = {name: [getattr(by_op, name)] for name in ("allocator", "before_capture_bytes", "stack_bytes")}
    tables = {
        "memory": memory.summary.assign(**pd.DataFrame(growths, columns=[one.name for one in fields(MemoryGrowth)])),
        "peaks": _of_allocators(memory, memory.peak),
        "held": _of_allocators(memory, memory.held_at_peak),
        "memory_ops": ops,
        "memory_peak": pd.DataFrame(top).assign(peak_bytes=_peak_of(memory, by_op.allocator))[: len(memory.allocators)],
    }
    return {name: PackedFrame.of(frame) for name, frame in tables.items()}


def _peak_of(memory: MemoryProfile, allocator: str) -> int:
    own = memory.summary["allocator"] == allocator
    return int(memory.summary.loc[own, "peak_bytes"].sum())


def _of_allocators(memory: MemoryProfile, table: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    """The first rows of a table of each allocator, and one of the others."""
    frames = [
        with_rest(table(name), MAX_PEAK_ROWS, partial(_other_rows, n_all=len(table(name)))).assign(allocator=row)
        for row, name in enumerate(memory.allocators)
    ]
    return pd.concat(frames, ignore_index=True) if frames else typed_table((), {**PEAK_TYPES, "allocator": int})


def _other_rows(rest: pd.DataFrame, *, n_all: int) -> dict[str, object]:
    total = int(rest["total_bytes"].sum())
    return dict.fromkeys(rest.columns, "") | {
        "op": f"{OTHER_OPS} ({len(rest):,} of {n_all:,} rows)",
        "allocation_bytes": total,
        "requested_bytes": int((rest["requested_bytes"] * rest["occurrences"]).sum()),
        "occurrences": 1,
        "total_bytes": total,
    }


def _other_ops(rest: pd.DataFrame) -> dict[str, object]:
    return {"name": OTHER_OPS, "type": OTHER_OPS, **rest[["allocated_bytes", "peak_bytes"]].sum()}


def no_events(what: str, host: str, call: str) -> TfProfError:
    """The error of a reduced profile for what needs the events of a host."""
    return TfProfError(f"a reduced profile has no {what}: open one host in full, prof.host({host!r}){call}")


MAX_STEPS = 2_000
"""Of one host; of more the first ones are kept."""
MAX_PIECES = 24
"""Of one step; a step of more is cut into so many equal parts, each of the category that takes most of it."""
MAX_HOST_PIECES = 1_000
"""Of one host, as far as each step keeps one."""


def summarize_steps(steps: Steps) -> PackedFrame:
    """The first rows of `Steps.frame`, with the kind of each step."""
    return PackedFrame.of(steps.frame.assign(kind=step_kinds(steps)).iloc[:MAX_STEPS])


def step_kinds(steps: Steps) -> Int64:
    """For each step the number of its kind: steps of one number are averaged together or not at all, as they are of one name
    and typical of it or not.

    Which steps the averages of a whole cluster are over depends on other hosts only by the kind of step that counts, so sums
    over the steps of one number are all that the cluster needs.
    """
    frame = steps.frame
    kind = pd.factorize(kinds_of(frame["name"]))[0].astype(np.int64)
    is_typical = np.zeros(len(frame), np.int64)
    for one in range(int(kind.max(initial=-1)) + 1):  # one turn per kind of step
        rows = np.flatnonzero(kind == one)
        is_typical[rows] = choose_steps(frame.iloc[rows].reset_index(drop=True))[0]
    return dense_codes(kind, is_typical)[0]


def outlined_pieces(steps: Steps) -> tuple[pd.DataFrame, dict[str, int]]:
    """The pieces of the steps that travel, in outline where a step has too many."""
    bounds = steps.frame[["start_ps", "duration_ps"]].to_numpy(np.int64)[:MAX_STEPS]
    pieces = steps.pieces[steps.pieces["step"] < len(bounds)]
    pieces = pieces.assign(category=pieces["category"].cat.codes)
    n_pieces = np.bincount(pieces["step"], minlength=len(bounds))
    most = max(1, min(MAX_PIECES, MAX_HOST_PIECES // max(len(bounds), 1)))
    is_long = (n_pieces > most)[pieces["step"]]
    n_all, n_outlined = len(pieces), int((n_pieces > most).sum())
    if is_long.any():
        pieces = pd.concat([pieces[~is_long], _outlined(pieces[is_long], bounds, most)])
        pieces = pieces.sort_values(["step", "start_ps"], kind="stable")
    return pieces, {"n_pieces": n_all, "n_outlined": n_outlined, "n_drawn": len(pieces)}


def _outlined(pieces: pd.DataFrame, bounds: Int64, n_parts: int) -> pd.DataFrame:
    """The same steps in equal parts, each of the category that takes most of it; neighbours of one category are one piece."""
    step, start, duration, category = (pieces[name].to_numpy(np.int64) for name in pieces.columns)
    steps = np.unique(step)
    begin, length = bounds[steps, 0], bounds[steps, 1]
    edges = begin[:, None] + length[:, None] * np.arange(n_parts + 1) // n_parts
    # A part is cut from the running time in each category, read at its two edges.
    place = np.searchsorted(steps, step)
    taken = np.zeros((len(steps), n_parts, len(STEP_CATEGORIES)), np.int64)
    first = np.minimum(np.maximum((start - begin[place]) * n_parts // np.maximum(length[place], 1), 0), n_parts - 1)
    last = np.minimum((start + duration - begin[place]) * n_parts // np.maximum(length[place], 1), n_parts - 1)
    n = last - first + 1
    piece = np.repeat(np.arange(len(step)), n)
    part = ranges(first, n)
    low = np.maximum(start[piece], edges[place[piece], part])
    high = np.minimum(start[piece] + duration[piece], edges[place[piece], part + 1])
    np.add.at(taken, (place[piece], part, category[piece]), np.maximum(high - low, 0))
    winner = taken.argmax(axis=2)
    is_first = np.ones(winner.shape, np.bool_)
    is_first[:, 1:] = winner[:, 1:] != winner[:, :-1]
    row, column = np.nonzero(is_first)
    starts = edges[row, column]
    follows = np.append(row[1:] == row[:-1], False)
    ends = np.where(follows, np.append(starts[1:], 0), (begin + length)[row])
    columns = steps[row], starts, ends - starts, winner[row, column]
    return pd.DataFrame(dict(zip(pieces.columns, columns, strict=True)))


MAX_UNITS = 2_000
"""Of one host those with the most time of their own; that of the others is in one op a side, `OTHERS`."""
SUMS = ("count", "n_done", "total_ps", "self_ps")
"""What is added up of each unit, see `OpSums`."""
UNIT_NS = tuple(f"unit_{unit}_ns" for unit in range(N_UNITS))
"""Likewise, the columns of `OpSums.unit_ns`."""


@dataclass(frozen=True)
class KeptUnits:
    """Which units travel, and where they go."""

    n_all: int
    ordinary: Int64
    """Units that are ordinary ops, ascending."""
    others: tuple[bool, ...]
    """For each entry `OTHERS`, which follow the ordinary ops, whether it is of devices."""
    hlo: Int64
    """Units that are HLO ops, ascending."""
    place: Int64
    """For each unit its number in the summary, -1 for one that did not run."""

    @property
    def n_ordinary(self) -> int:
        """How many ordinary ops the summary has."""
        return len(self.ordinary) + len(self.others)


def kept_units(results: Facts) -> KeptUnits:
    """Choose the units with the most time of their own, and those ordinary ops that chosen HLO ops stand for, too."""
    occurrences, shares = results.occurrences, results.op_shares
    n_units, n_ops = len(occurrences.name), occurrences.n_ops
    ran = np.unique(occurrences.op).astype(np.int64)
    is_kept = np.zeros(n_units, np.bool_)
    is_kept[ran] = True
    if len(ran) > MAX_UNITS:
        own = sum_by(occurrences.op, occurrences.self_ps, n_units)
        is_kept[ran[np.argsort(-own[ran], kind="stable")[MAX_UNITS:]]] = False
        paired = shares.op[is_kept[shares.unit] & (shares.unit >= n_ops)]
        is_kept[paired[paired < n_ops]] = True
    others = (True, False) if not is_kept[ran].all() else ()
    ordinary, hlo = np.flatnonzero(is_kept[:n_ops]), n_ops + np.flatnonzero(is_kept[n_ops:])
    place = np.full(n_units, -1, np.int64)
    place[ran] = len(ordinary) + np.where(occurrences.is_device[ran], 0, 1)
    place[ordinary] = np.arange(len(ordinary))
    place[hlo] = len(ordinary) + len(others) + np.arange(len(hlo))
    return KeptUnits(len(ran), ordinary, others, hlo, place)


def summarize_ops(results: Facts, units: KeptUnits) -> dict[str, PackedFrame]:
    """Add the executions of each unit up."""
    return {name: PackedFrame.of(frame) for name, frame in _tables(results, units)}


def _tables(results: Facts, units: KeptUnits) -> Iterator[tuple[str, pd.DataFrame]]:
    occurrences, shares = results.occurrences, results.op_shares
    n, n_hlo, n_ops = units.n_ordinary, len(units.hlo), occurrences.n_ops
    chosen = np.isin(shares.unit, units.hlo)
    compiled = np.unique(shares.op[chosen & (shares.op >= n_ops)]).astype(np.int64)
    place = np.full(len(shares), -1, np.int64)
    place[units.ordinary] = np.arange(len(units.ordinary))
    place[compiled] = n + np.arange(len(compiled))
    yield "ops", _ops(results, units, np.concatenate([units.ordinary, np.full(len(units.others), -1), compiled]))
    sums = op_sums(occurrences)
    added = pd.DataFrame({name: getattr(sums, name) for name in SUMS}).assign(place=units.place)
    added[list(UNIT_NS)] = sums.unit_ns
    every = np.arange(n + n_hlo)
    added = added[units.place >= 0].groupby("place").sum().reindex(every, fill_value=0)
    yield "units", added.assign(op=np.where(every < n, every, -1), hlo=np.maximum(every - n, -1))
    pairs = {"hlo": units.place[shares.unit[chosen]] - n, "op": place[shares.op[chosen]], "ratio": shares.ratio[chosen]}
    yield "pairs", pd.DataFrame(pairs)
    kind = np.append(step_kinds(results.steps), -1)[results.steps.event_step[occurrences.event]]
    own = pd.DataFrame(
        {
            "unit": units.place[occurrences.op],
            "kind": kind,
            "total_ps": occurrences.duration_ps,
            "self_ps": occurrences.self_ps,
            "count": occurrences.is_first.astype(np.int64),
        }
    )
    yield "kinds", own.groupby(["unit", "kind"], as_index=False).sum()


def _ops(results: Facts, units: KeptUnits, listed: Int64) -> pd.DataFrame:
    """The ops of these numbers, -1 for `OTHERS`."""
    shares = results.op_shares
    every = {
        "name": [*shares.name, OTHER_OPS],
        "type": [*shares.type, OTHER_OPS],
        "is_device": np.append(shares.is_device, False),
        "is_eager": np.append(shares.is_eager, False),
        "is_input": np.append(results.op_scopes.is_input, False),
        "source_file": [*shares.source_file, ""],
        "source_line": np.append(shares.source_line, -1),
    }
    texts = dict.fromkeys(("name", "type", "source_file"), object)
    frame = pd.DataFrame(every).astype(texts).iloc[listed]
    is_device = frame["is_device"].to_numpy(np.bool_, copy=True)
    is_device[len(units.ordinary) : units.n_ordinary] = units.others
    return frame.assign(is_device=is_device, is_ordinary=np.arange(len(listed)) < units.n_ordinary)


MAX_LONGEST = 32
"""Of one plane."""
STEPS, STEP_TIME, LONGEST = "Steps", "Step time", "Longest events"
"""The lines of the trace. The first two are made of the steps, not of events, and are therefore derived."""
_LINES = ((DERIVED_LINE_BASE, STEPS), (DERIVED_LINE_BASE + 1, STEP_TIME), (1, LONGEST))

_GUIDE_OF = {"copy_to_device": "input", "dispatch": "other", "sync": "other", "checkpoint": "host_compute"}
"""Categories that the guide has not, as it would most often charge their time."""


def low_detail(results: Facts, pieces: pd.DataFrame) -> Trace:
    """The trace of one host that travels: on each plane its longest events, on that of its threads the steps and `pieces`.

    `n_occurrences` of an event is in it 1 and the row of its step, 0 for none.
    """
    trace, frame = results.trace, results.steps.frame.iloc[:MAX_STEPS]
    strings = StringTable()
    planes = _home_planes(trace.planes)
    default = next(iter(planes.values()), 0)
    home = np.array([planes.get(one.host, default) for one in trace.sessions])[frame["session"].to_numpy()]
    long = _longest_events(results)
    long_step = results.steps.event_step[long].astype(np.int64)
    step = pieces["step"].to_numpy(np.int64)
    parts = [
        frame[["start_ps", "duration_ps", "session", "step"]].assign(
            plane=home, line=0, name=strings.ids_of(frame["name"].tolist())
        ),
        pieces[["start_ps", "duration_ps", "step"]].assign(
            plane=home[step],
            line=1,
            name=strings.ids_of(CATEGORY_LABELS)[pieces["category"]],
            session=frame["session"].to_numpy()[step],
        ),
        pd.DataFrame(
            {
                "start_ps": trace.start_ps[long],
                "duration_ps": trace.duration_ps[long],
                "session": trace.session_id[long],
                "step": np.where(long_step < len(frame), long_step, -1),
                "plane": trace.plane_id[long].astype(np.int64),
                "line": 2,
                "name": strings.ids_of(trace.strings[i] for i in trace.name_id[long].tolist()),
            }
        ),
    ]
    return _assembled(trace, pd.concat(parts), strings)


def _home_planes(planes: Sequence[Plane]) -> dict[str, int]:
    """For each host the plane that its steps are shown on: that of its threads, else its first one."""
    home: dict[str, int] = {}
    for i in sorted(range(len(planes)), key=lambda i: not planes[i].is_host):
        home.setdefault(planes[i].host, i)
    return home


def _with_steps_on(trace: Trace, home: Mapping[str, Plane]) -> Trace:
    """The same with its steps on these planes of their hosts, of which another file may tell."""
    planes, lines = list(trace.planes), list(trace.lines)
    for i, line in enumerate(lines):
        plane = home[planes[line.plane].host]
        if line.is_derived and planes[line.plane].name != plane.name:
            lines[i] = replace(line, plane=len(planes))
            planes.append(plane)
    return replace(trace, planes=tuple(planes), lines=tuple(lines))


def _assembled(whole: Trace, events: pd.DataFrame, strings: StringTable) -> Trace:
    """The trace of these events, with the planes and sessions of the whole one."""
    columns = {str(name): events[name].to_numpy(np.int64) for name in events}
    keys, line = np.unique(columns["plane"] * len(_LINES) + columns["line"], return_inverse=True)
    metadata = event_metadata(columns["name"], columns["plane"].astype(np.int32))
    n, nothing = len(line), np.empty(0, np.int64)
    none = Stats(np.zeros(n, np.int64), nothing.astype(np.int32), nothing.astype(np.uint8), nothing.astype(np.uint64))
    table = EventTable(
        start_ps=columns["start_ps"],
        duration_ps=columns["duration_ps"],
        line_id=line.astype(np.int32),
        metadata_id=metadata.row_of_event,
        session_id=columns["session"].astype(np.int32),
        n_occurrences=(columns["step"] + 1).astype(np.int32),
        stats=packed_stats(none),
    )
    return assemble(
        in_order(table),
        metadata.table,
        planes=whole.planes,
        lines=[Line(key // len(_LINES), *_LINES[key % len(_LINES)], "") for key in keys.tolist()],
        sessions=whole.sessions,
        origin_ns=whole.origin_ns,
        strings=strings.texts,
        blobs=(),
        warnings=whole.warnings,
    )


def _longest_events(results: Facts) -> Int64:
    """Choose executions of ops, the longest first; where a plane has too few, other events of it that are no markers of steps."""
    trace = results.trace
    is_op = np.zeros(trace.n_events, np.bool_)
    is_op[results.occurrences.event] = True
    counted = _counted(results)
    rows = [np.empty(0, np.int64)]
    for plane in range(len(trace.planes)):  # one turn per plane
        part = trace.events_of_plane(plane)
        own = part.start + np.flatnonzero(counted[part])
        rows.append(_longest(own[is_op[own]], trace.duration_ps, MAX_LONGEST))
        rows.append(_longest(own[~is_op[own]], trace.duration_ps, MAX_LONGEST - len(rows[-1])))
    return np.concatenate(rows)


def _counted(results: Facts) -> Bool:
    """Timed events of lines that were not made from others, without those that only mark steps."""
    trace = results.trace
    counted: Bool = ~trace.on_lines([line.is_derived for line in trace.lines]) & (trace.n_occurrences == 0)
    counted &= trace.duration_ps > 0
    marks = np.unique(kinds_of(results.steps.frame["name"])).tolist()
    counted &= ~trace.names_matching([str(name) for name in marks])
    return counted


def _longest(rows: Int64, duration_ps: Int64, n: int) -> Int64:
    if len(rows) > n:
        rows = rows[np.argsort(-duration_ps[rows], kind="stable")[: max(n, 0)]]
    return rows


def merge_low_detail(traces: Sequence[Trace], n_steps: Sequence[int]) -> tuple[Trace, Int64]:
    """One trace of those of all hosts, and for each event its step, -1 for none."""
    planes = [plane for one in traces for plane in one.planes]
    home = {host: planes[i] for host, i in _home_planes(planes).items()}
    moved = []
    for one, first in zip(traces, np.cumsum([0, *n_steps]).tolist(), strict=False):
        step = np.where(one.n_occurrences > 0, one.n_occurrences + first, 0)
        moved.append(replace(_with_steps_on(one, home), n_occurrences=step.astype(np.int32)))
    merged = merge_traces(moved)
    none = np.broadcast_to(np.int32(0), merged.n_events)
    return replace(merged, n_occurrences=none), merged.n_occurrences.astype(np.int64) - 1


def pieces_of(trace: Trace, event_step: SmallInt) -> pd.DataFrame:
    """The table `Steps.pieces` of what a merged trace has of them."""
    events = np.flatnonzero(trace.on_lines([line.is_derived and line.name == STEP_TIME for line in trace.lines]))
    events = events[np.argsort(event_step[events], kind="stable")]
    number = np.zeros(len(trace.strings), np.int8)
    number[[trace.string_ids[label] for label in CATEGORY_LABELS]] = np.arange(len(CATEGORY_LABELS))
    categories = pd.Index(STEP_CATEGORIES, dtype=object)
    return pd.DataFrame(
        {
            "step": event_step[events].astype(np.int32),
            "start_ps": trace.start_ps[events],
            "duration_ps": trace.duration_ps[events],
            "category": pd.Categorical.from_codes(number[trace.name_id[events]], categories=categories),
        }
    )


def as_guide(pieces: pd.DataFrame) -> pd.DataFrame:
    """The same in the categories of the guide, as far as ours tell."""
    guide = pd.Index(GUIDE_CATEGORIES, dtype=object)
    code = np.array([GUIDE_CATEGORIES.index(_GUIDE_OF.get(name, name)) for name in STEP_CATEGORIES], np.int8)
    codes = code[pieces["category"].cat.codes.to_numpy()]
    return pieces.assign(category=pd.Categorical.from_codes(codes, categories=guide))
