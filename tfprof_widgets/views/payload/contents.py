"""Analysis results -> everything that a payload can hold, in order and numbered, but not built yet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...analysis.results import AnyResults, Results
from ...trace.dtypes import dtype_name
from ...trace.trace import Int64, Trace
from .event_tables import EventTables
from .first_view import Span, activity, bounds_of, first_view, kept_view
from .meta import meta_of
from .names import Names
from .op_tables import hlo_name_families
from .positions import Positions, compute_positions, line_numbers
from .sampling import sample_events
from .section_list import late_sections, list_sections, table_sections
from .sections import ListSection, Section, TableSection, TileSection
from .tiles import Tiles, compute_tiles

_SAMPLED_EVENTS = 20_000
"""13 bytes each."""
_BLOCK_EVENTS = 2**20
EVENT_BYTES = 36
"""Of the columns of one event in a tile, before compression."""
_STAT_BYTES = 13
_FEW_CHARACTERS = 100_000
"""Names of so many travel at once in any order."""


@dataclass(frozen=True, eq=False, repr=False)
class Contents:
    """What there is to send."""

    results: AnyResults
    meta: dict[str, Any]
    """Of the first pack, without lists that are sections and without names."""
    positions: Positions
    tiles: Tiles
    home_ps: Span
    """What the reader sees first."""
    kept_ps: Span
    """Of what a page keeps every event."""
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


def contents_of(results: AnyResults, *, title: str) -> Contents:
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
    families = hlo_name_families(results) if isinstance(results, Results) else {}
    names.tell(_events_by_name(trace), used, families)
    meta |= {
        "home": list(home),
        "tiles": tiles.n,
        "idle_ps": list(results.idle_ps),
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
    """How many events have each name of the trace; by block, because counting makes a wider copy of what it counts."""
    count = np.zeros(len(trace.strings), np.int64)
    for begin in range(0, trace.n_events, _BLOCK_EVENTS):
        count += np.bincount(trace.name_id[begin : begin + _BLOCK_EVENTS], minlength=len(count))
    return count


def _used_names(results: AnyResults, names: Names) -> np.ndarray:
    """Ids of the names that the analyses use, of which some are not in the trace."""
    ops = names.ids_of(results.op_shares.name), names.ids_of(results.op_shares.type)
    if not isinstance(results, Results):
        return np.concatenate(ops)
    dtypes = names.ids(dtype_name(code) for code in np.unique(results.memory.snapshots.dtype).tolist())
    return np.concatenate([*ops, dtypes])
