"""What was kept of each host -> the overview of all.

merge_overview(results) -> Overview
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Float64, Int64, Trace
from ..base.matching import sum_by
from ..hosts.environment import Environment, compute_environment
from ..overview.idle import idle_of
from ..overview.overview import Overview, OverviewParts, overview_of
from ..overview.top_ops import op_time_of, top_of
from .columns import PackedFrame, stacked
from .host_summary import HostSummary
from .merged_ops import MergedOps
from .merged_steps import MergedSteps
from .op_summary import OTHERS

if TYPE_CHECKING:
    from ..advice.advice import Advice
    from .cluster_results import ClusterResults


def merge_overview(results: ClusterResults, *, advice: Callable[[], Sequence[Advice]] = tuple) -> Overview:
    """Sum all hosts up, as `compute_overview` does of one trace of all of them."""
    ops, averaged = results.merged_ops, results.is_averaged
    own, count = _within(averaged, results.merged_steps, ops)
    eager = op_time_of(ops.shares, own)
    parts = OverviewParts(
        op_time=op_time_of(ops.shares, ops.shares.spread(ops.sums.self_ps)),
        idle=idle_of([one.idle for one in results.summaries]),
        top_ops=_named(top_of(ops.shares, own, count, int(averaged.sum()))),
        eager={"host": eager.host_eager_ratio, "device": eager.device_eager_ratio},
    )
    return overview_of(results, parts, advice=advice)


def merge_environment(trace: Trace, noted: Mapping[str, str], summaries: Sequence[HostSummary]) -> Environment:
    """Where all hosts were recorded: the planes of `trace` are those of all of them."""
    return replace(
        compute_environment(trace, noted),
        n_events=sum(one.n_events for one in summaries),
        n_threads=sum(one.n_threads for one in summaries),
        n_active_devices=sum(one.n_active_devices for one in summaries),
    )


def _named(top: pd.DataFrame) -> pd.DataFrame:
    """Without the time of ops that did not travel, which is no op."""
    return top[top["type"] != OTHERS].reset_index(drop=True)


def _within(averaged: Bool, merged: MergedSteps, ops: MergedOps) -> tuple[Int64 | Float64, Int64]:
    """Own time and executions of each framework op within the averaged steps; over the whole capture where there are none."""
    n_units = len(ops.sums.count)
    counted = np.full(int(merged.kind_offsets[-1]), not averaged.any())
    counted[merged.kind[averaged]] = True
    rows = np.flatnonzero(counted[ops.kind])
    own = sum_by(ops.kind_unit[rows], ops.kind_self_ps[rows], n_units)
    count = sum_by(ops.kind_unit[rows], ops.kind_count[rows], n_units)
    return ops.shares.spread(own), ops.shares.largest(count)


def merge_tf_functions(frames: Sequence[PackedFrame]) -> pd.DataFrame:
    """Calls of functions of all hosts, those of one name added up."""
    frame = stacked(frames)
    sums = {name: "sum" for name in frame.columns if name.endswith(("_calls", "_time_ms"))}
    found = frame.groupby("function", sort=True, as_index=False).agg(
        {"compiler": _compiler, "tracing_count": "max", **sums}
    )
    found["expensive_ratio"] = found["expensive_time_ms"] / found["self_time_ms"].where(found["self_time_ms"] > 0, 1)
    found = found[list(frame.columns)].astype(frame.dtypes.to_dict())
    return found.sort_values("expensive_time_ms", ascending=False, kind="stable").reset_index(drop=True)


def _compiler(kinds: pd.Series[str]) -> str:
    found = {kind for kind in kinds.tolist() if kind}
    return "mixed" if len(found) > 1 else "".join(found)
