"""A plane's metadata maps -> rows of the trace's metadata table, and what row or text an id of the file stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...trace.event_metadata import MetadataRow
from ...trace.trace import Int32, Int64, StatKind, UInt8, UInt64
from .event_messages import StatRow, stat_rows
from .raw_strings import RawStrings

REF = 7


class IdMap:
    """int64 ids of a file -> small ints; ids that are not in the map give `default`."""

    def __init__(self, values: dict[int, int], *, default: int) -> None:
        """Keep `values` as a direct table where the ids are dense, sorted otherwise."""
        self._default = default
        self._values = values
        ids = np.array(sorted(values), np.int64)
        self._is_dense = len(ids) > 0 and ids[0] >= 0 and int(ids[-1]) < 8 * len(ids) + 4096
        if self._is_dense:
            self._table = np.full(int(ids[-1]) + 1, default, np.int32)
            self._table[ids] = [values[id_] for id_ in ids.tolist()]
        else:
            self._ids = ids
            self._table = np.array([values[id_] for id_ in ids.tolist()], np.int32)

    def __getitem__(self, id_: int) -> int:
        return self._values.get(id_, self._default)

    def of(self, ids: Int64) -> Int32:
        """The value of each id."""
        if not len(self._table):
            return np.full(len(ids), self._default, np.int32)
        if self._is_dense:
            # Seen as unsigned a negative id is a large one.
            if int(ids.view(np.uint64).max(initial=0)) < len(self._table):
                return self._table.take(ids)
            known = (ids >= 0) & (ids < len(self._table))
            return np.where(known, self._table[np.where(known, ids, 0)], self._default).astype(np.int32)
        slot = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        return np.where(self._ids[slot] == ids, self._table[slot], self._default).astype(np.int32)


def add_metadata(rows: list[MetadataRow], plane: int, entries: Any, stat_names: IdMap, strings: RawStrings) -> IdMap:
    """Append a plane's event metadata to `rows`; gives the row of each metadata id (the last entry of an id counts)."""
    row_of: dict[int, int] = {}
    for entry in entries:
        row_of[entry.key] = len(rows)
        metadata = entry.value
        name = strings.text_id(metadata.name)
        shown = strings.text_id(metadata.display_name) if metadata.display_name else -1
        rows.append(MetadataRow(plane, name, shown, resolved(stat_rows(metadata.stats, strings), stat_names)))
    return IdMap(row_of, default=0)


def stat_name_map(entries: Any, strings: RawStrings) -> IdMap:
    """A plane's stat metadata: the text of each id, as an index into the string table."""
    return IdMap({entry.key: strings.text_id(entry.value.name) for entry in entries}, default=0)


def resolved(rows: Sequence[StatRow], stat_names: IdMap) -> list[StatRow]:
    """Stat rows with their key, and their reference if they hold one, as indices into the string table."""
    return [
        (stat_names[key], StatKind.STRING, stat_names[bits]) if kind == REF else (stat_names[key], kind, bits)
        for key, kind, bits in rows
    ]


def resolved_columns(kind: UInt8, bits: UInt64, stat_names: IdMap) -> tuple[UInt8, UInt64]:
    """Kind and bits of stats with references turned into indices of the string table, in place."""
    rows = np.flatnonzero(kind == REF)
    bits[rows] = stat_names.of(bits[rows].view(np.int64)).astype(np.uint64)
    kind[rows] = StatKind.STRING
    return kind, bits
