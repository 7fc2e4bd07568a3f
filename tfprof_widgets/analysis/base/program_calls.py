"""Calls of compiled functions in JAX and PyTorch/XLA -> the events that they led to on the threads of a CPU.

XLA runs a program on pools of threads. A pool notes where a piece of work begins and ends, as two events without duration
on its thread, and what runs between them lies beside them, not in them. JAX does not wait for a program: it queues the next
one, which the thread of the last one then begins. So a run belongs to a call by its order, and not to what began it.

Source: semantics 2.3.
"""

from __future__ import annotations

import re
from typing import Literal

import numpy as np

from ...trace.trace import Bool, Int64, Trace
from .event_names import by_ends, once

_BEGIN, _END = "ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion"
_JIT = "PjitFunction("
_SYNC = "SyncTensorsGraph"
_JAX_VERSION = "jax_version"
_NO_RUN = -1
"""The number of a run that has none, as TensorFlow writes it."""

Framework = Literal["TensorFlow", "JAX", "PyTorch/XLA"]

Links = tuple[Int64, Int64]
"""Which event leads to which."""


@once
def program_calls(trace: Trace) -> Int64:
    """The outermost calls of functions that JAX compiled, and the points where PyTorch/XLA runs what it has gathered."""
    named = by_ends(trace, lambda names, _: [one.startswith(_JIT) or one == _SYNC for one in names], np.bool_)
    is_call = named[trace.name_id]
    rows = np.flatnonzero(is_call)
    parent = trace.nesting.parent[rows].astype(np.int64)
    while (inner := parent >= 0).any() and not is_call[parent[inner]].all():  # bounded by the depth of nesting
        open_ = inner & ~is_call[parent]
        parent[open_] = trace.nesting.parent[parent[open_]]
    return rows[parent < 0]


def framework_of(trace: Trace) -> Framework:
    """Which framework's profiler recorded a trace; TensorFlow's where nothing tells of another."""
    if is_of_jax(trace):
        return "JAX"
    names = {trace.strings[i] for i in np.unique(trace.name_id[program_calls(trace)]).tolist()}
    if not names:
        return "TensorFlow"
    return "PyTorch/XLA" if names == {_SYNC} else "JAX"


def pool_links(trace: Trace) -> Links:
    """What leads to work on pools of threads: of runs of JAX the call, else the begin of the piece of work.

    None in a trace of TensorFlow, which links its threads by other means.
    """
    none = np.empty(0, np.int64)
    if _BEGIN not in trace.string_ids or not (is_of_jax(trace) or len(program_calls(trace))):
        return none, none
    rows = np.flatnonzero(_on_pools(trace))
    begins = (trace.name_id == trace.string_ids[_BEGIN])[rows]
    breaks = begins | (trace.name_id == trace.string_ids.get(_END, -1))[rows]
    breaks |= np.diff(trace.line_id[rows], prepend=-1) != 0
    # The last break before each event, if that is the begin of a piece of work.
    last = np.maximum.accumulate(np.where(breaks, np.arange(len(rows)), -1))
    begin = np.where(begins[last], rows[last], -1) if len(rows) else none
    parent = trace.nesting.parent[rows].astype(np.int64)
    call, event = _run_links(trace)
    is_outermost = (begin >= 0) & (rows != begin) & (parent < begin) & ~np.isin(rows, event)
    return np.concatenate([call, begin[is_outermost]]), np.concatenate([event, rows[is_outermost]])


def is_of_jax(trace: Trace) -> bool:
    """Whether JAX recorded the trace, which says so from version 0.5 on."""
    return any(_JAX_VERSION in plane.stats for plane in trace.planes)


def _on_pools(trace: Trace) -> Bool:
    """For each event whether it lies on a thread that notes pieces of work."""
    noted = set(np.unique(trace.line_id[trace.name_id == trace.string_ids[_BEGIN]]).tolist())
    return trace.on_lines([i in noted for i in range(len(trace.lines))])


def _run_links(trace: Trace) -> Links:
    """The n-th call of a function leads to the n-th run of its program, as the outermost events of that on each thread.

    Runs that began before the first call were called before the capture. Where a run would have begun before its call the
    order tells nothing, and nothing is linked.
    """
    numbered = np.unique(trace.keyed_stats("run_id").event)
    numbered = numbered[(trace.int_stat("run_id")[numbered] != _NO_RUN) & _on_pools(trace)[numbered]]
    calls = program_calls(trace)
    links = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    if not len(numbered) or not len(calls):
        return links[0]
    module = trace.string_stat("hlo_module")
    run = np.stack([trace.session_id[numbered].astype(np.int64), trace.int_stat("run_id")[numbered]])
    _, run_of = np.unique(run, axis=1, return_inverse=True)
    run_of = run_of.reshape(-1)
    n_runs = int(run_of.max()) + 1
    start = np.full(n_runs, np.iinfo(np.int64).max)
    np.minimum.at(start, run_of, trace.start_ps[numbered])
    program = np.full(n_runs, -1, np.int64)
    has_module = module[numbered] >= 0
    program[run_of[has_module]] = module[numbered[has_module]]
    session = np.zeros(n_runs, np.int64)
    session[run_of] = trace.session_id[numbered]
    call_of_run = np.full(n_runs, -1, np.int64)
    texts = {i: _sanitized(trace.strings[i]) for i in np.unique(program[program >= 0]).tolist()}
    for name in np.unique(trace.name_id[calls]).tolist():  # bounded by the number of functions
        wanted = [i for i, text in texts.items() if text == _program_of(trace.strings[name])]
        for one in range(len(trace.sessions)):
            own = calls[(trace.name_id[calls] == name) & (trace.session_id[calls] == one)]
            runs = np.flatnonzero(np.isin(program, wanted) & (session == one))
            own, runs = own[np.argsort(trace.start_ps[own])], runs[np.argsort(start[runs])]
            runs = runs[start[runs] >= trace.start_ps[own[0]]] if len(own) else runs[:0]
            n = min(len(own), len(runs))
            if (start[runs[:n]] >= trace.start_ps[own[:n]]).all():
                call_of_run[runs[:n]] = own[:n]
    known = call_of_run[run_of] >= 0
    top, first = np.unique(_outermost(trace, numbered[known]), return_index=True)
    return call_of_run[run_of[known]][first], top


def _program_of(call: str) -> str:
    """What JAX calls the program of a call: `jit_train_step` of `PjitFunction(train_step)`."""
    name = call.removeprefix(_JIT).removesuffix(")")
    if name.startswith("jit(") and name.endswith(")"):  # of a function that was compiled ahead of time
        name = name[4:-1]
    return _sanitized(f"jit_{name}")


def _sanitized(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name).rstrip("_")


def _outermost(trace: Trace, rows: Int64) -> Int64:
    at = rows.copy()
    while (inner := trace.nesting.parent[at] >= 0).any():  # bounded by the depth of nesting
        at[inner] = trace.nesting.parent[at[inner]]
    return at
