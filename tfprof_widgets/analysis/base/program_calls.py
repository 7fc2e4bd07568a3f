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

from ...trace.times import MAX_PS
from ...trace.trace import Bool, Int64, Trace
from .event_names import by_ends, once
from .matching import same_key

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
    if not len(numbered) or not len(calls):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    of_run = same_key(trace.int_stat("run_id")[numbered], trace.session_id[numbered])
    start, program = _runs(trace, numbered, of_run)
    session = np.zeros(len(start), np.int64)
    session[of_run] = trace.session_id[numbered]
    call_of_run = _called(trace, calls, start, program, session)
    known = call_of_run[of_run] >= 0
    top, first = np.unique(_outermost(trace, numbered[known]), return_index=True)
    return call_of_run[of_run[known]][first], top


def _runs(trace: Trace, numbered: Int64, of_run: Int64) -> tuple[Int64, Int64]:
    """Of each run when its first event begins, and the name of its program, -1 for none."""
    n_runs = int(of_run.max()) + 1
    start, program = np.full(n_runs, MAX_PS), np.full(n_runs, -1, np.int64)
    np.minimum.at(start, of_run, trace.start_ps[numbered])
    module = trace.string_stat("hlo_module")[numbered]
    program[of_run[module >= 0]] = module[module >= 0]
    return start, program


def _called(trace: Trace, calls: Int64, start: Int64, program: Int64, session: Int64) -> Int64:
    """The call of each run by their order among those of one function in one session, -1 for none."""
    code: dict[str, int] = {}
    of_call = {
        i: code.setdefault(_program_of(trace.strings[i]), len(code)) for i in np.unique(trace.name_id[calls]).tolist()
    }
    of_program = {i: code.get(_sanitized(trace.strings[i]), -1) for i in np.unique(program[program >= 0]).tolist()}
    n_codes = len(code)
    group = trace.session_id[calls] * n_codes + np.array([of_call[i] for i in trace.name_id[calls].tolist()], np.int64)
    order = np.lexsort((trace.start_ps[calls], group))
    calls, group = calls[order], group[order]
    own = np.array([of_program.get(i, -1) for i in program.tolist()], np.int64)
    runs = np.flatnonzero(own >= 0)
    run_group = session[runs] * n_codes + own[runs]
    first = np.minimum(np.searchsorted(group, run_group), len(group) - 1)
    is_later = (group[first] == run_group) & (start[runs] >= trace.start_ps[calls[first]])
    order = np.lexsort((start[runs], run_group))
    runs, run_group, first = (column[order][is_later[order]] for column in (runs, run_group, first))
    at = first + np.arange(len(runs)) - np.searchsorted(run_group, run_group)
    matched = (at < len(group)) & (np.append(group, -1)[np.minimum(at, len(group))] == run_group)
    runs, run_group, called = runs[matched], run_group[matched], calls[at[matched]]
    doubtful = np.unique(run_group[start[runs] < trace.start_ps[called]])
    sure = ~np.isin(run_group, doubtful)
    found = np.full(len(start), -1, np.int64)
    found[runs[sure]] = called[sure]
    return found


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
