"""An analysis -> the parts that a browser gets of it: at once, when it asks, and in a page or a saved notebook."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Literal

import numpy as np

from ..analysis.analysis import Analysis
from ..analysis.common import head
from ..trace.arrays import Int64
from ..trace.trace import Trace, dtype_name
from .contents import N_STEPS, Span, activity, bounds_of, first_view, kept_view, sections_of
from .counters import (
    compute_positions,
    compute_tiles,
    counter_table,
    line_numbers,
    sample_events,
    sample_rows,
)
from .lists import meta_of
from .pack import (
    MOST_COMPRESSED,
    Packed,
    Section,
    Table,
    as_text,
    columns_of,
    json_text,
    pack_bytes,
    packed_tightly,
)
from .tables import EventTables, Names, cut_texts, hlo_name_families

_SAMPLED_EVENTS = 20_000
"""13 bytes each."""
_BLOCK_EVENTS = 2**20
EVENT_BYTES = 36
"""Of an event's columns in a tile, before compression."""
_STAT_BYTES, _NAME_BYTES = 13, 100
_BY_TILE = "events", "stats"
_FEW_CHARACTERS = 100_000
"""Names of so many are sent at once in any order."""
MAX_BYTES = 256 * 2**10
"""Of the first parts, which each notebook and page holds, whatever the size of the trace."""
_MAX_META_BYTES = 128 * 2**10
_MAX_CHARACTERS = (100, 24)
"""Of each string of the meta object, where there are so many that they would delay the first paint."""
_MOST_EVENTS = 50_000
"""Of more the first parts hold a sample."""

Amount = Literal["steps", "full"]
"""All of three typical steps, or everything."""

STEPS_BYTES = 1_490_000
"""Of base64, first parts included: a page has 2.3 MB with its scripts."""
_WHOLE_BYTES = 4 * 2**20
"""A trace of so many bytes before compression is embedded whole."""
_CUT_BYTES = 2**17
"""A table of so many bytes before compression is not cut to typical steps."""
_WINDOW_BYTES = 8 * 2**20
"""Before compression, of the rows of such tables."""
_NARROWER = (0.0, 0.375, 0.475)
"""Of the typical steps on either side, where their rows are more."""


class Payload:
    """What `TraceData` hands to the browser: the `first` parts at once, others when they are asked for.

    Parts have keys: `table:k` of a table or list, `events:k` and `stats:k` of a tile, `names:k`; `first:0` is what all
    others are read with.
    """

    def __init__(self, results: Analysis, *, title: str = "") -> None:
        """Order the events, number the names, and find the parts."""
        trace = self._trace = results.trace
        self.results = results
        self.positions = compute_positions(trace)
        meta = meta_of(results, self.positions, title=title)
        bounds = bounds_of(results, meta["duration_ps"])
        self.home_ps, self.kept_ps = first_view(results, bounds), kept_view(results, bounds)
        """What is shown first, and the span of which a page has every event."""
        self.tiles = compute_tiles(trace, self.positions, self.kept_ps)
        self._sample = sample_events(self.tiles, first_view(results, bounds, N_STEPS), n_wanted=_SAMPLED_EVENTS)
        self.names = _numbered_names(results, self.positions.order[self._sample])
        self.events = EventTables(results, self.tiles, self.names)
        self.sections = sections_of(results, self.names, line_numbers(trace, self.positions.lines))
        """By name, those needed first in front."""
        self.meta = meta | {
            "home": list(self.home_ps),
            "tiles": self.tiles.n,
            "idle_ps": [results.idle_ps.get(side, 0) for side in ("Host", "Device")],
            "activity": activity(trace, self.positions, bounds),
        }
        self.first = self._first()
        """The parts that draw every view at first paint, by key."""

    @property
    def n_events(self) -> int:
        return self._trace.n_events

    @cached_property
    def all(self) -> dict[str, Section | Packed]:
        """`names`, without which others cannot be read, in front, and behind the sections `events` and `stats`."""
        n = self.tiles.n
        once = cache if self.positions.n_events <= _MOST_EVENTS else lambda part: part
        names = Packed(self.names.n_rows, _NAME_BYTES, self.names.n_parts, self.names.part)
        events = Packed(self.positions.n_events, EVENT_BYTES, n, once(self.events.part))
        stats = Packed(self._trace.stats.n_rows, _STAT_BYTES, n, once(self.events.stats_part))
        return {"names": names, **self.sections, "events": events, "stats": stats}

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Of all parts that are not among the first, those first without which others cannot be read."""
        return tuple(key for name, one in self.all.items() for key in _keys(name, one) if key not in self.first)

    @property
    def late_keys(self) -> tuple[str, ...]:
        """Of those the keys of what takes long to find and a reader looks at next."""
        return tuple(f"{name}:0" for name, one in self.sections.items() if one.is_late and one.n_parts == 1)

    def part(self, key: str) -> bytes:
        if key in self.__dict__.get("first", ()):
            return self.first[key]
        name, _, number = key.partition(":")
        section = self.all.get(name)
        if section is None or not number.isdecimal() or int(number) >= section.n_parts:
            known = ", ".join(f"{name} ({one.n_parts})" for name, one in self.all.items())
            raise KeyError(f"no part {key!r}; there are: {known}")
        return section.part(int(number))

    def _first(self) -> dict[str, bytes]:
        """What is needed first, as much as there is room for: with all events, else with a sample of them."""
        given = {"first:0": self._base(), "names:0": self.names.part(0)}
        most = MOST_COMPRESSED * MAX_BYTES
        early = [
            [f"{name}:0"]
            for name, one in self.sections.items()
            if not one.is_late and one.n_parts == 1 and one.n_bytes <= most
        ]
        events, stats = (_keys(name, self.all[name]) for name in _BY_TILE)
        parts = self._fitting(given, [*early, *([events] if self.positions.n_events <= _MOST_EVENTS else [])])
        if not parts.keys() >= {*events}:
            sample = Table({"position": (self._sample, "u4"), **self.events.at(self._sample)})
            parts = self._fitting({**given, "sample:0": pack_bytes({}, {"sample": sample})}, early)
        elif self.all["stats"].n_bytes <= most:
            parts = self._fitting(parts, [stats])
        if "counters" in self.sections and "counters:0" not in parts:
            counters = self.results.counters
            sampled = pack_bytes({}, {"counter_sample": counter_table(counters, sample_rows(counters))})
            parts |= {"counter_sample:0": sampled} if _size(parts) + len(sampled) <= MAX_BYTES else {}
        return parts

    def _fitting(self, given: Mapping[str, bytes], groups: Iterable[Sequence[str]]) -> dict[str, bytes]:
        """Some parts, and of more groups in turn those that fit as a whole."""
        parts = {**given}
        for keys in groups:
            more = {key: self.part(key) for key in keys}
            if _size(parts) + _size(more) <= MAX_BYTES:
                parts |= more
        return parts

    def embedded(self, amount: Amount) -> dict[str, str]:
        """What a page holds: base64 of parts by key."""
        return self.of_steps if amount == "steps" else self._texts(self.keys)

    @cached_property
    def of_steps(self) -> dict[str, str]:
        """What notebooks keep, and by default pages: all of a small trace, else each part in turn that there is room for."""
        if sum(one.n_bytes for one in self.all.values()) <= _WHOLE_BYTES:
            return self._texts(self.keys)
        parts = self._texts(())
        for key, least, share, make in self._in_order():
            room = share * (STEPS_BYTES - _size(parts))
            if key not in parts and least <= MOST_COMPRESSED * room:
                text = as_text(packed_tightly(make()))
                parts |= {key: text} if len(text) <= room else {}
        return parts

    def _in_order(self) -> Iterator[tuple[str, float, float, Callable[[], bytes]]]:
        """Of what there is besides the first parts: key, bytes before compression, which share of the room it may take."""
        cut: list[Section] = []
        for name, one in self.all.items():
            if name in _BY_TILE or {*_keys(name, one)} <= self.first.keys():
                continue
            if isinstance(one, Section) and one.interval is not None and one.n_bytes > _CUT_BYTES:
                cut.append(one)
            else:
                yield from ((key, one.n_bytes, 0.5, partial(self.part, key)) for key in _keys(name, one))
        (begin, end), tiles = self.kept_ps, self.tiles
        for pad in (side * (end - begin) for side in _NARROWER if cut):
            span = begin + pad, end - pad
            n_inside = sum(one.row_bytes * len(one.rows_within(span)) for one in cut)
            if n_inside <= _WINDOW_BYTES:
                yield "window", n_inside, 1.0, partial(_window, cut, span)
                break
        low, high = tiles.overlapping(self.kept_ps)
        near = sorted(range(low, high), key=lambda tile: abs(tile - (low + high) // 2))
        for kind in _BY_TILE:
            for tile in near:
                key = f"{kind}:{tile}"
                yield key, int(tiles.counts[tile]) * EVENT_BYTES, 1.0, partial(self.part, key)

    def _texts(self, keys: Iterable[str]) -> dict[str, str]:
        """The first parts and more, as they are embedded."""
        return {key: as_text(packed_tightly(self.part(key))) for key in (*self.first, *keys)}

    def n_events_in(self, parts: Iterable[str]) -> int:
        """Number of the events of some parts, without those in the sample alone."""
        tiles = [int(key.partition(":")[2]) for key in parts if key.startswith("events:")]
        return int(self.tiles.counts[tiles].sum())

    def _base(self) -> bytes:
        """The meta object; rows of events in the order of positions; windows of time, with the number that starts in each."""
        positions, edges = self.positions, self.tiles.edges_ps
        meta = cut_texts(self.meta, self.names.cut)
        for n_characters in _MAX_CHARACTERS:
            if len(zlib.compress(json_text(meta).encode(), 1)) > _MAX_META_BYTES:
                meta = cut_texts(meta, partial(head, most=n_characters))
        meta["sections"] = {name: {"n_rows": one.n_rows, "n_parts": one.n_parts} for name, one in self.all.items()}
        meta |= {name: [] for name, one in self.sections.items() if one.is_list}
        rows = columns_of(
            positions, slice(None), i4="line:row_line", u4="depth:row_depth", u1="is_filled:row_is_filled"
        )
        tiles = {"t0_ps": (edges[:-1], "f8"), "t1_ps": (edges[1:], "f8"), "n": (self.tiles.counts, "u4")}
        rows["n"] = np.diff(positions.row_offsets), "u4"
        return pack_bytes(meta, {"rows": Table(rows), "tiles": Table(tiles)})


def _numbered_names(results: Analysis, sampled: np.ndarray) -> Names:
    """The names of a payload; of many those of sampled events first, the longest in front."""
    trace, names = results.trace, Names(results.trace)
    used = _used_names(results, names)
    if names.n_characters > _FEW_CHARACTERS:
        events = sampled[np.argsort(-trace.duration_ps[sampled], kind="stable")]
        names.put_first(np.concatenate([trace.name_id[events], used]))
    families = hlo_name_families(results) if results.has_events else {}
    names.tell(_events_by_name(trace), used, families)
    return names


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


def _keys(name: str, section: Section | Packed) -> list[str]:
    return [f"{name}:{index}" for index in range(section.n_parts)]


def _window(tables: Sequence[Section], span: Span) -> bytes:
    return pack_bytes({"window": list(span)}, {one.name: one.cut(span) for one in tables})


def _size(parts: Mapping[str, str | bytes]) -> int:
    return sum(map(len, parts.values()))
