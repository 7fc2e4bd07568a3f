"""Tiles around the typical steps -> as many as fit a page, with the rows that the large sections have there.

What does not fit is not packed to find that out: sizes are guessed from the tiles that are packed already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from .contents import EVENT_BYTES
from .room import Packed, Room
from .sections import TableSection
from .window import Span, window_pack
from .wire import as_text

MOST_COMPRESSED = 8
"""Columns seldom shrink more: what had to is not tried."""
_ROUNDS = 3
"""Of guessing how many tiles more there is room for."""


class Windows:
    """The rows of large sections within windows of time; when each row was is worked out once."""

    def __init__(self, sections: Sequence[TableSection]) -> None:
        self._sections = [replace(one, interval=cache(one.interval)) for one in sections if one.interval is not None]
        self._known: dict[Span, str] = {}

    def part(self, window_ps: Span) -> dict[str, str]:
        """The part `window`; none where no section is too large."""
        if not self._sections:
            return {}
        if window_ps not in self._known:
            self._known = {window_ps: as_text(window_pack(self._sections, window_ps))}
        return {"window": self._known[window_ps]}


@dataclass
class _Step:
    """One tile more."""

    tiles: range
    """All tiles from then on."""
    keys: list[str]


class TileChooser:
    """Puts tiles into what room there is."""

    def __init__(self, packed: Packed, room: Room, windows: Windows) -> None:
        self._packed, self._room, self._windows = packed, room, windows
        self._tiles = packed.payload.contents.tiles

    def add(self, span_ps: Span) -> bool:
        """Put in the tiles of a span, or the one in its middle, and as many next to them as fit; False where none does."""
        low, high = self._tiles.overlapping(span_ps)
        if low == high:
            return False
        middle = (low + high) // 2
        alone = range(middle, middle + 1)
        self._packed.tiles("events", alone)
        start = next((one for one in dict.fromkeys((range(low, high), alone)) if self._put(one)), None)
        if start is None:
            return False
        for _ in range(_ROUNDS):
            wider = self._grown(start)
            if wider == start:
                break
            start = wider
        return True

    def _put(self, tiles: range) -> bool:
        """Put in events and rows of sections of some tiles, and their stats if those fit too."""
        if self._packed.guess("events", tiles) > self._room.left() or self._is_too_much(tiles):
            return False
        if not self._room.replace(self._packed.tiles("events", tiles) | self._window(tiles)):
            return False
        self._packed.tiles("stats", tiles[:1])
        if self._packed.guess("stats", tiles) <= self._room.left():
            self._room.replace(self._packed.tiles("stats", tiles))
        return True

    def _grown(self, tiles: range) -> range:
        """Put in the tiles next to those that are in for which there seems to be room; gives back all that are in."""
        steps = list(self._steps(tiles))
        while steps:
            last = steps[-1]
            parts = {key: self._packed.part(key) for step in steps for key in step.keys}
            if self._room.replace(parts | self._window(last.tiles)):
                return last.tiles
            if len(last.keys) > 1:
                last.keys.pop()
            else:
                steps.pop()
        return tiles

    def _steps(self, tiles: range) -> Iterator[_Step]:
        """Tile after tile to either side, as long as there seems to be room; its stats too if those seem to fit."""
        packed, left = self._packed, self._room.left()
        window_ratio = len(self._room.parts.get("window", "")) / max(1, packed.n_events(tiles))
        while True:
            for wider, new in self._wider(tiles):
                more = packed.guess("events", new) + window_ratio * packed.n_events(new)
                if more <= left and not self._is_too_much(wider):
                    break
            else:
                return
            names, left, tiles = ["events"], left - more, wider
            if (stats := packed.guess("stats", new)) <= left:
                names, left = ["events", "stats"], left - stats
            yield _Step(tiles, [f"{name}:{new[0]}" for name in names if name not in packed.payload.is_here])

    def _wider(self, tiles: range) -> Iterator[tuple[range, range]]:
        """One tile more on the right and on the left, and which it is."""
        if tiles.stop < self._tiles.n:
            yield range(tiles.start, tiles.stop + 1), range(tiles.stop, tiles.stop + 1)
        if tiles.start > 0:
            yield range(tiles.start - 1, tiles.stop), range(tiles.start - 1, tiles.start)

    def _is_too_much(self, tiles: range) -> bool:
        """Whether packing some tiles takes too long, however small they become."""
        most = self._room.max_bytes
        return (
            len(tiles) > 1 and most is not None and self._packed.n_events(tiles) * EVENT_BYTES > MOST_COMPRESSED * most
        )

    def _window(self, tiles: range) -> dict[str, str]:
        edges = self._tiles.edges_ps
        return self._windows.part((float(edges[tiles.start]), float(edges[tiles.stop])))
