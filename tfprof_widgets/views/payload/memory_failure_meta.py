"""`MemoryFailure` -> the part of the meta object from which the memory view explains it."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import pandas as pd

from ...analysis.base.units import PS_PER_MS
from ...analysis.base.wording import tail
from ...analysis.failure.memory_failure import MemoryFailure
from ...analysis.failure.words import MAX_ROWS
from .plain import plain

MAX_TEXT = 400
"""Characters of a name or sentence; of a longer name its end."""
MAX_NAMES = 4_000
"""Characters of the names that a row selects."""
_NUMBERS = ("requested_bytes", "in_use_bytes", "capacity_bytes", "largest_free_bytes", "fragmentation_ratio", "step")


def memory_failure_meta(failure: MemoryFailure | None) -> dict[str, Any] | None:
    """The sentence, the numbers, the first rows of each table and what to do; JSON-safe. None where nothing failed."""
    if failure is None:
        return None
    return {
        **{name: plain(getattr(failure, name)) for name in _NUMBERS},
        "sentence": failure.sentence[: 4 * MAX_TEXT],
        "message": failure.message[:MAX_TEXT],
        "allocator": failure.allocator,
        "at_ps": plain(failure.at_ms * PS_PER_MS),
        "tables": [
            _table("Op", failure.by_op, "op", "shape"),
            _table("Layer", failure.by_layer, "layer", ""),
            _table("Line", failure.by_line, "line", "code"),
        ]
        if failure.is_recorded
        else [],
        "actions": [
            {"words": one.words[: 4 * MAX_TEXT], "code": one.code, "detail": one.detail[: 4 * MAX_TEXT]}
            for one in failure.actions
        ],
    }


def _table(title: str, frame: pd.DataFrame, key: str, detail: str) -> dict[str, Any]:
    rows = frame.head(MAX_ROWS).to_dict("records")
    return {"title": title, "n": len(frame), "rows": [_row(row, key, detail) for row in rows]}


def _row(row: dict[Any, Any], key: str, detail: str) -> dict[str, Any]:
    name, more = str(row[key]), str(row[detail]) if detail else ""
    ops, room = [], MAX_NAMES
    for op in row["ops"]:
        room -= len(op)
        if room < 0:
            break
        ops.append(op)
    return {
        "name": tail((PurePath(name).name or name) if key == "line" else name, MAX_TEXT),
        "full": tail(name, MAX_TEXT),
        "detail": "" if more == "unknown" else more[:MAX_TEXT],
        "bytes": plain(row["bytes"]),
        "ratio": plain(row["ratio"]),
        "count": plain(row["occurrences"]),
        "ops": ops,
        "n_ops": len(row["ops"]),
    }
