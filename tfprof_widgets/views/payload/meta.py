"""Analysis results -> the meta object of a pack: names, planes, figures; `js/src/model/wire/meta.ts` gives its types."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...analysis.ops.host_totals import hosts_of
from ...analysis.results import Results
from ...analysis.steps.steps import STEP_CATEGORIES
from ...trace.trace import Plane, Trace
from .counters import counter_meta
from .memory_failure_meta import memory_failure_meta
from .positions import Positions
from .scope_meta import scope_note
from .source_meta import source_meta
from .worker_tables import straggler_meta, worker_meta

VERSION = 2
MAX_PLANES = 4096
"""Of more only those travel of which a line does."""
_OVERVIEW_RATIOS = (
    "compute_16bit_ratio",
    "compute_32bit_ratio",
    "host_time_ratio",
    "device_time_ratio",
    "host_eager_ratio",
    "device_eager_ratio",
    "host_idle_ratio",
    "device_idle_ratio",
    "device_duty_cycle_ratio",
)
_BREAKDOWN = ["category", "ms", "ratio"]
_PIPELINE_LEFT_OUT = ["fill_time_ms", "steady_latency_us", "bottleneck_name", "bottleneck_time_ms"]
_NODE_LEFT_OUT = ["start_ms", "is_bottleneck", "n_iterators", "fill_time_ms", "parallelism", "is_autotuned"]
"""Columns of the tables that no view reads."""


def meta_of(results: Results, positions: Positions, *, title: str, notices: Sequence[str]) -> dict[str, Any]:
    """Everything but the columns, the names and the lists that grow with the program; JSON-safe."""
    trace = results.trace
    lines = positions.lines.tolist()
    planes = _planes(trace, lines)
    return {
        "version": VERSION,
        "title": title,
        "duration_ps": int(trace.end_ps.max()) if trace.n_events else 0,
        "n_events": trace.n_events,
        "n_events_sent": positions.n_events,
        "planes": [
            {"name": plane.name, "host": plane.host, "kind": _kind(plane)}
            for plane in (trace.planes[i] for i in planes)
        ],
        "n_lines": len(trace.lines),
        "lines": _lines(trace, lines, {plane: i for i, plane in enumerate(planes)}),
        "n_units": len(results.op_shares.dominant),
        "n_ops": len(results.op_shares),
        "categories": list(STEP_CATEGORIES),
        "sessions": [dataclasses.asdict(session) for session in trace.sessions],
        "n_memory": len(results.memory.snapshots.event),
        "n_allocators": len(results.memory.allocators),
        "memory_remedy": results.memory.remedy,
        "memory_failure": memory_failure_meta(results.memory_failure),
        "input": _input(results),
        "overview": _overview(results),
        "notices": list(notices),
        "source_samples": source_meta(results.source_lines)["source_samples"],
        "scope_note": scope_note(results.scopes),
        **_hosts(results),
        **worker_meta(results.workers),
        **straggler_meta(results.stragglers),
        **counter_meta(results),
    }


def _hosts(results: Results) -> dict[str, Any]:
    """All hosts, what each is for, and whether their events were read elsewhere; a column `host` counts them."""
    role_of = dict(zip(results.hosts["host"], results.hosts["role"], strict=True))
    hosts = hosts_of(results.trace)
    return {
        "hosts": list(hosts),
        "host_roles": [role_of.get(host, "") for host in hosts],
        "is_reduced": results.is_reduced,
    }


def _kind(plane: Plane) -> str:
    return "host" if plane.is_host else "device" if plane.is_device else "other"


def _planes(trace: Trace, lines: list[int]) -> list[int]:
    """All planes, or of too many those of which a line travels."""
    if len(trace.planes) <= MAX_PLANES:
        return list(range(len(trace.planes)))
    return sorted({trace.lines[i].plane for i in lines})


def _lines(trace: Trace, chosen: list[int], plane_numbers: dict[int, int]) -> list[dict[str, Any]]:
    offsets = trace.line_offsets
    found = []
    for i in chosen:
        line, rows = trace.lines[i], slice(int(offsets[i]), int(offsets[i + 1]))
        found.append(
            {
                "plane": plane_numbers[line.plane],
                "name": line.display_name or line.name or f"line {line.id}",
                "n_events": rows.stop - rows.start,
                # Self times add up to the time that the outermost events cover.
                "busy_ps": int(trace.nesting.self_ps[rows].sum()),
                "is_derived": line.is_derived,
            }
        )
    return found


def _overview(results: Results) -> dict[str, Any]:
    overview = results.overview
    return {
        "step_time": {
            "avg": overview.step_time_avg_ms,
            "std": overview.step_time_std_ms,
            "min": overview.step_time_min_ms,
            "max": overview.step_time_max_ms,
            "n": overview.n_steps,
            "n_averaged": overview.n_steps_averaged,
        },
        "verdict": overview.verdict,
        "verdict_detail": overview.verdict_detail,
        "limiter": overview.limiter,
        "breakdown": records(overview.breakdown[_BREAKDOWN]),
        "busy_ratio": overview.busy_ratio,
        "has_device": overview.environment.n_active_devices > 0,
        "environment": {key: plain(value) for key, value in dataclasses.asdict(overview.environment).items()},
        "findings": list(overview.findings),
        "left_out": overview.left_out,
        **{name: plain(getattr(overview, name)) for name in _OVERVIEW_RATIOS},
    }


def pipeline_list(results: Results) -> list[dict[str, Any]]:
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


def _input(results: Results) -> dict[str, Any]:
    """The verdict on the input, the host's time for it, and each input op with its category, most self time first."""
    pipeline = results.input_pipeline
    return {
        "verdict": pipeline.verdict,
        "categories": records(pipeline.categories),
        "ops": [list(pair) for pair in pipeline.ops[["op", "category"]].itertuples(index=False, name=None)],
    }


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a small frame as JSON-safe dicts."""
    names = [str(name) for name in frame.columns]
    columns = [[plain(value) for value in frame[name].tolist()] for name in frame.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def plain(value: Any) -> Any:
    """A value as JSON knows it; what is no number becomes null, bytes their length."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
