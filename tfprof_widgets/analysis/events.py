"""Events and how they belong together: the `events` table, launches, thread pools, what started what. Source: semantics 2.3."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..trace.arrays import Bool, Float64, Int32, Int64, SmallInt, UInt8
from ..trace.stats import ranges
from ..trace.trace import MAX_PS, StatKind, Trace, nest
from .common import PS_PER_NS, distinct, match_in_time, same_key
from .names import COMPILATION, OpCategory, by_ends, once, sent_op
from .table import table

EVENTS = table(
    """
    events: an event, in the order of the trace: by plane, line and start, the longest first
        plane        text   the device or host, with the host in front where there are several
        line         text   the thread or stream
        name         text   of the event
        start_ns     float  after the trace origin, the picoseconds behind the point
        duration_ns  float  how long it took
        self_ns      float  the part in which no event of its line ran inside it
        depth        int    how many events of the line enclose it
        step         int    row of the steps table, -1 for none

    Times are nanoseconds after the trace origin; `self_ns` is the duration without the events nested inside.
    Empty where the trace holds no event.
    """,
    file="events",
)

_CONSUME = tuple(
    f"{stage}{end}"
    for stage in ("Prefetch", "ParallelInterleave", "ParallelMap", "MapAndBatch", "ParseExample", "ParallelBatch")
    for end in ("Produce", "Consume")
)

CAPTURED_FUNCTIONS = tuple(
    f"InstantiatedCapturedFunction::{run}" for run in ("Run", "RunWithBorrowedArgs", "RunInstantiated", "RunAsync")
)
"""Calls of the user's functions by tf.data."""

GET_NEXT = ("IteratorGetNextOp::DoCompute", "IteratorGetNextAsOptionalOp::DoCompute")
"""The op kernels that fetch from an iterator."""

IMPLICIT_ROOTS = ("FunctionRun", "SessionRun", "RunGraph", "ExecutorState::Process")
"""Roots the runtime itself marks; they carry no name a user gave."""

KNOWN_HOST_EVENTS = frozenset(
    (
        *("TraceContext", "SessionRun", "FunctionRun", "RunGraph", "RunGraphDone", "TfOpRun", "EagerExecute"),
        *("ExecutorState::Process", "ExecutorDoneCallback", "MemoryAllocation", "MemoryDeallocation"),
        "RemotePerfCounter",
        *CAPTURED_FUNCTIONS,
        "ParallelForOp",
        "ForeverOp",
        "WhileOp-EvalCond",
        "WhileOp-StartBody",
        "ForOp",
        *GET_NEXT,
        "Iterator",
        "Iterator::Prefetch::Generator",
        *_CONSUME,
        *("ParallelInterleaveInitializeInput", "BatchingSessionRun", "ProcessBatch"),
        *("OrbaxServing::ProcessBatch", "BrainSessionRun", "ConcatInputTensors", "MergeInputTensors"),
        *("ScheduleWithoutSplit", "ScheduleWithSplit", "ScheduleWithEagerSplit", "ASBSQueue::Schedule"),
        *("TfrtModelRun", "ServingModelRun", "KernelLaunch", "KernelExecute"),
    )
)
"""Names XProf gives a type, so that an event of this name is never taken for a kernel launch."""


_REGION_BEGIN, _REGION_END = "ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion"
_JIT = "PjitFunction("
_SYNC = "SyncTensorsGraph"
_JAX_VERSION = "jax_version"
_NO_RUN = -1
"""The number of a run that has none, as TensorFlow writes it."""

Framework = Literal["TensorFlow", "JAX", "PyTorch/XLA", "PyTorch"]

Links = tuple[Int64, Int64]
"""Which event leads to which."""


@once
def program_calls(trace: Trace) -> Int64:
    """The outermost calls of functions that JAX compiled, and the points where PyTorch/XLA runs what it has gathered."""
    named = by_ends(trace, lambda name, *_: name.startswith(_JIT) or name == _SYNC)
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
    if torch_ops(trace).any():
        return "PyTorch"
    names = {trace.strings[i] for i in np.unique(trace.name_id[program_calls(trace)]).tolist()}
    if not names:
        return "TensorFlow"
    return "PyTorch/XLA" if names == {_SYNC} else "JAX"


@once
def torch_ops(trace: Trace) -> Bool:
    """For each event whether it is an op of PyTorch without XLA, in a Chrome trace by `torch.profiler`."""
    category = trace.string_ids.get("cpu_op")
    return np.zeros(trace.n_events, np.bool_) if category is None else trace.string_stat("cat") == category


def pool_links(trace: Trace) -> Links:
    """What leads to work on pools of threads in runs of JAX: the call, else the begin of the work."""
    none = np.empty(0, np.int64)
    if _REGION_BEGIN not in trace.string_ids or not (is_of_jax(trace) or len(program_calls(trace))):
        return none, none
    rows = np.flatnonzero(_on_pools(trace))
    begins = (trace.name_id == trace.string_ids[_REGION_BEGIN])[rows]
    breaks = begins | (trace.name_id == trace.string_ids.get(_REGION_END, -1))[rows]
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
    """For each event whether it lies on a thread that records pieces of work."""
    noted = set(np.unique(trace.line_id[trace.name_id == trace.string_ids[_REGION_BEGIN]]).tolist())
    return trace.on_lines([i in noted for i in range(len(trace.lines))])


def _run_links(trace: Trace) -> Links:
    """The n-th call of a function leads to the n-th run of its program; none where a run would begin before its call."""
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
    at = numbered[known].copy()
    while (inner := trace.nesting.parent[at] >= 0).any():  # bounded by the depth of nesting
        at[inner] = trace.nesting.parent[at[inner]]
    top, first = np.unique(at, return_index=True)
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


Integers = TypeVar("Integers", Int32, Int64)

_CROWD = 64
"""A context with this many producers and this many consumers links nothing (semantics 2.3)."""


@dataclass(frozen=True)
class EventGraph:
    """A forest of enclosing events plus links; nodes are the events of the trace."""

    up: Int32
    """For each event the innermost event of its line that includes it, -1 for none. Both ends inclusive, as in XProf."""
    link_from: Int64
    link_to: Int64
    """Links across lines: event `link_from[k]` makes event `link_to[k]`."""

    def reach(self, seeds: Int64, labels: Int64, *, nearest: bool) -> Int32:
        """Label every event that a seed leads to."""
        n_nodes = len(self.up)
        is_entry = np.zeros(n_nodes, np.bool_)
        is_entry[seeds] = True
        is_entry[self.link_to] = True
        anchor = nearest_marked(self.up, is_entry)
        entries = np.flatnonzero(is_entry)
        above = np.where(self.up[entries] >= 0, anchor[self.up[entries]], -1)
        source = np.concatenate([above, anchor[self.link_from]])
        target = np.concatenate([entries, self.link_to])
        known = source >= 0
        label = np.full(n_nodes + 1, -1, np.int32)
        label[seeds] = labels
        _spread(label, seeds, source[known], target[known], nearest=nearest)
        return label[anchor]


def _spread(label: Int32, seeds: Int64, source: Int64, target: Int64, *, nearest: bool) -> None:
    """Carry labels along edges until nothing changes. One round is one hop between threads; each edge is used a few times."""
    order = np.argsort(source, kind="stable")
    source, target = source[order], target[order]
    front = distinct(seeds)  # ascending, so that the search stays in cache
    while len(front):
        low = np.searchsorted(source, front)
        count = np.searchsorted(source, front, side="right") - low
        reached, new = target[ranges(low, count)], np.repeat(label[front], count)
        better = label[reached] < 0 if nearest else (label[reached] < 0) | (new < label[reached])
        reached, new = reached[better], new[better]
        # Written in falling order of the label, so that of several the smallest stays.
        falling = np.argsort(-new, kind="stable")
        label[reached[falling]] = new[falling]
        front = distinct(reached)


def nearest_marked(up: Integers, marked: Bool) -> Integers:
    """For each node of a forest itself or its nearest ancestor that is marked, -1 for none, by doubling jumps."""
    at = np.where(marked, np.arange(len(up), dtype=up.dtype), up)
    moving = np.flatnonzero((at >= 0) & ~marked[at])
    while len(moving):
        reached = at[at[moving]]
        at[moving] = reached
        moving = moving[(reached >= 0) & ~marked[reached]]
    return at


def build_graph(trace: Trace) -> EventGraph:
    """Connect all events of a trace: nesting, producer/consumer contexts and kernel launches."""
    made, used, key = context_ends(trace)
    left, right = _join(key[: len(made)], key[len(made) :])
    links = [(made[left], used[right]), *_fetch_links(trace), launch_links(trace), pool_links(trace)]
    return EventGraph(
        up=_enclosing(trace),
        link_from=np.concatenate([a for a, _ in links]),
        link_to=np.concatenate([b for _, b in links]),
    )


def _enclosing(trace: Trace) -> Int32:
    """For each event the innermost earlier event of its line that includes it, -1 for none, by none that is asynchronous."""
    is_async = trace.int_stat("_a") != 0 if "_a" in trace.string_ids else np.zeros(trace.n_events, np.bool_)
    if not is_async.any():
        return _touching(trace.nesting.parent, trace.line_id, trace.start_ps, trace.duration_ps)
    rows = np.flatnonzero(~is_async)
    line, start, duration = trace.line_id[rows], trace.start_ps[rows], trace.duration_ps[rows]
    inner = _touching(nest(line, start, duration).parent, line, start, duration)
    parent = np.full(trace.n_events, -1, np.int32)
    parent[rows] = np.where(inner >= 0, rows[inner], -1)
    return parent


def _touching(parent: Int32, line: Int32, start: Int64, duration: Int64) -> Int32:
    """Move zero-length events that lie exactly on the end of an earlier one into it: `Nesting` is half-open, XProf is not."""
    result = parent.copy()
    moving = np.flatnonzero(duration[1:] == 0) + 1
    moving = moving[line[moving - 1] == line[moving]]
    at = moving - 1
    while len(moving):
        outside = start[at] + duration[at] < start[moving]
        result[moving[~outside]] = at[~outside]
        moving, at = moving[outside], parent[at[outside]]
        result[moving[at < 0]] = -1
        moving, at = moving[at >= 0], at[at >= 0]
    return result


def context_ends(trace: Trace) -> tuple[Int64, Int64, Int64]:
    """Events that produce (`_pt`, `_p`), events that consume (`_ct`, `_c`), and a key, equal within a context."""
    pid = np.array([_process_id(trace, plane) for plane in range(len(trace.planes))], np.int64)
    made = np.flatnonzero(trace.has_stat("_p") & trace.has_stat("_pt"))
    used = np.flatnonzero(trace.has_stat("_c") & trace.has_stat("_ct"))
    both = np.concatenate([made, used])
    own_pid = pid[trace.plane_id[both]]
    used_pid = int_stat_at(trace, "_pid", used, default=own_pid[len(made) :])
    key = same_key(
        np.concatenate([int_stat_at(trace, "_p", made), int_stat_at(trace, "_c", used)]),
        trace.session_id[both],
        np.concatenate([int_stat_at(trace, "_pt", made), int_stat_at(trace, "_ct", used)]),
        np.concatenate([own_pid[: len(made)], used_pid]),
    )
    return made, used, key


def int_stat_at(trace: Trace, key: str, events: Int64, *, default: Int64 | int = 0) -> Int64:
    """`Trace.int_stat` of some events alone, which spares a column as long as the trace; `default` where it is missing."""
    found = trace.keyed_stats(key)
    event, value = found.event, found.bits.view(np.int64)
    is_whole = (found.kind == StatKind.INT64) | (found.kind == StatKind.UINT64)
    if not is_whole.all():
        event, value = event[is_whole], value[is_whole]
    if not len(event):
        return np.zeros(len(events), np.int64) + default
    if np.array_equal(event, events):
        return value
    at = np.maximum(np.searchsorted(event, events, side="right") - 1, 0)  # of several of one event the last
    return np.where(event[at] == events, value[at], default)


def _process_id(trace: Trace, plane: int) -> int:
    value = trace.planes[plane].stats.get("process_id", 0)
    # An unsigned one beyond an int64 wraps, as it does in the stats of events.
    return (value + 2**63) % 2**64 - 2**63 if isinstance(value, int) else 0


def _fetch_links(trace: Trace) -> list[tuple[Int64, Int64]]:
    """`ExecutorState::Process` to the iterator kernel it runs; of equal keys the last parent wins."""
    links = []
    process = np.flatnonzero(trace.names_matching(["ExecutorState::Process"]))
    made = [int_stat_at(trace, key, process) for key in ("id", "iter_num")]
    for name in GET_NEXT:
        fetch = np.flatnonzero(trace.names_matching([name]))
        both = np.concatenate([process, fetch])
        id_, number = (
            np.concatenate([own, int_stat_at(trace, key, fetch)])
            for own, key in zip(made, ("id", "iter_num"), strict=True)
        )
        key = same_key(id_, trace.session_id[both], number)
        links.append(_last_parent(process, fetch, key))
    return links


@once
def launch_links(trace: Trace) -> tuple[Int64, Int64]:
    """Kernel launches to the kernels they enqueue, by `correlation_id`; of equal keys the last launch wins."""
    on_device = np.array([plane.is_device for plane in trace.planes], np.bool_)
    rows = distinct(trace.keyed_stats("correlation_id").event)
    rows = rows[~_recognised(trace)[trace.name_id[rows]]] if len(rows) else rows
    device = on_device[trace.plane_id[rows]]
    launch, kernel = rows[~device], rows[device]
    both = np.concatenate([launch, kernel])
    key = same_key(trace.int_stat("correlation_id")[both], trace.session_id[both])
    return _last_parent(launch, kernel, key)


@once
def _recognised(trace: Trace) -> Bool:
    """Whether each name means something else than a kernel launch or a kernel (semantics 1.5, 1.2.5), for those of events."""
    ops = (OpCategory.TENSORFLOW, OpCategory.TFDATA)
    return by_ends(trace, lambda name, category, _: name in KNOWN_HOST_EVENTS or category in ops)


def _last_parent(parents: Int64, children: Int64, key: Int64) -> tuple[Int64, Int64]:
    own, theirs = key[: len(parents)], key[len(parents) :]
    order = np.argsort(own, kind="stable")
    last = np.append(own[order][1:] != own[order][:-1], True)[: len(order)]
    left, right = _join(own[order[last]], theirs)
    parents = parents[order[last]]
    return parents[left], children[right]


def _join(left: Int64, right: Int64) -> tuple[Int64, Int64]:
    """All pairs of rows of equal key (small integers), except those of keys crowded on both sides."""
    n_keys = int(max(left.max(initial=-1), right.max(initial=-1))) + 1
    n_left, n_right = np.bincount(left, minlength=n_keys), np.bincount(right, minlength=n_keys)
    first = np.cumsum(n_left) - n_left
    crowded = (n_left >= _CROWD) & (n_right >= _CROWD)
    count = np.where(crowded, 0, n_left)[right]
    pairs = ranges(first[right], count)
    return np.argsort(left, kind="stable")[pairs], np.repeat(np.arange(len(right)), count)


def plane_labels(trace: Trace) -> list[str]:
    """The name of each plane, after its host where there are several."""
    several_hosts = len({plane.host for plane in trace.planes}) > 1
    return [f"{plane.host}{plane.name}" if several_hosts else plane.name for plane in trace.planes]


def compute_events(trace: Trace, event_step: SmallInt | None = None) -> pd.DataFrame:
    """All events in the order of the trace: by plane, line, start, longest first."""
    lines = [line.display_name or line.name or str(line.id) for line in trace.lines]
    step = np.full(trace.n_events, -1, np.int32) if event_step is None else event_step
    return pd.DataFrame(
        {
            "plane": _categorical(trace.plane_id, plane_labels(trace)),
            "line": _categorical(trace.line_id, lines),
            "name": _names(trace),
            "start_ns": _ns(trace.start_ps),
            "duration_ns": _ns(trace.duration_ps),
            "self_ns": _ns(trace.nesting.self_ps),
            "depth": trace.depth.astype(np.int32),
            "step": step.astype(np.int32),
        },
        copy=False,
    )


def _ns(ps: Int64) -> Float64:
    return ps / PS_PER_NS


def _categorical(codes: npt.NDArray[np.integer], labels: list[str]) -> pd.Categorical:
    """Codes into labels that may repeat -> a categorical, whose labels may not."""
    unique = dict.fromkeys(labels)
    place = {label: i for i, label in enumerate(unique)}
    recode = np.array([place[label] for label in labels], np.int32)
    new = recode[codes] if len(labels) else np.empty(0, np.int32)
    return pd.Categorical.from_codes(new, categories=pd.Index(list(unique), dtype=object))


def _names(trace: Trace) -> pd.Categorical:
    used = trace.used_names
    place = np.zeros(max(len(trace.strings), 1), np.int32)
    place[used] = np.arange(len(used))
    names = pd.Index([trace.strings[i] for i in used.tolist()], dtype=object)
    return pd.Categorical.from_codes(place[trace.name_id], categories=names)


@dataclass(frozen=True, eq=False, repr=False)
class Launches:
    """One entry for each device event whose call is in the trace, by device event, ascending; each occurs once."""

    event: Int64
    """The kernel, copy or memset, a row of the trace."""
    call: Int64
    """The event of the host that enqueued it, of equal `correlation_id` within the session; several may have one call."""

    def __len__(self) -> int:
        return len(self.event)

    def call_of(self, events: Int64) -> Int64:
        """For each of some device events the call that enqueued it, -1 where the trace has none."""
        if not len(self):
            return np.full(len(events), -1, np.int64)
        at = np.minimum(np.searchsorted(self.event, events), len(self) - 1)
        return np.where(self.event[at] == events, self.call[at], -1)

    def inside(self, trace: Trace, marked: Bool) -> Int64:
        """For each launch the innermost event of the call's thread that is marked and holds the call, -1 for none."""
        return nearest_marked(trace.nesting.parent, marked)[self.call].astype(np.int64)


@once
def compute_launches(trace: Trace) -> Launches:
    """Match the device events of a trace with the calls that enqueued them; empty without a device or without calls."""
    call, event = launch_links(trace)
    order = np.argsort(event, kind="stable")
    return Launches(event[order], call[order])


def tried_kernels(trace: Trace, launches: Launches) -> Int64:
    """Events of devices that a compiler enqueued while it compiled, ascending: to choose the quickest, not to run an op."""
    if not len(launches):
        return launches.event
    compiles = by_ends(trace, lambda name, *_: bool(COMPILATION.match(name)))
    return launches.event[launches.inside(trace, np.asarray(compiles[trace.name_id])) >= 0]


def innermost(trace: Trace, chosen: Bool) -> tuple[Int64, Int64, Int64]:
    """Stretches in which an event is the innermost of the chosen ones on its line."""
    parent = trace.nesting.parent
    span_ps = trace.nesting.span_ps
    rows = np.flatnonzero(chosen & (span_ps > 0))
    above = np.append(nearest_marked(parent, chosen), -1)[parent[rows]]
    time = np.concatenate([trace.start_ps[rows], trace.start_ps[rows] + span_ps[rows]])
    line = np.concatenate([trace.line_id[rows]] * 2)
    is_start = np.arange(len(time)) < len(rows)
    top = np.concatenate([rows, above])
    # At one instant what ends goes first, the innermost before what is around it; then what starts, from the outside in.
    depth = np.concatenate([trace.nesting.depth[rows], -trace.nesting.depth[rows]])
    order = np.lexsort((depth, is_start, time, line))
    time, line, top = time[order], line[order], top[order]
    kept = np.flatnonzero((line[1:] == line[:-1]) & (time[1:] > time[:-1]) & (top[:-1] >= 0))
    return top[kept], time[kept], time[kept + 1]


EXCHANGE_KINDS = ("collective", "send", "receive")
COLLECTIVE, SEND, RECEIVE = range(len(EXCHANGE_KINDS))

_COLLECTIVE = re.compile(r"Collective\w+|Nccl\w+")
_RECEIVED = "RecvTensor"
"""The arrival of a tensor of another task, as files of TensorFlow's first profiler note it."""
_ASYNC_BEGIN, _ASYNC_END = "ExecutorState::ProcessAsync::Start", "ExecutorState::ProcessAsync::Done"
"""What TensorFlow 2 records of an op that waits, such as `_Recv`, in place of the op: when it began and when it was done."""
_TASK = re.compile(r"/job:[^/;]+(?:/replica:\d+)?(?:/task:\d+)?")


@dataclass(frozen=True, eq=False, repr=False)
class Exchanges:
    """Exchanges of hosts with other tasks, by event; columns of equal length."""

    event: Int64
    """Row in the trace; of a tensor that was waited for the event with which the wait began."""
    kind: UInt8
    """Index into `EXCHANGE_KINDS`."""
    name: Int64
    """Index into `strings`: the full name, such as `CollectiveReduceV2:CollectiveReduceV2`."""
    start_ps: Int64
    end_ps: Int64

    def __len__(self) -> int:
        return len(self.event)


def is_collective(category: int, type_: str) -> bool:
    """Whether an op exchanges values with the same op of other hosts."""
    return category == OpCategory.TENSORFLOW and _COLLECTIVE.fullmatch(type_) is not None


def sends_to_other_tasks(trace: Trace) -> Int64:
    """The events that hand a tensor over for another task."""
    rows = _sends(trace)
    return rows[_leaves_task(trace, rows)]


@once
def find_exchanges(trace: Trace) -> Exchanges:
    """The exchanges of hosts: `_Send` and `_Recv` only between tasks; a wait is from a `_Recv`'s start to its end event."""
    on_host = trace.on_planes([plane.is_host for plane in trace.planes])
    kinds = by_ends(trace, _kind_of, np.uint8)[trace.name_id]
    rows = np.flatnonzero((kinds < len(EXCHANGE_KINDS)) & on_host)
    rows = rows[(kinds[rows] != SEND) | _leaves_task(trace, rows)]
    begin, end_ps, names = _waits(trace, rows[kinds[rows] == SEND])
    event = np.append(rows, begin)
    order = np.argsort(event, kind="stable")
    return Exchanges(
        event=event[order],
        kind=np.append(kinds[rows], np.full(len(begin), RECEIVE)).astype(np.uint8)[order],
        name=np.append(trace.name_id[rows].astype(np.int64), names)[order],
        start_ps=trace.start_ps[event][order],
        end_ps=np.append(trace.ends(rows), end_ps)[order],
    )


def _sends(trace: Trace) -> Int64:
    """The events of ops that send a tensor, to other tasks or within this one."""
    is_send = by_ends(trace, lambda name, *_: name.endswith(":_Send"))
    return np.flatnonzero(is_send[trace.name_id])


def _kind_of(name: str, category: int, kind: str) -> int:
    """The kind of exchange that a name stands for, beyond the last one for none."""
    if is_collective(category, kind):
        return COLLECTIVE
    if name.endswith(f":{_RECEIVED}"):
        return RECEIVE
    return SEND if name.endswith(":_Send") else len(EXCHANGE_KINDS)


def _leaves_task(trace: Trace, rows: Int64) -> Bool:
    """For some events whether the key of the tensor that they send names two tasks: `/job:worker/task:0/...;..;/job:ps/...`."""
    key = trace.string_stat("key")[rows] if len(rows) else np.empty(0, np.int32)
    texts, place = np.unique(key, return_inverse=True)
    leaves = [text >= 0 and len(set(_TASK.findall(trace.strings[text]))) > 1 for text in texts.tolist()]
    return np.array(leaves, np.bool_)[place] if len(rows) else np.empty(0, np.bool_)


def _waits(trace: Trace, sends: Int64) -> tuple[Int64, Int64, Int64]:
    """Tensors of other tasks waited for, in sessions that also send: the event that began the wait, its end, the name."""
    none = np.empty(0, np.int64)
    if not len(sends) or _ASYNC_BEGIN not in trace.string_ids:
        return none, none, none
    begun, done = (_receives(trace, name) for name in (_ASYNC_BEGIN, _ASYNC_END))
    begun = begun[np.isin(trace.session_id[begun], np.unique(trace.session_id[sends]))]
    begun = begun[~_is_local(trace, begun)]
    pair = match_in_time(
        (trace.session_id[begun].astype(np.int64), trace.int_stat("_p")[begun]),
        trace.start_ps[begun],
        (trace.session_id[done].astype(np.int64), trace.int_stat("_c")[done]),
        trace.start_ps[done],
        prefers_later=True,
    )
    begun, done = begun[pair >= 0], done[pair[pair >= 0]]
    is_after = trace.start_ps[done] >= trace.start_ps[begun]
    begun, done = begun[is_after], done[is_after]
    return begun, trace.start_ps[done], trace.string_stat("name")[begun].astype(np.int64)


def _receives(trace: Trace, name: str) -> Int64:
    """The events of a name that are of a `_Recv` op."""
    rows = np.flatnonzero(trace.names_matching([name]))
    kind = trace.string_stat("kernel_type")[rows]
    wanted = [trace.string_ids[one] for one in ("_Recv", "_HostRecv") if one in trace.string_ids]
    return rows[np.isin(kind, wanted)]


def _is_local(trace: Trace, begun: Int64) -> Bool:
    """For some waits whether their tensor was sent within the task: the same tensor of the same session has such a `_Send`."""
    rows = _sends(trace)
    local = rows[~_leaves_task(trace, rows)]
    sent = {
        (session, sent_op(trace.strings[name].rpartition(":")[0]))
        for session, name in set(zip(trace.session_id[local].tolist(), trace.name_id[local].tolist(), strict=True))
    }
    if not sent:
        return np.zeros(len(begun), np.bool_)
    name, session = trace.string_stat("name")[begun], trace.session_id[begun]
    pairs, place = np.unique(np.stack([session, name]), axis=1, return_inverse=True)
    known = [(one, sent_op(trace.strings[text])) in sent for one, text in pairs.T.tolist()]
    return np.array(known, np.bool_)[place.reshape(-1)]
