"""A payload -> what a browser has of it once every part has come, put together in the plainest way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.packs import unpack
from tfprof_widgets.show import Payload

Columns = dict[str, np.ndarray]
Pack = tuple[dict[str, Any], dict[str, Columns]]
EVENT_TABLES = ("events", "runs", "flows_out", "flows_in")
STAT_TABLES = ("stats", "stat_counts")


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
    first = unpack(payload.overview)
    parts = {key: unpack(payload.part(key)) for key in payload.keys}
    meta, tables = _whole(first, parts)
    n_tiles = meta["tiles"]
    tiles = [
        _tile(first, parts, "events", EVENT_TABLES, k) | _tile(first, parts, "stats", STAT_TABLES, k)
        for k in range(n_tiles)
    ]
    return Received(meta, tables, tiles, _events(tiles, meta), _stats(tiles, meta))


def _whole(first: Pack, parts: dict[str, Pack]) -> Pack:
    meta, tables = dict(first[0]), dict(first[1])
    for key, (part_meta, part_tables) in parts.items():
        name = key.partition(":")[0]
        if name in ("events", "stats"):
            continue
        if name == "names":
            assert part_meta["first"] == len(meta["names"])
        meta |= {text: [*meta[text], *part_meta[text]] for text in part_meta if text != "first"}
        for table, columns in part_tables.items():
            known = tables.get(table)
            tables[table] = {c: np.concatenate([known[c], v]) if known else v for c, v in columns.items()}
    return meta, tables


def _tile(first: Pack, parts: dict[str, Pack], name: str, tables: tuple[str, ...], tile: int) -> dict[str, Columns]:
    """The tables of a tile, from its part or under its number from the first pack; from exactly one of the two."""
    part = parts.get(f"{name}:{tile}")
    assert (part is None) == (f"{name}:{tile}" in first[1]), f"{name}:{tile}"
    return part[1] if part else {table: first[1][f"{table}:{tile}"] for table in tables}


def positions_of(tile: dict[str, Columns]) -> np.ndarray:
    """The positions of the events of a tile, in their order."""
    runs = tile["runs"]
    lengths = zip(runs["first"].tolist(), runs["n"].tolist(), strict=True)
    return np.array([p for begin, n in lengths for p in range(begin, begin + n)], np.int64)


def _events(tiles: list[dict[str, Columns]], meta: dict[str, Any]) -> Columns:
    n = meta["n_events_sent"]
    events: Columns = {}
    for tile in tiles:
        at = positions_of(tile)
        assert (np.diff(at) > 0).all()
        for name, values in tile["events"].items():
            column = events.setdefault(name, np.full(n, -9, values.dtype))
            assert (column[at] == -9).all(), "an event came twice"
            column[at] = values
    return events


def _stats(tiles: list[dict[str, Columns]], meta: dict[str, Any]) -> list[list[tuple[int, int, int]]]:
    stats: list[list[tuple[int, int, int]]] = [[] for _ in range(meta["n_events_sent"])]
    for tile in tiles:
        rows = iter(zip(*(tile["stats"][name].tolist() for name in ("key", "kind", "bits")), strict=True))
        for position, n in zip(positions_of(tile).tolist(), tile["stat_counts"]["n"].tolist(), strict=True):
            stats[position] = [next(rows) for _ in range(n)]
        assert next(rows, None) is None
    return stats
