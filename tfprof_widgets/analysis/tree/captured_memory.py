"""Memory events of a trace -> the table `memory` of an `OpGraph`: what each op asked for in each step.

captured_memory(facts, of_framework_op) -> columns
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...trace.trace import Int32, Int64
from ..base.event_graph import nearest_marked
from ..base.matching import dense_codes, first_of, sum_by
from ..base.op_names import parse_op_names
from ..facts.facts import Facts
from ..memory.memory_snapshots import Snapshots

_PS_PER_US = 1_000_000


def captured_memory(facts: Facts, of_framework_op: Int32) -> dict[str, Any]:
    """One row per op and step in which it allocated; empty where no memory was recorded.

    `requested_bytes` is what it asked for, of every allocator; `residual_bytes` what of it was not given back when the
    execution that asked ended (where no execution was recorded around it: not given back within the capture); `peak_bytes`
    the most that one of its executions held. `in_use_bytes` is what the allocator had in use, at most, after it got some.
    """
    table, memory = facts.memory.snapshots, facts.memory
    made = np.flatnonzero(~table.is_free)
    if not len(made):
        return {}
    run, end_ps = _around(facts, table, made)
    op = _op_of(facts, table, of_framework_op, made, run)
    known = op >= 0
    made, run, end_ps, op = made[known], run[known], end_ps[known], op[known]
    step = np.full(len(made), -1, np.int64)
    if memory.event_step is not None:
        step = memory.event_step[table.event[made]].astype(np.int64)
    freed_at = table.freed_at[made]
    freed_ps = np.where(freed_at >= 0, table.time_ps[freed_at], np.iinfo(np.int64).max)
    n_bytes = table.requested_bytes[made]
    is_kept = freed_ps > end_ps
    code, n = dense_codes(op, step)
    first = first_of(code, n)
    in_use, peak = np.zeros(n, np.int64), np.zeros(n, np.int64)
    np.maximum.at(in_use, code, table.in_use_bytes[made])
    held, of_held = _held(
        np.where(run >= 0, run, -2 - np.arange(len(run))), table.time_ps[made], freed_ps, n_bytes, is_kept
    )
    np.maximum.at(peak, code[of_held], held)
    return {
        "op": op[first],
        "step": step[first],
        "time_us": table.time_ps[made[first]] // _PS_PER_US,
        "requested_bytes": sum_by(code, n_bytes, n),
        "peak_bytes": peak,
        "residual_bytes": sum_by(code[is_kept], n_bytes[is_kept], n),
        "in_use_bytes": in_use,
    }


def _around(facts: Facts, table: Snapshots, made: Int64) -> tuple[Int64, Int64]:
    """For each allocation the event of the execution that it lies in (-1 for none), and when that ends."""
    trace = facts.trace
    is_run = np.zeros(trace.n_events, np.bool_)
    is_run[facts.occurrences.event] = True
    run = nearest_marked(trace.nesting.parent, is_run)[table.event[made]].astype(np.int64)
    end_ps = np.where(run >= 0, trace.ends(np.maximum(run, 0)), np.iinfo(np.int64).max - 1)
    return run, end_ps


def _op_of(facts: Facts, table: Snapshots, of_framework_op: Int32, made: Int64, run: Int64) -> Int32:
    """The op of each allocation: the one that it names, else the one that ran around it; -1 for none."""
    shares = facts.op_shares
    number: dict[str, int] = {}
    for name, op in zip(shares.name, of_framework_op.tolist(), strict=True):
        if op >= 0:
            number.setdefault(name, op)
    ids, code = np.unique(table.op[made], return_inverse=True)
    parsed = parse_op_names([facts.memory.strings[i] if i >= 0 else "" for i in ids.tolist()])
    named = np.array([number.get(name, -1) for name in parsed.name], np.int32)[code.reshape(-1)]
    dominant = np.append(of_framework_op, np.int32(-1))[facts.event_op[np.maximum(run, 0)]]
    found: Int32 = np.where(named >= 0, named, np.where(run >= 0, dominant, -1)).astype(np.int32)
    return found


def _held(run: Int64, time_ps: Int64, freed_ps: Int64, n_bytes: Int64, is_kept: Any) -> tuple[Int64, Int64]:
    """After each allocation what its execution holds of its own, and the row of each."""
    row = np.arange(len(run))
    given_back = np.flatnonzero(~is_kept)
    rows = np.concatenate([row, given_back])
    when = np.concatenate([time_ps, freed_ps[given_back]])
    change = np.concatenate([n_bytes, -n_bytes[given_back]])
    order = np.lexsort((when, run[rows]))
    sums = np.cumsum(change[order])
    begins = np.flatnonzero(np.diff(run[rows][order], prepend=np.iinfo(np.int64).min) != 0)
    before = np.append(0, sums)[begins]
    held = sums - np.repeat(before, np.diff(np.append(begins, len(order))))
    is_made = order < len(run)
    return held[is_made], rows[order][is_made]
