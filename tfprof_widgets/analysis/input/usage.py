"""Calls of iterators -> the `iterators` table, with waits, critical path and bottlenecks."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.arrays import Bool, Int64
from ...trace.trace import StatValue, Trace
from ..common import PS_PER_MS, Stretches, Types, children_of, rows_below, sum_by
from ..names import ASYNC_ITERATORS, WRAPPERS, base_name, by_name
from ..table import table
from .iterators import SLOW_CALL_PS, IteratorCalls, IteratorNodes, merged_name, short_name

ITERATORS = table(
    """
    input_pipeline.iterators: a tf.data iterator, a consumer before what it consumes
        id                int     the row
        parent_id         int     row of the consumer, -1 for a root
        name              text    such as `Map`
        long_name         text    with the iterators around it
        start_ms          float   of the first call, after the trace origin
        total_time_ms     float   of all calls
        self_time_ms      float   its work: all calls without those it waited for, on whatever thread
        calls             int     how many
        is_async          bool    whether it works ahead of its consumer
        on_critical_path  bool    whether it was waited for in half of the root's time or more
        is_bottleneck     bool    whether it holds its pipeline up
        params            object  stats of its last call
        pipeline          int     row of the pipelines table
        wait_time_ms      float   for how long the root call waited for its own work, without first calls
        n_iterators       int     objects merged
        event_names       object  names of their events
        fill_time_ms      float   of a shuffle: waited while it filled its buffer
        parallelism       float   as last seen; NaN where the trace does not tell
        buffer_size       float   as last seen; NaN where the trace does not tell
        is_autotuned      bool    whether tf.data chooses them
        settings          text    all of these in words

    Iterators of one place in the program are one row, over all epochs. Empty where tf.data did nothing.
    """,
    browser="""
    id +parent:int name long_name total_time_ms self_time_ms calls is_async on_critical_path params pipeline wait_time_ms
    +event_names:texts? buffer_size settings
    """,
    file="input_iterators",
)

EXECUTION = table("""
    input_pipeline.execution: an iterator that took part in one execution of a pipeline
        *input_pipeline.iterators
""")

MAX_LEVELS = 100
"""Deeper calls are ignored, as in XProf (semantics 8.4)."""


@dataclass(frozen=True)
class Waits:
    """One entry per call."""

    root_call: Int64
    """The root call below which it lies, -1 when its element was not fetched during the capture."""
    is_blocking: Bool
    """Whether it overlaps in time with its consumer, and so on up to the root: it was waited for."""
    is_exact: Bool
    """Whether XProf has every link between it and the root."""
    self_ps: Int64
    """Its duration minus the time covered by the calls it made or waited for; never negative."""
    window_ps: Int64
    """The part of its duration in which the root call, and all between, were waiting."""
    wait_ps: Int64
    """The part of its self time in which the root call, and all between, were waiting."""
    xprof_self_ps: Int64
    """Its duration minus the sum of its children's overlaps, by XProf's links; negative when children run in parallel."""


def find_waits(start_ps: Int64, end_ps: Int64, parent: Int64, is_root: Bool, is_extra_link: Bool) -> Waits:
    """Walk from the root calls down."""
    n = len(start_ps)
    parent = np.where(is_root, -1, parent)
    order, offsets = children_of(parent)
    root_call = np.where(is_root, np.arange(n), -1)
    blocking, exact = is_root.copy(), is_root.copy()
    low, high = start_ps.copy(), end_ps.copy()  # the window in which the root call waits for this one
    level = np.flatnonzero(is_root)
    for _ in range(MAX_LEVELS):
        level = rows_below(order, offsets, level)
        if not len(level):
            break
        up = parent[level]
        root_call[level] = root_call[up]
        exact[level] = exact[up] & ~is_extra_link[level]
        blocking[level] = blocking[up] & (
            np.minimum(end_ps[level], end_ps[up]) > np.maximum(start_ps[level], start_ps[up])
        )
        low[level] = np.maximum(start_ps[level], low[up])
        high[level] = np.minimum(end_ps[level], high[up])
    in_tree = root_call >= 0
    window = np.where(in_tree & blocking, np.maximum(high - low, 0), 0)
    waited = covered_ps(parent, low, high, low, high, in_tree & blocking)
    return Waits(
        root_call=root_call,
        is_blocking=blocking,
        is_exact=exact,
        self_ps=end_ps - start_ps - covered_ps(parent, start_ps, end_ps, start_ps, end_ps, np.ones(n, np.bool_)),
        window_ps=window,
        wait_ps=window - waited,
        xprof_self_ps=end_ps - start_ps - _xprof_overlap_ps(start_ps, end_ps, parent, is_extra_link),
    )


def _xprof_overlap_ps(start_ps: Int64, end_ps: Int64, parent: Int64, is_extra_link: Bool) -> Int64:
    """For each row the sum of its overlaps with its children, as if those were disjoint."""
    child = np.flatnonzero((parent >= 0) & ~is_extra_link)
    up = parent[child]
    overlap = np.minimum(end_ps[child], end_ps[up]) - np.maximum(start_ps[child], start_ps[up])
    return sum_by(up, np.maximum(overlap, 0), len(parent))


def covered_ps(
    parent: Int64, start_ps: Int64, end_ps: Int64, parent_start_ps: Int64, parent_end_ps: Int64, counts: Bool
) -> Int64:
    """For each row how much of its own span the union of its children's spans covers; only children that count."""
    n = len(parent)
    child = np.flatnonzero((parent >= 0) & counts)
    up = parent[child]
    begin = np.maximum(start_ps[child], parent_start_ps[up])
    end = np.maximum(np.minimum(end_ps[child], parent_end_ps[up]), begin)
    order = np.lexsort((begin, up))
    up, begin, end = up[order], begin[order], end[order]
    reached = pd.Series(end).groupby(up).cummax().to_numpy(np.int64)
    before = np.empty(len(up), np.int64)
    before[:1] = np.iinfo(np.int64).min
    before[1:] = np.where(up[1:] == up[:-1], reached[:-1], np.iinfo(np.int64).min)
    return sum_by(up, np.maximum(end - np.maximum(begin, before), 0), n)


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
    roots = np.flatnonzero(is_root)
    order = roots[np.argsort(start[roots], kind="stable")]
    _, earliest = np.unique(calls.iterator[order], return_index=True)
    first = np.zeros(len(calls.iterator), np.bool_)
    first[order[earliest]] = True
    counts = is_root & ~first
    is_shuffle = by_name(trace, lambda name: base_name(short_name(name)) in _SHUFFLES, among=calls.event)
    fetched = np.bincount(calls.parent[calls.parent >= 0], minlength=len(calls.event))
    fills = is_shuffle[trace.name_id[calls.event]] & (fetched > 1)
    fill = sum_by(nodes.node_of_call[fills], waits.window_ps[fills], len(nodes.parent))
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


_CRITICAL_SHARE = 0.5
FILL_SHARE = 2 / 3
"""A shuffle whose filling takes more than this share of root calls' time is the bottleneck."""
_NOT_PARAMS = frozenset(
    ("id", "parent_id", "group_id", "element_id", "step_name", "is_eager", "_r", "_p", "_pt", "_c", "_ct")
)
_MEANWHILE = 0.5
ITERATOR_TYPES: Types = ITERATORS.types


def iterator_table(trace: Trace, usage: Usage) -> pd.DataFrame:
    """One row per iterator, as `Pipelines.iterators`. Differs from XProf: `is_async` ignores the version in names."""
    node, n, start = usage.node, usage.n_nodes, usage.start_ps
    last_call = np.zeros(n, np.int64)
    by_time = np.argsort(start, kind="stable")
    last_call[node[by_time]] = usage.calls.event[by_time]
    first_start = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(first_start, node, start)
    wait = sum_by(node, np.where(usage.is_counted, usage.waits.wait_ps, 0), n)
    critical = _critical(usage)
    event_names = _event_names(trace, usage)
    # One turn per node in what follows.
    params = [{k: v for k, v in stats.items() if k not in _NOT_PARAMS} for stats in trace.stats_of_each(last_call)]
    long_names = [names[0] if len(names) == 1 else merged_name(names[0]) for names in event_names]
    short = [short_name(text) for text in long_names]
    n_objects = int(usage.calls.iterator.max()) + 1
    pairs = np.unique(usage.node * n_objects + usage.calls.iterator)
    columns = {
        "id": np.arange(n),
        "parent_id": usage.nodes.parent,
        "name": short,
        "long_name": long_names,
        "start_ms": first_start / PS_PER_MS,
        "total_time_ms": sum_by(node, usage.duration_ps, n) / PS_PER_MS,
        "self_time_ms": sum_by(node, usage.waits.self_ps, n) / PS_PER_MS,
        "calls": np.bincount(node, minlength=n),
        "is_async": [base_name(text) in ASYNC_ITERATORS for text in short],
        "on_critical_path": critical,
        "is_bottleneck": _bottlenecks(usage, critical, wait, [base_name(text) for text in short]),
        "params": params,
        "pipeline": usage.nodes.pipeline,
        "wait_time_ms": wait / PS_PER_MS,
        "n_iterators": np.bincount(pairs // n_objects, minlength=usage.n_nodes),
        "event_names": event_names,
        "fill_time_ms": usage.fill_ps / PS_PER_MS,
        "parallelism": [_first_number(one, _PARALLELISM) for one in params],
        "buffer_size": [_first_number(one, _BUFFER_SIZE) for one in params],
        "is_autotuned": [is_autotuned(one) for one in params],
        "settings": [settings_text(one) for one in params],
    }
    return pd.DataFrame(columns, columns=list(ITERATOR_TYPES))


def slowest_below(iterators: pd.DataFrame, row: int) -> list[int]:
    """The rows of the iterators below one, the nearest first, along the one that took longest of each."""
    return chain_below(slowest_inputs(iterators), row)


def slowest_inputs(iterators: pd.DataFrame) -> Int64:
    """For each iterator the row of that which took longest of those it takes its elements from, -1 for none."""
    parent, total_ms = iterators["parent_id"].to_numpy(np.int64), iterators["total_time_ms"].to_numpy(np.float64)
    found = np.full(len(parent), -1, np.int64)
    order = np.lexsort((-total_ms, parent))
    order = order[parent[order] >= 0]
    above, first = np.unique(parent[order], return_index=True)
    found[above] = order[first]
    return found


def chain_below(slowest_input: Int64, row: int) -> list[int]:
    """`slowest_below`, given the result of `slowest_inputs`."""
    rows: list[int] = []
    while (row := int(slowest_input[row])) >= 0:  # one turn per level of the graph
        rows.append(row)
    return rows


def _critical(usage: Usage) -> Bool:
    """For each node whether the root calls that waited for it make up at least half of the time of all that count."""
    n, n_calls = usage.n_nodes, len(usage.node)
    blocking = np.flatnonzero(usage.waits.is_blocking & usage.is_counted)
    pairs = np.unique(usage.node[blocking] * n_calls + usage.waits.root_call[blocking])
    waited = sum_by(pairs // n_calls, usage.duration_ps[pairs % n_calls], n)
    roots = usage.is_root & usage.is_counted
    root_time = sum_by(usage.pipeline[roots], usage.duration_ps[roots], usage.nodes.n_pipelines)
    return (waited > 0) & (waited >= _CRITICAL_SHARE * root_time[usage.nodes.pipeline])


def _bottlenecks(usage: Usage, critical: Bool, wait: Int64, kinds: list[str]) -> Bool:
    """The critical node of each pipeline that was waited for longest; first a shuffle that mostly fills its buffer."""
    pipeline, found = usage.nodes.pipeline, np.zeros(len(wait), np.bool_)
    root_time = sum_by(usage.pipeline[usage.is_root], usage.duration_ps[usage.is_root], usage.nodes.n_pipelines)
    fills = usage.fill_ps > FILL_SHARE * root_time[pipeline]
    cost = np.where(fills, np.iinfo(np.int64).max, wait)
    works = np.array([kind not in WRAPPERS for kind in kinds], np.bool_)
    candidate = np.flatnonzero(fills | (critical & (wait > 0) & works))
    order = candidate[np.lexsort((candidate, -cost[candidate], pipeline[candidate]))]
    _, first = np.unique(pipeline[order], return_index=True)
    busy = _Busy.of(usage)
    for node in order[first].tolist():  # one turn per pipeline
        instead = busy.meanwhile(node) if kinds[node] == "Prefetch" else -1
        found[instead if instead >= 0 else node] = True
    return found


@dataclass(frozen=True)
class _Busy:
    """What the thread of a prefetch did while root calls waited in it."""

    usage: Usage
    self_ps: Int64
    by_node: Int64
    first: Int64
    """Where in `by_node` those of each node begin, and where the last ones end."""

    @classmethod
    def of(cls, usage: Usage) -> _Busy:
        by_node = np.argsort(usage.node, kind="stable")
        first = np.searchsorted(usage.node[by_node], np.arange(usage.n_nodes + 1))
        return cls(usage, sum_by(usage.node, usage.waits.self_ps, usage.n_nodes), by_node, first)

    def meanwhile(self, prefetch: int) -> int:
        """The iterator of largest self time below a prefetch, its cost, if its thread worked for half of the waits; else -1."""
        usage, nodes = self.usage, self._of_pipeline(prefetch)
        own = self._calls_of([prefetch])
        own = own[usage.is_counted[own] & (usage.waits.window_ps[own] > 0)]
        feeding = self._calls_of((nodes.start + np.flatnonzero(usage.nodes.parent[nodes] == prefetch)).tolist())
        wait_ps = int(usage.waits.wait_ps[own].sum())
        if not len(feeding) or wait_ps <= 0:
            return -1
        start_ps, duration_ps = usage.start_ps, usage.duration_ps
        thread = Stretches.of(start_ps[feeding], start_ps[feeding] + duration_ps[feeding])
        overlap = thread.within(start_ps[own], start_ps[own] + duration_ps[own])
        waited_for = usage.waits.window_ps[own] - usage.waits.wait_ps[own]
        if int(np.maximum(overlap - waited_for, 0).sum()) < _MEANWHILE * wait_ps:
            return -1
        below = _below(usage.nodes.parent[nodes] - nodes.start, prefetch - nodes.start)
        found: int = nodes.start + int(np.argmax(np.where(below, self.self_ps[nodes], -1)))
        return found

    def _of_pipeline(self, node: int) -> slice:
        """The nodes of the same pipeline, which stand together."""
        pipeline = self.usage.nodes.pipeline
        return slice(*np.searchsorted(pipeline, [pipeline[node], pipeline[node] + 1]).tolist())

    def _calls_of(self, nodes: list[int]) -> Int64:
        """The calls of some nodes, in the order of the trace."""
        return np.sort(
            np.concatenate([self.by_node[:0], *(self.by_node[slice(*self.first[k : k + 2])] for k in nodes)])
        )


def _below(parent: Int64, node: int) -> Bool:
    """Which nodes lie below one; a node stands after its consumer."""
    found = np.zeros(len(parent), np.bool_)
    for k in range(node + 1, len(parent)):  # one turn per iterator of a pipeline
        found[k] = parent[k] == node or (parent[k] >= 0 and found[parent[k]])
    return found


def _event_names(trace: Trace, usage: Usage) -> list[tuple[str, ...]]:
    n_names = max(len(trace.strings), 1)
    pairs = np.unique(usage.node * n_names + trace.name_id[usage.calls.event])
    ends = np.searchsorted(pairs, np.arange(usage.n_nodes + 1) * n_names).tolist()
    names = [trace.strings[i] for i in (pairs % n_names).tolist()]
    return [tuple(names[low:high]) for low, high in itertools.pairwise(ends)]


_PARALLELISM = ("parallelism", "num_parallel_calls")
_BUFFER_SIZE = ("buffer_size", "buffer_limit")


def is_autotuned(params: Mapping[str, StatValue]) -> bool:
    """Whether tf.data chooses the iterator's parallelism or buffer size itself."""
    return str(params.get("autotune")).lower() in ("true", "1")


def _first_number(params: Mapping[str, StatValue], keys: tuple[str, ...]) -> float:
    """The first of some settings that the trace has, NaN for none."""
    found = (value for key in keys if isinstance(value := params.get(key), int))
    return float(next(found, np.nan))


_SETTINGS = {
    "parallelism": "{} at once",
    "num_parallel_calls": "{} at once",
    "cycle_length": "cycle {}",
    "block_length": "block {}",
    "batch_size": "batch {}",
    "buffer_size": "buffer {}",
    "buffer_limit": "buffer {}",
    "threadpool_size": "{} threads",
}


def settings_text(params: dict[str, StatValue]) -> str:
    """What a reader wants of an iterator's `params`: `2 at once, autotuned, batch 32`; empty where it has none of it."""
    words = [words.format(params[key]) for key, words in _SETTINGS.items() if key in params]
    if is_autotuned(params):
        words.insert(1, "autotuned")
    return ", ".join(words)
