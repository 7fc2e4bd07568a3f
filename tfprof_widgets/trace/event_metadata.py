"""The name and plane of each event, and what events of a name share -> the metadata table of a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .assembly import MetadataColumns
from .stat_table import Stats
from .string_table import StatRow, stats_of_rows
from .trace import Int32, Int64


@dataclass(frozen=True)
class MetadataRow:
    """What events of one name share. Texts are indices into the strings of the trace."""

    plane: int
    """-1 for none."""
    name_id: int
    display_name_id: int = -1
    """-1 for none."""
    stats: Sequence[StatRow] = ()


@dataclass(frozen=True)
class EventMetadata:
    """The metadata table, and which of its rows each event has; row 0 stands for missing metadata."""

    row_of_event: Int32
    table: MetadataColumns


def metadata_table(rows: Sequence[MetadataRow]) -> MetadataColumns:
    """Those rows as columns."""
    return MetadataColumns(
        name_id=np.array([one.name_id for one in rows], np.int32),
        plane_id=np.array([one.plane for one in rows], np.int32),
        display_name_id=np.array([one.display_name_id for one in rows], np.int32),
        stats=stats_of_rows([one.stats for one in rows]),
    )


def joined_metadata(tables: Sequence[MetadataColumns]) -> MetadataColumns:
    """The rows of several tables, one after the other; at least one table."""

    def joined(column: Callable[[MetadataColumns], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return np.concatenate([column(table) for table in tables])

    return MetadataColumns(
        name_id=joined(lambda table: table.name_id),
        plane_id=joined(lambda table: table.plane_id),
        display_name_id=joined(lambda table: table.display_name_id),
        stats=Stats(
            joined(lambda table: table.stats.n),
            joined(lambda table: table.stats.key),
            joined(lambda table: table.stats.kind),
            joined(lambda table: table.stats.bits),
        ),
    )


def event_metadata(name_id: Int64, plane: Int32, told: Sequence[MetadataRow] = ()) -> EventMetadata:
    """The rows that a file tells, and a row for each other name of each plane.

    Args:
        name_id: of each event, an index into the strings.
        plane: of each event.
        told: of several rows of one name and plane the first counts.
    """
    rows = [MetadataRow(-1, 0), *told]
    row_of: dict[tuple[int, int], int] = {}
    for row, one in enumerate(told, 1):
        row_of.setdefault((one.plane, one.name_id), row)
    n_names = int(name_id.max(initial=0)) + 1
    used, event_of = np.unique(plane.astype(np.int64) * n_names + name_id, return_inverse=True)
    row_of_used = np.empty(len(used), np.int32)
    for i, key in enumerate(divmod(one, n_names) for one in used.tolist()):  # as many as names of planes
        row_of_used[i] = row = row_of.get(key, len(rows))
        if row == len(rows):
            rows.append(MetadataRow(*key))
    return EventMetadata(row_of_used[event_of.reshape(-1)], metadata_table(rows))
