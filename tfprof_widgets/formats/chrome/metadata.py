"""Names of a Chrome trace's events -> the metadata table of a Trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...trace.assembly import MetadataColumns
from ...trace.trace import Int32, Int64, UInt8, UInt64
from .marker import MetadataRow
from .stats import Texts


@dataclass(frozen=True)
class ChromeMetadata:
    """The metadata table and which of its rows each event has; row 0 stands for missing metadata."""

    row_of_event: Int32
    table: MetadataColumns

    def not_shared(self, event: Int64, key: Int32, kind: UInt8, bits: UInt64) -> Int64:
        """Rows of the stats of events that are not already among those of their metadata."""
        everything = np.arange(len(event))
        table = self.table
        if not len(table.stat_key):
            return everything
        row = self.row_of_event[event]
        some = np.flatnonzero(table.n_stats[row] > 0)
        own = _packed(row[some], key[some], kind[some], bits[some])
        shared_row = np.repeat(np.arange(len(table.n_stats)), table.n_stats)
        shared = _packed(shared_row, table.stat_key, table.stat_kind, table.stat_bits)
        keep = np.ones(len(event), np.bool_)
        keep[some[np.isin(own, shared)]] = False
        return everything[keep]


def foreign_metadata(name_id: Int64, plane: Int32) -> ChromeMetadata:
    """A row for each name of each plane, without stats."""
    return own_metadata(name_id, plane, (), Texts())


def own_metadata(name_id: Int64, plane: Int32, told: Sequence[MetadataRow], texts: Texts) -> ChromeMetadata:
    """The rows that a file tells, and a row for each other name of each plane. Of rows of one name the first counts."""
    told_names = np.array([texts.id_of(one.name) for one in told], np.int64)
    told_planes = np.array([one.plane for one in told], np.int64)
    n_names = int(max(name_id.max(initial=0), told_names.max(initial=0))) + 1
    used, event_of = np.unique(plane.astype(np.int64) * n_names + name_id, return_inverse=True)
    told_keys = told_planes * n_names + told_names
    known, first = np.unique(told_keys, return_index=True)
    slot = np.minimum(np.searchsorted(known, used), max(len(known) - 1, 0))
    is_known = known[slot] == used if len(known) else np.zeros(len(used), np.bool_)
    row = np.empty(len(used), np.int64)
    row[is_known] = 1 + first[slot[is_known]]
    new = used[~is_known]
    row[~is_known] = 1 + len(told) + np.arange(len(new))
    shown = [texts.id_of(one.display_name) if one.display_name else -1 for one in told]
    n_stats = np.concatenate([[0], [len(one.stats) for one in told], np.zeros(len(new))]).astype(np.int64)
    stats = [stat for one in told for stat in one.stats]
    table = MetadataColumns(
        name_id=np.concatenate([[0], told_names, new % n_names]).astype(np.int32),
        plane_id=np.concatenate([[-1], told_planes, new // n_names]).astype(np.int32),
        display_name_id=np.concatenate([[-1], shown, np.full(len(new), -1)]).astype(np.int32),
        n_stats=n_stats,
        stat_key=np.array([stat[0] for stat in stats], np.int32),
        stat_kind=np.array([stat[1] for stat in stats], np.uint8),
        stat_bits=np.array([stat[2] for stat in stats], np.uint64),
    )
    return ChromeMetadata(row[event_of].astype(np.int32), table)


def _packed(row: npt.NDArray[np.integer[Any]], key: Int32, kind: UInt8, bits: UInt64) -> npt.NDArray[np.void]:
    """Four columns as one that can be compared."""
    packed = np.empty(len(row), [("row", "<i4"), ("key", "<i4"), ("kind", "<i4"), ("bits", "<u8")])
    packed["row"], packed["key"], packed["kind"], packed["bits"] = row, key, kind, bits
    return packed
