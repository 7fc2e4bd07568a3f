"""Analysis results -> the meta object of a pack: names, planes, figures; `js/src/data/meta.ts` gives its types."""

from __future__ import annotations

import dataclasses
from typing import Any

import pandas as pd

from ...analysis.base.hosts import hosts_of
from ...analysis.base.op_names import parse_op_names
from ...analysis.cluster.cluster_results import ClusterResults
from ...analysis.hosts.workers import Workers
from ...analysis.layers.scopes import Scopes
from ...analysis.overview.input_words import input_words
from ...analysis.results import AnyResults
from ...analysis.steps.categories import STEP_CATEGORIES
from ...trace.trace import Plane, Trace
from .counters import counter_meta
from .memory_failure_meta import memory_failure_meta
from .plain import plain, records
from .positions import Positions

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
_MOST_STRAGGLERS = 100
"""So many are listed, the costliest first; the meta says of how many."""


def meta_of(results: AnyResults, positions: Positions, *, title: str) -> dict[str, Any]:
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
        "n_allocators": len(results.memory.allocators),
        "memory_remedy": results.memory.remedy,
        "memory_failure": memory_failure_meta(results.memory_failure),
        "device_memory": _device_memory(results),
        "input": _input(results),
        "overview": _overview(results),
        **_hosts(results),
        **worker_meta(results.workers),
        **straggler_meta(results.stragglers),
        **counter_meta(results),
    }


def _hosts(results: AnyResults) -> dict[str, Any]:
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


def _overview(results: AnyResults) -> dict[str, Any]:
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
        "batches": overview.batches,
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


def _device_memory(results: AnyResults) -> dict[str, Any] | None:
    row = results.memory.fullest_device
    return None if row is None else {name: plain(row[name]) for name in ("allocator", "peak_bytes", "capacity_bytes")}


def _input(results: AnyResults) -> dict[str, Any]:
    """The verdict on the input, and each input op with its category and what it worked: in all, and in averaged steps.

    What is no iterator works all the time, and has none of those figures.
    """
    pipeline = results.input_pipeline
    iterators = {op for names in pipeline.iterators["event_names"] for op in parse_op_names(names).name}
    in_steps = {} if isinstance(results, ClusterResults) else results.step_work_ms
    columns = (pipeline.ops[name].tolist() for name in ("op", "category", "work_time_ms"))
    ops = [
        [op, category, *((work, in_steps.get(op)) if op in iterators else ())]
        for op, category, work in zip(*columns, strict=True)
    ]
    return {"verdict": input_words(results.overview, pipeline.verdict), "ops": ops}


def scope_note(scopes: Scopes) -> str:
    """Which ops are charged to a scope around their own; "" where none are."""
    if not scopes.n_folded_ops:
        return ""
    n, m = scopes.n_folded_ops, len(scopes.op_entry)
    return f"{n:,} of {m:,} ops lie too deep and are shown in a scope around their own"


def worker_meta(workers: Workers) -> dict[str, Any]:
    """`worker_hosts`; in `worker_note` what was left out and why; in `workers_wait` whether they wait for each other."""
    return {
        "worker_hosts": list(workers.hosts),
        "worker_note": workers.note,
        "workers_wait": workers.wait_for_each_other,
    }


def straggler_meta(stragglers: pd.DataFrame) -> dict[str, Any]:
    """`stragglers`, as rows of `compute_stragglers`, and `n_stragglers`, of how many."""
    return {"stragglers": records(stragglers.iloc[:_MOST_STRAGGLERS]), "n_stragglers": len(stragglers)}
