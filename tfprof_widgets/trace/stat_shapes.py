"""The keys and kinds of each event's stats -> its *shape*: a number that stands for all of them, in order.

Profilers write the same stats with every event of a kind, so a capture of millions of events has some thirty shapes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt8 = npt.NDArray[np.uint8]
AnyInt = npt.NDArray[np.integer]

_KINDS = 16
"""More than there are kinds of stats."""
_MAX_TABLE = 2**22
"""Entries of the table of steps; a trace that needs more has hardly two events alike, and pays a dictionary look-up each."""
_MAX_ROUNDS = 64
"""Stats are followed round by round, the k-th of every event at once; of an event with more, one by one."""


@dataclass(frozen=True)
class Shapes:
    """The shapes of one table of stats. The stats of shape `i` are rows `offsets[i]:offsets[i + 1]`."""

    offsets: Int64
    key: Int32
    """Number of the key; see `StatTable.keys`."""
    kind: UInt8

    @property
    def n_stats(self) -> Int64:
        """How many stats an event of each shape has."""
        return np.diff(self.offsets)

    def count_of(self, key: int) -> Int64:
        """How often each shape holds a key."""
        owner = np.repeat(np.arange(len(self.offsets) - 1), self.n_stats)
        return np.bincount(owner[self.key == key], minlength=len(self.offsets) - 1)

    def rows(self, shape: AnyInt) -> Int64:
        """For events of these shapes, stat by stat the row in `key` and `kind`."""
        return ranges(self.offsets[shape], self.n_stats[shape])


def ranges(first: Int64, n: Int64) -> Int64:
    """The integers `first[i]`, `first[i] + 1`, ..., `n[i]` of them, for each `i` in turn."""
    within = np.arange(int(n.sum()))
    within += np.repeat(first - (np.cumsum(n) - n), n)
    return within


class ShapeIndex:
    """Numbers shapes as they occur: a tree in which each stat of an event is one step down from the root."""

    def __init__(self) -> None:
        """Start with the shape of events without stats, number 0."""
        self.keys: list[int] = []
        """From the number of a key to the key."""
        self._number_of_key: dict[int, int] = {}
        self._column_of = np.empty(0, np.int32)
        self._columns: list[tuple[int, int]] = []
        self._key_of_column = np.empty(0, np.int32)
        self._above: list[tuple[int, int]] = [(-1, -1)]
        self._below: dict[int, int] = {}
        self._step = np.full((64, 64), -1, np.int32)

    def columns(self, key: Int32, kind: UInt8) -> Int32:
        """One small number for each pair of key and kind."""
        pair = key.astype(np.int64) * _KINDS + kind
        highest = int(pair.max(initial=-1))
        if highest >= len(self._column_of):
            self._column_of = _grown(self._column_of, 2 * highest + 1)
        column: Int32 = self._column_of.take(pair)
        if column.min(initial=0) < 0:
            for new in np.unique(pair[column < 0]).tolist():
                self._add_column(*divmod(new, _KINDS))
            column = self._column_of[pair]
            self._key_of_column = np.array([key for key, _ in self._columns], np.int32)
        return column

    def _add_column(self, key: int, kind: int) -> None:
        number = self._number_of_key.setdefault(key, len(self.keys))
        if number == len(self.keys):
            self.keys.append(key)
        self._column_of[key * _KINDS + kind] = len(self._columns)
        self._columns.append((number, kind))

    def keys_of(self, column: Int32) -> Int32:
        """The number of the key of each column."""
        return self._key_of_column.take(column)

    def nodes(self, n_stats: Int64, column: Int32) -> Int32:
        """The node of the tree at which each event ends."""
        first = np.cumsum(n_stats) - n_stats
        node = np.zeros(len(n_stats), np.int32)
        rows = np.flatnonzero(n_stats)
        at, left, reached = first[rows], n_stats[rows], node[rows]
        for position in range(_MAX_ROUNDS):
            if not len(rows):
                return node
            reached = self._below_all(reached, column.take(at))
            goes_on = left > position + 1
            if not goes_on.all():
                node[rows] = reached
                rows, at, left, reached = rows[goes_on], at[goes_on], left[goes_on], reached[goes_on]
            at += 1
        node[rows] = reached
        for row in rows.tolist():  # events with very many stats are rare
            rest = column[int(first[row]) + _MAX_ROUNDS : int(first[row] + n_stats[row])]
            node[row] = self._follow(int(node[row]), rest.tolist())
        return node

    def _below_all(self, node: Int32, column: Int32) -> Int32:
        if not self._step.size:
            return self._looked_up(node, column)
        if len(self._columns) > self._step.shape[1]:
            self._enlarge()
            return self._below_all(node, column)
        place = node.astype(np.int64)
        place *= self._step.shape[1]
        place += column
        found: Int32 = self._step.ravel().take(place)
        if found.min(initial=0) < 0:
            new = np.flatnonzero(found < 0)
            found[new] = self._looked_up(node[new], column[new])
        return found

    def _looked_up(self, node: Int32, column: Int32) -> Int32:
        pairs, inverse = np.unique(node.astype(np.int64) << 32 | column, return_inverse=True)
        return np.array([self._one_below(pair >> 32, pair & 0xFFFFFFFF) for pair in pairs.tolist()], np.int32)[inverse]

    def _one_below(self, node: int, column: int) -> int:
        below = self._below.setdefault(node << 32 | column, len(self._above))
        if below == len(self._above):
            self._above.append((node, column))
            if self._step.size:
                if below >= self._step.shape[0]:
                    self._enlarge()
                if self._step.size:
                    self._step[node, column] = below
        return below

    def _follow(self, node: int, columns: Iterable[int]) -> int:
        for column in columns:
            node = self._one_below(node, column)
        return node

    def _enlarge(self) -> None:
        """Twice as many nodes or columns in the table of steps, whichever is full; no table when it gets too large."""
        n_nodes, n_columns = self._step.shape
        n_nodes = 2 * n_nodes if len(self._above) >= n_nodes else n_nodes
        while n_columns < len(self._columns):
            n_columns *= 2
        if n_nodes * n_columns > _MAX_TABLE:
            self._step = np.empty((0, 0), np.int32)
            return
        larger = np.full((n_nodes, n_columns), -1, np.int32)
        larger[: self._step.shape[0], : self._step.shape[1]] = self._step
        self._step = larger

    def shapes(self, nodes: list[int]) -> Shapes:
        """The shapes that end at some nodes."""
        paths = [self._path(node) for node in nodes]
        key_and_kind = [self._columns[column] for path in paths for column in path]
        return Shapes(
            offsets=np.cumsum([0, *map(len, paths)]).astype(np.int64),
            key=np.array([key for key, _ in key_and_kind], np.int32),
            kind=np.array([kind for _, kind in key_and_kind], np.uint8),
        )

    def _path(self, node: int) -> list[int]:
        path = []
        while node:
            node, column = self._above[node]
            path.append(column)
        return path[::-1]


def _grown(table: Int32, n: int) -> Int32:
    larger = np.full(n, -1, np.int32)
    larger[: len(table)] = table
    return larger
