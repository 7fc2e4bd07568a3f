"""What is told once of each layer, scope, kernel, op, pipeline and advice -> lists of the meta object (`data/meta.ts`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...analysis.advice.advice import Advice
from ...analysis.base.user_files import UserFiles
from ...analysis.layers.layers import Layers
from ...analysis.layers.scopes import Scopes
from ...analysis.ops.kernel_details import is_eligible_type
from ...analysis.ops.kernels import Kernels, KernelTable, beside_products
from ...analysis.ops.op_families import FAMILIES, families, op_families
from ...analysis.results import AnyResults
from ...trace.trace import Int64
from .op_tables import hlo_unit_families
from .plain import plain, records

_MOST_OPS = 100
"""Of one advice that are selected: more than these nobody tells apart."""
_LAYER = ["layer", "class_name", "kind", "allocated_bytes", "peak_bytes", "step_bytes"]
_OF_A_RANGE = ["rank", "occurrences", "total_time_us", "avg_time_us", "min_time_us", "max_time_us"]
"""What of a kernel the browser adds up itself, from `kernel_runs`."""
_HLO_OP = ["module", "category", "name", "expression", "op_name", "op_type", "device"]
_HLO_WORK = ["flops", "bytes_accessed", "source"]
_PIPELINE_LEFT_OUT = ["fill_time_ms", "steady_latency_us", "bottleneck_name", "bottleneck_time_ms"]
_NODE_LEFT_OUT = ["start_ms", "is_bottleneck", "n_iterators", "fill_time_ms", "parallelism", "is_autotuned"]
"""Columns of the tables that no view reads."""


def advice_list(advice: Sequence[Advice]) -> list[dict[str, Any]]:
    """One object an advice, those that win most first: what a card says, and what it selects in the other views."""
    return [
        {
            "rule": one.rule,
            "severity": one.severity,
            "headline": one.headline,
            "title": one.title,
            "evidence": [[name, plain(value)] for name, value in one.evidence.items()],
            "fix": {"words": one.fix.words, "code": one.fix.code},
            "gain_ratio": one.gain_ratio,
            "share_of": one.share_of,
            "op_names": list(one.selection.op_names[:_MOST_OPS]),
            "time_range_ns": [int(t) for t in one.selection.time_range_ns],
            "step": -1 if one.selection.step is None else int(one.selection.step),
            "view": one.selection.view,
            "host": one.selection.host,
        }
        for one in advice
    ]


def layer_list(layers: Layers, variables: pd.DataFrame, rows: slice) -> list[dict[str, Any]]:
    """One object per layer, and per loss, optimizer, input and whatever else ops belong to; bytes or null.

    `allocating` are the names of ops that allocated for it; `n_params` is how many numbers the layer's own variables hold, as
    `count_params()` of a layer without others in it; null where no variable is known of it.
    """
    n_params = variables.groupby("layer")["n_params"].sum().to_dict()
    entries = layers.entries[_LAYER].iloc[rows]
    names: dict[int, list[str]] = defaultdict(list)
    for name, row in layers.allocating.items():
        names[row].append(name)
    return [
        {**entry, "n_params": n_params.get(entry["layer"]), "allocating": names.get(row, [])}
        for row, entry in zip(range(len(layers.entries))[rows], records(entries), strict=True)
    ]


def scope_list(scopes: Scopes, rows: slice) -> list[dict[str, Any]]:
    """One `{name, parent}` per scope: the last part of its path, and the row of the scope around it or -1."""
    return records(scopes.entries[["name", "parent"]].iloc[rows])


def kernel_list(kernels: KernelTable, rows: slice) -> list[dict[str, Any]]:
    """One object per kernel: what it is and how it was launched; `family` colours it.

    `could_use_tensor_core` says whether Tensor Cores could serve its op, by name or by type, and serve no other kernel of it.
    Where no execution is known, as in a reduced profile, it has the totals of the whole capture as well.
    """
    left_out = _OF_A_RANGE if isinstance(kernels, Kernels) and len(kernels.run_event) else ["rank", "avg_time_us"]
    frame = kernels.frame.drop(columns=left_out).iloc[rows]
    is_beside = beside_products(kernels.frame)[rows]
    # What a kernel is there for is what its op does, whatever the kernel is called.
    types = frame["op_type"].tolist()
    of_op = op_families(frame["op_name"].tolist(), types).astype(np.int64)
    family = np.where(of_op == FAMILIES.index("runtime"), _families(frame["name"].tolist()), of_op)
    is_eligible = frame["tensor_core_eligible"].to_numpy(np.bool_) | np.array([*map(is_eligible_type, types)], np.bool_)
    return records(frame.assign(family=family, could_use_tensor_core=is_eligible & ~is_beside))


def _families(names: list[str]) -> Int64:
    """The slice family of each name, worked out once for a distinct one."""
    distinct = [*dict.fromkeys(names)]
    family = dict(zip(distinct, families(distinct).tolist(), strict=True))
    return np.fromiter(map(family.__getitem__, names), np.int64, len(names))


def hlo_list(results: AnyResults, user_files: UserFiles, rows: slice) -> list[dict[str, Any]]:
    """One object per HLO op of a program: what it is, what one execution computes and moves, whose line it is, its colour."""
    frame, unit_row = results.hlo_ops.frame.iloc[rows], results.hlo_ops.unit_row
    # An id is 64 bits, more than a number of JavaScript holds.
    ids = [str(value) for value in frame["program_id"].tolist()]
    units = np.flatnonzero(unit_row >= 0)
    family = hlo_unit_families(results, units[np.argsort(unit_row[units])][rows]).astype(np.int64)
    is_users = [user_files.has(source.rpartition(":")[0]) for source in frame["source"]]
    return records(frame[[*_HLO_OP, *_HLO_WORK]].assign(program_id=ids, family=family, is_users=is_users))


def pipeline_list(results: AnyResults) -> list[dict[str, Any]]:
    """The input pipelines with their iterators, each node with the place of its consumer among them."""
    pipelines, iterators = results.input_pipeline.pipelines, results.input_pipeline.iterators
    nodes_of: dict[int, list[dict[str, Any]]] = {pipeline: [] for pipeline in pipelines["id"].tolist()}
    place: dict[int, int] = {}
    for node in records(iterators.drop(columns=_NODE_LEFT_OUT)):  # a consumer comes before what it consumes
        siblings = nodes_of[node["pipeline"]]
        place[node["id"]] = len(siblings)
        node["parent"] = place.get(node.pop("parent_id"), -1)
        siblings.append(node)
    return [
        {**pipeline, "bottleneck": place.get(pipeline["bottleneck"]), "nodes": nodes_of[pipeline["id"]]}
        for pipeline in records(pipelines.drop(columns=_PIPELINE_LEFT_OUT))
    ]
