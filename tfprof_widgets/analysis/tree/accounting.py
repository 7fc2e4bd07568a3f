"""The nodes of a scope, graph or code view and what is counted -> own figures, totals, and the tree of what is left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .names import accounted
from .nodes import Int64, Nodes, subtree_ends
from .op_figures import COLUMN, NUMBERS, TIMES, Figures
from .scope_nodes import SCOPE_TYPE
from .tree_options import TreeOptions, TreeView

_MOST = 2.0**62
"""What running sums are kept below."""


@dataclass(frozen=True, eq=False)
class Accounts:
    """The figures of every node of a view, in its order; of those that are not kept they mean nothing."""

    own: Figures
    total: Figures
    is_accounted: NDArray[np.bool_]
    """Whether the node's own op, or one of its ops, is counted."""
    is_kept: NDArray[np.bool_]
    parent: Int64
    """The node's parent among those kept."""
    is_counted_op: NDArray[np.bool_]
    """Per op, whether its figures are in the own figures of its node."""


def account(
    view: TreeView, nodes: Nodes, op_types: list[tuple[str, ...]], figures: Figures, options: TreeOptions
) -> Accounts:
    """Count what `account_type_regexes` says.

    A node that is not counted is kept where something below it is; in the graph view it is not, and what is below it moves
    up. As in tfprof, an op kept like that in the scope view still adds its own figures to the totals. An op of which two
    types match counts once.

    Differs from tfprof: there the code view counts an op as often as expressions match it.

    Source: Account() in tensorflow/core/profiler/internal/{tfprof_scope,tfprof_graph,tfprof_code}.cc.
    """
    regexes = options.account_type_regexes
    is_counted_op = accounted(op_types, regexes)
    if view == "code":
        is_placed = is_counted_op & (nodes.node_of_op >= 0)
        own = np.zeros((len(nodes), figures.shape[1]), figures.dtype)
        np.add.at(own, nodes.node_of_op[is_placed], figures[is_placed])
        is_accounted = own[:, COLUMN["occurrence"]] > 0
        is_accounted |= bool(accounted([()], regexes)[0])
    else:
        is_placed = nodes.node_of_op >= 0
        own = np.vstack((figures, np.zeros((1, figures.shape[1]), figures.dtype)))[nodes.op]
        own[nodes.op < 0, COLUMN["occurrence"]] = 1
        is_accounted = np.append(is_counted_op, accounted([(SCOPE_TYPE,)], regexes))[nodes.op]
    own[0], is_accounted[0] = 0, False
    ends = subtree_ends(nodes.parent)
    if view == "graph":
        is_kept = is_accounted.copy()
    else:
        n_before = np.concatenate(([0], np.cumsum(is_accounted)))
        is_kept = n_before[ends] > n_before[:-1]
    is_kept[0] = True
    parent = _nearest_kept(nodes.parent, is_kept)
    return Accounts(own, totals(np.where(is_kept[:, None], own, 0), ends), is_accounted, is_kept, parent, is_placed)


def totals(own: Figures, ends: Int64) -> Figures:
    """The figures of each row with all below it, of rows that are down first; `ends` as of `subtree_ends`.

    Sums are differences of running sums, so they are made of whole numbers, of times of whole picoseconds: nothing is
    rounded away, and what is zero is zero. Where all picoseconds are too many to count, the units are larger ones.
    """
    unit = np.ones(own.shape[1])
    if own.dtype != np.int64:
        unit[[name in TIMES for name in NUMBERS]] = 10**6
        unit = np.minimum(unit, _MOST / np.maximum(np.abs(own).sum(axis=0), 1))
    whole = np.rint(own * unit).astype(np.int64)
    sums = np.vstack((np.zeros((1, own.shape[1]), np.int64), np.cumsum(whole, axis=0)))
    total: Figures = sums[ends] - sums[:-1]
    return total if own.dtype == np.int64 else np.asarray(total / unit)


def _nearest_kept(parent: Int64, is_kept: NDArray[np.bool_]) -> Int64:
    """The nearest kept node above each node."""
    nearest = parent.tolist()
    kept = is_kept.tolist()
    for row in range(1, len(nearest)):  # one step per node; what is above was looked up before
        if not kept[nearest[row]]:
            nearest[row] = nearest[nearest[row]]
    return np.array(nearest, np.int64)
