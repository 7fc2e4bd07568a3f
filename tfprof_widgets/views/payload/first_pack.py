"""The contents of a payload -> its first pack: what a reader needs first, as much as fits 256 KiB (a third more as base64)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...analysis.base.wording import head
from ...trace.stat_shapes import ranges
from .contents import Contents
from .counters import counter_sample
from .names import cut_texts
from .sections import LATE, ListSection, TableSection
from .wire import Block, Segment, Table, columns_of, json_text, pack

MAX_BYTES = 256 * 2**10
"""The first pack is a trait, which each notebook and page holds, whatever the size of the trace."""
_MAX_META_BYTES = 128 * 2**10
_MAX_CHARACTERS = (100, 24)
"""Of a string of the meta object where there are so many that the first paint would wait for them."""
_MOST_EVENTS = 100_000
"""Of more it is not tried whether all fit."""
_PROBES, _PROBE_EVENTS = 8, 512
"""Runs of positions, all over the capture, that tell how well events compress, and the length of each."""
_PROBE_SLACK = 1.05


def first_pack(contents: Contents) -> tuple[bytes, frozenset[str]]:
    """Pack what fits, in the order in which it is needed: with all events, else with a sample of them.

    Returns:
        The pack, at most `MAX_BYTES` long, and the names of what it holds whole: sections, `names`, `events`, `stats`.
    """
    members, base = [_meta(contents), contents.names.member], _base(contents)
    room = MAX_BYTES - sum(len(one.data) for one in members) - sum(_cost(name, one) for name, one in base.items())
    if contents.positions.n_events <= _MOST_EVENTS:
        draft = _Draft(contents, members, base, room)
        draft.add({"sample": _sample(contents, np.empty(0, np.int64))})
        draft.add_sections()
        if draft.may_hold_events() and draft.add_tiles("events", contents.events.tile):
            draft.add_tiles("stats", contents.events.stats)
            return draft.packed(), frozenset(draft.is_here)
    draft = _Draft(contents, members, base, room)
    draft.add({"sample": _sample(contents, contents.sample)})
    draft.add_sections()
    return draft.packed(), frozenset(draft.is_here)


class _Draft:
    """A pack that takes tables as long as there is room."""

    def __init__(self, contents: Contents, members: list[Block], base: dict[str, Segment], n_bytes: int) -> None:
        """Begin with what is in any pack, and room for `n_bytes` more."""
        self._contents = contents
        self._members = list(members)
        self._segments = dict(base)
        self._left = n_bytes
        self.is_here: set[str] = {"names"} if contents.names.n_parts == 0 else set()

    def add(self, segments: dict[str, Segment]) -> bool:
        """Put tables in if there is room for all of them."""
        cost = sum(_cost(name, segment) for name, segment in segments.items())
        fits = cost <= self._left
        if fits:
            self._segments |= segments
            self._left -= cost
        return fits

    def add_sections(self) -> None:
        """Put each section in that fits and does not take long to find, and an outline of large counters."""
        for name, section in self._contents.sections.items():
            if isinstance(section, LATE) or not section.fits(self._left):
                continue
            if isinstance(section, TableSection):
                if self.add({name: section.whole}):
                    self.is_here.add(name)
                continue
            self._members.append(section.member)
            self._left -= len(section.member.data)
            self.is_here.add(name)
        if "counters" in self._contents.sections and "counters" not in self.is_here:
            self.add({"counter_sample": Segment(counter_sample(self._contents.results))})

    def may_hold_events(self) -> bool:
        """Whether it is worth while to find out if there is room for all events; some of them tell."""
        n_events, n_probed = self._contents.positions.n_events, _PROBES * _PROBE_EVENTS
        if n_events <= 2 * n_probed:
            return True
        first = np.linspace(0, n_events - _PROBE_EVENTS, _PROBES).astype(np.int64)
        some = Segment(Table(self._contents.events.at(ranges(first, np.full(_PROBES, _PROBE_EVENTS)))))
        return len(some.block.data) * n_events <= _PROBE_SLACK * n_probed * self._left

    def add_tiles(self, name: str, tables: Callable[[int], dict[str, Table]]) -> bool:
        """Put the tables of all tiles in, each under its name and the tile's number, if there is room for all."""
        segments: dict[str, Segment] = {}
        for tile in range(self._contents.tiles.n):
            segments |= {f"{table}:{tile}": Segment(columns) for table, columns in tables(tile).items()}
            if sum(_cost(key, segment) for key, segment in segments.items()) > self._left:
                return False
        self.is_here.add(name)
        return self.add(segments)

    def packed(self) -> bytes:
        """The pack."""
        sections = {
            name: {"n_rows": one.n_rows, "n_parts": one.n_parts, "is_here": name in self.is_here}
            for name, one in self._contents.all.items()
        }
        lists = (name for name, one in self._contents.sections.items() if isinstance(one, ListSection))
        absent: dict[str, list[Any]] = {name: [] for name in lists if name not in self.is_here}
        return pack({"sections": sections, **absent}, self._segments, self._members)


def _base(contents: Contents) -> dict[str, Segment]:
    """Rows of events in the order of positions; windows of time in which events travel, and how many start in each; names."""
    positions, edges, everything = contents.positions, contents.tiles.edges_ps, slice(None)
    rows = columns_of(positions, everything, i4="line:row_line", u4="depth:row_depth", u1="is_filled:row_is_filled")
    tiles = Table({"t0_ps": (edges[:-1], "f8"), "t1_ps": (edges[1:], "f8"), "n": (contents.tiles.counts(), "u4")})
    return {
        "rows": Segment(Table({**rows, "n": (np.diff(positions.row_offsets), "u4")})),
        "tiles": Segment(tiles),
        "names": Segment(contents.names.table(0, contents.names.n_first)),
    }


def _sample(contents: Contents, positions: np.ndarray) -> Segment:
    columns = contents.events.at(positions)
    return Segment(Table({"position": (positions, "u4"), **columns}))


def _meta(contents: Contents) -> Block:
    """The members of the meta object but lists that are sections and names; its strings are cut as short as it takes."""
    meta = cut_texts(contents.meta, contents.names.cut)
    block = _members(meta)
    for n_characters in _MAX_CHARACTERS:
        if len(block.data) <= _MAX_META_BYTES:
            break
        meta = cut_texts(meta, partial(head, most=n_characters))
        block = _members(meta)
    return block


def _members(meta: dict[str, Any]) -> Block:
    return Block.of(f",{json_text(meta)[1:-1]}".encode())


def _cost(name: str, segment: Segment) -> int:
    """Bytes that a table takes: its columns, and what the header and the list of sections say of it."""
    return len(segment.block.data) + len(name) + 60 + sum(len(column) + 40 for column in segment.columns) // 2
