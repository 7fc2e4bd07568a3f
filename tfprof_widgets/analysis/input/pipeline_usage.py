"""Calls, waits and nodes of tf.data -> `Usage`: one place for the columns that the tables about pipelines share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Bool, Int64, Trace
from ..base.event_names import by_name
from ..base.iterator_names import base_name
from ..base.matching import sum_by
from .iterator_calls import IteratorCalls, short_name
from .iterator_nodes import IteratorNodes
from .iterator_waits import Waits
from .pipeline_executions import SLOW_CALL_PS

_SHUFFLES = ("Shuffle", "ShuffleAndRepeat")


@dataclass(frozen=True)
class Usage:
    """All GetNext calls with their place in the graph; columns have one entry per call."""

    calls: IteratorCalls
    waits: Waits
    nodes: IteratorNodes
    node: Int64
    pipeline: Int64
    start_ps: Int64
    duration_ps: Int64
    is_counted: Bool
    """Whether it lies below a root call that counts for the bottleneck: see `TfData`."""
    is_startup: Bool
    """Whether it lies below the first root call of an iterator object, so of an epoch."""
    fill_ps: Int64
    """For each iterator how long root calls waited while a shuffle filled its buffer; 0 for all but shuffles."""
    host: tuple[str, ...]
    """For each pipeline the host it runs on."""

    @property
    def is_root(self) -> Bool:
        """Whether it is a call of a pipeline's outermost iterator."""
        return self.calls.is_root

    @property
    def n_nodes(self) -> int:
        """How many iterators the graph shows."""
        return len(self.nodes.parent)


def find_usage(trace: Trace, calls: IteratorCalls, waits: Waits, nodes: IteratorNodes) -> Usage:
    """Put the columns together and decide which root calls count."""
    node, is_root = nodes.node_of_call, calls.is_root
    pipeline = nodes.pipeline[node]
    start, duration = trace.start_ps[calls.event], trace.duration_ps[calls.event]
    first = _is_first(calls.iterator, start, is_root)
    counts = is_root & ~first
    fill = _fill_times(trace, calls, waits, nodes)
    filled = sum_by(nodes.pipeline, fill, nodes.n_pipelines)
    counts |= is_root & _waits_for_first(pipeline, duration, is_root, counts, filled)[pipeline]
    hosts = [""] * nodes.n_pipelines
    for k, sample in zip(*np.unique(pipeline, return_index=True), strict=True):  # one turn per pipeline
        hosts[k] = trace.planes[trace.plane_id[calls.event[sample]]].host
    return Usage(
        calls=calls,
        waits=waits,
        nodes=nodes,
        node=node,
        pipeline=pipeline,
        start_ps=start,
        duration_ps=duration,
        is_counted=(waits.root_call >= 0) & counts[waits.root_call],
        is_startup=(waits.root_call >= 0) & first[waits.root_call],
        fill_ps=fill,
        host=tuple(hosts),
    )


def _waits_for_first(pipeline: Int64, duration: Int64, is_root: Bool, is_later: Bool, filled: Int64) -> Bool:
    """Of each pipeline whether only first calls of it keep anybody waiting, for more than filling a buffer."""
    n = len(filled)
    later, whole = (
        (sum_by(pipeline[calls], duration[calls], n), np.bincount(pipeline[calls], minlength=n))
        for calls in (is_later, is_root)
    )
    keeps_up = later[0] <= SLOW_CALL_PS * later[1]
    keeps_up &= (whole[0] > SLOW_CALL_PS * whole[1]) & (2 * filled < whole[0] - later[0])
    found: Bool = (later[0] == 0) | keeps_up
    return found


def _fill_times(trace: Trace, calls: IteratorCalls, waits: Waits, nodes: IteratorNodes) -> Int64:
    """How long each shuffle was waited for in calls that fetched more than one element: those that fill its buffer."""
    is_shuffle = by_name(trace, _are_shuffles, np.bool_, among=calls.event)
    fetched = np.bincount(calls.parent[calls.parent >= 0], minlength=len(calls.event))
    fills = is_shuffle[trace.name_id[calls.event]] & (fetched > 1)
    return sum_by(nodes.node_of_call[fills], waits.window_ps[fills], len(nodes.parent))


def _are_shuffles(names: list[str]) -> list[bool]:
    return [base_name(short_name(name)) in _SHUFFLES for name in names]


def _is_first(iterator: Int64, start_ps: Int64, is_root: Bool) -> Bool:
    """Whether a call is the first root call of its iterator object."""
    roots = np.flatnonzero(is_root)
    order = roots[np.argsort(start_ps[roots], kind="stable")]
    _, first = np.unique(iterator[order], return_index=True)
    found = np.zeros(len(iterator), np.bool_)
    found[order[first]] = True
    return found
