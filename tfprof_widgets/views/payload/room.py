"""Parts of a payload -> base64, each made once, and a number of bytes that they must fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .payload import Payload
from .wire import as_text


class Packed:
    """Parts as base64, each made once."""

    def __init__(self, payload: Payload) -> None:
        self.payload = payload
        self._known: dict[str, str] = {}
        self._counts = payload.contents.tiles.counts()

    def part(self, key: str) -> str:
        """One part."""
        if key not in self._known:
            self._known[key] = as_text(self.payload.part(key))
        return self._known[key]

    def of(self, name: str) -> Iterator[tuple[str, str]]:
        """All parts of a section."""
        for index in range(self.payload.contents.n_parts()[name]):
            yield f"{name}:{index}", self.part(f"{name}:{index}")

    def tiles(self, name: str, tiles: range) -> dict[str, str]:
        """The parts `events` or `stats` of some tiles; none where the first pack has them."""
        return {} if name in self.payload.is_here else {f"{name}:{tile}": self.part(f"{name}:{tile}") for tile in tiles}

    def guess(self, name: str, tiles: range) -> float:
        """About how long `events` or `stats` of some tiles are, by those that are packed already; without any, infinite."""
        if name in self.payload.is_here or not tiles:
            return 0
        lengths = {int(key.partition(":")[2]): len(text) for key, text in self._known.items() if key.startswith(name)}
        if not lengths:
            return float("inf")
        of_event = sum(lengths.values()) / max(1, int(self._counts[list(lengths)].sum()))
        return sum(lengths.get(tile, of_event * int(self._counts[tile])) for tile in tiles)

    def n_events(self, tiles: range) -> int:
        """How many events some tiles have."""
        return int(self._counts[tiles.start : tiles.stop].sum())


class Room:
    """Parts that fit a number of bytes."""

    def __init__(self, max_bytes: int | None) -> None:
        self.parts: dict[str, str] = {}
        self.max_bytes = max_bytes
        """None for any number."""
        self._used = 0

    def left(self) -> float:
        """Bytes that are left."""
        return float("inf") if self.max_bytes is None else self.max_bytes - self._used

    def add_all(self, parts: Iterable[tuple[str, str]], *, most: float = float("inf")) -> bool:
        """Put parts in if there is room for all of them, or `most` bytes; stops to make them as soon as there is not."""
        room, n_bytes = min(self.left(), most), 0
        taken: dict[str, str] = {}
        for key, text in parts:
            taken[key] = text
            n_bytes += len(text)
            if n_bytes > room:
                return False
        self.parts |= taken
        self._used += n_bytes
        return True

    def replace(self, parts: dict[str, str]) -> bool:
        """Put parts in, in place of those of equal keys, if there is room for all of them."""
        more = sum(len(text) - len(self.parts.get(key, "")) for key, text in parts.items())
        if more > self.left():
            return False
        self._used += more
        self.parts |= parts
        return True
