"""The ops of the graphs of a source map -> found by name, by scope, and by what their gradients are of."""

from __future__ import annotations

import re
from collections import Counter

import pandas as pd

from ...trace.source_map import SourceMap
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
        self.scope: dict[int, Scope] = {}
        """Scope of the ops of graphs that ran, but for those that stand for no scope; of a gradient op that of the forward op."""
        self.backward: set[int] = set()
        """Those of them that compute gradients by their names."""
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
            self.scope[row] = scope
            if is_backward:
                self.backward.add(row)
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
        for known in (leaf, *rewritten(leaf)):
            if rows := self._normal.get((scope, known, is_backward)):
                return rows, known == leaf
        return self._around(scope), False

    def merit(self, row: int, kind: str, prefix: str, ran: Counter[tuple[str, int]]) -> tuple[bool, float, int]:
        """How good a row is; greater is better."""
        graph = self.graph[row]
        share = ran[prefix, graph] / max(1, self._n_ran[graph])
        return self.type[row] == kind, min(share, 1.0), row

    def under_gradients(self, frames: pd.DataFrame) -> list[int]:
        """The ops, of the graphs that ran, that a tape made besides those that compute gradients by their names."""
        at = {(self.graph[row], self._frame[row]) for row in self.backward if self._frame[row] >= 0}
        parent = frames["parent"].tolist()
        known: dict[tuple[int, int], bool] = {}
        found = []
        for row in self.scope:
            if row in self.backward:
                continue
            key = graph, frame = self.graph[row], self._frame[row]
            if key not in known:
                while 0 <= frame < len(parent) and (graph, frame) not in at:
                    frame = parent[frame]  # an earlier row
                known[key] = (graph, frame) in at
            if known[key]:
                found.append(row)
        return found

    def reads(self, row: int) -> list[int]:
        """The forward ops whose gradient an op computes by its name: the very one, or those of its scope; [] for no scope."""
        scope, graph = self.scope[row], self.graph[row]
        rows = scope and (self._normal.get((scope[:-1], scope[-1], False)) or self._in_scope.get(scope))
        return [one for one in rows or () if self.graph[one] == graph] or list(rows or ())

    def in_scope(self, row: int) -> list[int]:
        """The forward ops of the scope and graph of one."""
        return [one for one in self._in_scope.get(self.scope.get(row, ()), []) if self.graph[one] == self.graph[row]]

    def frame(self, row: int) -> int:
        """The frame at which an op was made, -1 for none."""
        return self._frame[row]

    def forward(self, scope: Scope, kind: str, row: int) -> int:
        """The row of the op whose gradient an op in `scope` computes; `row` itself where there is none."""
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


def rewritten(leaf: str) -> list[str]:
    """Ops that one made by Grappler may replace, by its name: `ReplaceMulWithSquare_mul`, `SimplifyAggregation_Mul_AddN`."""
    if not re.match(r"[A-Z][a-z]+[A-Z]\w*_", leaf):
        return []
    parts = leaf.split("_")
    return ["_".join(parts[i:]) for i in range(1, min(len(parts), 6))]
