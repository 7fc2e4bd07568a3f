"""Analysis results -> the packs that the browser draws from: an overview that is state, and detail in chunks."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..analysis.results import Results
from .meta import meta_of
from .place_tables import place_meta, place_tables
from .sampling import sample_events
from .tables import (
    Names,
    event_table,
    hlo_name_families,
    iterator_call_table,
    memory_table,
    occurrence_table,
    op_line_table,
    op_share_table,
    piece_table,
    stat_table,
    step_table,
)
from .wire import Table, as_text, pack
from .work_tables import work_meta, work_tables

MAX_OVERVIEW_EVENTS = 60_000
"""More than these are not state but detail, fetched after the first paint; about 1.5 MB in a saved notebook."""
_SAMPLED_EVENTS = 40_000
_CHUNK_EVENTS = 75_000
"""Keeps a chunk under 4 MiB: 48 bytes an event and 13 a stat before compression, two stats an event or so."""


class Payload:
    """What `TraceData` hands to the browser: `overview` at once, then `chunk(0)` to `chunk(n_chunks - 1)`."""

    def __init__(self, results: Results, overview: bytes, *, is_complete: bool) -> None:
        self.overview = overview
        """A pack that draws every view at first paint; of the events it may hold only a sample."""
        self.is_complete = is_complete
        """Whether the overview holds every event and its stats."""
        self._results = results

    @property
    def n_chunks(self) -> int:
        """How many detail packs there are; 0 when the overview is complete."""
        return 0 if self.is_complete else max(1, -(-self._results.trace.n_events // _CHUNK_EVENTS))

    def chunk(self, index: int) -> bytes:
        """One detail pack: events and their stats. All chunks together replace the sample in the overview."""
        trace = self._results.trace
        begin, end = index * _CHUNK_EVENTS, min((index + 1) * _CHUNK_EVENTS, trace.n_events)
        tables = {
            "events": event_table(self._results, np.arange(begin, end)),
            "stats": stat_table(trace, begin, end),
        }
        return pack({}, tables)

    def offline_state(self) -> dict[str, Any]:
        """State of a `TraceData` model in a page with no kernel: what the overview lacks will never come."""
        return {"data_id": uuid.uuid4().hex, "overview": as_text(self.overview), "is_complete": True, "n_chunks": 0}


def build_payload(
    results: Results, *, title: str = "", notices: Sequence[str] = (), max_events: int = MAX_OVERVIEW_EVENTS
) -> Payload:
    """Turn the results into tables and pack the overview.

    Args:
        results: what was computed from the trace.
        title: of the profile.
        notices: sentences to show first.
        max_events: up to so many events the overview holds all of them and their stats; beyond, a sample of the longest.
    """
    trace = results.trace
    is_complete = trace.n_events <= max_events
    rows = sample_events(trace, n_wanted=max_events if is_complete else min(max_events, _SAMPLED_EVENTS))
    names = Names(trace.strings)
    shares = op_share_table(results)
    tables: dict[str, Table] = {
        "events": event_table(results, rows),
        "steps": step_table(results),
        "step_pieces": piece_table(results),
        "occurrences": occurrence_table(results),
        "op_lines": op_line_table(results),
        **({"op_shares": shares} if shares is not None else {}),
        "memory": memory_table(results, names),
        "iterator_calls": iterator_call_table(results),
        **place_tables(results),
        **work_tables(results),
    }
    if is_complete:
        tables["stats"] = stat_table(trace, 0, trace.n_events)
    meta = meta_of(results, names, title=title, notices=notices)
    drawn = np.unique(np.concatenate([trace.name_id, np.array(meta["op_name"] + meta["op_type"], np.int64)]))
    tables["names"] = names.table(drawn, hlo_name_families(results))
    return Payload(
        results,
        pack({**meta, **place_meta(results), **work_meta(results), "names": names.strings}, tables),
        is_complete=is_complete,
    )


def first_payload(results: Results) -> bytes:
    """What travels to the browser before the first paint."""
    return build_payload(results).overview
