"""An analysis -> the parts that a browser gets of it: at once, when it asks, and in a page or a saved notebook."""

from __future__ import annotations

import math
import uuid
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from ..analysis.analysis import Analysis
from ..analysis.common import head
from ..trace.arrays import Int64
from ..trace.trace import Trace, dtype_name
from .contents import N_STEPS, activity, bounds_of, first_view, kept_view, sections_of
from .counters import (
    PsSpan,
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
    Section,
    Table,
    TileSection,
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
_STAT_BYTES = 13
_LIST_ROW_BYTES = 100
"""At least, where rows differ in size."""
_FEW_CHARACTERS = 100_000
"""Names of so many are sent at once in any order."""
MAX_BYTES = 256 * 2**10
"""Of the first parts, which each notebook and page holds, whatever the size of the trace."""
_MAX_META_BYTES = 128 * 2**10
_MAX_CHARACTERS = (100, 24)
"""Of each string of the meta object, where there are so many that they would delay the first paint."""
_MOST_EVENTS = 50_000
"""Of more the first parts hold a sample."""


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
    def all(self) -> dict[str, Names | Section | TileSection]:
        """`names`, without which others cannot be read, in front, and behind the sections `events` and `stats`."""
        n = self.tiles.n
        once = cache if self.positions.n_events <= _MOST_EVENTS else lambda part: part
        events = TileSection(self.positions.n_events, EVENT_BYTES, n, once(self.events.part))
        stats = TileSection(self._trace.stats.n_rows, _STAT_BYTES, n, once(self.events.stats_part))
        return {"names": self.names, **self.sections, "events": events, "stats": stats}

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

    @cached_property
    def of_steps(self) -> Embedded:
        """What notebooks keep, and by default pages."""
        return _Embedding(self, "steps").made

    def _first(self) -> dict[str, bytes]:
        """What is needed first, as much as there is room for: with all events, else with a sample of them."""
        given = {"first:0": self._base(), "names:0": self.names.part(0)}
        early = {
            f"{name}:0": one
            for name, one in self.sections.items()
            if not one.is_late and one.n_parts == 1 and _least_bytes(one) <= MAX_BYTES
        }
        room: _Room[bytes] = _Room(MAX_BYTES, given)
        for key, one in early.items():
            room.take({key: one.part(0)})
        is_short = self.positions.n_events <= _MOST_EVENTS
        if not (is_short and room.take({key: self.part(key) for key in _keys("events", self.all["events"])})):
            sample = Table({"position": (self._sample, "u4"), **self.events.at(self._sample)})
            room = _Room(MAX_BYTES, {**given, "sample:0": pack_bytes({}, {"sample": sample})})
            for key, one in early.items():
                room.take({key: one.part(0)})
        elif _least_bytes(self.all["stats"]) <= room.left:
            room.take({key: self.part(key) for key in _keys("stats", self.all["stats"])})
        if "counters" in self.sections and "counters:0" not in room.parts:
            room.take({"counter_sample:0": pack_bytes({}, {"counter_sample": counter_sample(self.results)})})
        return room.parts

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
        tiles = {"t0_ps": (edges[:-1], "f8"), "t1_ps": (edges[1:], "f8"), "n": (self.tiles.counts(), "u4")}
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


def _keys(name: str, section: Names | Section | TileSection) -> list[str]:
    return [f"{name}:{index}" for index in range(section.n_parts)]


def _least_bytes(section: Names | Section | TileSection) -> float:
    """Of all parts, packed: those of what is larger than the room are not made."""
    is_list = isinstance(section, Section) and section.is_list
    return section.n_rows * (_LIST_ROW_BYTES if is_list else section.row_bytes) / MOST_COMPRESSED


Part = TypeVar("Part", str, bytes)


class _Room(Generic[Part]):
    """Parts in the order of need, as many as there is room for."""

    def __init__(self, n_bytes: float, given: Mapping[str, Part]) -> None:
        self.parts: dict[str, Part] = dict(given)
        self.left = n_bytes - sum(map(len, given.values()))

    def take(self, parts: Mapping[str, Part], *, most: float = math.inf) -> bool:
        """Take all of some parts, or none."""
        n_bytes = sum(map(len, parts.values()))
        fits = n_bytes <= min(self.left, most)
        if fits:
            self.parts |= parts
            self.left -= n_bytes
        return fits


Amount = int | Literal["steps", "full"]
"""All of three typical steps, so many bytes of base64, or everything."""

STEPS_BYTES = 2 * 2**20
"""Of base64, first parts included."""
_WHOLE_BYTES = 512 * 2**10
"""A trace up to this size is embedded whole."""
_CUT_BYTES = 32 * 2**10
"""A table up to this size is not cut to typical steps."""
_SMALL_RATIO, _TOTALS_RATIO = 8, 2
"""A section below this part of the room is put in whole; the second is for what cannot be cut, with typical steps."""
_BASE64_RATIO = 0.75
_NARROWER = (1.0, 0.25, 0.05)
"""Of the typical steps, where their tables do not fit."""


@dataclass(frozen=True)
class Embedded:
    """What a page without a kernel has."""

    parts: tuple[tuple[str, str], ...]
    """Key and base64 of each part."""
    n_left_out: int
    n_events: int
    """Number of its events without those in the sample alone."""

    def state(self) -> dict[str, Any]:
        """State of a `TraceData` in a page where no kernel will send what is lacking."""
        parts = [list(part) for part in self.parts]
        return {"data_id": uuid.uuid4().hex, "parts": parts, "n_left_out": self.n_left_out, "is_offline": True}


def embed(payload: Payload, amount: Amount) -> Embedded:
    return payload.of_steps if amount == "steps" else _Embedding(payload, amount).made


class _Embedding:
    """All parts, if there is room; else names, small sections, the rows of others at typical steps, and tiles around those."""

    def __init__(self, payload: Payload, amount: Amount) -> None:
        self._payload, self._of_steps = payload, amount == "steps"
        self._texts: dict[str, str] = {}
        first = {key: self._text(key) for key in payload.first}
        n_bytes = math.inf if amount == "full" else STEPS_BYTES if isinstance(amount, str) else amount
        self._missing = {name: one for name, one in payload.all.items() if {*_keys(name, one)} - payload.first.keys()}
        self._room = _Room(_WHOLE_BYTES if self._of_steps else n_bytes, first)
        if sum(map(_least_bytes, self._missing.values())) > self._room.left or not self._room.take(
            self._of(payload.keys)
        ):
            self._room = _Room(n_bytes, first)
            self._take_in_order()
        keys = self._room.parts.keys()
        events = [int(key.partition(":")[2]) for key in keys if key.startswith("events:")]
        n_left_out = sum(key not in keys for key in payload.keys)
        self.made = Embedded(tuple(self._room.parts.items()), n_left_out, int(payload.tiles.counts()[events].sum()))

    def _text(self, key: str) -> str:
        if key not in self._texts:
            self._texts[key] = as_text(packed_tightly(self._payload.part(key)))
        return self._texts[key]

    def _of(self, keys: Iterable[str]) -> dict[str, str]:
        return {key: self._text(key) for key in keys}

    def _take_in_order(self) -> None:
        payload, of_steps, left = self._payload, self._of_steps, max(0.0, self._room.left)
        most = left / (_TOTALS_RATIO if of_steps else _SMALL_RATIO)
        most_of_cut = _CUT_BYTES if of_steps else most
        cut: list[Section] = []
        for name, one in self._missing.items():
            if isinstance(one, TileSection):
                continue
            section = one if isinstance(one, Section) and one.interval is not None else None
            if not self._take_section(name, one, most if section is None else most_of_cut) and section is not None:
                cut.append(section)
        span = payload.kept_ps if of_steps else payload.home_ps
        self._take_window(cut, span)
        low, high = payload.tiles.overlapping(span)
        middle = (low + high) // 2
        near, far = sorted(range(low, high), key=lambda tile: abs(tile - middle)), range(payload.tiles.n)
        if (self._take_together(near) or self._take_tiles(near)) and not of_steps:
            for one in cut:
                self._take_section(one.name, one, math.inf)
            self._take_tiles(sorted({*far} - {*near}, key=lambda tile: abs(tile - middle)))

    def _take_section(self, name: str, one: Names | Section | TileSection, most: float) -> bool:
        room = min(most, self._room.left)
        keys = [key for key in _keys(name, one) if key not in self._room.parts]
        return _least_bytes(one) <= room * _BASE64_RATIO and self._room.take(self._of(keys), most=most)

    def _take_window(self, cut: list[Section], span: PsSpan) -> None:
        """The rows that sections have in a span, or in the middle of it."""
        middle, half = (span[0] + span[1]) / 2, (span[1] - span[0]) / 2
        for ratio in _NARROWER if cut else ():
            window = window_pack(cut, (middle - half * ratio, middle + half * ratio))
            if self._room.take({"window": as_text(packed_tightly(window))}):
                return

    def _take_tiles(self, tiles: Iterable[int]) -> bool:
        """Take tiles one after the other, with stats where those fit, until one does not fit."""
        return all(self._take_together([tile]) for tile in tiles)

    def _take_together(self, tiles: Sequence[int]) -> bool:
        """Take all of some tiles, with stats or without, or none."""
        kinds = [name for name in ("events", "stats") if name in self._missing]
        if self._payload.tiles.counts()[list(tiles)].sum() * EVENT_BYTES > MOST_COMPRESSED * self._room.left:
            return False
        events, whole = (self._of(f"{kind}:{tile}" for tile in tiles for kind in own) for own in (kinds[:1], kinds))
        return self._room.take(whole) or self._room.take(events)
