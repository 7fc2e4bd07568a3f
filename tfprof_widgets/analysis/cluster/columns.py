"""Tables of hosts: small enough to travel, and those of all hosts one below the other."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.trace import Int64
from ..base.units import PS_PER_MS

OWNER = "owner"
"""The column of a stacked table with the number of the host that a row comes from."""
_REFERENCES: Mapping[str, Mapping[str, str]] = {
    "steps": {"session": "sessions"},
    "units": {"op": "ops", "hlo": "hlo_ops"},
    "variants": {"op": "ops"},
    "pairs": {"hlo": "hlo_ops", "op": "ops"},
    "kinds": {"unit": "units"},
    "peaks": {"allocator": "memory"},
    "held": {"allocator": "memory"},
    "pipelines": {"bottleneck": "iterators"},
    "iterators": {"parent_id": "iterators", "pipeline": "pipelines"},
}
"""Columns that hold rows of a table of the same host, -1 for none."""
_MOMENTS = {"steps": "start_ps", "memory": "peak_at_ms", "iterators": "start_ms"}
"""Columns that hold times after the origin of the host."""


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

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self.columns, self.dtypes)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.columns[name]

    def of_host(self, host: str) -> PackedFrame:
        """The same with another name in all rows of a column `host`; without one as it is."""
        if "host" not in self.columns:
            return self
        return PackedFrame({**self.columns, "host": np.full(len(self), host, np.object_)}, self.dtypes)

    @property
    def frame(self) -> pd.DataFrame:
        """The DataFrame."""
        return _stacked([self])


def _arrived(columns: Mapping[str, npt.NDArray[Any]], dtypes: dict[str, str]) -> PackedFrame:
    """What was pickled; texts that several hosts have are there once."""
    return PackedFrame({name: _plain(values) for name, values in columns.items()}, dtypes)


def _plain(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.dtype != np.object_:
        return values
    shared = np.empty(len(values), np.object_)
    for i, value in enumerate(values.tolist()):  # one turn per row of a small table
        shared[i] = sys.intern(value) if type(value) is str else value
    return shared


def _stacked(frames: Sequence[PackedFrame]) -> pd.DataFrame:
    filled = [frame for frame in frames if len(frame)] or frames[:1]
    return pd.DataFrame({name: _column(filled, name) for name in filled[0].columns})


def _column(frames: Sequence[PackedFrame], name: str) -> pd.Series[Any]:
    """A column of several tables. A damaged host may hold what others have not, such as no number among whole ones: then it
    is of a type that holds all of them."""
    values = np.concatenate([frame.columns[name] for frame in frames])
    told = {frame.dtypes[name] for frame in frames}
    return pd.Series(values, dtype=told.pop() if len(told) == 1 else values.dtype)


class Stack(dict[str, pd.DataFrame]):
    """The tables of at least one host by name, those of all hosts one below the other, made when first asked for.

    What refers to a row of another table of its host refers to that row in the stack, and times are after the common origin.
    """

    def __init__(
        self, hosts: Sequence[Mapping[str, PackedFrame]], n_sessions: Sequence[int], shift_ps: Sequence[int]
    ) -> None:
        """Take the tables of each host, how many sessions it has, and by how much its times move."""
        super().__init__()
        self._hosts = hosts
        self._n_sessions = n_sessions
        self.shift_ps = np.array(shift_ps, np.int64)

    def __missing__(self, name: str) -> pd.DataFrame:
        frames = [one[name] for one in self._hosts]
        owner = np.repeat(np.arange(len(frames)), [len(frame) for frame in frames])
        frame = _stacked(frames).assign(**{OWNER: owner})
        for column, other in _REFERENCES.get(name, {}).items():
            row = frame[column].to_numpy(np.int64)
            frame[column] = np.where(row < 0, -1, row + self.first_row(other)[owner])
        if name in _MOMENTS:
            shift = self.shift_ps[owner]
            frame[_MOMENTS[name]] += shift if _MOMENTS[name].endswith("_ps") else shift / PS_PER_MS
        self[name] = frame
        return frame

    def first_row(self, name: str) -> Int64:
        """Where the rows of each host begin in a stacked table, and behind the last one how many there are."""
        n = self._n_sessions if name == "sessions" else [len(one[name]) for one in self._hosts]
        return np.append(0, np.cumsum(n, dtype=np.int64))


def united(frame: pd.DataFrame, keys: Sequence[str], rules: Mapping[str, str]) -> tuple[pd.DataFrame, Int64]:
    """Rows with the same keys as one.

    Args:
        frame: the rows of all hosts.
        keys: the columns that tell what is the same.
        rules: for each other column how its values become one: "sum", "min", "max", "any", "all", or "first", which passes
            over empty texts.

    Returns:
        The keys and those columns, in order of first appearance and with the types that they had; for each row of `frame` its
        row in that.
    """
    firsts = [name for name, rule in rules.items() if rule == "first" and frame[name].dtype == np.object_]
    known = frame.assign(**{name: frame[name].where(frame[name] != "", None) for name in firsts})
    groups = known.groupby(list(keys), sort=False)
    found = groups.agg(dict(rules)).reset_index().fillna(dict.fromkeys(firsts, ""))
    return found.astype(frame.dtypes[list(found.columns)].to_dict()), np.asarray(groups.ngroup(), np.int64)


def with_rest(frame: pd.DataFrame, most: int, rest: Callable[[pd.DataFrame], Mapping[str, object]]) -> pd.DataFrame:
    """The first rows, and where there are more one row in place of the others, as `rest` makes it of them."""
    if len(frame) <= most:
        return frame
    row = pd.DataFrame([rest(frame.iloc[most:])], columns=frame.columns)
    return pd.concat([frame.iloc[:most], row], ignore_index=True).astype(frame.dtypes.to_dict())


def interned(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts, equal ones as one object, in a pickle as in memory: the hosts of a run have mostly the same."""
    return tuple(sys.intern(str(text)) for text in texts)
