"""Flows between events -> the tables `flows_out` and `flows_in` of each tile; `js/src/data/events.ts` reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...analysis.timeline.flows import Flows
from .wire import Table

Columns = tuple[npt.NDArray[Any], ...]


class FlowTiles:
    """The flows of a capture by tile: a flow lies in the tile of its source and in that of its target."""

    def __init__(
        self, flows: Flows, *, position: npt.NDArray[np.integer], tile: npt.NDArray[np.integer], n_tiles: int
    ) -> None:
        """Order the flows by tile.

        Args:
            flows: all flows of the trace.
            position: for each row of the trace its position in the browser, -1 where it is not sent.
            tile: for each row of the trace the tile in which it starts; of rows that are not sent it does not matter.
            n_tiles: how many tiles there are.
        """
        source, target = position[flows.from_event], position[flows.to_event]
        sent = (source >= 0) & (target >= 0)
        self.n_left_out = int(len(sent) - sent.sum())
        """Flows of which an end is not sent."""
        source, target, kind = source[sent].astype(np.uint32), target[sent].astype(np.uint32), flows.kind[sent]
        source_tile, target_tile = tile[flows.from_event[sent]], tile[flows.to_event[sent]]
        self._out, self._out_offsets = _by_tile((source, target, kind), source_tile, n_tiles)
        self._in, self._in_offsets = _by_tile((target, source, kind), target_tile, n_tiles)

    def tables(self, tile: int) -> dict[str, Table]:
        """`flows_out` (`from, to, kind`, by `from`) and `flows_in` (`to, from, kind`, by `to`) of a tile; ends are positions."""
        out = _within(self._out, self._out_offsets, tile)
        into = _within(self._in, self._in_offsets, tile)
        return {
            "flows_out": Table({"from": (out[0], "u4"), "to": (out[1], "u4"), "kind": (out[2], "u1")}),
            "flows_in": Table({"to": (into[0], "u4"), "from": (into[1], "u4"), "kind": (into[2], "u1")}),
        }


def _by_tile(columns: Columns, tile: npt.NDArray[np.integer], n_tiles: int) -> tuple[Columns, npt.NDArray[np.int64]]:
    """Columns in the order of tiles, and where each tile begins. Of 16 bits it is a radix sort, which is quick."""
    order = np.argsort(tile, kind="stable")
    return tuple(column[order] for column in columns), np.searchsorted(tile[order], np.arange(n_tiles + 1))


def _within(columns: Columns, offsets: npt.NDArray[np.int64], tile: int) -> Columns:
    """The rows of one tile, by the first column, then by the second."""
    own = tuple(column[offsets[tile] : offsets[tile + 1]] for column in columns)
    order = np.lexsort((own[1], own[0]))
    return tuple(column[order] for column in own)
