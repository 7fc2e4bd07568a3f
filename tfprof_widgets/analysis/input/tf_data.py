"""Trace -> `TfData`: the tf.data pipelines of a capture, what each stage costs, and the slowest. Differs from XProf: D11."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...trace.arrays import Bool, Float64, Int64
from ...trace.trace import Trace
from ..common import PS_PER_MS, PS_PER_US, US_PER_MS, Types, plural, sum_by, typed_table
from ..grouping import Grouping, group_events
from ..names import WRAPPERS, parse_op_names
from ..summaries import MOST, OWNER, no_events, travels
from ..table import table
from .iterators import SLOW_CALL_PS, execution, executions, find_calls, merge_iterators
from .usage import (
    FILL_SHARE,
    ITERATOR_TYPES,
    Usage,
    find_usage,
    find_waits,
    iterator_table,
)

PIPELINES = table(
    """
    input_pipeline.pipelines: a tf.data pipeline, in order of first use
        id                  int    the row
        name                text   `Host:k` or `Device:k`
        host                text   on which it ran
        is_device           bool   whether it feeds a device from another pipeline
        n_calls             int    of its root
        n_slow_calls        int    of those over 50 µs
        total_time_ms       float  of those calls
        avg_latency_us      float  mean time of a call
        min_latency_us      float  the quickest call
        max_latency_us      float  the slowest call
        startup_time_ms     float  of first calls of an epoch, left out of what follows
        fill_time_ms        float  waited while a shuffle filled its buffer
        steady_latency_us   float  mean time of the other calls
        bottleneck          int    row of the iterators table, -1 for none
        bottleneck_name     text   its long name
        bottleneck_time_ms  float  how long the consumer waited for its own work
        summary             text   the pipeline in a sentence

    A pipeline of a device only hands on what one of the CPU made. Empty where tf.data did nothing.
    """,
    browser="""
    id name host is_device n_calls n_slow_calls total_time_ms avg_latency_us min_latency_us max_latency_us startup_time_ms
    bottleneck|null summary
    """,
    file="input_pipelines",
    of_facts=lambda facts: compute_tf_data(facts.trace, grouping=facts.steps.grouping),
    of_hosts=lambda sums: merge_tf_data(sums.names, sums.every),
)
travels(
    "pipelines",
    lambda facts: _bottlenecks_here(_most_used(facts.tf_data), _iterators_of(facts.tf_data)),
    most="pipelines",
    did="ran more input pipelines",
    told="the {} that took most time are listed",
    n_all=lambda facts: len(facts.tf_data.pipelines),
    refers={"bottleneck": "iterators"},
)
travels(
    "iterators",
    lambda facts: _iterators_of(facts.tf_data),
    refers={"parent_id": "iterators", "pipeline": "pipelines"},
    moment="start_ms",
)
travels("slowest_calls", lambda facts: facts.tf_data.slowest_calls)

_NEEDED = ["name", "long_name", "wait_time_ms", "fill_time_ms"]
_Row = dict[Hashable, Any]
PIPELINE_TYPES: Types = PIPELINES.types
SLOWEST_TYPES: Types = {
    name: float if name.endswith("_us") else object
    for name in ("host", "pipeline", "max_latency_us", "bottleneck", "long_name", "self_time_us")
}


def pipeline_table(usage: Usage, iterators: pd.DataFrame) -> pd.DataFrame:
    """One row per pipeline with the columns of `Pipelines.pipelines`."""
    n, of_node = usage.nodes.n_pipelines, usage.nodes.pipeline
    found = np.flatnonzero(iterators["is_bottleneck"].to_numpy())
    bottleneck = np.full(n, -1, np.int64)
    bottleneck[of_node[found]] = found
    latencies, n_counted, counted_ps = _latencies(usage)
    fill_ms = np.bincount(of_node, iterators["fill_time_ms"].to_numpy(np.float64), minlength=n)
    figures = {"is_device": usage.nodes.is_device, **latencies, "fill_time_ms": fill_ms}
    columns: dict[Hashable, Any] = {"id": range(n), "name": _names(usage), "host": usage.host}
    columns |= {name: column.tolist() for name, column in figures.items()}
    held_up = _HeldUp.of(iterators, of_node, n)
    pipelines = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    counted = (column.tolist() for column in (bottleneck, n_counted, counted_ps))
    told = [one | held_up.by(row, one, n_calls, ps) for one, row, n_calls, ps in zip(pipelines, *counted, strict=True)]
    return pd.DataFrame(told, columns=list(PIPELINE_TYPES))


def _root_calls(usage: Usage) -> list[Int64]:
    """For each pipeline the calls of its outermost iterator."""
    roots = np.flatnonzero(usage.is_root)
    roots = roots[np.argsort(usage.pipeline[roots], kind="stable")]
    return np.split(roots, np.searchsorted(usage.pipeline[roots], np.arange(1, usage.nodes.n_pipelines)))


def _names(usage: Usage) -> list[str]:
    """`Host:k` and `Device:k`, each counted from 0 in order of first use (XProf's order is that of a hash map)."""
    is_device = usage.nodes.is_device
    number = np.where(is_device, np.cumsum(is_device), np.cumsum(~is_device)) - 1
    kinds = ["Device" if device else "Host" for device in is_device]
    return [f"{kind}:{k}" for kind, k in zip(kinds, number.tolist(), strict=True)]


def _latencies(usage: Usage) -> tuple[dict[str, Int64 | Float64], Int64, Int64]:
    """What the calls of each pipeline's outermost iterator took; how many count for the bottleneck, and how long those took."""
    n, roots = usage.nodes.n_pipelines, np.flatnonzero(usage.is_root)
    pipeline, took = usage.pipeline[roots], usage.duration_ps[roots]
    shortest, longest = np.full(n, np.iinfo(np.int64).max), np.zeros(n, np.int64)
    np.minimum.at(shortest, pipeline, took)
    np.maximum.at(longest, pipeline, took)
    counted, is_slow = usage.is_counted[roots], took > SLOW_CALL_PS
    n_calls, n_slow, n_counted = (
        np.bincount(part, minlength=n) for part in (pipeline, pipeline[is_slow], pipeline[counted])
    )
    total_ps, counted_ps = sum_by(pipeline, took, n), sum_by(pipeline[counted], took[counted], n)
    columns: dict[str, Int64 | Float64] = {
        "n_calls": n_calls,
        "n_slow_calls": n_slow,
        "total_time_ms": total_ps / PS_PER_MS,
        "avg_latency_us": total_ps // np.maximum(n_calls, 1) / PS_PER_US,
        "min_latency_us": np.where(n_calls, shortest, 0) / PS_PER_US,
        "max_latency_us": longest / PS_PER_US,
        "startup_time_ms": (total_ps - counted_ps) / PS_PER_MS,
        "steady_latency_us": counted_ps / np.maximum(n_counted, 1) / PS_PER_US,
    }
    return columns, n_counted, counted_ps


@dataclass(frozen=True)
class _HeldUp:
    """Says what holds a pipeline up."""

    iterators: list[_Row]
    """The rows of the table, as far as they are needed here."""
    most_ms: Float64
    """For each pipeline the longest `wait_time_ms` of what works on its critical path."""

    @classmethod
    def of(cls, iterators: pd.DataFrame, of_node: Int64, n_pipelines: int) -> _HeldUp:
        on_path = np.flatnonzero(iterators["on_critical_path"].to_numpy(np.bool_) & ~iterators["name"].isin(WRAPPERS))
        most_ms = np.full(n_pipelines, np.nan)
        np.fmax.at(most_ms, of_node[on_path], iterators["wait_time_ms"].to_numpy(np.float64)[on_path])
        rows = iterators[_NEEDED].to_dict("records")
        return cls(rows, most_ms)

    def by(self, row: int, pipeline: _Row, n_counted: int, counted_ps: int) -> dict[str, object]:
        """The columns about the bottleneck of one pipeline, given its other columns and the calls that count."""
        name, wait_ms = "", 0.0
        if row < 0 and pipeline["n_calls"]:
            summary = f"{pipeline['name']}: no iterator of it was waited for."
        elif row < 0:
            summary = (
                f"{pipeline['name']}: no call of its outermost iterator ended during the capture; capture more steps."
            )
        else:
            entry = self.iterators[row]
            name = str(entry["long_name"])
            wait_ms, summary = self._cost(entry, pipeline, n_counted, counted_ps)
        return {
            "bottleneck": row,
            "bottleneck_name": name,
            "bottleneck_time_ms": wait_ms,
            "summary": summary,
        }

    def _cost(self, entry: _Row, pipeline: _Row, n_counted: int, counted_ps: int) -> tuple[float, str]:
        """How long the training waited because of a bottleneck, and a sentence that says why."""
        fill_ms, wait_ms = entry["fill_time_ms"], entry["wait_time_ms"]
        whole_ms, total_ms = pipeline["total_time_ms"], counted_ps / PS_PER_MS
        if fill_ms > FILL_SHARE * whole_ms:
            part = f"{time_text(US_PER_MS * fill_ms)} of the {time_text(US_PER_MS * whole_ms)}"
            summary = (
                f"{entry['name']} fills its buffer before the first batch: {part} that the training waited for data."
            )
            return fill_ms, summary
        most_ms = float(self.most_ms[pipeline["id"]])
        n_calls = plural(n_counted, "call")
        part = f"{time_text(US_PER_MS * most_ms)} of {time_text(US_PER_MS * total_ms)} in {n_calls}"
        if wait_ms < most_ms:  # it is the work of a prefetch's thread, see `iterator_table`
            return most_ms, f"{entry['name']} kept the processor busy while the training waited in a prefetch: {part}."
        return wait_ms, f"{entry['name']} accounts for {100 * wait_ms / total_ms:.0f} % of the wait for data: {part}."


def time_text(microseconds: float) -> str:
    """A time with three significant digits and its unit."""
    step = (microseconds >= 999.5) + (microseconds >= 999.5e3)
    value, unit = microseconds / 1e3**step, ("µs", "ms", "s")[step]
    digits = 2 if value < 9.995 else (1 if value < 99.95 else 0)
    return f"{value:.{digits}f} {unit}"


def slowest_calls(trace: Trace, usage: Usage) -> pd.DataFrame:
    """The bottleneck of each host pipeline's slowest call, by XProf's links and sums. Source: semantics 8.4, 8.5."""
    names, root_calls, rows = _names(usage), _root_calls(usage), []
    waits, duration = usage.waits, usage.duration_ps
    waited = np.flatnonzero((waits.root_call >= 0) & waits.is_exact & waits.is_blocking)
    waited = waited[np.argsort(waits.root_call[waited], kind="stable")]
    for k in np.flatnonzero(~usage.nodes.is_device).tolist():  # one turn per pipeline
        roots = root_calls[k]
        if not len(roots):
            continue
        slowest = roots[np.argmax(duration[roots])]
        seen = waited[slice(*np.searchsorted(waits.root_call[waited], [slowest, slowest + 1]))]
        iterator, place = np.unique(usage.calls.iterator[seen], return_inverse=True)
        own = sum_by(place.reshape(-1), waits.xprof_self_ps[seen], len(iterator))
        if own.max(initial=0) <= 0:
            continue
        event = int(usage.calls.event[seen[place.reshape(-1) == np.argmax(own)][0]])
        long_name = trace.strings[trace.name_id[event]]
        rows.append(
            {
                "host": usage.host[k],
                "pipeline": names[k],
                "max_latency_us": int(duration[slowest]) / PS_PER_US,
                "bottleneck": long_name.rsplit("::", 1)[-1],
                "long_name": long_name,
                "self_time_us": int(own.max()) / PS_PER_US,
            }
        )
    frame = typed_table(rows, SLOWEST_TYPES)
    return frame.sort_values("max_latency_us", ascending=False, kind="stable", ignore_index=True)


CALL_TYPES: Types = {
    **dict.fromkeys(("pipeline", "iterator", "event", "start_ps", "duration_ps", "self_ps"), int),
    "is_blocking": bool,
    "root_call": int,
    "wait_ps": int,
    "is_startup": bool,
}


@dataclass(frozen=True, eq=False, repr=False)
class Pipelines(ABC):
    """What tf.data did during the capture: `InputPipeline.tf_data`. All tables are empty where it did nothing.

    The bottleneck is decided over all calls of a pipeline's root, weighted by time, without the first call of each
    epoch: it starts threads and fills buffers, and would hide what holds up the rest. Where there are only first calls,
    or only they make an average call longer than 50 us, they count.

    Differs from XProf: it no longer has this analysis; iterators are merged over epochs, windows and the files of an
    interleave; its bottleneck, that of the slowest call, is in `slowest_calls`.
    """

    pipelines: pd.DataFrame
    """A row is a pipeline, in order of first use; `InputPipeline.pipelines` tells its columns."""
    iterators: pd.DataFrame
    """A row is an iterator, a consumer before what it consumes; `InputPipeline.iterators` tells its columns.
    `is_bottleneck` is the one on the critical path with the largest `wait_time_ms`; a shuffle that took most of the
    time to fill its buffer; or, where it is a prefetch whose thread was busy meanwhile, what that thread spent most
    time on.
    """
    slowest_calls: pd.DataFrame
    """For each pipeline of the CPU the bottleneck of its slowest call, slowest first: `host`, `pipeline`,
    `max_latency_us`, `bottleneck`, `long_name`, `self_time_us`.
    """

    @abstractmethod
    def executions(self, pipeline: int) -> pd.DataFrame:
        """Every execution of a `pipeline`, a row of `pipelines`, slowest first."""

    @abstractmethod
    def execution(self, pipeline: int, rank: int = 0) -> pd.DataFrame:
        """The iterators of one execution of a `pipeline`, a row of `pipelines`; `rank` 0 is the slowest."""

    @property
    def is_empty(self) -> bool:
        """Whether no iterator call was captured."""
        return self.iterators.empty

    @property
    def bottleneck(self) -> int:
        """Row in `iterators` of the bottleneck of the pipeline that took most time; -1 when there is none.

        Host pipelines come first: a device pipeline only hands on what a host pipeline made.
        """
        columns = (self.pipelines[name].tolist() for name in ("is_device", "total_time_ms", "bottleneck"))
        held_up = [(not is_device, ms, i, row) for i, (is_device, ms, row) in enumerate(zip(*columns, strict=True))]
        return int(max((one for one in held_up if one[-1] >= 0), default=(-1,))[-1])

    @property
    def bottleneck_pipeline(self) -> pd.Series | None:
        """The row of `pipelines` that `bottleneck` lies in; None where there is none."""
        return None if self.bottleneck < 0 else self.pipelines.iloc[self.iterators["pipeline"].iloc[self.bottleneck]]

    @property
    def summary(self) -> str:
        """By the slowest call of all pipelines of the CPU, in one sentence, as TensorBoard's tf.data analysis told it."""
        if self.slowest_calls.empty:
            return "No call of a host tf.data pipeline was captured; capture more steps."
        slowest = float(self.slowest_calls["max_latency_us"].iloc[0])
        if slowest > SLOW_CALL_PS / PS_PER_US:
            took = time_text(slowest)
            return f"The slowest call of a tf.data pipeline took {took}; the training waits from 50 µs on."
        return "No call of a tf.data pipeline took longer than 50 µs."


@dataclass(frozen=True, eq=False, repr=False)
class TfData(Pipelines):
    """The pipelines of one trace, with every call."""

    calls: pd.DataFrame
    """A row per GetNext call in trace order: `pipeline`, `iterator`, `event`, `start_ps`, `duration_ps`, `self_ps`,
    `is_blocking`, `root_call` (row, -1 for none), `wait_ps` (self time the root waited), `is_startup`."""

    def __repr__(self) -> str:
        n_calls, n_iterators = plural(len(self.calls), "call"), plural(len(self.iterators), "iterator")
        return f"TfData({n_calls} of {n_iterators} in {plural(len(self.pipelines), 'pipeline')})"

    def executions(self, pipeline: int) -> pd.DataFrame:
        """Every execution of a pipeline, that is every call of its root, slowest first."""
        if not 0 <= pipeline < len(self.pipelines):
            raise ValueError(f"pipeline {pipeline} is not a row of `pipelines`, which has {len(self.pipelines)}")
        return executions(self.calls, self.iterators, int(pipeline))

    def execution(self, pipeline: int, rank: int = 0) -> pd.DataFrame:
        """The iterators that took part in one execution of a pipeline, a consumer before what it consumes."""
        ranked = self.executions(pipeline)
        if not 0 <= rank < len(ranked):
            raise ValueError(f"rank {rank} is not one of the {len(ranked)} executions of pipeline {pipeline}")
        return execution(self.calls, self.iterators, int(ranked["root_call"].iloc[rank]))


def compute_tf_data(trace: Trace, *, grouping: Grouping | None = None) -> TfData:
    """Find the tf.data pipelines and what holds them up."""
    calls = find_calls(trace)
    if not len(calls.event):
        return TfData(
            pipelines=typed_table((), PIPELINE_TYPES),
            iterators=typed_table((), ITERATOR_TYPES),
            calls=typed_table((), CALL_TYPES),
            slowest_calls=typed_table((), SLOWEST_TYPES),
        )
    start, end = trace.start_ps[calls.event], trace.ends(calls.event)
    waits = find_waits(start, end, calls.parent, calls.is_root, calls.is_extra_link)
    usage = find_usage(trace, calls, waits, merge_iterators(trace, calls, grouping or group_events(trace)))
    iterators = iterator_table(trace, usage)
    return TfData(
        pipelines=pipeline_table(usage, iterators),
        iterators=iterators,
        calls=pd.DataFrame(
            {
                "pipeline": usage.pipeline,
                "iterator": usage.node,
                "event": usage.calls.event,
                "start_ps": usage.start_ps,
                "duration_ps": usage.duration_ps,
                "self_ps": usage.waits.self_ps,
                "is_blocking": usage.waits.is_blocking,
                "root_call": usage.waits.root_call,
                "wait_ps": usage.waits.wait_ps,
                "is_startup": usage.is_startup,
            }
        ),
        slowest_calls=slowest_calls(trace, usage),
    )


def work_by_op(iterators: pd.DataFrame, work_ms: Float64, total_ms: Mapping[str, float]) -> dict[str, float]:
    """The work of each iterator as that of the op of its name; of several names each has a part as large as its total time."""
    found: dict[str, float] = defaultdict(float)
    for names, work in zip(iterators["event_names"], work_ms.tolist(), strict=True):  # one turn per iterator
        ops = parse_op_names(names).name
        whole = sum(total_ms.get(op, 0.0) for op in ops)
        for op in ops:
            found[op] += work * (total_ms.get(op, 0.0) / whole if whole else 1 / len(ops))
    return found


def with_work(ops: pd.DataFrame, iterators: pd.DataFrame) -> pd.DataFrame:
    """The table of input ops with `work_time_ms` and `waiting_time_ms`; of what is no iterator all self time is work."""
    total_ms = ops["total_time_ms"].to_numpy(np.float64)
    found = work_by_op(
        iterators, iterators["self_time_ms"].to_numpy(np.float64), dict(zip(ops["op"], total_ms, strict=True))
    )
    work_ms = ops["op"].map(found).to_numpy(np.float64)
    is_iterator = ~np.isnan(work_ms)
    return ops.assign(
        work_time_ms=np.where(is_iterator, work_ms, ops["self_time_ms"]),
        waiting_time_ms=np.where(is_iterator, np.maximum(total_ms - work_ms, 0.0), 0.0),
    )


def work_within(data: TfData, counts: Bool) -> Float64:
    """What each iterator worked in the calls that count, in ms."""
    calls = data.calls[counts]
    own = sum_by(calls["iterator"].to_numpy(np.int64), calls["self_ps"].to_numpy(np.int64), len(data.iterators))
    return own / PS_PER_MS


@dataclass(frozen=True, eq=False, repr=False)
class ReducedTfData(Pipelines):
    """The pipelines of all hosts of a reduced profile, without their calls: asking for one raises which host to open."""

    place: tuple[tuple[str, int], ...] = ()
    """For each pipeline its host, and its row there."""

    def executions(self, pipeline: int) -> pd.DataFrame:
        """Say which host to open."""
        raise self._missing(pipeline, "executions({0})")

    def execution(self, pipeline: int, rank: int = 0) -> pd.DataFrame:
        """Say which host to open; raises as `executions` does."""
        raise self._missing(pipeline, f"execution({{0}}, {rank})")

    def _missing(self, pipeline: int, call: str) -> Exception:
        if not 0 <= pipeline < len(self.pipelines):
            return ValueError(f"pipeline {pipeline} is not a row of `pipelines`, which has {len(self.pipelines)}")
        host, row = self.place[pipeline]
        return no_events("single calls of tf.data", host, f".input_pipeline.{call.format(row)}")


def _most_used(tf_data: TfData) -> pd.DataFrame:
    time = -tf_data.pipelines["total_time_ms"].to_numpy()
    return tf_data.pipelines.iloc[np.sort(np.argsort(time, kind="stable")[: MOST.pipelines])]


def _iterators_of(tf_data: TfData) -> pd.DataFrame:
    """Their iterators; numbers of rows are of those that travel, but for `id`."""
    pipelines = _most_used(tf_data)["id"]
    own = tf_data.iterators[tf_data.iterators["pipeline"].isin(pipelines)]
    return own.assign(
        parent_id=pd.Index(own["id"]).get_indexer(own["parent_id"]),
        pipeline=pd.Index(pipelines).get_indexer(own["pipeline"]),
    )


def _bottlenecks_here(pipelines: pd.DataFrame, iterators: pd.DataFrame) -> pd.DataFrame:
    return pipelines.assign(bottleneck=pd.Index(iterators["id"]).get_indexer(pipelines["bottleneck"]))


def merge_tf_data(hosts: Sequence[str], every: Mapping[str, pd.DataFrame]) -> ReducedTfData:
    """Number the pipelines of all hosts in order of their first call, and their iterators with them; `every` is a `Stack`."""
    pipelines, iterators, slowest = (every[name] for name in ("pipelines", "iterators", "slowest_calls"))
    if pipelines.empty:
        return ReducedTfData(
            pipelines=typed_table((), PIPELINE_TYPES),
            iterators=typed_table((), ITERATOR_TYPES),
            slowest_calls=typed_table((), SLOWEST_TYPES),
        )
    start = np.full(len(pipelines), np.inf)
    roots = iterators[iterators["parent_id"] < 0]
    np.minimum.at(start, roots["pipeline"], roots["start_ms"])
    order = np.lexsort((start, pipelines["n_calls"].to_numpy() == 0))
    pipeline = np.argsort(order)[iterators["pipeline"]]
    by_pipeline = np.argsort(pipeline, kind="stable")
    row = np.append(np.argsort(by_pipeline), -1)
    merged = pipelines.assign(
        bottleneck=row[pipelines["bottleneck"]],
        host=[hosts[i] for i in pipelines[OWNER]],
        own_name=pipelines["name"],
        own_id=pipelines["id"],
    )
    merged = _renamed(merged.iloc[order].reset_index(drop=True))
    iterators = iterators.assign(parent_id=row[iterators["parent_id"]], pipeline=pipeline).iloc[by_pipeline]
    return ReducedTfData(
        pipelines=merged[list(PIPELINE_TYPES)],
        iterators=iterators.assign(id=np.arange(len(iterators)))[list(ITERATOR_TYPES)].reset_index(drop=True),
        slowest_calls=_slowest(slowest.assign(host=[hosts[i] for i in slowest[OWNER]]), merged),
        place=tuple(zip(merged["host"].tolist(), merged["own_id"].tolist(), strict=True)),
    )


def _renamed(pipelines: pd.DataFrame) -> pd.DataFrame:
    """The same under the names `Host:k` and `Device:k` that they have among all."""
    is_device = pipelines["is_device"].to_numpy(np.bool_)
    number = np.where(is_device, np.cumsum(is_device), np.cumsum(~is_device)) - 1
    kinds = ["Device" if device else "Host" for device in is_device.tolist()]
    names = [f"{kind}:{k}" for kind, k in zip(kinds, number.tolist(), strict=True)]
    summaries = [
        f"{name}{text.removeprefix(own)}" if text.startswith(f"{own}: ") else text
        for name, own, text in zip(names, pipelines["own_name"], pipelines["summary"], strict=True)
    ]
    return pipelines.assign(id=np.arange(len(pipelines)), name=names, summary=summaries)


def _slowest(rows: pd.DataFrame, merged: pd.DataFrame) -> pd.DataFrame:
    """The slowest calls of the pipelines that are here, the slowest first; of equals that of the first pipeline."""
    here = merged[[OWNER, "own_name", "name"]].assign(at=merged.index)
    rows = rows.merge(here, left_on=[OWNER, "pipeline"], right_on=[OWNER, "own_name"])
    rows = rows.assign(pipeline=rows["name"], rank=-rows["max_latency_us"]).sort_values(["rank", "at"], kind="stable")
    return rows[list(SLOWEST_TYPES)].reset_index(drop=True)
