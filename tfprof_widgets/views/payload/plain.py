"""Values of the analyses -> values as JSON knows them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a small frame as JSON-safe dicts."""
    names = [str(name) for name in frame.columns]
    columns = [_plain_column(frame[name]) for name in frame.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain_column(column: pd.Series) -> list[Any]:
    """The values of a column; of numbers that JSON knows none is looked at."""
    values = column.tolist()
    kind = getattr(column.dtype, "kind", "O")
    is_plain = kind in "iub" or (kind == "f" and bool(np.isfinite(column.to_numpy(np.float64)).all()))
    return values if is_plain else [plain(value) for value in values]


def plain(value: Any) -> Any:
    """A value as JSON knows it; what is no number becomes null, bytes their length."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
