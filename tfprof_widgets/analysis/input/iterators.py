"""Trace -> every GetNext call of every tf.data iterator, and which call waited for which, across threads."""

from __future__ import annotations

import heapq
import math
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.arrays import Bool, Int64
from ...trace.trace import Trace
from ..common import PS_PER_MS, PS_PER_US, US_PER_MS, dense_codes, match_in_time, sum_by
from ..events import nearest_marked
from ..grouping import Grouping, data_lines
from ..names import ASYNC_STAGES, WRAPPERS, by_name, parse_op_names
from ..ops.executions import Occurrences
from ..table import table

CATEGORIES = table(
    """
    input_pipeline.categories: a category of the host's time for input
        category  text   enqueueing, reading on demand or ahead, preprocessing, or other
        time_ms   float  self time over all host threads, waiting for each other included
        ratio     float  part of all categories
    """,
    file="input_categories",
)

OPS = table(
    """
    input_pipeline.ops: an input op, most self time first
        op                text   its name
        count             int    executions
        total_time_ms     float  with what ran inside
        total_time_ratio  float  part of all input ops
        self_time_ms      float  without what ran inside on its thread; it may wait for other threads meanwhile
        self_time_ratio   float  part of all input ops
        category          text   enqueueing, reading on demand or ahead, preprocessing, or other
        work_time_ms      float  without the iterators that it takes elements from; what its function ran counts
        waiting_time_ms   float  for those iterators, on whatever thread; with the work it is the total time
    """,
    file="input_ops",
)

EXECUTIONS = table("""
    input_pipeline.executions: an execution of a pipeline, slowest first
        rank                int    0 is the slowest
        start_ms            float  after the trace origin
        latency_us          float  how long it took
        is_slow             bool   over 50 µs
        is_startup          bool   the first of an epoch
        bottleneck          int    row of the iterators table, -1 for none
        bottleneck_name     text   its long name
        bottleneck_time_us  float  how long the execution waited for its own work
        root_call           int    number of the call of the root
""")

PREFIX = "Iterator:"
GENERATOR = "Iterator::Prefetch::Generator"
"""The iterator through which a device fetches from its host pipeline."""
MAKES_ITERATOR = ("MakeIterator::RootDataset", "EagerLocalExecute: MakeIterator")
"""Events that begin an epoch: a new iterator object for a dataset."""
PRODUCE = tuple(stage + "Produce" for stage in ASYNC_STAGES)
"""Events in which an asynchronous stage makes an element ahead."""
CONSUME = tuple(stage + "Consume" for stage in ASYNC_STAGES)
FILE_READERS = ("TFRecord", "TextLine", "FixedLengthRecord", "SSTable", "RecordIO", "ArrayRecord")


@dataclass(frozen=True)
class IteratorCalls:
    """All calls as columns of equal length, in trace order."""

    event: Int64
    """Row in the trace."""
    iterator: Int64
    """Which iterator object was called: a number from 0, unique over sessions."""
    is_root: Bool
    """Whether it is a call of the outermost iterator of a pipeline."""
    parent: Int64
    """The call that waited for this one, an index into these columns; -1 for none."""
    is_extra_link: Bool
    """Whether XProf has no link here: see `find_calls`."""
    relative: Int64
    """A call of the iterator that consumes this one's: the parent, else the one nearest in time; -1 for none."""


@dataclass(frozen=True)
class _Columns:
    """What the events say, one entry per call."""

    event: Int64
    session: Int64
    start_ps: Int64
    key: Int64
    parent_key: Int64
    has_parent_key: Bool


def find_calls(trace: Trace) -> IteratorCalls:
    """Find the calls and link each to its consumer. Differs from XProf: every child of a produce event is linked, separated calls
    by `parent_id`, those of untaken elements to the call going on at their end (`is_extra_link`)."""
    is_host = trace.on_planes([plane.is_host for plane in trace.planes])
    event = np.flatnonzero(is_host & trace.has_stat("id"))
    is_name = by_name(trace, lambda name: name.startswith(PREFIX), among=event)
    event = event[is_name[trace.name_id[event]]]
    columns = _Columns(
        event=event,
        session=trace.session_id[event].astype(np.int64),
        start_ps=trace.start_ps[event],
        key=trace.int_stat("id")[event],
        parent_key=trace.int_stat("parent_id")[event],
        has_parent_key=trace.has_stat("parent_id")[event],
    )
    parent, is_extra = _link(trace, columns)
    is_root = by_name(trace, is_root_name, among=event)
    is_root = is_root[trace.name_id[event]]
    epoch = np.where(is_root, _epochs(trace, columns), 0)
    return IteratorCalls(
        event=event,
        iterator=dense_codes(columns.session, columns.key, epoch)[0],
        is_root=is_root,
        parent=parent,
        is_extra_link=is_extra,
        relative=np.where(is_root, -1, _relatives(columns, parent)),
    )


def _epochs(trace: Trace, calls: _Columns) -> Int64:
    """How many iterators had been made in the session before each call: an id alone is used again in the next epoch."""
    epoch, made = np.zeros(len(calls.event), np.int64), np.flatnonzero(trace.names_matching(MAKES_ITERATOR))
    for session in np.unique(trace.session_id[made]).tolist():  # one turn per session
        own = np.sort(trace.start_ps[made[trace.session_id[made] == session]])
        rows = np.flatnonzero(calls.session == session)
        epoch[rows] = np.searchsorted(own, calls.start_ps[rows], side="right")
    return epoch


def _relatives(calls: _Columns, parent: Int64) -> Int64:
    lone = np.flatnonzero((parent < 0) & calls.has_parent_key)
    relative = parent.copy()
    relative[lone] = match_in_time(
        (calls.session[lone], calls.parent_key[lone]),
        calls.start_ps[lone],
        (calls.session, calls.key),
        calls.start_ps,
        prefers_later=False,
    )
    relative[relative == np.arange(len(relative))] = -1
    return relative


def _link(trace: Trace, calls: _Columns) -> tuple[Int64, Bool]:
    """For each call the call that waited for it (-1 for none), and whether XProf would not link them."""
    event, n = calls.event, len(calls.event)
    call_of_event = np.full(trace.n_events + 1, -1, np.int64)  # the last entry answers for row -1
    call_of_event[event] = np.arange(n)
    above = trace.nesting.parent
    direct = call_of_event[above[event]]
    # The innermost enclosing event that says who asked: an iterator call or a produce event.
    marked = trace.names_matching(PRODUCE) & trace.has_stat("element_id")
    marked[event] = True
    enclosing = np.append(nearest_marked(above, marked), -1)
    asked_by = enclosing[above[event]]
    caller = call_of_event[asked_by]
    is_related = (caller >= 0) & calls.has_parent_key & (calls.key[caller] == calls.parent_key)
    parent = np.where(direct >= 0, direct, np.where(is_related, caller, -1))
    is_extra = (direct < 0) & (parent >= 0)

    made = np.flatnonzero(calls.has_parent_key & (asked_by >= 0) & (caller < 0))
    first_child = np.zeros(n, np.bool_)
    first_child[made[np.unique(asked_by[made], return_index=True)[1]]] = True
    consumer = _consumers_of_calls(trace, calls, call_of_event, made, asked_by[made])
    waiting = np.where(consumer < 0, _waiting(trace, calls, made, asked_by[made]), -1)
    parent[made] = np.where(consumer >= 0, consumer, np.where(waiting >= 0, waiting, parent[made]))
    is_extra[made] = (waiting >= 0) | ((consumer >= 0) & ~(first_child & (above[event] == asked_by))[made])
    parent[parent == np.arange(n)] = -1
    return parent, is_extra


def _consumers_of_calls(trace: Trace, calls: _Columns, call_of_event: Int64, made: Int64, produce: Int64) -> Int64:
    """For each call made ahead the call that consumed its element: the first after the production, else the last, -1 for none."""
    element = trace.int_stat("element_id")
    consume = np.flatnonzero(trace.names_matching(CONSUME) & trace.has_stat("element_id"))
    taker = call_of_event[trace.nesting.parent[consume]]
    consume, taker = consume[taker >= 0], taker[taker >= 0]
    found = match_in_time(
        (calls.session[made], calls.parent_key[made], element[produce]),
        trace.start_ps[produce],
        (calls.session[taker], calls.key[taker], element[consume]),
        trace.start_ps[consume],
        prefers_later=True,
    )
    return np.append(taker, -1)[found]


def _waiting(trace: Trace, calls: _Columns, made: Int64, produce: Int64) -> Int64:
    """For each call made ahead the consumer's call going on at its end, -1 for none: it waited for the end of the data."""
    ended = trace.ends(produce)
    found = match_in_time(
        (calls.session[made], calls.parent_key[made]),
        ended,
        (calls.session, calls.key),
        calls.start_ps,
        prefers_later=False,
    )
    is_going_on = (found >= 0) & (calls.start_ps[found] <= ended) & (trace.ends(calls.event[found]) >= ended)
    return np.where(is_going_on, found, -1)


def short_name(long_name: str) -> str:
    """The text after the last `::`, without an index: `Iterator::Root::FlatMap[3]` is a `FlatMap`."""
    return long_name.rsplit("::", 1)[-1].split("[", 1)[0]


def is_root_name(long_name: str) -> bool:
    """Whether it names the outermost iterator of a pipeline: `Iterator::X`."""
    return long_name.startswith("Iterator::") and len(long_name.split("::")) == 2


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
        return len(self.is_device)


def merge_iterators(trace: Trace, calls: IteratorCalls, grouping: Grouping) -> IteratorNodes:
    """The pipelines and each call's place; roots not in use at once with equal name, dataset, type, consumer and host are one.
    Differs from XProf: there each root iterator is a pipeline."""
    name = trace.name_id[calls.event]
    unique, inverse = np.unique(name, return_inverse=True)
    texts = [merged_name(trace.strings[i]) for i in unique.tolist()]
    places = {text: k for k, text in enumerate(dict.fromkeys(texts))}
    path = np.array([places[text] for text in texts], np.int64)[inverse.reshape(-1)]
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


def merged_name(long_name: str) -> str:
    """A long name with the indices of alike inputs left out: `Iterator::Root::FlatMap[*]::TensorSlice`."""
    return _INDEX.sub("[*]", long_name)


def _pipelines(trace: Trace, calls: IteratorCalls, grouping: Grouping, top: Int64, path: Int64) -> Int64:
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
    consumer = _consumers_of_nodes(trace, grouping, event, object_of_call, n)
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


def _consumers_of_nodes(trace: Trace, grouping: Grouping, event: Int64, object_of_call: Int64, n: int) -> Int64:
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


SLOW_CALL_PS = 50_000_000
"""A call longer than 50 us keeps its consumer waiting (semantics 8.4)."""


def executions(calls: pd.DataFrame, iterators: pd.DataFrame, pipeline: int) -> pd.DataFrame:
    """All executions of a pipeline, slowest first, with the columns of `TfData.executions`."""
    is_root = (calls["root_call"] == np.arange(len(calls))) & (calls["pipeline"] == pipeline)
    roots = np.flatnonzero(is_root)
    latency, start = calls["duration_ps"].to_numpy()[roots], calls["start_ps"].to_numpy()[roots]
    roots = roots[np.lexsort((start, -latency))]
    bottleneck, wait_ps = _bottlenecks(calls, roots, _works(iterators))
    names = np.append(iterators["long_name"].to_numpy(object), "")
    latency = calls["duration_ps"].to_numpy()[roots]
    return pd.DataFrame(
        {
            "rank": np.arange(len(roots)),
            "start_ms": calls["start_ps"].to_numpy()[roots] / PS_PER_MS,
            "latency_us": latency / PS_PER_US,
            "is_slow": latency > SLOW_CALL_PS,
            "is_startup": calls["is_startup"].to_numpy(np.bool_)[roots],
            "bottleneck": bottleneck,
            "bottleneck_name": names[bottleneck],
            "bottleneck_time_us": wait_ps / PS_PER_US,
            "root_call": roots,
        },
        columns=list(EXECUTIONS.names),
    )


def _works(iterators: pd.DataFrame) -> Bool:
    """Of each iterator whether it may hold up who waits for it."""
    return ~iterators["name"].isin(WRAPPERS).to_numpy(np.bool_)


def _bottlenecks(calls: pd.DataFrame, roots: Int64, works: Bool) -> tuple[Int64, Int64]:
    """For each root call the iterator that it waited for longest (-1 for none) and for how long."""
    n_iterators = len(works)
    place = np.full(len(calls) + 1, -1, np.int64)
    place[roots] = np.arange(len(roots))
    execution = place[calls["root_call"].to_numpy()]
    is_waited = (calls["wait_ps"].to_numpy() > 0) & works[calls["iterator"].to_numpy()]
    rows = np.flatnonzero((execution >= 0) & is_waited)
    key = execution[rows] * max(n_iterators, 1) + calls["iterator"].to_numpy()[rows]
    pairs, inverse = np.unique(key, return_inverse=True)
    total = sum_by(inverse.reshape(-1), calls["wait_ps"].to_numpy()[rows], len(pairs))
    order = np.lexsort((-total, pairs // max(n_iterators, 1)))
    found, first = np.unique(pairs[order] // max(n_iterators, 1), return_index=True)
    bottleneck, wait_ps = np.full(len(roots), -1, np.int64), np.zeros(len(roots), np.int64)
    bottleneck[found] = pairs[order][first] % max(n_iterators, 1)
    wait_ps[found] = total[order][first]
    return bottleneck, wait_ps


def execution(calls: pd.DataFrame, iterators: pd.DataFrame, root_call: int) -> pd.DataFrame:
    """The iterators that took part in one execution, with the numbers of that execution."""
    part = calls[calls["root_call"] == root_call]
    sums = part.groupby("iterator").agg(
        start_ps=("start_ps", "min"),
        total_ps=("duration_ps", "sum"),
        self_ps=("self_ps", "sum"),
        wait_ps=("wait_ps", "sum"),
        n_calls=("start_ps", "size"),
        is_blocking=("is_blocking", "any"),
    )
    rows = sums.index.to_numpy(np.int64)
    held_ps = np.where(_works(iterators)[rows], sums["wait_ps"].to_numpy(), 0)
    longest = int(held_ps.argmax())
    is_longest = np.arange(len(rows)) == longest
    return iterators.iloc[rows].assign(
        start_ms=sums["start_ps"].to_numpy() / PS_PER_MS,
        total_time_ms=sums["total_ps"].to_numpy() / PS_PER_MS,
        self_time_ms=sums["self_ps"].to_numpy() / PS_PER_MS,
        wait_time_ms=sums["wait_ps"].to_numpy() / PS_PER_MS,
        calls=sums["n_calls"].to_numpy(),
        on_critical_path=sums["is_blocking"].to_numpy(),
        is_bottleneck=is_longest & (held_ps > 0),
    )


ENQUEUE = "Enqueue"
DEMANDED_READ = "Demanded file read"
ADVANCED_READ = "Advanced file read"
PREPROCESSING = "Preprocessing"
UNKNOWN = "Unknown"
UNCLASSIFIED = "Other"

_STAGES = {"enqueue": ENQUEUE, "read": DEMANDED_READ, "preprocessing": PREPROCESSING, "unknown": UNKNOWN}
_READERS = tuple(f"::{name}" for name in FILE_READERS)
_AHEAD = ("::MemoryReader", "::MemoryWriter", "::Interleave", "::Prefetch", "::ParallelMap")
_INFEED = "InfeedEnqueue"


def input_category(op_type: str, name: str) -> str | None:
    """The category of a host op, None where it is no input op; `TFRecordV2` is preprocessing. Source: semantics 5.3."""
    if op_type.startswith(_INFEED) or op_type == "MemcpyHToD":
        return ENQUEUE
    if op_type == "Dataset":
        if not name.endswith(_READERS):
            return PREPROCESSING
        return ADVANCED_READ if any(part in name for part in _AHEAD) else DEMANDED_READ
    return _STAGES.get(op_type.lower())


def input_ops(ops: pd.DataFrame) -> pd.DataFrame:
    sides, kinds, names = (ops[name].tolist() for name in ("device", "type", "name"))
    asked = {kind for kind in set(kinds) if input_category(kind, "") is not None}
    rows = [row for row, kind in enumerate(kinds) if kind in asked and sides[row].lower() == "host"]
    own_us = ops["total_self_time_us"].tolist()
    rows.sort(key=lambda row: (-own_us[row], names[row]))
    self_ms, total_ms = (ops[f"total_{name}time_us"].to_numpy(np.float64)[rows] / US_PER_MS for name in ("self_", ""))
    base = float(self_ms.sum())
    return pd.DataFrame(
        {
            "op": np.array([names[row] for row in rows], np.object_),
            "count": ops["occurrences"].to_numpy()[rows],
            "total_time_ms": total_ms,
            "total_time_ratio": total_ms / base if base else np.zeros(len(rows)),
            "self_time_ms": self_ms,
            "self_time_ratio": self_ms / base if base else np.zeros(len(rows)),
            "category": np.array([input_category(kinds[row], names[row]) for row in rows], np.object_),
        }
    )


def input_categories(enqueue_ps: tuple[int, int], ops: pd.DataFrame) -> pd.DataFrame:
    """Divide the input time of the host into categories; without enqueuing ops copying is 0. Source: semantics 5.3."""
    own_ms = list(zip(ops["category"].tolist(), ops["self_time_ms"].tolist(), strict=True))
    enqueue, *work = (
        math.fsum(ms for category, ms in own_ms if category == key)
        for key in (ENQUEUE, DEMANDED_READ, ADVANCED_READ, PREPROCESSING)
    )
    busy, period = enqueue_ps
    share, known = min(1.0, busy / period) if period > 0 else 0.0, sum(work)
    rest = enqueue * (1 - share) / share if share else known
    times = [enqueue, *(rest * part / known if known else 0.0 for part in work)]
    times.append(0.0 if known else rest)
    total = sum(times)
    return pd.DataFrame(
        {
            "category": [ENQUEUE, DEMANDED_READ, ADVANCED_READ, PREPROCESSING, UNCLASSIFIED],
            "time_ms": times,
            "ratio": [time / total if total else 0.0 for time in times],
        }
    )


def enqueue_times(trace: Trace) -> tuple[int, int]:
    """How long the infeed ops of a TPU host enqueued, and from one to the next on the same thread, in ps."""
    texts = [text for text in trace.strings if _INFEED in text]
    types = parse_op_names(texts).type
    infeeds = [text for text, kind in zip(texts, types, strict=True) if kind.startswith(_INFEED)]
    rows = np.flatnonzero(trace.names_matching(infeeds))
    same_line = trace.line_id[rows][1:] == trace.line_id[rows][:-1]
    busy = int(trace.duration_ps[rows][:-1][same_line].sum())
    period = int(np.diff(trace.start_ps[rows])[same_line].sum())
    return busy, period


def input_work(trace: Trace, occurrences: Occurrences) -> Bool:
    """Which ops are of input pipelines; those of the model may have the same type and no scope either."""
    is_data_line = data_lines(trace)
    is_iterator = np.array([name.startswith("Iterator::") for name in occurrences.name], np.bool_)
    n = len(occurrences.name)
    if not len(occurrences):
        return np.zeros(n, np.bool_)
    within = is_data_line[occurrences.line]
    within |= nearest_marked(occurrences.parent, is_iterator[occurrences.op]) >= 0
    n_outside = np.bincount(occurrences.op[~within], minlength=n)
    executed = np.bincount(occurrences.op, minlength=n) > 0
    work: Bool = executed & (n_outside == 0)
    return work
