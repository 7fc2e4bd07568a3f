"""Pipelines of one host -> those that travel; those of all hosts -> the pipelines of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..common import typed_table
from ..summaries import MOST, OWNER, PackedFrame, no_events
from .tf_data import PIPELINE_TYPES, SLOWEST_TYPES, Pipelines, TfData
from .usage import ITERATOR_TYPES


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


def summarize_input(tf_data: TfData) -> dict[str, PackedFrame]:
    """The tables of `TfData` without the calls; numbers of rows are of those that stay."""
    pipelines, iterators = tf_data.pipelines, tf_data.iterators
    if len(pipelines) > MOST.pipelines:
        time = -pipelines["total_time_ms"].to_numpy()
        pipelines = pipelines.iloc[np.sort(np.argsort(time, kind="stable")[: MOST.pipelines])]
    iterators = iterators[iterators["pipeline"].isin(pipelines["id"])]
    row = pd.Index(iterators["id"])
    tables = {
        "pipelines": pipelines.assign(bottleneck=row.get_indexer(pipelines["bottleneck"])),
        "iterators": iterators.assign(
            parent_id=row.get_indexer(iterators["parent_id"]),
            pipeline=pd.Index(pipelines["id"]).get_indexer(iterators["pipeline"]),
        ),
        "slowest_calls": tf_data.slowest_calls,
    }
    return {name: PackedFrame.of(frame) for name, frame in tables.items()}


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
