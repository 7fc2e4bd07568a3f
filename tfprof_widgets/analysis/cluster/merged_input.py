"""tf.data pipelines of each host -> what travels of them, and the pipelines of all.

summarize_input(trace, tf_data) -> InputSummary
merge_tf_data(hosts, summaries, shift_ps) -> ReducedTfData
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.trace import Int64, Trace
from ..base.table_types import typed_table
from ..base.units import PS_PER_MS
from ..input.input_ops import enqueue_times
from ..input.iterator_table import ITERATOR_TYPES
from ..input.pipeline_table import PIPELINE_TYPES, SLOWEST_TYPES
from ..input.tf_data import Pipelines, TfData
from .columns import PackedFrame, owners, stacked
from .memory_summary import no_events

MAX_PIPELINES = 50
"""Of one host; of more, those that took most time travel."""


@dataclass(frozen=True, eq=False, repr=False)
class InputSummary:
    """What tf.data did on one host; times after the host's own origin."""

    n_all: int
    pipelines: PackedFrame
    """As in `TfData`; at most `MAX_PIPELINES`."""
    iterators: PackedFrame
    """Their iterators; the ids are those of `TfData`."""
    slowest_calls: PackedFrame
    enqueue_ps: tuple[int, int]
    """See `enqueue_times`."""


@dataclass(frozen=True, eq=False, repr=False)
class ReducedTfData(Pipelines):
    """The pipelines of all hosts of a reduced profile, without their calls: asking for one raises which host to open."""

    place: tuple[tuple[str, int], ...] = ()
    """For each pipeline its host, and its row there."""

    def executions(self, pipeline: int) -> pd.DataFrame:
        """Raise ValueError where there is no such pipeline, else TfProfError."""
        raise self._missing(pipeline, "executions({0})")

    def execution(self, pipeline: int, rank: int = 0) -> pd.DataFrame:
        """Raise the same."""
        raise self._missing(pipeline, f"execution({{0}}, {rank})")

    def _missing(self, pipeline: int, call: str) -> Exception:
        if not 0 <= pipeline < len(self.pipelines):
            return ValueError(f"pipeline {pipeline} is not a row of `pipelines`, which has {len(self.pipelines)}")
        host, row = self.place[pipeline]
        return no_events("single calls of tf.data", host, f".input_pipeline.{call.format(row)}")


def summarize_input(trace: Trace, tf_data: TfData) -> InputSummary:
    """Keep the tables, without the calls."""
    pipelines = tf_data.pipelines
    if len(pipelines) > MAX_PIPELINES:
        time = -pipelines["total_time_ms"].to_numpy()
        pipelines = pipelines.iloc[np.sort(np.argsort(time, kind="stable")[:MAX_PIPELINES])]
    iterators = tf_data.iterators[tf_data.iterators["pipeline"].isin(pipelines["id"])]
    return InputSummary(
        n_all=len(tf_data.pipelines),
        pipelines=PackedFrame.of(pipelines),
        iterators=PackedFrame.of(iterators),
        slowest_calls=PackedFrame.of(tf_data.slowest_calls),
        enqueue_ps=enqueue_times(trace),
    )


def merge_tf_data(hosts: Sequence[str], summaries: Sequence[InputSummary], shift_ps: Sequence[int]) -> ReducedTfData:
    """Number the pipelines of all hosts in order of their first call, and their iterators with them."""
    pipelines, iterators = (stacked([getattr(one, name) for one in summaries]) for name in ("pipelines", "iterators"))
    if pipelines.empty:
        return ReducedTfData(
            pipelines=typed_table((), PIPELINE_TYPES),
            iterators=typed_table((), ITERATOR_TYPES),
            slowest_calls=typed_table((), SLOWEST_TYPES),
        )
    host, owner = owners([one.pipelines for one in summaries]), owners([one.iterators for one in summaries])
    iterators["start_ms"] += np.array(shift_ps, np.int64)[owner] / PS_PER_MS
    of_iterator = _found(host, pipelines["id"], owner, iterators["pipeline"])
    order = _order(pipelines, iterators, of_iterator)
    place = np.append(np.argsort(order), -1)
    by_pipeline = np.argsort(place[of_iterator], kind="stable")
    row = np.append(np.argsort(by_pipeline), -1)
    parent = _found(owner, iterators["id"], owner, iterators["parent_id"])
    bottleneck = _found(owner, iterators["id"], host, pipelines["bottleneck"])
    merged = pipelines.assign(
        bottleneck=row[bottleneck],
        host=[hosts[i] for i in host.tolist()],
        own_name=pipelines["name"],
        own_id=pipelines["id"],
    )
    merged = _renamed(merged.iloc[order].reset_index(drop=True))
    return ReducedTfData(
        pipelines=merged[list(PIPELINE_TYPES)],
        iterators=iterators.assign(parent_id=row[parent], pipeline=place[of_iterator])
        .iloc[by_pipeline]
        .reset_index(drop=True)
        .assign(id=np.arange(len(iterators))),
        slowest_calls=_slowest(hosts, summaries, merged),
        place=tuple(zip(merged["host"].tolist(), merged["own_id"].tolist(), strict=True)),
    )


def _found(owner: Int64, ids: pd.Series[int], wanted_owner: Int64, wanted: pd.Series[int]) -> Int64:
    """Where ids of some hosts are among those of all; -1 for -1."""
    width = max(int(ids.max()), int(wanted.max()), 0) + 2
    keys, asked = owner * width + ids.to_numpy(np.int64), wanted_owner * width + wanted.to_numpy(np.int64)
    order = np.argsort(keys, kind="stable")
    at = np.minimum(np.searchsorted(keys[order], asked), len(keys) - 1)
    found: Int64 = np.where((keys[order][at] == asked) & (wanted.to_numpy() >= 0), order[at], -1)
    return found


def _order(pipelines: pd.DataFrame, iterators: pd.DataFrame, of_iterator: Int64) -> Int64:
    """Pipelines by their first call, those without a call of their outermost iterator last."""
    start = np.full(len(pipelines), np.inf)
    roots = np.flatnonzero(iterators["parent_id"].to_numpy() < 0)
    np.minimum.at(start, of_iterator[roots], iterators["start_ms"].to_numpy()[roots])
    return np.lexsort((start, pipelines["n_calls"].to_numpy() == 0))


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


def _slowest(hosts: Sequence[str], summaries: Sequence[InputSummary], merged: pd.DataFrame) -> pd.DataFrame:
    rows = stacked([one.slowest_calls for one in summaries])
    host = [hosts[i] for i in owners([one.slowest_calls for one in summaries]).tolist()]
    place = {key: i for i, key in enumerate(zip(merged["host"], merged["own_name"], strict=True))}
    at = np.array([place.get(key, -1) for key in zip(host, rows["pipeline"], strict=True)], np.int64)
    rows["host"] = pd.Series(host, dtype=rows["host"].dtype)
    kept = np.flatnonzero(at >= 0)
    kept = kept[np.lexsort((at[kept], -rows["max_latency_us"].to_numpy()[kept]))]
    rows = rows.iloc[kept].reset_index(drop=True)
    rows["pipeline"] = merged["name"].to_numpy()[at[kept]]
    return rows
