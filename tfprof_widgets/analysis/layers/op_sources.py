"""Names of framework ops in a trace -> the graph ops that they are.

The executor's name is the graph op's name behind those of the calls that lead to it (`StatefulPartitionedCall/`,
`while/body/_1/`), changed where graph rewriting made the op anew; `op_scopes` knows how. Where the op itself is not found, an
op of its scope stands for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...trace.source_map import SourceMap
from ...trace.trace import Bool, Int32
from .op_scopes import OpScopes, op_scopes

Scope = tuple[str, ...]

_HARDLY_RUN = ("Const", "Identity", "NoOp")
_NO_STAND_IN = ("Const", "NoOp", "ReadVariableOp")
"""Half of a graph's ops, which have no gradient and say little of the scope that they are in."""
_ADDED = re.compile(r"(/_\d+)+$|-\d+-.*LayoutOptimizer$|-(folded|reduction)(-\d+)?$|__cf__\d+$")
"""What graph rewriting and partitioning put behind a name."""
_MAX_ADDED = 200
_MAX_DEPTH = 100
"""How much of a name's end is searched for that, and how many calls and scopes a name may begin with."""
_GRADIENT_TYPE = re.compile(r"^_*(?:Mkl)?(?:Native)?(\w+?)(?:Grad(?:Grad)?(?:WithBias)?(V\d)?|Backprop\w*)$")


@dataclass(frozen=True, eq=False, repr=False)
class OpMatch:
    """The graph op of each framework op."""

    row: Int32
    """Row of `SourceMap.ops`, -1 for none; of a gradient op that of the forward op, as far as it is found."""
    is_backward: Bool
    """Whether its name says that it computes a gradient."""
    own_row: Int32
    """Row of `SourceMap.ops` of the op itself, also of a gradient op; -1 where only another op stands for it."""


def match_ops(names: Sequence[str], types: Sequence[str], scopes: OpScopes, source_map: SourceMap) -> OpMatch:
    """Find the graph op of each framework op.

    Several graphs may have an op of that name. The op's type decides, then the graph of which most ops ran under the same
    prefix: `mul` is rather the only op of a map function than one in 300 of a training step.

    Args:
        names: names of the framework ops, each once; any text.
        types: their types.
        scopes: the result of `op_scopes(names, types)`.
        source_map: the graphs; where none of their ops has a frame, none is found.
    """
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
    for i, (prefix, rows) in enumerate(found):  # one turn per unique op name
        is_itself = bool(rows)
        if not rows:
            rows, is_itself = index.find_normal(scopes, i)
        if rows:
            row[i] = max(rows, key=lambda one: index.merit(one, types[i], prefix, ran))
        if is_itself:
            own_row[i] = row[i]
        if scopes.is_backward[i]:
            row[i] = index.forward(scopes, i, types[i], int(row[i]))
    return OpMatch(row, scopes.is_backward, own_row)


class GraphIndex:
    """The ops of the graphs of a source map, by name and by scope."""

    def __init__(self, source_map: SourceMap) -> None:
        ops = source_map.ops
        self.graph: list[int] = ops["graph"].tolist()
        self.name: list[str] = ops["op"].tolist()
        self.type: list[str] = ops["type"].tolist()
        self._frame: list[int] = ops["frame"].tolist()
        self._by_name: dict[str, list[int]] = {}
        for row, name in enumerate(self.name):
            self._by_name.setdefault(name, []).append(row)
        self._n_ran = Counter(
            graph for graph, kind in zip(self.graph, self.type, strict=True) if kind not in _HARDLY_RUN
        )
        self._normal: dict[tuple[Scope, str, bool], list[int]] = {}
        self._in_scope: dict[Scope, list[int]] = {}
        self._gradients: dict[Scope, list[int]] = {}
        self._stand_in: dict[Scope, list[int]] = {}

    def add_scopes(self, graphs: set[int]) -> None:
        """Put the ops of some graphs into the tables by scope: those that ran, as most graphs only make variables."""
        pairs = enumerate(zip(self.graph, self.type, strict=True))
        rows = [row for row, (graph, kind) in pairs if (not graphs or graph in graphs) and kind not in _NO_STAND_IN]
        scopes = op_scopes([self.name[row] for row in rows], [self.type[row] for row in rows])
        for row, scope, leaf, is_backward in zip(
            rows, scopes.scope, scopes.leaf, scopes.is_backward.tolist(), strict=True
        ):
            self._normal.setdefault((scope, leaf, is_backward), []).append(row)
            if is_backward:
                self._gradients.setdefault(scope, []).append(row)
            else:
                self._in_scope.setdefault(scope, []).append(row)

    def find(self, name: str) -> tuple[str, list[int]]:
        """The prefix and the rows of the longest end of a name that is a graph op."""
        bare = name[:-_MAX_ADDED] + _ADDED.sub("", name[-_MAX_ADDED:])
        at = 0
        for _ in range(_MAX_DEPTH):
            for end in (name[at:], bare[at:]):
                rows = self._by_name.get(end)
                if rows:
                    return name[:at], rows
            slash = bare.find("/", at)
            if slash < 0:
                break
            at = slash + 1
        return "", []

    def find_normal(self, scopes: OpScopes, i: int) -> tuple[list[int], bool]:
        """The rows whose name is the same once calls, loops and rewriting are taken away, or else those of the scope.

        Also whether they are the op itself, and not one that it replaced or one of its scope.
        """
        scope, leaf, is_backward = scopes.scope[i], scopes.leaf[i], bool(scopes.is_backward[i])
        for known in (leaf, *_rewritten(leaf)):
            if rows := self._normal.get((scope, known, is_backward)):
                return rows, known == leaf
        return self._around(scope), False

    def merit(self, row: int, kind: str, prefix: str, ran: Counter[tuple[str, int]]) -> tuple[bool, float, int]:
        """How good a row is; greater is better."""
        graph = self.graph[row]
        share = ran[prefix, graph] / max(1, self._n_ran[graph])
        return self.type[row] == kind, min(share, 1.0), row

    def forward(self, scopes: OpScopes, i: int, kind: str, row: int) -> int:
        """The row of the op whose gradient an op computes; `row` itself where there is none."""
        scope = scopes.scope[i]
        graph = self.graph[row] if row >= 0 else -1
        if scope and (exact := self._normal.get((scope[:-1], scope[-1], False))):
            return self._nearest(exact, graph)
        rows = self._in_scope.get(scope, [])
        typed = self._of_type(rows, kind)
        if typed:
            twins = (
                [one for one in self._gradients.get(scope, []) if self.type[one] == self.type[row]] if row >= 0 else []
            )
            same = [one for one in typed if graph in (-1, self.graph[one])] or typed
            if row in twins and len(twins) == len(same):  # the tape runs backwards
                return same[len(same) - 1 - twins.index(row)]
            return self._usual(same)
        if not scope:
            return row
        around = rows or self._around(scope)
        return self._usual([one for one in around if graph in (-1, self.graph[one])] or around) if around else row

    def _of_type(self, rows: list[int], kind: str) -> list[int]:
        match = _GRADIENT_TYPE.match(kind)
        if match is None:
            return []
        wanted = {match[1], match[1] + (match[2] or "")}
        return [row for row in rows if self.type[row] in wanted]

    def _around(self, scope: Scope) -> list[int]:
        """An op that stands for a scope: of the innermost one, itself or around it, that has any, but for the outermost."""
        if scope not in self._stand_in:
            rows: list[int] = []
            for n in range(min(len(scope), _MAX_DEPTH), 0, -1):
                rows = self._normal.get((scope[: n - 1], scope[n - 1], False), []) or self._in_scope.get(scope[:n], [])
                if rows:
                    break
            self._stand_in[scope] = [self._usual(rows)] if rows else []
        return self._stand_in[scope]

    def _usual(self, rows: list[int]) -> int:
        """A row whose frame most of them have."""
        frames = Counter(self._frame[row] for row in rows)
        frame = frames.most_common(1)[0][0]
        return next(row for row in rows if self._frame[row] == frame)

    def _nearest(self, rows: list[int], graph: int) -> int:
        return next((row for row in reversed(rows) if self.graph[row] == graph), rows[-1])


def _rewritten(leaf: str) -> list[str]:
    """Ops that one made by Grappler may replace, by its name: `ReplaceMulWithSquare_mul`, `SimplifyAggregation_Mul_AddN`."""
    if not re.match(r"[A-Z][a-z]+[A-Z]\w*_", leaf):
        return []
    parts = leaf.split("_")
    return ["_".join(parts[i:]) for i in range(1, min(len(parts), 6))]
