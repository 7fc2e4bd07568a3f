"""Tiles -> the tables of the events in them, of their stats and of what made them start."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...analysis.results import AnyResults, Results
from ...analysis.timeline.flows import compute_flows
from ...trace.stat_shapes import ranges
from ...trace.trace import Int64, StatKind, UInt8, UInt64
from ...trace.whole_stats import whole_stats
from .flow_tables import FlowTiles
from .names import Names
from .positions import even_share
from .sections import PART_BYTES
from .tiles import Tiles
from .wire import Table, columns_of, pack

_BLOCK_EVENTS = 2**18
_MAX_STATS = 300_000
"""Rows of one tile where many do not compress: 4 MiB of keys, kinds and values."""
_MOST_COUNTED = 2**16 - 1
"""Of one event, whose stats are counted in 16 bits."""


class EventTables:
    """The tables of events by position."""

    def __init__(self, results: AnyResults, tiles: Tiles, names: Names) -> None:
        self._results, self._tiles, self._names = results, tiles, names

    @cached_property
    def _flows(self) -> FlowTiles:
        trace, positions, edges = self._results.trace, self._tiles.positions, self._tiles.edges_ps
        tile = np.empty(trace.n_events, np.uint16)
        for begin in range(0, trace.n_events, _BLOCK_EVENTS):  # by block, to spare memory
            starts = trace.start_ps[begin : begin + _BLOCK_EVENTS]
            tile[begin : begin + _BLOCK_EVENTS] = np.searchsorted(edges[1:-1], starts, side="right")
        # Not `results.flows`, which would be kept as well.
        flows = compute_flows(trace)
        return FlowTiles(flows, position=positions.of_trace_rows(trace.n_events), tile=tile, n_tiles=self._tiles.n)

    def at(self, positions: Int64) -> dict[str, tuple[np.ndarray, str]]:
        """Columns of the events at some positions, each with the framework op it is most of and its step.

        In a compiled run also with its unit, for which the table `op_shares` has all framework ops.
        """
        results, trace = self._results, self._results.trace
        rows = self._tiles.positions.order[positions]
        shares, none = results.op_shares, np.full(len(rows), -1)
        unit = results.event_unit[rows] if isinstance(results, Results) else none
        columns: dict[str, tuple[np.ndarray, str]] = {
            **columns_of(trace, rows, f8="start_ps duration_ps"),
            **columns_of(trace.nesting, rows, f8="self_ps"),
            "name": (self._names.numbers(trace.name_id[rows]), "i4"),
            "op": (np.append(shares.dominant, np.int32(-1))[unit], "i4"),
            "step": (results.steps.event_step[rows], "i4"),
        }
        return columns if shares.is_identity else {**columns, "unit": (unit, "i4")}

    def tile(self, tile: int) -> dict[str, Table]:
        """`events` by position, `runs` (which rows they are of) and `flows_out` and `flows_in` of a tile."""
        low, high = self._tiles.bounds(tile)
        rows = np.flatnonzero(high > low)
        runs = {"row": (rows, "u4"), "first": (low[rows], "u4"), "n": ((high - low)[rows], "u4")}
        return {
            "events": Table(self.at(ranges(low, high - low))),
            "runs": Table(runs),
            **self._flows.tables(tile),
        }

    def stats(self, tile: int, *, most: int | None = None) -> dict[str, Table]:
        """`stats` of the events of a tile in their order, and how many each has: `stat_counts`. Of bytes the length travels.

        Where that is too much each event keeps its first ones only, and `stat_counts` says in `n_all` of how many.
        """
        trace = self._results.trace
        events = self._tiles.positions.order[self._tiles.positions_in(tile)]
        stats = whole_stats(trace, events)
        n_all = stats.n
        n = np.minimum(n_all, _MOST_COUNTED if most is None else even_share(n_all, most, at_most=_MOST_COUNTED))
        rows = ranges(np.cumsum(n_all) - n_all, n)
        key, kind = stats.key[rows], stats.kind[rows]
        bits = self._bits(kind, stats.bits[rows])
        counts = {"n": (n, "u2")}
        if (n < n_all).any():
            counts["n_all"] = (n_all, "u4")
        return {
            "stats": Table({"key": (self._names.numbers(key), "i4"), "kind": (kind, "u1"), "bits": (bits, "u8")}),
            "stat_counts": Table(counts),
        }

    def part(self, tile: int) -> bytes:
        """The events of a tile, a pack."""
        return pack({}, self.tile(tile))

    def stats_part(self, tile: int) -> bytes:
        """Their stats; where all are too much so few that they are small in any case."""
        packed = pack({}, self.stats(tile))
        return packed if len(packed) <= PART_BYTES else pack({}, self.stats(tile, most=_MAX_STATS))

    def _bits(self, kind: UInt8, bits: UInt64) -> UInt64:
        trace = self._results.trace
        texts = np.flatnonzero(kind == StatKind.STRING)
        bits[texts] = self._names.numbers(bits[texts].astype(np.int64)).astype(np.uint64)
        opaque = np.flatnonzero(kind == StatKind.BYTES)
        bits[opaque] = [len(trace.blobs[blob]) for blob in bits[opaque].tolist()]  # blobs are few
        return bits
