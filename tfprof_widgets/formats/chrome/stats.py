"""The `args` of Chrome trace events -> rows of stats, without those that the metadata of an event tells anyway."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

import numpy as np
import numpy.typing as npt

from ...trace.event_metadata import EventMetadata
from ...trace.string_table import StatRow, StringTable
from ...trace.trace import Int32, Int64, StatValue, UInt8, UInt64
from .json_reader import Real
from .left_out import OddEventError
from .members import number_or_text

BYTES_MEMBER, DOUBLE_MEMBER = "$bytes", "$double"
"""The one member of the objects that stand for values for which JSON has no word: base64, and infinite or no numbers."""


def stat_rows(
    args: dict[str, Any], strings: StringTable, unsigned: frozenset[str], *, is_own: bool = True
) -> list[StatRow]:
    """The members of an `args` object as stats.

    Args:
        args: as decoded by `chrome_json`.
        strings: takes up the strings.
        unsigned: names whose integers are unsigned.
        is_own: this package wrote them; other programs write numbers as texts, too.
    """
    rows = []
    for name, value in args.items():
        kind = type(value)
        if not is_own and kind is str and value[-1:].isdecimal() and not name.endswith("name"):
            value = number_or_text(value)
            kind = type(value)
        plain = value if kind is str or (kind is int and -(2**63) <= value < 2**64) else _plain(value)
        rows.append(strings.stat(name, plain, is_unsigned=name in unsigned))
    return rows


def _plain(value: Any) -> StatValue:
    """What a stat can hold of a value of JSON."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (Real, float)):
        return float(value)
    if isinstance(value, dict) and len(value) == 1:
        (name, content), *_ = value.items()
        try:
            if name == BYTES_MEMBER and isinstance(content, str):
                return base64.b64decode(content, validate=True)
            if name == DOUBLE_MEMBER and isinstance(content, str):
                return float(content)
        except (binascii.Error, ValueError) as error:
            raise OddEventError(f"a value of {name} is broken: {error}", "bad args") from error
    return json.dumps(_as_numbers(value), ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)


def _as_numbers(value: Any) -> Any:
    """The same with numbers in place of their texts. Its depth is that of what the JSON reader could read."""
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, list):
        return [_as_numbers(one) for one in value]
    if isinstance(value, dict):
        return {name: _as_numbers(one) for name, one in value.items()}
    return value


def not_shared(metadata: EventMetadata, event: Int64, key: Int32, kind: UInt8, bits: UInt64) -> Int64:
    """Rows of the stats of events that are not already among those of their metadata."""
    everything = np.arange(len(event))
    table = metadata.table
    if not len(table.stats.key):
        return everything
    row = metadata.row_of_event[event]
    some = np.flatnonzero(table.stats.n[row] > 0)
    own = _packed(row[some], key[some], kind[some], bits[some])
    shared_row = np.repeat(np.arange(len(table.name_id)), table.stats.n)
    shared = _packed(shared_row, table.stats.key, table.stats.kind, table.stats.bits)
    keep = np.ones(len(event), np.bool_)
    keep[some[np.isin(own, shared)]] = False
    return everything[keep]


def _packed(row: npt.NDArray[np.integer[Any]], key: Int32, kind: UInt8, bits: UInt64) -> npt.NDArray[np.void]:
    """Four columns as one that can be compared."""
    packed = np.empty(len(row), [("row", "<i4"), ("key", "<i4"), ("kind", "<i4"), ("bits", "<u8")])
    packed["row"], packed["key"], packed["kind"], packed["bits"] = row, key, kind, bits
    return packed
