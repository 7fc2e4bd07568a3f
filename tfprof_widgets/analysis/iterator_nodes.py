"""`IteratorCalls` -> the nodes of the tf.data graph: iterators of the same place in the same pipeline, taken together.

    merge_iterators(trace, calls, grouping) -> IteratorNodes

TensorFlow makes new iterator objects in each epoch, for each file of an interleave and in each capture window. Shown
one by one they would be thousands of boxes that mean the same dataset.
"""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass

import numpy as np

from ..store.trace import Bool, Int64, Trace
from .grouping import Grouping
from .iterator_calls import GENERATOR, IteratorCalls, dense_codes, is_root_name

_INDEX = re.compile(r"(?<!Zip)(?<!Concatenate)(?<!DirectedInterleave)\[\d+\]")
"""The index of one of many alike inputs; those of a zip, a concatenation and a choice are different datasets."""
_TRAILING_NUMBER = re.compile(r"\s*\d+\Z")


@dataclass(frozen=True)
class IteratorNodes:
    """Nodes sorted by (pipeline, distance from the root), so a parent comes before its children."""

    node_of_iterator: Int64
    """For each iterator of `IteratorCalls` its node."""
    parent: Int64
    """For each node the node that consumes it, -1 for the root of a pipeline."""
    pipeline: Int64
    """For each node its pipeline. Pipelines are in order of their first call, those without a root last."""
    n_pipelines: int
    has_root: Bool
    """For each pipeline whether a call of its outermost iterator was captured."""
    is_device: Bool
    """For each pipeline whether it feeds a device from a host pipeline."""


def merge_iterators(trace: Trace, calls: IteratorCalls, grouping: Grouping) -> IteratorNodes:
    """Find the pipelines and the place of every iterator in them.

    Two root iterators belong to one pipeline when they have the same name, dataset, element type and consumer (training
    or evaluation steps), on the same host, and were not in use at the same time.

    Differs from XProf: there each root iterator object, so each epoch, is a pipeline of its own.
    """
    n = len(calls.iterator_key)
    start, end = trace.start_ps[calls.event], trace.end_ps[calls.event]
    first_call = np.zeros(n, np.int64)
    by_time = np.lexsort((-end, start))[::-1]
    first_call[calls.iterator[by_time]] = by_time
    last_end = np.zeros(n, np.int64)
    np.maximum.at(last_end, calls.iterator, end)
    session = trace.session_id[calls.event[first_call]].astype(np.int64)
    parent = _parents(calls, session)
    name = trace.name_id[calls.event[first_call]]
    path = _paths(trace, name)
    while True:
        top = np.flatnonzero(parent < 0)
        pipeline, has_root = _pipelines(trace, calls, grouping, top, first_call, start, last_end)
        nodes = _nodes(parent, path, top, pipeline)
        lost = nodes[0] < 0
        if not lost.any():
            break
        parent[lost] = -1  # ids that form a ring: nonsense, but shown rather than dropped
    node_of_iterator, node_parent, node_pipeline = nodes
    is_device = np.zeros(len(has_root), np.bool_)
    is_generator = name == trace.string_ids.get(GENERATOR, -1)
    is_device[node_pipeline[node_of_iterator[is_generator]]] = True
    return IteratorNodes(node_of_iterator, node_parent, node_pipeline, len(has_root), has_root, is_device)


def _parents(calls: IteratorCalls, session: Int64) -> Int64:
    """For each iterator the one that consumes it, -1 when that one made no call in the session."""
    n = len(session)
    code, n_codes = dense_codes(
        np.concatenate([session, session]), np.concatenate([calls.iterator_key, calls.iterator_parent_key])
    )
    owner = np.full(n_codes, -1, np.int64)
    owner[code[:n]] = np.arange(n)
    parent = np.where(calls.has_parent_key, owner[code[n:]], -1)
    return np.where(parent == np.arange(n), -1, parent)


def _paths(trace: Trace, name: np.typing.NDArray[np.int32]) -> Int64:
    """For each iterator a number for its long name without the indices of alike inputs."""
    unique, inverse = np.unique(name, return_inverse=True)
    texts = [merged_name(trace.strings[i]) for i in unique.tolist()]
    places = {text: k for k, text in enumerate(dict.fromkeys(texts))}
    return np.array([places[text] for text in texts], np.int64)[inverse.reshape(-1)]


def merged_name(long_name: str) -> str:
    """A long name with the indices of alike inputs left out: `Iterator::Root::FlatMap[*]::TensorSlice`."""
    return _INDEX.sub("[*]", long_name)


def _pipelines(
    trace: Trace,
    calls: IteratorCalls,
    grouping: Grouping,
    top: Int64,
    first_call: Int64,
    start: Int64,
    last_end: Int64,
) -> tuple[Int64, Bool]:
    """For each topmost iterator its pipeline, and for each pipeline whether its topmost iterators are roots."""
    event = calls.event[first_call[top]]
    names = trace.name_id[event]
    root_names = {i: is_root_name(trace.strings[i]) for i in np.unique(names).tolist()}
    is_root = np.array([root_names[i] for i in names.tolist()], np.bool_)
    hosts = sorted({plane.host for plane in trace.planes})
    host = np.array([hosts.index(plane.host) for plane in trace.planes], np.int64)[trace.plane_id[event]]
    described = [trace.string_stat(key)[event] for key in ("name", "shapes", "types")]
    consumer = _consumers(trace, calls, grouping)[top]
    likeness, n_kinds = dense_codes(_paths(trace, names), host, consumer, *described)
    begin, end = start[first_call[top]], last_end[top]
    pipeline = np.full(len(top), -1, np.int64)
    owner: list[bool] = []
    free: list[list[tuple[int, int]]] = [[] for _ in range(n_kinds)]
    for k in np.lexsort((begin, ~is_root)).tolist():  # one turn per topmost iterator, not per call
        idle = free[likeness[k]]
        if idle and (idle[0][0] <= begin[k] or not is_root[k]):
            _, pipeline[k] = heapq.heappop(idle)
        else:
            pipeline[k] = len(owner)
            owner.append(bool(is_root[k]))
        heapq.heappush(idle, (int(end[k]), int(pipeline[k])))
    return pipeline, np.array(owner, np.bool_)


def _consumers(trace: Trace, calls: IteratorCalls, grouping: Grouping) -> Int64:
    """For each iterator who asks for its elements: a number for the name of its first step group ("train"), else 0."""
    names = [_TRAILING_NUMBER.sub("", name) for name in grouping.groups["name"]]
    number = {text: k + 1 for k, text in enumerate(sorted(set(names) - {""}))}
    role_of_group = np.array([*(number.get(text, 0) for text in names), 0], np.int64)
    role = role_of_group[grouping.group_id[calls.event]]
    found = np.zeros(len(calls.iterator_key), np.int64)
    told = np.flatnonzero(role > 0)
    told = told[np.argsort(trace.start_ps[calls.event[told]], kind="stable")[::-1]]
    found[calls.iterator[told]] = role[told]
    return found


def _nodes(parent: Int64, path: Int64, top: Int64, pipeline: Int64) -> tuple[Int64, Int64, Int64]:
    """Node of each iterator (-1 for those no topmost iterator leads to), and parent and pipeline of each node."""
    n = len(parent)
    node = np.full(n, -1, np.int64)
    parents, pipelines = (
        [np.full(int(pipeline.max(initial=-1)) + 1, -1, np.int64)],
        [np.arange(pipeline.max(initial=-1) + 1)],
    )
    node[top] = pipeline
    n_nodes = len(parents[0])
    waiting = np.flatnonzero(parent >= 0)
    while True:
        ready = node[parent[waiting]] >= 0
        level, waiting = waiting[ready], waiting[~ready]
        if not len(level):
            break
        code, n_new = dense_codes(node[parent[level]], path[level])
        node[level] = code + n_nodes
        sample = np.zeros(n_new, np.int64)
        sample[code] = level
        above = node[parent[sample]]
        parents.append(above)
        pipelines.append(np.concatenate(pipelines)[above])
        n_nodes += n_new
    node_parent, node_pipeline = np.concatenate(parents), np.concatenate(pipelines)
    order = np.argsort(node_pipeline, kind="stable")
    rank = np.append(np.argsort(order), -1)
    return rank[node], rank[node_parent][order], node_pipeline[order]
