"""What was kept of each host -> the overview of all.

merge_overview(results) -> Overview
merge_tf_functions(every), merge_host_facts(every)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

import pandas as pd

from ...trace.trace import Bool, Float64, Int64
from ..base.matching import sum_by
from ..hosts.roles import HostFacts
from ..overview.idle import idle_of
from ..overview.op_time import op_time_of
from ..overview.overview import Overview, OverviewParts, overview_of
from .columns import OWNER, united
from .merged_ops import MergedOps
from .merged_steps import MergedSteps

if TYPE_CHECKING:
    from ..advice.advice import Advice
    from .cluster_results import ClusterResults


def merge_overview(results: ClusterResults, *, advice: Callable[[], Sequence[Advice]] = tuple) -> Overview:
    """Sum all hosts up, as `compute_overview` does of one trace of all of them."""
    ops = results.merged_ops
    eager = op_time_of(ops.shares, _within(results.is_averaged, results.merged_steps, ops))
    parts = OverviewParts(
        op_time=op_time_of(ops.shares, ops.shares.spread(ops.sums.self_ps)),
        idle=idle_of(results.sums),
        eager={"host": eager.host_eager_ratio, "device": eager.device_eager_ratio},
    )
    return overview_of(results, parts, advice=advice)


def _within(averaged: Bool, merged: MergedSteps, ops: MergedOps) -> Int64 | Float64:
    """Own time of each framework op within the averaged steps; over the whole capture where there are none."""
    kinds = ops.kinds[merged.of_their_kinds(averaged, ops.kinds)] if averaged.any() else ops.kinds
    return ops.shares.spread(sum_by(kinds["unit"].to_numpy(), kinds["self_ps"].to_numpy(), len(ops.sums.count)))


def merge_tf_functions(every: pd.DataFrame) -> pd.DataFrame:
    """Calls of functions of all hosts, those of one name added up."""
    frame = every.drop(columns=OWNER)
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


def merge_host_facts(every: pd.DataFrame) -> tuple[HostFacts, ...]:
    """The facts of all hosts; of a host with several files what any of them tells."""
    any_of = dict.fromkeys(("has_accelerator", "is_served"), "any")
    found, _ = united(every, ["host"], {"task": "first", **any_of, "serving_ratio": "max", "n_events": "sum"})
    return tuple(HostFacts(*row) for row in found[[one.name for one in fields(HostFacts)]].itertuples(index=False))
