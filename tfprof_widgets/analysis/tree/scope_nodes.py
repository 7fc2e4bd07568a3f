"""The names of a graph's ops -> the nodes of the scope view: a tree as of folders."""

from __future__ import annotations

import numpy as np

from ...trace.op_graph import OpGraph
from .names import ROOT
from .nodes import Nodes, in_preorder

SCOPE_TYPE = "_kTFScopeParent"
"""The one type of a scope that is no op, by which `account_type_regexes` can count it."""


def scope_nodes(graph: OpGraph) -> Nodes:
    """One node per op and per prefix of its name before a slash; below each node its children by name.

    Source: TFScope in tensorflow/core/profiler/internal/tfprof_scope.cc.
    """
    op_of: dict[str, int] = {name: row for row, name in enumerate(graph.ops["name"])}
    found = dict.fromkeys(op_of)
    for name in op_of:
        while "/" in name and (name := name.rpartition("/")[0]) not in found:
            found[name] = None
    names = sorted(found)
    row_of = {name: row for row, name in enumerate(names, 1)}
    parent = [row_of[name.rpartition("/")[0]] if "/" in name else 0 for name in names]
    op = np.array([-1, *(op_of.get(name, -1) for name in names)], np.int64)
    node_of_op = np.array([row_of[name] for name in op_of], np.int64)
    return in_preorder([ROOT, *names], np.array([-1, *parent], np.int64), op, node_of_op)
