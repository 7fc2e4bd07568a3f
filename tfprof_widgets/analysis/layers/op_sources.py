"""Names of framework ops in a trace -> the graph ops that they are.

The executor's name is the graph op's name behind those of the calls that lead to it (`StatefulPartitionedCall/`,
`while/body/_1/`), changed where graph rewriting made the op anew; `op_scopes` knows how. Where the op itself is not found, an
op of its scope stands for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...trace.source_map import SourceMap
from ...trace.trace import Bool, Int32
from ..ops.op_shares import OpShares
from .graph_index import GraphIndex
from .layer_names import KnownLayers
from .op_scopes import OpScopes, numbered_scopes, op_scopes
from .tape_ops import TapeOps


@dataclass(frozen=True, eq=False, repr=False)
class OpMatch:
    """The graph op of each framework op."""

    row: Int32
    """Row of `SourceMap.ops`, -1 for none; of a gradient op that of the forward op, as far as it is found."""
    is_backward: Bool
    """Whether it computes a gradient: by its name, or as a nameless op of a tape (see `tape_ops.py`)."""
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
    """The scopes of the framework ops of a trace, with what threads, live models and edges of graphs tell beyond names.

    Args:
        shares: the framework ops.
        named: what their names alone tell.
        match: the graph op of each.
        source_map: what the capture noted.
        is_input: which of them ran only within tf.data.
    """
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
