"""The edges of a graph -> the nodes of the graph view: below each op what feeds it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...trace.op_graph import OpGraph
from .names import ROOT
from .nodes import Int64, Nodes, in_preorder


def graph_nodes(graph: OpGraph) -> Nodes:
    """One node per op, below the first op that a walk from what feeds nothing finds it to feed.

    Differs from tfprof: ops in a cycle that nothing leads out of are not left out; the first of them by name is at the top.

    Source: TFGraph in tensorflow/core/profiler/internal/tfprof_graph.cc.
    """
    names = graph.ops["name"].tolist()
    by_name = sorted(range(len(names)), key=names.__getitem__)
    sources = _sources(graph)
    feeds = np.zeros(len(names), np.bool_)
    feeds[graph.inputs["source"].to_numpy(np.int64)] = True
    order: list[int] = []
    parent_op = np.full(len(names), -1, np.int64)
    seen = [False] * len(names)
    for start in (*(op for op in by_name if not feeds[op]), *by_name):
        for found, above in _walk(start, sources, seen):
            order.append(found)
            parent_op[found] = above
    op = np.array([-1, *order], np.int64)
    row_of = np.zeros(len(names) + 1, np.int64)  # and that of op -1, which is no op, is the root
    row_of[order] = np.arange(1, len(op))
    parent = np.concatenate(([-1], row_of[parent_op[order]]))
    return in_preorder([ROOT, *(names[row] for row in order)], parent, op, row_of[:-1])


def _sources(graph: OpGraph) -> list[Int64]:
    """What feeds each op, by slot."""
    op, slot, source = (graph.inputs[key].to_numpy(np.int64) for key in ("op", "slot", "source"))
    order = np.lexsort((slot, op))
    return np.split(source[order], np.searchsorted(op[order], np.arange(1, len(graph.ops))))


def _walk(start: int, sources: list[Int64], seen: list[bool]) -> Iterator[tuple[int, int]]:
    """Every op not seen yet that feeds `start`, itself first, and the op through which it was found; down first."""
    waiting: list[tuple[int, Iterator[int]]] = [(-1, iter((start,)))]
    while waiting:
        parent, more = waiting[-1]
        for op in more:
            if not seen[op]:
                seen[op] = True
                yield op, parent
                waiting.append((op, iter(sources[op].tolist())))
                break
        else:
            waiting.pop()
