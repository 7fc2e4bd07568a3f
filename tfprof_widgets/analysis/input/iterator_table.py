"""`Usage` -> the `iterators` table of the tf.data graph, with its critical path and bottlenecks."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Int64, StatValue, Trace
from ..base.iterator_names import ASYNC_ITERATORS, WRAPPERS, base_name
from ..base.matching import sum_by
from ..base.stretches import Stretches
from ..base.table_types import Types
from ..base.units import PS_PER_MS
from ..columns.registry import TABLES
from .iterator_calls import short_name
from .iterator_nodes import merged_name
from .pipeline_usage import Usage

_CRITICAL_SHARE = 0.5
FILL_SHARE = 2 / 3
"""A shuffle whose filling takes more than this share of all the time of a pipeline's root calls is the bottleneck. Below
it, what also holds up the calls after the first is worth more: it fills the buffer faster, too."""
_NOT_PARAMS = frozenset(
    ("id", "parent_id", "group_id", "element_id", "step_name", "is_eager", "_r", "_p", "_pt", "_c", "_ct")
)
_MEANWHILE = 0.5
ITERATOR_TYPES: Types = TABLES["input_pipeline.iterators"].types


def iterator_table(trace: Trace, usage: Usage) -> pd.DataFrame:
    """One row per iterator; the columns are told in `Pipelines.iterators`.

    Differs from XProf: `is_async` looks at the name without its version, so `ParallelMapV2` is asynchronous too.
    """
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
        "n_iterators": _n_iterators(usage),
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


def _n_iterators(usage: Usage) -> Int64:
    """For each node how many iterator objects it stands for."""
    n_objects = int(usage.calls.iterator.max()) + 1
    pairs = np.unique(usage.node * n_objects + usage.calls.iterator)
    return np.bincount(pairs // n_objects, minlength=usage.n_nodes)


def _critical(usage: Usage) -> Bool:
    """For each node whether the root calls that waited for it make up at least half of the time of all that count."""
    n, n_calls = usage.n_nodes, len(usage.node)
    blocking = np.flatnonzero(usage.waits.is_blocking & usage.is_counted)
    pairs = np.unique(usage.node[blocking] * n_calls + usage.waits.root_call[blocking])
    waited = sum_by(pairs // n_calls, usage.duration_ps[pairs % n_calls], n)
    roots = usage.is_root & usage.is_counted
    root_time = sum_by(usage.pipeline[roots], usage.duration_ps[roots], usage.nodes.n_pipelines)
    critical: Bool = (waited > 0) & (waited >= _CRITICAL_SHARE * root_time[usage.nodes.pipeline])
    return critical


def _bottlenecks(usage: Usage, critical: Bool, wait: Int64, kinds: list[str]) -> Bool:
    """The node of each pipeline that works, is on the critical path and was waited for longest, if for any time at all.

    Where that is a prefetch whose thread was busy meanwhile, it is what that thread was busy with.
    A shuffle that takes most of the pipeline's time to fill its buffer comes first, although it fills it in first calls.
    """
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
    """Of each node."""
    by_node: Int64
    """The calls ordered by node."""
    first: Int64
    """Where in `by_node` those of each node begin, and where the last ones end."""

    @classmethod
    def of(cls, usage: Usage) -> _Busy:
        by_node = np.argsort(usage.node, kind="stable")
        first = np.searchsorted(usage.node[by_node], np.arange(usage.n_nodes + 1))
        return cls(usage, sum_by(usage.node, usage.waits.self_ps, usage.n_nodes), by_node, first)

    def meanwhile(self, prefetch: int) -> int:
        """The iterator below a prefetch that is the cost of waiting in it, -1 where the prefetch's thread was mostly idle.

        On a busy machine the thread that fills a buffer and the one that empties it compete for the processor, so that a
        call of a prefetch may take long although its element was ready: it waits for what the other thread does, which is
        what must become cheaper. Of all the time for which root calls waited in the prefetch itself, its thread must have
        worked on other elements for at least half; the iterator is then the one below the prefetch with the largest self
        time.
        """
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
    """For each node the distinct names of its events."""
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
