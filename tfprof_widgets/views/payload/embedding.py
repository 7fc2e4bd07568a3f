"""A payload -> the parts that a saved notebook or an exported page holds: those of three typical steps, as many as fit, or all.

Of whatever it holds totals are exact: what does not grow with the length of the capture is whole. Of the events outside there
is the sample of the first pack.
"""

from __future__ import annotations

import math
import uuid
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal
from weakref import WeakKeyDictionary

from .contents import EVENT_BYTES
from .payload import Payload
from .sections import Section, TableSection
from .window import Span, window_pack
from .wire import as_text, packed_tightly

Amount = int | Literal["steps", "full"]
"""How much of a trace: all of three typical steps, so many bytes of base64 with the first pack, or everything."""

STEPS_BYTES = 2 * 2**20
"""Of base64 at most for typical steps, first pack included; of larger ones there is as much as fits."""
_WHOLE_BYTES = 512 * 2**10
"""A trace that takes no more is there as a whole."""
_CUT_BYTES = 32 * 2**10
"""A table that can be cut to typical steps is whole if it takes no more."""
_SMALL_RATIO, _TOTALS_RATIO = 8, 2
"""A section that takes less than this part of the room is put in whole; the second for what cannot be cut, with typical steps."""
_SMALL_PARTS, _TOTALS_PARTS = 4, 16
"""A section of more is not tried."""
_BASE64_RATIO = 0.75
_MOST_COMPRESSED = 8
"""Columns seldom shrink more: what had to is not tried."""
_ROUNDS = 3
"""Of finding how many tiles more there is room for."""
_UNEVEN = 2
"""A tile that takes so many times less, event by event, than those beside it is still found."""
_NARROWER = (1.0, 0.25, 0.05)
"""Of the typical steps, where not even the tables of those fit."""


@dataclass(frozen=True)
class Embedded:
    """What a page without a kernel has besides the first pack."""

    parts: tuple[tuple[str, str], ...]
    """Key and base64 of each part."""
    n_left_out: int
    """How many parts it lacks."""
    n_events: int
    """How many events it has, of those that are not only in the sample of the first pack."""

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
    """Choose parts."""
    if amount != "steps":
        return _within(payload, None if amount == "full" else amount)
    if payload not in _of_steps:
        _of_steps[payload] = _typical(payload)
    return _of_steps[payload]


_of_steps: WeakKeyDictionary[Payload, Embedded] = WeakKeyDictionary()
"""What notebooks keep, which pages hold too unless told otherwise."""


def _typical(payload: Payload) -> Embedded:
    """All, where that is little; else what is small whole, and of the rest all that is in three typical steps."""
    contents, chooser = payload.contents, _Chooser(payload, _WHOLE_BYTES)
    if not chooser.add_all():
        chooser = _Chooser(payload, STEPS_BYTES)
        chooser.add_totals()
        if not (chooser.add_tiles_of(contents.kept_ps) or chooser.add_tiles(contents.kept_ps)):
            chooser.add_window(contents.kept_ps)
    return chooser.embedded()


def _within(payload: Payload, max_bytes: int | None) -> Embedded:
    """All, where there is room; else small sections whole, and tiles around the typical steps with the other sections cut
    to those."""
    contents, chooser = payload.contents, _Chooser(payload, max_bytes)
    if not chooser.add_all():
        chooser.add_small_sections()
        if not chooser.add_tiles(contents.home_ps):
            chooser.add_window(contents.home_ps)
    return chooser.embedded()


class _Chooser:
    """Parts that fit a number of bytes; what is too large by the size of parts that were made already is not made."""

    def __init__(self, payload: Payload, max_bytes: int | None) -> None:
        self._payload = payload
        self._tiles = payload.contents.tiles
        self._most = math.inf if max_bytes is None else max_bytes - len(as_text(payload.overview))
        self._left = self._most
        self.parts: dict[str, str] = {}
        """Base64 by key."""
        self._made: dict[str, str] = {}
        self._windows: dict[Span, str] = {}
        self._cut: list[TableSection] = []
        """Tables that are too large to be put in whole."""

    def embedded(self) -> Embedded:
        """What was put in."""
        payload, tiles = self._payload, [int(key.partition(":")[2]) for key in self.parts if key.startswith("events:")]
        n_here = payload.contents.positions.n_events if "events" in payload.is_here else 0
        n_parts = sum(key != "window" for key in self.parts)
        n_events = n_here + int(self._tiles.counts()[tiles].sum())
        return Embedded(tuple(self.parts.items()), len(payload.keys) - n_parts, n_events)

    def add_all(self) -> bool:
        """Put all parts in if there is room."""
        return self._may_hold_all() and self.add(dict.fromkeys(self._payload.keys))

    def _may_hold_all(self) -> bool:
        """Whether columns could shrink so much that all parts have room; of lists and names about."""
        missing = (one for name, one in self._payload.contents.all.items() if name not in self._payload.is_here)
        return sum(one.n_rows * one.row_bytes for one in missing) <= _MOST_COMPRESSED * self._most

    def add(self, parts: Mapping[str, str | None], *, most: float = math.inf) -> bool:
        """Put parts in if there is room for all of them, or `most` bytes; those that are None are made until there is none."""
        taken, room = {}, min(self._left, most)
        for key, text in parts.items():
            taken[key] = text if text is not None else self._part(key)
            room -= len(taken[key])
            if room < 0:
                return False
        self.parts |= taken
        self._left -= _length(taken)
        return True

    def _part(self, key: str) -> str:
        if key not in self._made:
            self._made[key] = as_text(packed_tightly(self._payload.part(key)))
        return self._made[key]

    def add_small_sections(self) -> None:
        """Put small sections in, and names if they fit; of the others tiles and windows bring rows."""
        most = max(0.0, self._left) / _SMALL_RATIO
        self._add_sections(most, most, _SMALL_PARTS)

    def add_totals(self) -> None:
        """Put in what does not grow with the length of the capture, and names; of what does so tiles and windows bring rows."""
        self._add_sections(max(0.0, self._left) / _TOTALS_RATIO, _CUT_BYTES, _TOTALS_PARTS)

    def _add_sections(self, most: float, most_of_cut: float, most_parts: int) -> None:
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

    def add_tiles_of(self, span_ps: Span) -> bool:
        """Put in all tiles of a span, with their stats where those fit, and the rows that large sections have there."""
        tiles = range(*self._tiles.overlapping(span_ps))
        if self._n_events(tiles) * EVENT_BYTES > _MOST_COMPRESSED * self._left:
            return False
        for kinds in self._kinds():
            if tiles and self._fits(tiles, kinds):
                return self.add(self._parts_of(tiles, kinds))
        return False

    def add_tiles(self, span_ps: Span) -> bool:
        """Put in the tile in the middle of a span, and as many next to it as fit; False where none does.

        With their stats where those of the first one fit, and with the rows that large sections have there.
        """
        low, high = self._tiles.overlapping(span_ps)
        middle = range((low + high) // 2, (low + high) // 2 + 1)
        for kinds in self._kinds():
            if low < high and self._fits(middle, kinds):
                return self.add(self._parts_of(self._widest(middle, range(low, high), kinds), kinds))
        return False

    def _kinds(self) -> Iterator[list[str]]:
        """What travels tile by tile and is not in the first pack: with stats, then without."""
        for names in (("events", "stats"), ("events",)):
            yield [name for name in names if name not in self._payload.is_here]

    def _fits(self, tiles: range, kinds: Sequence[str]) -> bool:
        return _length(self._parts_of(tiles, kinds)) <= self._left

    def _widest(self, tiles: range, home: range, kinds: Sequence[str]) -> range:
        """As many tiles as fit, around some that do."""
        for _ in range(_ROUNDS):
            grown = [tiles, *self._wider(tiles, home, kinds)]
            if not self._fits(grown[-1], kinds):
                return grown[bisect_left(grown, True, key=lambda one: not self._fits(one, kinds)) - 1]
            tiles = grown[-1]
        return tiles

    def _wider(self, tiles: range, home: range, kinds: Sequence[str]) -> Iterator[range]:
        """One tile more each time, as long as there seems to be room for it and for the rows of large sections there."""
        n, size = self._n_events(tiles), _length(self._tile_parts(tiles, kinds))
        of_event = _length(self._window_of(tiles)) / max(1, n)
        while True:
            for new in self._next(tiles, home):
                more = self._n_events(new)
                room = self._left - size - (n + more) * of_event
                is_tried = (
                    size * more <= _UNEVEN * room * n and (n + more) * EVENT_BYTES <= _MOST_COMPRESSED * self._most
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

    def _window(self, window_ps: Span) -> dict[str, str]:
        if self._cut and window_ps not in self._windows:
            self._windows[window_ps] = as_text(packed_tightly(window_pack(self._cut, window_ps)))
        return {"window": self._windows[window_ps]} if self._cut else {}

    def add_window(self, home_ps: Span) -> None:
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
