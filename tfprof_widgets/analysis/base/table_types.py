"""Column types of tables that a trace may leave empty: pandas gives a table without rows the type `object` throughout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

Types = Mapping[str, type]
"""From each column of a table, in order, to `int`, `float`, `bool` or, for text and all else, `object`."""

_DTYPES = {int: np.int64, float: np.float64, bool: np.bool_, object: np.object_}


def typed_table(rows: Sequence[Mapping[str, object]], types: Types) -> pd.DataFrame:
    """Rows as a table whose columns have these types even where there are none; pandas' own types else."""
    if not rows:
        return _without_rows(tuple(types.items())).copy()
    return pd.DataFrame(rows, columns=list(types))


def table_of_arrays(columns: Mapping[str, npt.NDArray[Any]]) -> pd.DataFrame:
    """Arrays as a table; those of type `object` stay so, where pandas would give texts its own type."""
    index = pd.RangeIndex(len(next(iter(columns.values()), ())))  # one for all, which spares comparing them
    typed = {name: pd.Series(one, index, dtype=object) if one.dtype == object else one for name, one in columns.items()}
    return pd.DataFrame(typed, index)


def text_column(texts: Iterable[str]) -> pd.Series:
    """Texts as a column of Python strings."""
    column: pd.Series = pd.Series(list(texts), dtype=object)
    return column


@cache
def _without_rows(types: tuple[tuple[str, type], ...]) -> pd.DataFrame:
    """Made once: of many small traces the tables that stay empty would take longest."""
    return pd.DataFrame({name: np.empty(0, _DTYPES[kind]) for name, kind in types})
