"""Framework ops of a capture and its noted graph ops -> the ops of an `OpGraph`, each with a name of its own.

name_ops(facts) -> CapturedOps
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...trace.source_map import SourceMap, empty_source_map
from ...trace.trace import Bool, Int32, Int64
from ..facts.totals import Totals
from ..layers.op_scopes import DATA_SCOPE, OpScopes, op_scopes
from ..ops.eager_calls import EAGER_SCOPE

GRADIENT_SCOPE = "gradient_tape"
"""The outermost scope of what computes gradients, as TensorFlow's tape calls it."""
_NAMELESS = "unnamed op"


@dataclass(frozen=True, eq=False, repr=False)
class CapturedOps:
    """The ops that ran, then those of the same graphs that did not leave an event. One entry per op unless it says else."""

    name: tuple[str, ...]
    """Unique. As in the graph: without the calls, loops and rewriting that the executor's names carry."""
    type: tuple[str, ...]
    is_backward: Bool
    source_row: Int64
    """Row of `SourceMap.ops` of the op itself, -1 where no graph is known to have it."""
    line_row: Int64
    """Row of `SourceMap.ops` whose call stack stands for it: of a gradient op that of the forward op; -1 for none."""
    of_framework_op: Int32
    """For each framework op of `OpShares` its op, -1 for those that did not run."""
    op_of_source: Int32
    """For each row of `SourceMap.ops` its op, -1 for none."""


def name_ops(facts: Totals) -> CapturedOps:
    """List the ops of a capture.

    Executions on a device and on its host that bear the same name and type are one op. Where two ops would get the same
    name, such as copies that were made of one op, the later one keeps the name that the trace gives it. Of graphs that have
    an op of the same name, only one is listed unless both ran.
    """
    source_map = facts.source_map or empty_source_map()
    scopes, totals = facts.op_scopes, facts.op_totals
    match = facts.op_match
    naming = _Naming()
    nameless = np.flatnonzero(
        match.is_backward & ~op_scopes(scopes.name, scopes.type).is_backward & (match.own_row >= 0)
    )
    in_graph = dict(zip(nameless.tolist(), source_map.ops["op"].iloc[match.own_row[nameless]], strict=True))
    of_framework_op = np.full(len(scopes), -1, np.int32)
    first: list[int] = []
    for i in np.flatnonzero(totals.occurrences > 0).tolist():  # one turn per op that ran
        of_framework_op[i] = number = naming.of_run(scopes, i, in_graph.get(i, ""))
        if number == len(first):
            first.append(i)
    is_eager = [scopes.name[i].startswith(EAGER_SCOPE) for i in first]
    own, line = (np.where(is_eager, -1, rows[first]).astype(np.int64) for rows in (match.own_row, match.row))
    more = _add_graphs(naming, source_map, own)
    rows = np.array([row for row, _ in more], np.int64)
    op_of_source = np.full(len(source_map.ops), -1, np.int32)
    op_of_source[own[own >= 0][::-1]] = np.flatnonzero(own >= 0)[::-1]
    op_of_source[rows] = np.arange(len(rows)) + len(first)
    backward = np.concatenate([scopes.is_backward[first], np.array([of_tape for _, of_tape in more], np.bool_)])
    return CapturedOps(
        name=tuple(naming.name),
        type=tuple(naming.type),
        is_backward=backward,
        source_row=np.concatenate([own, rows]),
        line_row=np.concatenate([line, rows]),
        of_framework_op=of_framework_op,
        op_of_source=op_of_source,
    )


class _Naming:
    """Names given so far."""

    def __init__(self) -> None:
        self.name: list[str] = []
        self.type: list[str] = []
        self._taken: set[str] = set()
        self._runs: dict[tuple[str, str], int] = {}

    def of_run(self, scopes: OpScopes, i: int, in_graph: str) -> int:
        """The number of framework op `i`, which is `in_graph` where its scope says whose gradient it is, and not its name."""
        name, kind = scopes.name[i], scopes.type[i]
        number = self._runs.setdefault((name, kind), len(self.name))
        if number == len(self.name):
            self._add(in_graph or normal_name(scopes, i), name, kind)
        return number

    def add_new(self, name: str, kind: str) -> bool:
        """Add an op of a graph; False where the name is taken."""
        if not name or name in self._taken:
            return False
        self._add(name, name, kind)
        return True

    def _add(self, wanted: str, other: str, kind: str) -> None:
        choices = [name for name in (wanted, other, f"{other or _NAMELESS}:{kind}") if name]
        name = next((one for one in choices if one not in self._taken), "")
        copy = 1
        while not name or name in self._taken:
            copy += 1
            name = f"{choices[-1]} ({copy})"
        self._taken.add(name)
        self.name.append(name)
        self.type.append(kind)


def normal_name(scopes: OpScopes, i: int) -> str:
    """The name of an op as in its graph; "" where nothing is left of it."""
    path = [*scopes.scope[i], scopes.leaf[i]]
    if scopes.name[i].startswith("Iterator::"):  # its own scope
        path.pop()
    return "/".join(part for part in ([GRADIENT_SCOPE, *path] if scopes.is_backward[i] else path) if part)


def _add_graphs(naming: _Naming, source_map: SourceMap, own: Int64) -> list[tuple[int, bool]]:
    """Add the ops of the graphs that ran which left no event; their rows of `SourceMap.ops`, and whether of a gradient."""
    graph = source_map.ops["graph"].to_numpy()
    ran = Counter(graph[own[own >= 0]].tolist())
    if not ran:
        return []
    of_data = _graphs_of_data(naming.name, graph, own)
    done = np.zeros(len(graph), np.bool_)
    done[own[own >= 0]] = True
    rank = np.full(len(source_map.functions) + 1, -1, np.int64)  # the last entry is what graph -1 finds
    for place, (one, _) in enumerate(ran.most_common()):
        rank[one] = place
    rows = np.flatnonzero(~done & (rank[graph] >= 0))
    rows = rows[np.argsort(rank[graph[rows]], kind="stable")]
    names, types = source_map.ops["op"].to_numpy()[rows].tolist(), source_map.ops["type"].to_numpy()[rows].tolist()
    scopes = op_scopes(names, types)
    found = []
    for i, row in enumerate(rows.tolist()):  # at most 200,000, a bound of the capture
        name = normal_name(scopes, i)
        if int(graph[row]) in of_data and not scopes.is_input[i]:
            name = f"{DATA_SCOPE}/{name}"
        if naming.add_new(name, types[i]):
            found.append((row, bool(scopes.is_backward[i])))
    return found


def _graphs_of_data(names: Sequence[str], graph: Int64, own: Int64) -> set[int]:
    """The graphs of which some op ran within tf.data."""
    return {
        int(graph[row])
        for name, row in zip(names, own.tolist(), strict=True)
        if row >= 0 and name.startswith(f"{DATA_SCOPE}/")
    }
