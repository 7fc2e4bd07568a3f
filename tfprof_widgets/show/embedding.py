"""A payload -> what a saved notebook or an exported page has of it: three typical steps, as many as fit, or all."""

from __future__ import annotations

import math
import uuid
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np

from ..analysis.analysis import Analysis
from ..analysis.common import head
from ..trace.arrays import Int64
from ..trace.trace import Trace, dtype_name
from .counters import (
    Positions,
    PsSpan,
    Tiles,
    compute_positions,
    compute_tiles,
    counter_sample,
    line_numbers,
    sample_events,
    window_pack,
)
from .lists import meta_of
from .pack import (
    MOST_COMPRESSED,
    Block,
    ListSection,
    Segment,
    Table,
    TableSection,
    TileSection,
    as_text,
    columns_of,
    json_text,
    pack_bytes,
    packed_tightly,
)
from .payload import Span, activity, bounds_of, first_view, kept_view, late_sections, list_sections, table_sections
from .tables import EventTables, Names, cut_texts, hlo_name_families

_SAMPLED_EVENTS = 20_000
"""13 bytes each."""
_BLOCK_EVENTS = 2**20
EVENT_BYTES = 36
"""Of an event's columns in a tile, before compression."""
_STAT_BYTES = 13
_FEW_CHARACTERS = 100_000
"""Names of so many are sent at once in any order."""


Section = Names | ListSection | TableSection | TileSection


@dataclass(frozen=True, eq=False, repr=False)
class Contents:
    results: Analysis
    meta: dict[str, Any]
    """Of the first pack, without lists that are sections and without names."""
    positions: Positions
    tiles: Tiles
    home_ps: Span
    kept_ps: Span
    """The span of which a page has every event."""
    sample: np.ndarray
    """Positions of the events of the first picture."""
    names: Names
    sections: dict[str, ListSection | TableSection]
    """By name, those needed first in front."""
    events: EventTables

    @cached_property
    def all(self) -> dict[str, Section]:
        """The same with `names`, without which others cannot be read, in front, and behind them `events` and `stats`."""
        n_tiles, n_stats = self.tiles.n, self.results.trace.stats.n_rows
        events = TileSection(self.positions.n_events, EVENT_BYTES, n_tiles, self.events.part)
        stats = TileSection(n_stats, _STAT_BYTES, n_tiles, self.events.stats_part)
        return {"names": self.names, **self.sections, "events": events, "stats": stats}


def contents_of(results: Analysis, *, title: str) -> Contents:
    """Order the events, number the names, and say what the sections are."""
    trace = results.trace
    positions = compute_positions(trace)
    meta = meta_of(results, positions, title=title)
    bounds = bounds_of(results, meta["duration_ps"])
    home, kept = first_view(results, bounds), kept_view(results, bounds)
    tiles = compute_tiles(trace, positions, kept)
    sample = sample_events(tiles, home, n_wanted=_SAMPLED_EVENTS)
    names = Names(trace)
    used = _used_names(results, names)
    if names.n_characters > _FEW_CHARACTERS:
        events = positions.order[sample[np.argsort(-trace.duration_ps[positions.order[sample]], kind="stable")]]
        names.put_first(np.concatenate([trace.name_id[events], used]))
    families = hlo_name_families(results) if results.has_events else {}
    names.tell(_events_by_name(trace), used, families)
    meta |= {
        "home": list(home),
        "tiles": tiles.n,
        "idle_ps": [results.idle_ps.get(side, 0) for side in ("Host", "Device")],
        "activity": activity(trace, positions, bounds),
    }
    numbers = line_numbers(trace, positions.lines)
    # Late ones first, so that they are there wherever anything is: in a saved notebook, in a page of a long capture.
    sections: dict[str, ListSection | TableSection] = {one.name: one for one in late_sections(results, names)}
    sections |= {one.name: one for one in list_sections(results, names)}
    sections |= {one.name: one for one in table_sections(results, names, numbers)}
    return Contents(
        results=results,
        meta=meta,
        positions=positions,
        tiles=tiles,
        home_ps=home,
        kept_ps=kept,
        sample=sample,
        names=names,
        sections=sections,
        events=EventTables(results, tiles, names),
    )


def _events_by_name(trace: Trace) -> Int64:
    """Number of events by name, block by block, because counting makes a wider copy."""
    count = np.zeros(len(trace.strings), np.int64)
    for begin in range(0, trace.n_events, _BLOCK_EVENTS):
        count += np.bincount(trace.name_id[begin : begin + _BLOCK_EVENTS], minlength=len(count))
    return count


def _used_names(results: Analysis, names: Names) -> np.ndarray:
    """Ids of the names that the analyses use, of which some are not in the trace."""
    ops = names.ids_of(results.op_shares.name), names.ids_of(results.op_shares.type)
    if not results.has_events:
        return np.concatenate(ops)
    dtypes = names.ids(dtype_name(code) for code in np.unique(results.memory.snapshots.dtype).tolist())
    return np.concatenate([*ops, dtypes])


MAX_BYTES = 256 * 2**10
"""The first pack is a trait, which each notebook and page holds, whatever the size of the trace."""
_MAX_META_BYTES = 128 * 2**10
_MAX_CHARACTERS = (100, 24)
"""Of each string of the meta object, where there are so many that they would delay the first paint."""
_MOST_EVENTS = 50_000
"""With more it is not tried whether all fit."""


def first_pack(contents: Contents) -> tuple[bytes, frozenset[str]]:
    """Pack what fits, in the order in which it is needed: with all events, else with a sample of them."""
    meta = cut_texts(contents.meta, contents.names.cut)
    block = _members(meta)
    for n_characters in _MAX_CHARACTERS:
        if len(block.data) <= _MAX_META_BYTES:
            break
        meta = cut_texts(meta, partial(head, most=n_characters))
        block = _members(meta)
    members, base = [block, contents.names.first[1]], _base(contents)
    room = MAX_BYTES - sum(len(one.data) for one in members) - sum(_cost(name, one) for name, one in base.items())
    if contents.positions.n_events <= _MOST_EVENTS:
        draft = _Draft(contents, members, base, room)
        draft.add({"sample": _sample(contents, np.empty(0, np.int64))})
        draft.add_sections()
        if draft.add_tiles("events", contents.events.tile):
            draft.add_tiles("stats", contents.events.stats)
            return draft.packed(), frozenset(draft.is_here)
    draft = _Draft(contents, members, base, room)
    draft.add({"sample": _sample(contents, contents.sample)})
    draft.add_sections()
    return draft.packed(), frozenset(draft.is_here)


class _Draft:
    """A pack that takes tables as long as there is room."""

    def __init__(self, contents: Contents, members: list[Block], base: dict[str, Segment], n_bytes: int) -> None:
        self._contents = contents
        self._members = list(members)
        self._segments = dict(base)
        self.left = n_bytes
        self.is_here: set[str] = {"names"} if contents.names.n_parts == 0 else set()

    def add(self, segments: dict[str, Segment]) -> bool:
        cost = sum(_cost(name, segment) for name, segment in segments.items())
        fits = cost <= self.left
        if fits:
            self._segments |= segments
            self.left -= cost
        return fits

    def add_sections(self) -> None:
        """Put each section in that fits and is quick to find, and an outline of large counters."""
        for name, section in self._contents.sections.items():
            if section.is_late or not section.fits(self.left):
                continue
            if isinstance(section, TableSection):
                if self.add({name: section.whole}):
                    self.is_here.add(name)
                continue
            self._members.append(section.member)
            self.left -= len(section.member.data)
            self.is_here.add(name)
        if "counters" in self._contents.sections and "counters" not in self.is_here:
            self.add({"counter_sample": Segment(counter_sample(self._contents.results))})

    def add_tiles(self, name: str, tables: Callable[[int], dict[str, Table]]) -> bool:
        """Put the tables of all tiles in, each under its name and the tile's number, if there is room for all."""
        segments: dict[str, Segment] = {}
        for tile in range(self._contents.tiles.n):
            segments |= {f"{table}:{tile}": Segment(columns) for table, columns in tables(tile).items()}
            if sum(_cost(key, segment) for key, segment in segments.items()) > self.left:
                return False
        self.is_here.add(name)
        return self.add(segments)

    def packed(self) -> bytes:
        sections = {
            name: {"n_rows": one.n_rows, "n_parts": one.n_parts, "is_here": name in self.is_here}
            for name, one in self._contents.all.items()
        }
        lists = (name for name, one in self._contents.sections.items() if isinstance(one, ListSection))
        absent: dict[str, list[Any]] = {name: [] for name in lists if name not in self.is_here}
        return pack_bytes({"sections": sections, **absent}, self._segments, self._members)


def _base(contents: Contents) -> dict[str, Segment]:
    """Rows of events in the order of positions; windows of time of events, with the number that starts in each; names."""
    positions, edges, everything = contents.positions, contents.tiles.edges_ps, slice(None)
    rows = columns_of(positions, everything, i4="line:row_line", u4="depth:row_depth", u1="is_filled:row_is_filled")
    tiles = Table({"t0_ps": (edges[:-1], "f8"), "t1_ps": (edges[1:], "f8"), "n": (contents.tiles.counts(), "u4")})
    return {
        "rows": Segment(Table({**rows, "n": (np.diff(positions.row_offsets), "u4")})),
        "tiles": Segment(tiles),
        "names": Segment(contents.names.table(0, contents.names.first[0])),
    }


def _sample(contents: Contents, positions: np.ndarray) -> Segment:
    columns = contents.events.at(positions)
    return Segment(Table({"position": (positions, "u4"), **columns}))


def _members(meta: dict[str, Any]) -> Block:
    return Block.of(f",{json_text(meta)[1:-1]}".encode())


def _cost(name: str, segment: Segment) -> int:
    """Bytes of a table: its columns, and its part of the header and the list of sections."""
    return len(segment.block.data) + len(name) + 60 + sum(len(column) + 40 for column in segment.columns) // 2


class Payload:
    """What `TraceData` hands to the browser: `overview` at once, parts when they are asked for."""

    def __init__(self, contents: Contents, overview: bytes, is_here: frozenset[str]) -> None:
        self.overview = overview
        """A pack that draws every view at first paint; what it cannot hold are parts."""
        self.contents = contents
        self.is_here = is_here
        """What the overview holds whole: names of sections, `names`, `events` and `stats`."""

    @property
    def n_events(self) -> int:
        return self.contents.results.trace.n_events

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys of all parts that are not in the overview, those first without which others cannot be read."""
        return tuple(
            f"{name}:{i}"
            for name, section in self.contents.all.items()
            if name not in self.is_here
            for i in range(section.n_parts)
        )

    @property
    def late_keys(self) -> tuple[str, ...]:
        """Of those the keys of what takes long to find and a reader looks at next."""
        late = (name for name, one in self.contents.sections.items() if one.is_late and one.n_parts == 1)
        return tuple(f"{name}:0" for name in late if name not in self.is_here)

    def part(self, key: str) -> bytes:
        name, _, number = key.partition(":")
        section = self.contents.all.get(name)
        if section is None or not number.isdecimal() or int(number) >= section.n_parts:
            known = ", ".join(f"{name} ({one.n_parts})" for name, one in self.contents.all.items())
            raise KeyError(f"no part {key!r}; there are: {known}")
        return section.part(int(number))


def build_payload(results: Analysis, *, title: str = "") -> Payload:
    """Decide what travels first and pack it."""
    contents = contents_of(results, title=title)
    overview, is_here = first_pack(contents)
    return Payload(contents, overview, is_here)


Amount = int | Literal["steps", "full"]
"""All of three typical steps, so many bytes of base64 with the first pack, or everything."""

STEPS_BYTES = 2 * 2**20
"""Of base64, first pack included."""
_WHOLE_BYTES = 512 * 2**10
"""A trace up to this size is embedded whole."""
_CUT_BYTES = 32 * 2**10
"""A table up to this size is not cut to typical steps."""
_SMALL_RATIO, _TOTALS_RATIO = 8, 2
"""A section below this part of the room is put in whole; the second is for what cannot be cut, with typical steps."""
_SMALL_PARTS, _TOTALS_PARTS = 4, 16
"""A section of more is not tried."""
_BASE64_RATIO = 0.75
_ROUNDS = 3
"""Of finding how many tiles more there is room for."""
_UNEVEN = 2
"""A tile is still found that takes so many times less, event by event, than its neighbours."""
_NARROWER = (1.0, 0.25, 0.05)
"""Of the typical steps, where their tables do not fit."""


@dataclass(frozen=True)
class Embedded:
    """What a page without a kernel has besides the first pack."""

    parts: tuple[tuple[str, str], ...]
    """Key and base64 of each part."""
    n_left_out: int
    n_events: int
    """Number of its events without those in the first pack's sample alone."""

    def state(self, payload: Payload) -> dict[str, Any]:
        """State of a `TraceData` in a page where no kernel will send what is lacking."""
        return {
            "data_id": uuid.uuid4().hex,
            "overview": as_text(packed_tightly(payload.overview)),
            "embedded": [list(part) for part in self.parts],
            "n_left_out": self.n_left_out,
            "is_offline": True,
        }


def embed(payload: Payload, amount: Amount) -> Embedded:
    if amount != "steps":
        return _within(payload, None if amount == "full" else amount)
    if payload not in _of_steps:
        contents, chooser = payload.contents, _Chooser(payload, _WHOLE_BYTES)
        if not chooser.add_all():
            chooser = _Chooser(payload, STEPS_BYTES)
            # Names, and what does not grow with the length of the capture.
            chooser.add_sections(max(0.0, chooser.left) / _TOTALS_RATIO, _CUT_BYTES, _TOTALS_PARTS)
            if not (chooser.add_tiles_of(contents.kept_ps) or chooser.add_tiles(contents.kept_ps)):
                chooser.add_window(contents.kept_ps)
        _of_steps[payload] = chooser.embedded()
    return _of_steps[payload]


_of_steps: WeakKeyDictionary[Payload, Embedded] = WeakKeyDictionary()
"""For notebooks, and by default for pages."""


def _within(payload: Payload, max_bytes: int | None) -> Embedded:
    """All, if it fits; else small sections whole, and tiles around the typical steps with the others cut to them."""
    contents, chooser = payload.contents, _Chooser(payload, max_bytes)
    if not chooser.add_all():
        most = max(0.0, chooser.left) / _SMALL_RATIO
        chooser.add_sections(most, most, _SMALL_PARTS)
        if not chooser.add_tiles(contents.home_ps):
            chooser.add_window(contents.home_ps)
    return chooser.embedded()


class _Chooser:
    """Parts that fit a number of bytes; what the size of earlier parts shows to be too large is not made."""

    def __init__(self, payload: Payload, max_bytes: int | None) -> None:
        self._payload = payload
        self._tiles = payload.contents.tiles
        self._most = math.inf if max_bytes is None else max_bytes - len(as_text(payload.overview))
        self.left = self._most
        self.parts: dict[str, str] = {}
        self._made: dict[str, str] = {}
        self._windows: dict[PsSpan, str] = {}
        self._cut: list[TableSection] = []
        """Tables that are too large to be put in whole."""

    def embedded(self) -> Embedded:
        payload, tiles = self._payload, [int(key.partition(":")[2]) for key in self.parts if key.startswith("events:")]
        n_here = payload.contents.positions.n_events if "events" in payload.is_here else 0
        n_parts = sum(key != "window" for key in self.parts)
        n_events = n_here + int(self._tiles.counts()[tiles].sum())
        return Embedded(tuple(self.parts.items()), len(payload.keys) - n_parts, n_events)

    def add_all(self) -> bool:
        missing = (one for name, one in self._payload.contents.all.items() if name not in self._payload.is_here)
        may_fit = sum(one.n_rows * one.row_bytes for one in missing) <= MOST_COMPRESSED * self._most
        return may_fit and self.add(dict.fromkeys(self._payload.keys))

    def add(self, parts: Mapping[str, str | None], *, most: float = math.inf) -> bool:
        """Put parts in, made one by one until one is None, if there is room for all of them, or `most` bytes."""
        taken, room = {}, min(self.left, most)
        for key, text in parts.items():
            taken[key] = text if text is not None else self._part(key)
            room -= len(taken[key])
            if room < 0:
                return False
        self.parts |= taken
        self.left -= _length(taken)
        return True

    def _part(self, key: str) -> str:
        if key not in self._made:
            self._made[key] = as_text(packed_tightly(self._payload.part(key)))
        return self._made[key]

    def add_sections(self, most: float, most_of_cut: float, most_parts: int) -> None:
        """Put sections and names in that fit so much room; tiles and windows bring rows of the rest."""
        here, contents = self._payload.is_here, self._payload.contents
        if "names" not in here and contents.names.n_parts <= most_parts:
            self.add(_keys("names", contents.names))
        for name, section in contents.sections.items():
            if name in here:
                continue
            can_be_cut = isinstance(section, TableSection) and section.interval is not None
            room = most_of_cut if can_be_cut else most
            may_fit = section.n_parts <= most_parts and section.may_fit(room * _BASE64_RATIO)
            is_in = may_fit and self.add(_keys(name, section), most=room)
            if isinstance(section, TableSection) and section.interval is not None and not is_in:
                self._cut.append(replace(section, interval=cache(section.interval)))

    def add_tiles_of(self, span_ps: PsSpan) -> bool:
        """Put in all tiles of a span, with their stats where those fit, and the rows that large sections have there."""
        tiles = range(*self._tiles.overlapping(span_ps))
        if self._n_events(tiles) * EVENT_BYTES > MOST_COMPRESSED * self.left:
            return False
        for kinds in self._kinds():
            if tiles and self._fits(tiles, kinds):
                return self.add(self._parts_of(tiles, kinds))
        return False

    def add_tiles(self, span_ps: PsSpan) -> bool:
        """Put in the tile in the middle of a span, and as many next to it as fit, with stats; False for none."""
        low, high = self._tiles.overlapping(span_ps)
        middle = range((low + high) // 2, (low + high) // 2 + 1)
        for kinds in self._kinds():
            if low < high and self._fits(middle, kinds):
                return self.add(self._parts_of(self._widest(middle, range(low, high), kinds), kinds))
        return False

    def _kinds(self) -> Iterator[list[str]]:
        """What is sent by tile and not in the first pack: with stats, then without."""
        for names in (("events", "stats"), ("events",)):
            yield [name for name in names if name not in self._payload.is_here]

    def _fits(self, tiles: range, kinds: Sequence[str]) -> bool:
        return _length(self._parts_of(tiles, kinds)) <= self.left

    def _widest(self, tiles: range, home: range, kinds: Sequence[str]) -> range:
        """As many tiles as fit, around some that do."""
        for _ in range(_ROUNDS):
            grown = [tiles, *self._wider(tiles, home, kinds)]
            if not self._fits(grown[-1], kinds):
                return grown[bisect_left(grown, True, key=lambda one: not self._fits(one, kinds)) - 1]
            tiles = grown[-1]
        return tiles

    def _wider(self, tiles: range, home: range, kinds: Sequence[str]) -> Iterator[range]:
        """Add one tile each time, as long as it seems to fit with its rows of large sections."""
        n, size = self._n_events(tiles), _length(self._tile_parts(tiles, kinds))
        of_event = _length(self._window_of(tiles)) / max(1, n)
        while True:
            for new in self._next(tiles, home):
                more = self._n_events(new)
                room = self.left - size - (n + more) * of_event
                is_tried = (
                    size * more <= _UNEVEN * room * n and (n + more) * EVENT_BYTES <= MOST_COMPRESSED * self._most
                )
                if is_tried and (length := _length(self._tile_parts(new, kinds))) <= room:
                    break
            else:
                return
            tiles = range(min(tiles.start, new.start), max(tiles.stop, new.stop))
            n, size = n + more, size + length
            yield tiles

    def _next(self, tiles: range, home: range) -> list[range]:
        """The tile behind some and the one before them, first that of the typical steps."""
        sides = range(tiles.stop, tiles.stop + 1), range(tiles.start - 1, tiles.start)
        return sorted((one for one in sides if 0 <= one[0] < self._tiles.n), key=lambda one: one[0] not in home)

    def _n_events(self, tiles: range) -> int:
        return int(self._tiles.counts()[tiles.start : tiles.stop].sum())

    def _parts_of(self, tiles: range, kinds: Sequence[str]) -> dict[str, str]:
        return self._tile_parts(tiles, kinds) | self._window_of(tiles)

    def _tile_parts(self, tiles: range, kinds: Sequence[str]) -> dict[str, str]:
        return {key: self._part(key) for tile in tiles for key in (f"{kind}:{tile}" for kind in kinds)}

    def _window_of(self, tiles: range) -> dict[str, str]:
        edges = self._tiles.edges_ps
        return self._window((float(edges[tiles.start]), float(edges[tiles.stop])))

    def _window(self, window_ps: PsSpan) -> dict[str, str]:
        if self._cut and window_ps not in self._windows:
            self._windows[window_ps] = as_text(packed_tightly(window_pack(self._cut, window_ps)))
        return {"window": self._windows[window_ps]} if self._cut else {}

    def add_window(self, home_ps: PsSpan) -> None:
        """Put in the rows of sections at the typical steps, or in the middle of those."""
        start, end = home_ps
        for ratio in _NARROWER:
            half = (end - start) * ratio / 2
            if self.add(self._window(((start + end) / 2 - half, (start + end) / 2 + half))):
                return


def _keys(name: str, section: Section) -> dict[str, None]:
    return dict.fromkeys(f"{name}:{index}" for index in range(section.n_parts))


def _length(parts: Mapping[str, str]) -> int:
    return sum(map(len, parts.values()))
