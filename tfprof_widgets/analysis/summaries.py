"""Tables of many hosts -> small tables that travel to where they are stacked and merged."""

from __future__ import annotations

import pickle
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..errors import TfProfError
from ..trace.arrays import Int64
from ..trace.building import with_host
from ..trace.trace import Trace
from .common import PS_PER_MS
from .events import Framework

if TYPE_CHECKING:
    from .card import FoundAdvice


@dataclass
class Most:
    """How much of one host travels; what is left out says so."""

    steps: int = 2_000
    """The first ones."""
    pieces: int = 24
    """Of one step; a step of more is cut into so many equal parts, each of the category that takes most of it."""
    host_pieces: int = 1_000
    """Of all steps, as far as each step has one."""
    units: int = 2_000
    """Those with the most time of their own; that of the others is in one op a side, `OTHER_OPS`."""
    kernels: int = 2_000
    """Those with the most time; the others are one row."""
    copies: int = 500
    """Rows with the most exposed time; the others are one."""
    exchanges: int = 500
    """Likewise; the others are one row for each kind of exchange."""
    ops: int = 1_000
    """That allocated most; the others are one."""
    peak_rows: int = 100
    """Of one allocator those that held most; the others are one row."""
    pipelines: int = 50
    """Those that took most time."""
    expression: int = 500
    """Characters of an HLO op's text."""
    longest: int = 32
    """Events of one plane."""
    advice: int = 24
    """Those that could win most; there are not so many rules."""
    text: int = 600
    """Characters of a title, of a text of the evidence, of a notice of the advice."""
    fix: int = 3_000
    """Characters of a fix; of a longer one the words travel, as code that is cut does not run."""
    names: int = 10
    """Ops that an advice selects; one whose name is longer than `text` is left out."""


MOST = Most()
OTHER_OPS = "other ops"
"""Name and type of the op that stands for all that did not travel."""
OWNER = "owner"
"""The column of a stacked table with the number of the host that a row comes from."""


@dataclass(frozen=True)
class Travelling:
    """A table of one host of which rows travel to where the tables of all hosts are stacked."""

    of_host: Callable[[Any], pd.DataFrame]
    """What gives its rows from the facts of a host, those that matter most first."""
    most: str = ""
    """The field of `MOST` that bounds its rows; "" where nothing has to."""
    rest: Callable[[pd.DataFrame], Sequence[Mapping[str, object]]] | None = None
    """What stands in the place of the rows that do not travel; None where `of_host` gives those that travel alone."""
    did: str = ""
    """What hosts with more rows did more of than travels."""
    told: str = ""
    """Which rows are here; `{}` is how many of how many."""
    n_all: Callable[[Any], int] | None = None
    """How many rows a host has; None where `of_host` gives all of them."""
    refers: Mapping[str, str] = field(default_factory=dict)
    """Columns that hold rows of another table of the same host, -1 for none."""
    moment: str = ""
    """The column with times after the origin of the host."""

    def packed(self, facts: Any) -> tuple[PackedFrame, int]:
        """The rows that travel, and how many the host has."""
        frame = self.of_host(facts)
        n_all = len(frame) if self.n_all is None else self.n_all(facts)
        return PackedFrame.of(with_rest(frame, getattr(MOST, self.most), self.rest) if self.rest else frame), n_all


TRAVELLING: dict[str, Travelling] = {}
"""By name; filled where tables are declared."""


def travels(name: str, of_host: Callable[[Any], pd.DataFrame], **how: Any) -> None:
    """Declare how a table travels; `how` are fields of `Travelling`."""
    TRAVELLING[name] = Travelling(of_host, **how)


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
    """A column of several tables in a type that holds all values, as a damaged host may hold what others have not."""
    values = np.concatenate([frame.columns[name] for frame in frames])
    told = {frame.dtypes[name] for frame in frames}
    return pd.Series(values, dtype=told.pop() if len(told) == 1 else values.dtype)


class Stack(dict[str, pd.DataFrame]):
    """The tables of all hosts by name, one below the other; references are to rows of the stack, times after one origin."""

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
        declared = TRAVELLING[name]
        for column, other in declared.refers.items():
            row = frame[column].to_numpy(np.int64)
            frame[column] = np.where(row < 0, -1, row + self.first_row(other)[owner])
        if declared.moment:
            shift = self.shift_ps[owner]
            frame[declared.moment] += shift if declared.moment.endswith("_ps") else shift / PS_PER_MS
        self[name] = frame
        return frame

    def first_row(self, name: str) -> Int64:
        """Where the rows of each host begin in a stacked table, and behind the last one how many there are."""
        n = self._n_sessions if name == "sessions" else [len(one[name]) for one in self._hosts]
        return np.append(0, np.cumsum(n, dtype=np.int64))


def united(frame: pd.DataFrame, keys: Sequence[str], rules: Mapping[str, str]) -> tuple[pd.DataFrame, Int64]:
    firsts = [name for name, rule in rules.items() if rule == "first" and frame[name].dtype == np.object_]
    known = frame.assign(**{name: frame[name].where(frame[name] != "", None) for name in firsts})
    groups = known.groupby(list(keys), sort=False)
    found = groups.agg(dict(rules)).reset_index().fillna(dict.fromkeys(firsts, ""))
    return found.astype(frame.dtypes[list(found.columns)].to_dict()), np.asarray(groups.ngroup(), np.int64)


def with_rest(
    frame: pd.DataFrame, most: int, rest: Callable[[pd.DataFrame], Sequence[Mapping[str, object]]]
) -> pd.DataFrame:
    """The first rows, and where there are more those that `rest` makes of the others."""
    if len(frame) <= most:
        return frame
    rows = pd.DataFrame(rest(frame.iloc[most:]), columns=frame.columns)
    return pd.concat([frame.iloc[:most], rows], ignore_index=True).astype(frame.dtypes.to_dict())


def no_events(what: str, host: str, call: str) -> TfProfError:
    """The error of a reduced profile for what needs the events of a host."""
    return TfProfError(f"a reduced profile has no {what}: open one host in full, prof.host({host!r}){call}")


@dataclass(frozen=True, eq=False, repr=False)
class HostSummary:
    """What travels of the file of one host: small, whatever the file's size, and can be pickled."""

    host: str
    path: str
    trace: Trace
    """Its planes and sessions with the few events of `low_detail`."""
    tables: Mapping[str, PackedFrame]
    """By name, each of limited length; those of all hosts are stacked, see `Stack`; times are after the host's own origin."""
    n_all: Mapping[str, int]
    """How many rows a table has on the host, for those that are cut."""
    sums: Mapping[str, int]
    facts: Mapping[str, str]
    """What the capture recorded of the machine, see `compute_environment`."""
    framework: Framework
    """Which calls tell, of which not all travel."""
    memory_remedy: str | None
    """Why little or no memory was recorded; None where all is there."""
    advice: FoundAdvice
    """What the rules of a single host say of it, see `host_advice`."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Travels compressed: to a quarter, as most of it are texts."""
        state = {column.name: getattr(self, column.name) for column in fields(self)}
        return _unpacked, (zlib.compress(pickle.dumps(state, protocol=5), 1),)

    def renamed(self, host: str) -> HostSummary:
        """The same, said to come from `host`."""
        tables = {name: table.of_host(host) for name, table in self.tables.items()}
        return replace(self, host=host, trace=with_host(self.trace, host), tables=tables)

    def __repr__(self) -> str:
        n_events, n_steps, n_ops = self.sums["n_events"], len(self.tables["steps"]), len(self.tables["units"])
        return f"HostSummary({self.host!r}, {n_events} events, {n_steps} steps, {n_ops} ops)"


def _unpacked(packed: bytes) -> HostSummary:
    """What was pickled; texts that several hosts have are there once."""
    summary = HostSummary(**pickle.loads(zlib.decompress(packed)))
    return replace(summary, trace=replace(summary.trace, strings=tuple(map(sys.intern, summary.trace.strings))))


@dataclass(frozen=True, eq=False, repr=False)
class HostSums:
    """The summaries of all hosts of a run, in place of their events."""

    summaries: tuple[HostSummary, ...]
    every: Stack
    low_step: Int64
    """For each event of the trace its step in the order of the stack, -1 for none."""

    @cached_property
    def sums(self) -> Counter[str]:
        """What is added up over all hosts; a side (`Device`, `Host`) on which nothing was observed is missing."""
        total: Counter[str] = Counter()
        for one in self.summaries:
            total.update(one.sums)
        return total

    @property
    def names(self) -> list[str]:
        return [one.host for one in self.summaries]

    def numbers(self, hosts: Sequence[str]) -> Int64:
        number = {name: i for i, name in enumerate(hosts)}
        of_first = [one.trace.planes[0].host if one.trace.planes else "" for one in self.summaries]
        return np.array([number.get(name, 0) for name in of_first], np.int64)

    @property
    def paths(self) -> dict[str, str]:
        """By name of host its file, the first of several."""
        first = self.every["hosts"].drop_duplicates("host")
        return {host: self.summaries[i].path for host, i in zip(first["host"], first[OWNER], strict=True)}

    @property
    def noted(self) -> dict[str, str]:
        """What captures recorded of their machines; where hosts differ, by the first of them."""
        return {name: value for one in reversed(self.summaries) for name, value in one.facts.items()}

    @property
    def framework(self) -> Framework:
        return next((one.framework for one in self.summaries if one.framework != "TensorFlow"), "TensorFlow")

    def no_events(self, what: str) -> TfProfError:
        """The error of what needs single executions: they are on the hosts."""
        return TfProfError(
            f"a reduced profile has no {what}, as it has no single executions: open one of its hosts in full, prof.host(name)"
        )
