"""A payload -> the parts that a saved notebook or an exported page holds: all, or those around the typical steps that fit."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from .embedded_tiles import MOST_COMPRESSED, TileChooser, Windows
from .payload import Payload
from .room import Packed, Room
from .sections import TableSection
from .window import Span
from .wire import as_text

EMBEDDED_BYTES = 4 * 2**20
"""What a notebook or page holds of a trace unless it is told to hold more, as base64, first pack included."""
FALLBACK_BYTES = 2 * 2**20
"""The same for the page that goes into each output beside the widgets, for front ends that have none."""
_SMALL_RATIO = 8
"""A section that takes less than this part of the room is put in whole; larger ones are cut to the window."""
_SMALL_PARTS = 4
"""A section of more is not small: it is not tried."""
_BASE64_RATIO = 0.75
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
            "overview": as_text(payload.overview),
            "embedded": [list(part) for part in self.parts],
            "n_left_out": self.n_left_out,
            "is_offline": True,
        }


def embed(payload: Payload, *, max_bytes: int | None, events: bool = True) -> Embedded:
    """Choose parts: all; else small sections whole, and tiles around the typical steps with the other sections cut to those.

    Args:
        payload: where they come from.
        max_bytes: of base64 together, first pack included; None for all parts.
        events: whether events are looked for where not all fit; without them it is quicker.
    """
    if max_bytes != EMBEDDED_BYTES or not events:
        return _chosen(payload, max_bytes=max_bytes, events=events)
    if payload not in _saved:
        _saved[payload] = _chosen(payload, max_bytes=max_bytes, events=events)
    return _saved[payload]


_saved: WeakKeyDictionary[Payload, Embedded] = WeakKeyDictionary()
"""What notebooks keep, which pages hold too unless told otherwise."""


def _chosen(payload: Payload, *, max_bytes: int | None, events: bool) -> Embedded:
    if max_bytes is not None:
        max_bytes -= len(as_text(payload.overview))
    packed, room, contents = Packed(payload), Room(max_bytes), payload.contents
    may_fit = max_bytes is None or contents.n_raw_bytes(payload.is_here) <= MOST_COMPRESSED * max_bytes
    if may_fit and room.add_all((key, packed.part(key)) for key in payload.keys):
        return Embedded(tuple(room.parts.items()), 0, contents.positions.n_events)
    windows = Windows(list(_add_small_sections(packed, room)))
    if not (events and TileChooser(packed, room, windows).add(contents.home_ps)):
        _add_window(room, windows, contents.home_ps)
    n_parts = sum(key != "window" for key in room.parts)
    tiles = [int(key.partition(":")[2]) for key in room.parts if key.startswith("events:")]
    n_here = contents.positions.n_events if "events" in payload.is_here else 0
    n_events = n_here + int(contents.tiles.counts()[tiles].sum())
    return Embedded(tuple(room.parts.items()), len(payload.keys) - n_parts, n_events)


def _add_small_sections(packed: Packed, room: Room) -> Iterator[TableSection]:
    """Put small sections in, and names if they fit; gives back the tables that are left out."""
    payload, most = packed.payload, max(0.0, room.left()) / _SMALL_RATIO
    if "names" not in payload.is_here and payload.contents.names.n_parts <= _SMALL_PARTS:
        room.add_all(packed.of("names"))
    for name, section in payload.contents.sections.items():
        if name in payload.is_here:
            continue
        is_tried = section.n_parts <= _SMALL_PARTS and section.may_fit(most * _BASE64_RATIO)
        if is_tried and room.add_all(packed.of(name), most=most):
            continue
        if isinstance(section, TableSection):
            yield section


def _add_window(room: Room, windows: Windows, home_ps: Span) -> None:
    """Put in the rows of sections at the typical steps, or in the middle of those."""
    start, end = home_ps
    for ratio in _NARROWER:
        half = (end - start) * ratio / 2
        if room.replace(windows.part(((start + end) / 2 - half, (start + end) / 2 + half))):
            return
