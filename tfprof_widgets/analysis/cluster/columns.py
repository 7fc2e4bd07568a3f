"""Columns of hosts: one after the other, and small enough to travel."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd


def joined(columns: Iterable[npt.NDArray[Any]], dtype: type[Any]) -> npt.NDArray[Any]:
    """One column of all, of the type given; empty where there is none."""
    return np.concatenate([np.empty(0, dtype), *columns]).astype(dtype, copy=False)


@dataclass(frozen=True, eq=False, repr=False)
class PackedFrame:
    """A DataFrame as arrays, which travel and stack many times faster; its index is lost."""

    columns: dict[str, npt.NDArray[Any]]
    dtypes: dict[str, str]
    """How pandas held each column."""

    @classmethod
    def of(cls, frame: pd.DataFrame) -> PackedFrame:
        """The rows of a DataFrame; equal texts are one object."""
        return cls(
            {str(name): _plain(frame[name].to_numpy()) for name in frame.columns},
            {str(name): str(frame[name].dtype) for name in frame.columns},
        )

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.columns[name]

    def with_text(self, name: str, text: str) -> PackedFrame:
        """The same with one text in all rows of a column."""
        return PackedFrame({**self.columns, name: np.full(len(self), text, np.object_)}, self.dtypes)

    @property
    def frame(self) -> pd.DataFrame:
        """The DataFrame."""
        return stacked([self])


def _plain(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.dtype != np.object_:
        return values
    shared = np.empty(len(values), np.object_)
    for i, value in enumerate(values.tolist()):  # one turn per row of a small table
        shared[i] = sys.intern(value) if type(value) is str else value
    return shared


def stacked(frames: Sequence[PackedFrame]) -> pd.DataFrame:
    """The rows of at least one table of equal columns, one table after the other."""
    typical = next((frame for frame in frames if len(frame)), frames[0])
    return pd.DataFrame(
        {
            name: pd.Series(np.concatenate([frame.columns[name] for frame in frames]), dtype=dtype)
            for name, dtype in typical.dtypes.items()
        }
    )


def owners(frames: Sequence[PackedFrame]) -> npt.NDArray[np.int64]:
    """For each row of `stacked(frames)` the number of the table that it comes from."""
    return np.repeat(np.arange(len(frames)), [len(frame) for frame in frames])


def numbered(texts: Iterable[str]) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """For each text the number of those equal to it, and the texts of these numbers, in order of first appearance."""
    number: dict[str, int] = {}
    return np.array([number.setdefault(text, len(number)) for text in texts], np.int64), tuple(number)


def interned(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts, equal ones as one object, in a pickle as in memory: the hosts of a run have mostly the same."""
    return tuple(sys.intern(str(text)) for text in texts)
