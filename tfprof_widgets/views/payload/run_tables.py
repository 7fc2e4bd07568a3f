"""What happened in steps, on hosts, in pipelines, on GPUs and in memory -> tables of a pack, any rows of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...analysis.base.hosts import hosts_of
from ...analysis.base.matching import unique_codes
from ...analysis.base.units import PS_PER_MS
from ...analysis.hosts.workers import Workers
from ...analysis.ops.copies import copy_rows
from ...analysis.ops.kernels import Kernels
from ...analysis.results import AnyResults, Results
from ...analysis.steps.categories import STEP_CATEGORIES
from ...trace.dtypes import dtype_name
from ...trace.trace import Int64, Trace
from .names import Names
from .wire import Rows, Table, columns_of

_CATEGORIES_MS = " ".join(f"{category}_ms" for category in STEP_CATEGORIES)


def host_rows(trace: Trace) -> dict[str, int]:
    """The place of each host among the `hosts` of the meta object."""
    return {host: row for row, host in enumerate(hosts_of(trace))}


def step_table(results: AnyResults, rows: Rows) -> Table:
    """One row per step; its categories in ms; its host as the meta object counts them."""
    frame = results.steps.frame
    hosts = host_rows(results.trace)
    return Table(
        {
            **columns_of(frame, rows, f8="start_ps duration_ps", u1="is_complete", i4="session"),
            **columns_of(results.overview, rows, u1="is_averaged"),
            **columns_of(frame, rows, f8=_CATEGORIES_MS),
            "source": (frame["source"].to_numpy()[rows] == "inferred", "u1"),
            "host": (np.array([hosts.get(host, -1) for host in frame["host"].to_numpy()[rows]], np.int64), "i4"),
        }
    )


def piece_table(results: AnyResults, rows: Rows) -> Table:
    """What each step was made of, in time order."""
    pieces = results.steps.pieces
    category = pieces["category"].cat.codes.to_numpy()[rows]
    return Table({**columns_of(pieces, rows, i4="step", f8="start_ps duration_ps"), "category": (category, "u1")})


def worker_step_table(workers: Workers, rows: Rows) -> Table:
    """One row per aligned step and host, by step: `host` in `worker_hosts`, `step` of the aligned, `row` in the steps table."""
    place = {host: i for i, host in enumerate(workers.hosts)}
    host = np.array([place[host] for host in workers.frame["host"].iloc[rows]], np.int64)
    others = columns_of(workers.frame, rows, i4="step row:own_step", f8=f"step_time_ms {_CATEGORIES_MS}")
    return Table({"host": (host, "i4"), **others})


def iterator_call_table(results: Results, rows: Rows) -> Table:
    """Every call of every tf.data iterator; `node` counts within the pipeline, as in the meta object.

    `root` is the row of the root call that it was made for (-1 where none was captured), of which it `is_blocking` when
    that one waited for it, for `wait_ps` of its own work; `is_startup` calls belong to the first execution of an epoch.
    """
    calls, iterators = results.tf_data.calls, results.input_pipeline.iterators
    pipeline = iterators["pipeline"].to_numpy(np.int64)
    order = np.argsort(pipeline, kind="stable")
    node = np.empty(len(order), np.int64)
    node[order] = np.arange(len(order)) - np.searchsorted(pipeline[order], pipeline[order])
    return Table(
        {
            **columns_of(calls, rows, i4="pipeline root:root_call", f8="start_ps duration_ps self_ps wait_ps"),
            **columns_of(calls, rows, u1="is_blocking is_startup"),
            "node": (node[calls["iterator"].to_numpy(np.int64)[rows]], "i4"),
        }
    )


def kernel_run_table(trace: Trace, kernels: Kernels, rows: Rows) -> Table:
    """Every execution of every kernel, so that the browser can add up any time range; of several hosts on which one."""
    events = kernels.run_event[rows]
    times = columns_of(trace, events, f8="start_ps duration_ps")
    return Table({**columns_of(kernels, rows, i4="kernel:run_kernel"), **times, **_host_column(trace, events)})


def copy_run_table(results: Results, rows: Rows) -> Table:
    """Every copy between host and devices; `copy` is the row of the list `copies`, `is_steady` those of averaged steps.

    `exposed_ps` is the part of its time in which no kernel ran on its device; one that `is_back` ends a round trip.
    """
    trace, runs = results.trace, results.copy_runs.iloc[rows]
    events = runs["event"].to_numpy(np.int64)
    columns = {
        "copy": (copy_rows(results.copies, runs), "i4"),
        **columns_of(trace, events, f8="start_ps duration_ps"),
        "exposed_ps": (runs["exposed_time_ms"].to_numpy(np.float64) * PS_PER_MS, "f8"),
        "bytes": (runs["bytes"].to_numpy(np.int64), "f8"),
        "is_back": (runs["round_trips"].to_numpy(np.int64), "u1"),
        "is_steady": (np.append(results.is_averaged, False)[results.steps.event_step[events]], "u1"),
    }
    return Table({**columns, **_host_column(trace, events)})


def _host_column(trace: Trace, events: Int64) -> dict[str, tuple[npt.NDArray[Any], str]]:
    """Of several hosts the one of each event; nothing of a single one."""
    hosts = host_rows(trace)
    if len(hosts) < 2:
        return {}
    of_line = np.array([hosts[trace.planes[line.plane].host] for line in trace.lines], np.int64)
    return {"host": (of_line[trace.line_id[events]], "i4")}


def memory_table(results: Results, names: Names, rows: Rows) -> Table:
    """Every allocation and deallocation, with the state of its allocator after it."""
    snapshots = results.memory.snapshots
    dtypes, place = unique_codes(snapshots.dtype[rows])
    dtype_names = names.numbers(names.ids(dtype_name(code) for code in dtypes.tolist()))
    texts: dict[str, npt.NDArray[np.integer]] = {
        key: names.numbers(getattr(snapshots, key)[rows]) for key in ("op", "region", "shape")
    }
    sizes = columns_of(
        snapshots, rows, f8="requested_bytes allocation_bytes stack_bytes heap_bytes free_bytes fragmentation_ratio"
    )
    return Table(
        {
            **columns_of(snapshots, rows, i4="allocator:allocator_id session:session_id freed_at", u1="is_free"),
            **columns_of(snapshots, rows, f8="time_ps"),
            **sizes,
            "in_use_bytes": (sizes["stack_bytes"][0] + sizes["heap_bytes"][0], "f8"),
            **{key: (numbers, "i4") for key, numbers in texts.items()},
            "dtype": (dtype_names[place], "i4"),
            "step": (results.steps.event_step[snapshots.event[rows]], "i4"),
        }
    )
