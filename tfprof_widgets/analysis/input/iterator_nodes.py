"""`IteratorCalls` -> the nodes of the tf.data graph: iterators of the same place in the same pipeline, taken together.

TensorFlow makes new iterator objects in each epoch, for each file of an interleave and in each capture window. Shown
one by one they would be thousands of boxes that mean the same dataset.
"""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...trace.trace import Bool, Int64, Trace
from ..base.grouping import Grouping
from ..base.matching import dense_codes
from .iterator_calls import GENERATOR, IteratorCalls

MAX_LEVELS = 100
"""Of a deeper chain of ids, which no real pipeline has, the rest starts anew."""
_INDEX = re.compile(r"(?<!Zip)(?<!Concatenate)(?<!DirectedInterleave)\[\d+\]")
"""The index of one of many alike inputs; those of a zip, a concatenation and a choice are different datasets."""
_TRAILING_NUMBER = re.compile(r"\s*\d+\Z")


@dataclass(frozen=True)
class IteratorNodes:
    """Nodes sorted by (pipeline, distance from the root), so a parent comes before its children."""

    node_of_call: Int64
    parent: Int64
    """For each node the node that consumes it, -1 for the root of a pipeline."""
    pipeline: Int64
    """For each node its pipeline. Pipelines are in order of their first call, those without a root last."""
    is_device: Bool
    """For each pipeline whether it feeds a device from a host pipeline."""

    @property
    def n_pipelines(self) -> int:
        """How many pipelines there are."""
        return len(self.is_device)


def merge_iterators(trace: Trace, calls: IteratorCalls, grouping: Grouping) -> IteratorNodes:
    """Find the pipelines and the place of every call in them.

    Two root iterators belong to one pipeline when they have the same name, dataset, element type and consumer (training
    or evaluation steps), on the same host, and were not in use at the same time.

    Differs from XProf: there each root iterator object, so each epoch, is a pipeline of its own, and an id that is used
    again later mixes two.
    """
    name = trace.name_id[calls.event]
    path = _paths(trace, name)
    relative = calls.relative.copy()
    while True:
        top = np.flatnonzero(relative < 0)
        pipeline = _pipelines(trace, calls, grouping, top, path)
        node, parent, of_pipeline = _nodes(relative, path, top, pipeline)
        if (node >= 0).all():
            break
        relative[node < 0] = -1  # ids that form a ring or an endless chain: nonsense, but shown rather than dropped
    is_device = np.zeros(int(pipeline.max(initial=-1)) + 1, np.bool_)
    is_device[of_pipeline[node[name == trace.string_ids.get(GENERATOR, -1)]]] = True
    return IteratorNodes(node_of_call=node, parent=parent, pipeline=of_pipeline, is_device=is_device)


def _paths(trace: Trace, name: npt.NDArray[np.int32]) -> Int64:
    """For each call a number for its long name without the indices of alike inputs."""
    unique, inverse = np.unique(name, return_inverse=True)
    texts = [merged_name(trace.strings[i]) for i in unique.tolist()]
    places = {text: k for k, text in enumerate(dict.fromkeys(texts))}
    return np.array([places[text] for text in texts], np.int64)[inverse.reshape(-1)]


def merged_name(long_name: str) -> str:
    """A long name with the indices of alike inputs left out: `Iterator::Root::FlatMap[*]::TensorSlice`."""
    return _INDEX.sub("[*]", long_name)


def _pipelines(trace: Trace, calls: IteratorCalls, grouping: Grouping, top: Int64, path: Int64) -> Int64:
    """For each topmost call its pipeline."""
    _, sample, object_of_call = np.unique(calls.iterator[top], return_index=True, return_inverse=True)
    object_of_call = object_of_call.reshape(-1)
    event = calls.event[top]
    n = len(sample)
    begin, end = np.full(n, np.iinfo(np.int64).max), np.zeros(n, np.int64)
    np.minimum.at(begin, object_of_call, trace.start_ps[event])
    np.maximum.at(end, object_of_call, trace.ends(event))
    hosts = sorted({plane.host for plane in trace.planes})
    host = np.array([hosts.index(plane.host) for plane in trace.planes], np.int64)[trace.plane_id[event[sample]]]
    described = [trace.string_stat(key)[event[sample]] for key in ("name", "shapes", "types")]
    consumer = _consumers(trace, grouping, event, object_of_call, n)
    likeness, n_kinds = dense_codes(path[top[sample]], host, consumer, *described)
    is_root = calls.is_root[top[sample]]
    pipeline_of_object = np.full(n, -1, np.int64)
    idle: list[list[tuple[int, int]]] = [[] for _ in range(n_kinds)]
    n_pipelines = 0
    for k in np.lexsort((begin, ~is_root)).tolist():  # one turn per topmost iterator object, not per call
        waiting = idle[likeness[k]]
        if waiting and (waiting[0][0] <= begin[k] or not is_root[k]):
            _, pipeline = heapq.heappop(waiting)
        else:
            pipeline, n_pipelines = n_pipelines, n_pipelines + 1
        pipeline_of_object[k] = pipeline
        heapq.heappush(waiting, (int(end[k]), pipeline))
    return pipeline_of_object[object_of_call]


def _consumers(trace: Trace, grouping: Grouping, event: Int64, object_of_call: Int64, n: int) -> Int64:
    """For each iterator object who asks for its elements: a number for the name of its first step ("train"), else 0."""
    names = [_TRAILING_NUMBER.sub("", name) for name in grouping.groups["name"]]
    number = {text: k + 1 for k, text in enumerate(sorted(set(names) - {""}))}
    role_of_group = np.array([*(number.get(text, 0) for text in names), 0], np.int64)
    role = role_of_group[grouping.group_id[event]]
    told = np.flatnonzero(role > 0)
    told = told[np.argsort(trace.start_ps[event[told]], kind="stable")[::-1]]
    found = np.zeros(n, np.int64)
    found[object_of_call[told]] = role[told]
    return found


def _nodes(relative: Int64, path: Int64, top: Int64, pipeline: Int64) -> tuple[Int64, Int64, Int64]:
    """Node of each call (-1 for those no topmost call leads to), and parent and pipeline of each node."""
    n_nodes = int(pipeline.max(initial=-1)) + 1
    node = np.full(len(relative), -1, np.int64)
    node[top] = pipeline
    node_parent, node_pipeline = np.full(n_nodes, -1, np.int64), np.arange(n_nodes)
    waiting = np.flatnonzero(relative >= 0)
    for _ in range(MAX_LEVELS):
        ready = node[relative[waiting]] >= 0
        level, waiting = waiting[ready], waiting[~ready]
        if not len(level):
            break
        code, n_new = dense_codes(node[relative[level]], path[level])
        node[level] = code + n_nodes
        sample = np.zeros(n_new, np.int64)
        sample[code] = level
        above = node[relative[sample]]
        node_parent = np.concatenate([node_parent, above])
        node_pipeline = np.concatenate([node_pipeline, node_pipeline[above]])
        n_nodes += n_new
    order = np.argsort(node_pipeline, kind="stable")
    rank = np.append(np.argsort(order), -1)
    return rank[node], rank[node_parent][order], node_pipeline[order]
