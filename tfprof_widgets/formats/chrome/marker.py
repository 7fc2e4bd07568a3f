"""The member `tfprof` of a Chrome trace that this package wrote -> what Chrome's format has no word for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import TraceError
from ...trace.bounds import texts, whole
from ...trace.event_metadata import MetadataRow
from ...trace.string_table import StringTable
from ...trace.times import MAX_PS
from ...trace.trace import Int32, Line, Plane, Session
from ..saved import SavedProfile, parse_saved
from .stats import stat_rows

VERSION = 1


@dataclass(frozen=True)
class Marker:
    """What a trace was before it became a Chrome trace."""

    origin_ns: int
    planes: tuple[Plane, ...]
    lines: tuple[Line, ...]
    sessions: tuple[Session, ...]
    session_runs: list[list[int]]
    """`(first event, session)` in the order of the file."""
    unsigned: frozenset[str]
    metadata: tuple[MetadataRow, ...]
    warnings: tuple[str, ...]
    saved: SavedProfile

    def session_of(self, n_events: int) -> Int32:
        """The session of each event in the order of the file."""
        first = np.array([min(max(0, run[0]), n_events) for run in self.session_runs] + [n_events], np.int64)
        if not n_events or first[0] > 0 or (np.diff(first) < 0).any():
            return np.zeros(n_events, np.int32)
        return np.repeat(np.array([run[1] for run in self.session_runs], np.int32), np.diff(first))


def read_marker(document: Any, strings: StringTable) -> Marker | None:
    """Check the member and take it up; None where a file has none.

    Raises:
        TraceError: it is of another version, or broken.
    """
    if document is None:
        return None
    if document.get("version") != VERSION:
        raise TraceError(
            f"its member tfprof has version {document.get('version')!r}, not {VERSION}: update tfprof_widgets"
        )
    try:
        return _marker(document, strings)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        raise TraceError(f"its member tfprof is broken: {type(error).__name__}: {error}") from error


def _marker(document: dict[str, Any], strings: StringTable) -> Marker:
    unsigned = frozenset(texts(document["unsigned"]))
    planes = tuple(_plane(one, strings, unsigned) for one in document["planes"])
    lines = tuple(_line(one, len(planes)) for one in document["lines"])
    sessions = tuple(Session(texts([host])[0], _time(start), _time(stop)) for host, start, stop in document["sessions"])
    if not sessions:
        raise ValueError("it has no session")
    runs = [[_int(first), whole(one, 0, len(sessions))] for first, one in document["session_runs"]]
    metadata = tuple(_metadata(one, len(planes), strings, unsigned) for one in document["metadata"])
    origin_ns = whole(document["origin_ns"], 0, 2**63)
    warnings = tuple(texts(document["warnings"]))
    saved = parse_saved(document["profile"])
    return Marker(origin_ns, planes, lines, sessions, runs, unsigned, metadata, warnings, saved)


def _plane(one: dict[str, Any], strings: StringTable, unsigned: frozenset[str]) -> Plane:
    name, host = texts([one["name"], one["host"]])
    rows = stat_rows(dict(one["stats"]), strings, unsigned)
    return Plane(name, host, {strings.texts[key]: strings.value(kind, bits) for key, kind, bits in rows})


def _line(one: list[Any], n_planes: int) -> Line:
    plane, id_, *names = one
    name, display_name = texts(names)
    return Line(whole(plane, 0, n_planes), _int(id_), name, display_name)


def _metadata(one: list[Any], n_planes: int, strings: StringTable, unsigned: frozenset[str]) -> MetadataRow:
    plane, *names, stats = one
    name, display_name = texts(names)
    rows = stat_rows(dict(stats), strings, unsigned)
    shown = strings.id_of(display_name) if display_name else -1
    return MetadataRow(whole(plane, -1, n_planes), strings.id_of(name), shown, rows)


def _int(value: Any) -> int:
    return whole(value, -(2**63), 2**64)


def _time(value: Any) -> int:
    return max(-MAX_PS, min(_int(value), MAX_PS))
