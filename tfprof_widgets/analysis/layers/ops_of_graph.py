"""Edges of graphs -> the forward ops whose gradients the nameless ops of a tape compute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ...trace.arrays import Bool, Int32, Int64
from ...trace.source_map import SourceMap
from ..ops.shares import OpShares
from .layers import GraphIndex, KnownLayers, Scope
from .scopes import LOSSES, OpScopes, numbered_scopes, op_scopes, without_number

_SUMS = frozenset(("AddN", "ConcatV2"))
"""How a tape adds up gradients, the second those that are sparse."""
_ZEROS = frozenset(("ZerosLike", "OnesLike", "Fill"))
_PASSING = frozenset(("Add", "AddV2", "AddN", "BiasAdd", "Identity", "Sub"))
"""Types of ops through which a gradient goes as it is, with no op for it."""
_NO_VALUE = frozenset(("Const", "ReadVariableOp", "NoOp"))
"""Types of ops that compute nothing that a gradient goes back through."""
_MAX_SEARCHED = 1_000
_MAX_PART = 200


class TapeOps:
    """The forward op of each nameless op of a tape by edges; a sum of several layers' is of the op that made the value."""

    def __init__(self, graphs: GraphIndex, edges: pd.DataFrame, rows: Sequence[int], known: KnownLayers) -> None:
        self.forward: dict[int, int] = {}
        """For each op that is found the row of its forward op."""
        self._graphs, self._known = graphs, known
        self._value: dict[int, int] = {}
        """For each sum the op that made the value whose gradients it adds up."""
        self._read_in: dict[tuple[Scope, int], set[int]] = {}
        """For each scope of each graph the ops that its ops may read."""
        data = edges[(edges["source_output"] >= 0) & (edges["source"] >= 0)]
        self._sources = _Lists(data["op"].to_numpy(), data["source"].to_numpy())
        self._readers = _Lists(data["source"].to_numpy(), data["op"].to_numpy())
        if not rows or data.empty:
            return
        parts = self._parts(rows)
        for _ in range(2):  # ops stand behind what they read, but for graphs in another order
            for part in parts:
                if part[0] not in self.forward:
                    self._find(part)

    def _parts(self, rows: Sequence[int]) -> list[list[int]]:
        """Each sum and each op of zeros by itself, others with those that they are connected to; what is read first."""
        single = _SUMS | _ZEROS
        left = {row for row in rows if self._graphs.type[row] not in single}
        parts = [[row] for row in rows if self._graphs.type[row] in single]
        while left:
            part = [left.pop()]
            for row in part:  # grows while it is read
                near = {*self._sources.of(row), *self._readers.of(row)} & left
                left -= near
                part += near
            parts.append(sorted(part))
        return sorted(parts, key=lambda part: part[-1])

    def _find(self, part: list[int]) -> None:
        kind = self._graphs.type[part[0]]
        if kind in _ZEROS:
            found = self._of_all(self._readers.of(part[0]))
        elif kind in _SUMS:
            found = self._of_sum(part[0])
        else:
            found = self._of_part(part) if len(part) <= _MAX_PART else -1
        if found >= 0:
            self.forward.update(dict.fromkeys(part, found))

    def _of_sum(self, row: int) -> int:
        summands = [one for one in self._sources.of(row) if self._is_gradient(one)]
        if len(summands) < 2:
            return -1
        values = [self._values(one) for one in summands]
        made = self._latest(set.intersection(*values))
        if made >= 0:
            self._value[row] = made
        if (found := self._of_all(summands)) >= 0:
            return found
        if made >= 0 and self._graphs.type[made] not in _NO_VALUE:
            return made
        if (found := self._of_all(self._readers.of(row))) >= 0:
            return found
        of_layers = [one for one in summands if isinstance(self._home(self._forward(one)), str)]
        return self._of_all(of_layers)

    def _of_part(self, part: list[int]) -> int:
        """The op of which some ops compute the gradient: the last that made a value from what they read of the forward pass."""
        inner = set(part)
        outer = {one for row in part for one in self._sources.of(row)} - inner
        gradients = [one for one in outer if self._is_gradient(one)]
        saved = {one for one in outer if not self._is_gradient(one) and self._graphs.type[one] not in _NO_VALUE}
        has_reader = any(self._is_gradient(one) for row in part for one in self._readers.of(row) if one not in inner)
        if not gradients or not has_reader:
            return -1
        values = set.intersection(*(self._values(one) for one in gradients))
        made = {one for one in values if self._graphs.type[one] not in _PASSING | _NO_VALUE}
        best = sorted(self._nearest(made, saved)) if saved else sorted(made)
        return best[0] if len({self._home(one) for one in best}) == 1 else -1

    def _is_gradient(self, row: int) -> bool:
        return row in self._graphs.backward or row in self.forward

    def _forward(self, row: int) -> int:
        """The forward op of an op that computes a gradient, -1 where it is not known."""
        found = self.forward.get(row)
        if found is None and row in self._graphs.backward:
            found = self._graphs.forward(self._graphs.scope[row], self._graphs.type[row], row)
        return -1 if found is None or found == row else found

    def _of_all(self, rows: Iterable[int]) -> int:
        """The forward op of some gradients, if they are all of one layer; else -1."""
        found = [self._forward(row) for row in rows if self._is_gradient(row)]
        return found[0] if found and min(found) >= 0 and len({self._home(one) for one in found}) == 1 else -1

    def _home(self, row: int) -> object:
        """The layer of an op, the loss, or its scope and line where it is in none."""
        if row < 0:
            return row
        scope = self._graphs.scope.get(row, ())
        if scope and without_number(scope[0]) in LOSSES:
            return (scope[0],)
        return self._known.find(scope)[0] or (scope, self._graphs.frame(row))

    def _values(self, row: int) -> set[int]:
        """The ops that may have made the value whose gradient an op computes."""
        if row in self._value:
            return self._passed_from([self._value[row]])
        if row not in self.forward:
            return self._read_by(self._graphs.reads(row))
        made = self.forward[row]
        around = self._graphs.scope.get(made, ()), self._graphs.graph[made]
        if around not in self._read_in:
            self._read_in[around] = self._read_by(self._graphs.in_scope(made))
        return self._read_in[around] | self._read_by([made])

    def _read_by(self, rows: list[int]) -> set[int]:
        return self._passed_from([one for row in rows for one in self._sources.of(row)])

    def _passed_from(self, rows: list[int]) -> set[int]:
        """Some ops, and those whose results they pass on or add up."""
        found = dict.fromkeys(rows)
        stack = list(found)
        while stack and len(found) < _MAX_SEARCHED:
            row = stack.pop()
            if self._graphs.type[row] in _PASSING:
                new = [one for one in self._sources.of(row) if one not in found]
                found.update(dict.fromkeys(new))
                stack += new
        return set(found)

    def _latest(self, rows: set[int]) -> int:
        """The one from which all the others come, -1 for none."""
        left = set(rows)
        for row in sorted(rows, reverse=True):
            if row in left:
                passed = self._passed_from([row])
                if rows <= passed:
                    return row
                left -= passed  # less than all come from these, too
        return -1

    def _nearest(self, rows: set[int], saved: set[int]) -> set[int]:
        """Those to which fewest steps lead from any of some ops."""
        found, level = set(saved), saved
        for _ in range(_MAX_PART):
            if rows & level or not level or len(found) > _MAX_SEARCHED:
                break
            level = {reader for one in level for reader in self._readers.of(one)} - found
            found |= level
        return rows & level


class _Lists:
    def __init__(self, key: Int64, value: Int64) -> None:
        order = np.argsort(key, kind="stable")
        self._value: list[int] = value[order].tolist()
        keys, first = np.unique(key[order], return_index=True)
        ends = [*first.tolist(), len(key)][1:]
        self._range = dict(zip(keys.tolist(), zip(first.tolist(), ends, strict=True), strict=True))

    def of(self, key: int) -> list[int]:
        begin, end = self._range.get(key, (0, 0))
        return self._value[begin:end]


@dataclass(frozen=True, eq=False, repr=False)
class OpMatch:
    row: Int32
    """Row of `SourceMap.ops`, -1 for none; of a gradient op that of the forward op, as far as it is found."""
    is_backward: Bool
    """Whether it computes a gradient: by its name, or as a nameless op of a tape."""
    own_row: Int32
    """Row of `SourceMap.ops` of the op itself, also of a gradient op; -1 where only another op stands for it."""


def match_ops(names: Sequence[str], types: Sequence[str], scopes: OpScopes, source_map: SourceMap) -> OpMatch:
    """Find the graph op of each framework op: by type, then in the graph of which most ops ran under the same prefix."""
    if not (source_map.ops["frame"] >= 0).any():  # nobody can tell more than the names
        none = np.full(len(names), -1, np.int32)
        return OpMatch(none, scopes.is_backward, none)
    index = GraphIndex(source_map)
    found = [index.find(name) for name in names]
    ran: Counter[tuple[str, int]] = Counter()
    for prefix, rows in found:
        ran.update((prefix, graph) for graph in {index.graph[row] for row in rows})
    index.add_scopes({graph for _, graph in ran})
    row, own_row = (np.full(len(names), -1, np.int32) for _ in range(2))
    is_backward = scopes.is_backward.copy()
    tape = TapeOps(
        index, source_map.edges, index.under_gradients(source_map.frames), KnownLayers.read(source_map.layers)
    )
    for i, (prefix, rows) in enumerate(found):  # one turn per unique op name
        is_itself = bool(rows)
        if not rows:
            rows, is_itself = index.find_normal(scopes, i)
        if rows:
            row[i] = max(rows, key=lambda one: index.merit(one, types[i], prefix, ran))
        if is_itself:
            own_row[i] = row[i]
        if is_backward[i]:
            scope = index.scope.get(int(own_row[i]), scopes.scope[i])
            row[i] = index.forward(scope, types[i], int(row[i]))
        elif (forward := tape.forward.get(int(row[i]))) is not None:
            row[i], is_backward[i] = forward, True
    return OpMatch(row, is_backward, own_row)


def compute_op_scopes(
    shares: OpShares, named: OpScopes, match: OpMatch, source_map: SourceMap | None, *, is_input: Bool
) -> OpScopes:
    """The scopes of the framework ops of a trace, with what threads, live models and edges of graphs tell beyond names."""
    layers = source_map.layers if source_map is not None else None
    optimizers = frozenset(layers["name"][layers["layer"] == ""]) if layers is not None else frozenset()
    if optimizers or (is_input & ~named.is_input).any():
        named = op_scopes(shares.name, shares.type, is_input=is_input, optimizers=optimizers)
    of_tape = np.flatnonzero(match.is_backward & ~named.is_backward & ~named.is_input)
    if source_map is None or not len(of_tape):
        return named
    ops = source_map.ops.iloc[match.row[of_tape]]
    forward = op_scopes(ops["op"].tolist(), ops["type"].tolist())
    scope, is_backward, is_optimizer = list(named.scope), named.is_backward.copy(), named.is_optimizer.copy()
    for i, outer, leaf in zip(of_tape.tolist(), forward.scope, forward.leaf, strict=True):
        scope[i] = (*outer, leaf)
    is_backward[of_tape], is_optimizer[of_tape] = True, False
    scopes, scope_id = numbered_scopes(scope)
    return replace(named, scopes=scopes, scope_id=scope_id, is_backward=is_backward, is_optimizer=is_optimizer)
