"""A payload -> what a browser has of it once every part has come, put together in the plainest way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.packs import Columns, joined, unpack
from tfprof_widgets.show import Payload


@dataclass(frozen=True)
class Received:
    """Everything, by position where it is about events."""

    meta: dict[str, Any]
    tables: dict[str, Columns]
    """Whole tables; those of tiles are not among them."""
    tiles: list[dict[str, Columns]]
    """The tables of each tile: events and stats."""
    events: Columns
    stats: list[list[tuple[int, int, int]]]
    """Of each event: key, kind and bits of its stats."""

    @property
    def n_events(self) -> int:
        return len(self.stats)

    def text(self, number: int) -> str:
        """The name of a number."""
        return str(self.meta["names"][number])


def receive(payload: Payload) -> Received:
    """Ask for all parts."""
    parts = {key: unpack(payload.part(key)) for key in (*payload.first, *payload.keys)}
    is_tile = {key: key.partition(":")[0] in ("events", "stats") for key in parts}
    meta, tables = joined(part for key, part in parts.items() if not is_tile[key])
    tiles = [parts[f"events:{k}"][1] | parts[f"stats:{k}"][1] for k in range(meta["tiles"])]
    assert sum(is_tile.values()) == 2 * meta["tiles"]
    n_events = int(tables["rows"]["n"].sum())
    return Received(meta, tables, tiles, _events(tiles, n_events), _stats(tiles, n_events))


def positions_of(tile: dict[str, Columns]) -> np.ndarray:
    """The positions of the events of a tile, in their order."""
    runs = tile["runs"]
    lengths = zip(runs["first"].tolist(), runs["n"].tolist(), strict=True)
    return np.array([p for begin, n in lengths for p in range(begin, begin + n)], np.int64)


def _events(tiles: list[dict[str, Columns]], n: int) -> Columns:
    events: Columns = {}
    for tile in tiles:
        at = positions_of(tile)
        assert (np.diff(at) > 0).all()
        for name, values in tile["events"].items():
            column = events.setdefault(name, np.full(n, -9, values.dtype))
            assert (column[at] == -9).all(), "an event came twice"
            column[at] = values
    return events


def _stats(tiles: list[dict[str, Columns]], n: int) -> list[list[tuple[int, int, int]]]:
    stats: list[list[tuple[int, int, int]]] = [[] for _ in range(n)]
    for tile in tiles:
        rows = iter(zip(*(tile["stats"][name].tolist() for name in ("key", "kind", "bits")), strict=True))
        for position, n in zip(positions_of(tile).tolist(), tile["stat_counts"]["n"].tolist(), strict=True):
            stats[position] = [next(rows) for _ in range(n)]
        assert next(rows, None) is None
    return stats
