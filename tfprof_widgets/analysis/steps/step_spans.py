"""Events -> what kind of step time each stands for, and the markers that say where a step begins and ends.

Source: semantics 2.5, 3.2, 3.3.
"""

from __future__ import annotations

import re
from enum import IntEnum

import numpy as np

from ...trace.trace import Bool, Int64, Trace, UInt8
from ..base.compute_units import in_16_bits
from ..base.event_graph import nearest_marked
from ..base.event_names import by_ends
from ..base.grouping import Grouping
from ..base.matching import same_key
from ..base.op_names import COMPILATION, OpCategory, OpNames
from .exchanges import is_collective, sends_to_other_tasks


class SpanType(IntEnum):
    """Kinds of step time; where several overlap the largest wins. The order is XProf's (semantics 3.1)."""

    OTHER = 0
    HOST_COMPUTE = 1
    COMPILE = 2
    HOST_TO_HOST = 3
    HOST_TO_DEVICE = 4
    KERNEL_LAUNCH = 5
    COLLECTIVES = 6
    WAIT_INPUT = 7
    DEVICE_TO_DEVICE = 8
    DEVICE_TO_HOST = 9
    COMPUTE_32 = 10
    COMPUTE_16 = 11
    NONE = 255
    """The event says nothing about step time."""


_NOT_COMPUTE = ("EagerExecute", "EagerLocalExecute", "EagerKernelExecute", "FunctionRun")
_TRACE = "tf.function-graph_building"
_MARKERS = ("train", "test", "TraceContext")
_COPIES = {
    "memcpyh2d": SpanType.HOST_TO_DEVICE,
    "memcpyd2h": SpanType.DEVICE_TO_HOST,
    "memcpyd2d": SpanType.DEVICE_TO_DEVICE,
    "memcpyp2p": SpanType.DEVICE_TO_DEVICE,
    "memcpyoth": SpanType.DEVICE_TO_DEVICE,
}
_OF_HOST = re.compile(r"kind_(src|dst):(?:pageable|pinned)\b")
_OTHER_COPIES = {"src": SpanType.HOST_TO_DEVICE, "dst": SpanType.DEVICE_TO_HOST, "srcdst": SpanType.HOST_TO_HOST}
"""By which ends of a copy lie in memory of the host."""
_PARSED_COPIES = {
    OpCategory.MEMCPY_HTOD: SpanType.HOST_TO_DEVICE,
    OpCategory.MEMCPY_DTOH: SpanType.DEVICE_TO_HOST,
    OpCategory.MEMCPY_DTOD: SpanType.DEVICE_TO_DEVICE,
}


def on_host(trace: Trace) -> Bool:
    """For each event whether it lies on a thread of a host CPU."""
    return trace.on_planes([plane.is_host for plane in trace.planes])


def on_stream(trace: Trace) -> Bool:
    """For each event whether it lies on a real (not a derived) line of a device."""
    return trace.on_lines([trace.planes[line.plane].is_device and not line.is_derived for line in trace.lines])


def sessions_with_device(trace: Trace) -> Bool:
    """For each session whether a device ran anything in it."""
    found = np.zeros(max(len(trace.sessions), 1), np.bool_)
    found[trace.session_id[on_stream(trace)]] = True
    return found


def classify(trace: Trace, grouping: Grouping, units: UInt8) -> UInt8:
    """The `SpanType` of every event, `NONE` for markers, wrappers, derived lines and other planes.

    Args:
        trace: the trace.
        grouping: its groups.
        units: for each event the `ComputeUnit` of its kernel.

    Differs from XProf: tracing a `tf.function` and compiling with XLA count as compilation, which XProf has a column for
    but never fills: there they are host compute. CUPTI's `MemcpyH2D`, `MemcpyD2H`, `MemcpyD2D`, `MemcpyP2P` and
    `MemcpyOther` are copies, not compute (D1); bfloat16 is 16-bit (D9), and not the name alone tells (D13). What a device
    describes as its kernel or copy is one, also where nothing tells of its call. Collective ops of hosts, and tensors sent
    to other tasks, are communication: there host compute as well.
    """
    host, stream = on_host(trace), on_stream(trace)
    types = np.full(trace.n_events, SpanType.NONE, np.uint8)
    types[host] = by_ends(trace, _host_types, np.uint8)[trace.name_id[host]]
    types[sends_to_other_tasks(trace)] = SpanType.COLLECTIVES
    with_device = sessions_with_device(trace)
    if with_device.any():
        is_process = by_ends(
            trace, lambda names, _: [n.lower().startswith("executorstate::process") for n in names], np.bool_
        )
        has_correlation = trace.has_stat("correlation_id")
        launches = host & with_device[trace.session_id] & (has_correlation | is_process[trace.name_id])
        types[launches & np.isin(types, (SpanType.HOST_COMPUTE, SpanType.WAIT_INPUT))] = SpanType.KERNEL_LAUNCH
        kinds = by_ends(trace, _device_types, np.uint8)[trace.name_id]
        other = np.flatnonzero(stream & trace.names_matching(("MemcpyOther",)))
        kinds[other] = _other_copies(trace, other)
        kinds[(kinds == SpanType.COMPUTE_32) & in_16_bits(units)] = SpanType.COMPUTE_16
        ran = stream & (has_correlation | trace.has_stat("kernel_details") | trace.has_stat("memcpy_details"))
        types[ran] = kinds[ran]
    stage = _root_stages(trace, host)
    types[stage & (types == SpanType.HOST_COMPUTE)] = SpanType.WAIT_INPUT
    types[host_markers(trace, grouping) | (host & _is_named_marker(trace))] = SpanType.NONE
    return types


def _host_types(names: list[str], parsed: OpNames) -> list[SpanType]:
    return [_host_type(name, category) for name, category in zip(names, parsed.category.tolist(), strict=True)]


def _host_type(name: str, category: int) -> SpanType:
    if name.startswith(_NOT_COMPUTE):
        return SpanType.NONE
    if category == OpCategory.MEMCPY_HTOD or (category and name.rpartition(":")[2].startswith("InfeedEnqueue")):
        return SpanType.HOST_TO_DEVICE
    if category == OpCategory.MEMCPY_HTOH:
        return SpanType.HOST_TO_HOST
    # The arrival of a tensor of another task is an event in old files alone; `find_exchanges` knows of others.
    if name.endswith(":RecvTensor") or is_collective(category, name.rpartition(":")[2]):
        return SpanType.COLLECTIVES
    if name.lower().startswith("iteratorgetnext"):
        return SpanType.WAIT_INPUT
    return SpanType.COMPILE if name.startswith(_TRACE) or COMPILATION.match(name) else SpanType.HOST_COMPUTE


def _device_type(name: str, category: int) -> SpanType:
    if category in _PARSED_COPIES:
        return _PARSED_COPIES[OpCategory(category)]
    low = name[:9].lower()
    if low in _COPIES:
        return _COPIES[low]
    if low.startswith("nccl"):
        return SpanType.COLLECTIVES
    return SpanType.COMPUTE_32


def _device_types(names: list[str], parsed: OpNames) -> list[SpanType]:
    return [_device_type(name, category) for name, category in zip(names, parsed.category.tolist(), strict=True)]


def _other_copies(trace: Trace, rows: Int64) -> UInt8:
    """Which way copies go whose name does not tell, by the memory of their ends: within devices where that does not, either."""
    texts, place = np.unique(trace.string_stat("memcpy_details")[rows], return_inverse=True)
    ends = ("".join(_OF_HOST.findall(trace.strings[text] if text >= 0 else "")) for text in texts.tolist())
    return np.array([_OTHER_COPIES.get(one, SpanType.DEVICE_TO_DEVICE) for one in ends], np.uint8)[place]


def _root_stages(trace: Trace, host: Bool) -> Bool:
    """Outermost stages of an instrumented input pipeline (`_ipl_stage_name`), which the step waits for."""
    name = trace.string_stat("_ipl_stage_name")
    stage = host & (name >= 0)
    if not stage.any():
        return stage
    made, used = np.flatnonzero(trace.has_stat("_p") & host), np.flatnonzero(trace.has_stat("_c"))
    context = same_key(
        np.concatenate([trace.int_stat("_p")[made], trace.int_stat("_c")[used]]),
        np.concatenate([trace.int_stat("_pt")[made], trace.int_stat("_ct")[used]]),
        np.concatenate([trace.session_id[made], trace.session_id[used]]),
    )
    fed = np.zeros(trace.n_events, np.bool_)
    fed[used] = np.isin(context[len(made) :], context[: len(made)])
    inside = stage | fed
    parent = trace.nesting.parent
    above = np.append(nearest_marked(parent, inside), -1)[parent]
    return stage & ~fed & (above < 0)


def _is_named_marker(trace: Trace) -> Bool:
    """Names that mark a step by convention. A `tf.function` called `train_step` is one of them, here as in XProf: the time
    around the ops inside it counts as other, that is Python, not as host compute.
    """
    named = by_ends(trace, lambda names, _: [n.startswith(_MARKERS) and "/" not in n for n in names], np.bool_)
    return np.asarray(named[trace.name_id])


def host_markers(trace: Trace, grouping: Grouping) -> Bool:
    """For each event whether it marks a step on the host: named like one by convention, or the root of a named group."""
    grouped = on_host(trace) & (grouping.group_id >= 0)
    marker = grouped & _is_named_marker(trace)
    explicit = grouping.groups[~grouping.groups["is_implicit"].to_numpy(np.bool_)]
    roots = explicit["root"].to_numpy()
    marker[roots[roots >= 0]] = True
    return marker | (grouped & (trace.string_stat("step_name") >= 0))


def longest_host_marker(trace: Trace, grouping: Grouping) -> Int64:
    """For each group the row of its longest host marker, the first of equals; -1 for none."""
    rows = np.flatnonzero(host_markers(trace, grouping))
    return _longest(grouping.group_id[rows].astype(np.int64), trace.duration_ps[rows], rows, len(grouping.groups))


def longest_device_marker(trace: Trace, grouping: Grouping) -> tuple[Int64, Int64]:
    """Start and duration of each group's longest stretch on one device; duration -1 where no device ran for the group.

    A derived line `Steps` is believed where the file has one; otherwise it is made as XProf makes it: consecutive events
    of one group on one device, in order of time, are one stretch (semantics 1.8.2).
    """
    is_derived = np.array([line.is_derived for line in trace.lines], np.bool_)
    is_steps = np.array([line.is_derived and line.name == "Steps" for line in trace.lines], np.bool_)
    has_correlation = trace.has_stat("correlation_id")
    spans = []
    for index, plane in enumerate(trace.planes):
        rows = trace.events_of_plane(index)
        if plane.is_device and rows.stop > rows.start:
            line = trace.line_id[rows]
            typed = ~is_derived[line] & has_correlation[rows]
            spans.append(_device_stretches(trace, grouping, rows, is_derived[line], is_steps[line], typed))
    n_groups = len(grouping.groups)
    group, start, duration = (np.concatenate([np.empty(0, np.int64), *(span[i] for span in spans)]) for i in range(3))
    best = _longest(group, duration, np.arange(len(group)), n_groups)
    return np.where(best >= 0, np.append(start, 0)[best], 0), np.where(best >= 0, np.append(duration, 0)[best], -1)


def _device_stretches(
    trace: Trace, grouping: Grouping, plane: slice, is_derived: Bool, is_steps: Bool, is_typed: Bool
) -> tuple[Int64, Int64, Int64]:
    """Group, start and duration of the stretches on one device; the flags are of the events of its `plane`."""
    group_id = grouping.group_id[plane].astype(np.int64)
    start_ps, duration_ps, end_ps = trace.start_ps[plane], trace.duration_ps[plane], trace.ends(plane)
    grouped = group_id >= 0
    busy = np.unique(group_id[grouped & is_typed])
    rows = np.flatnonzero(grouped & is_steps)
    if len(rows):
        rows = rows[np.isin(group_id[rows], busy)]
        return group_id[rows], start_ps[rows], duration_ps[rows]
    # What merely follows the last step of a loop (an evaluation nobody marked) does not make that step longer.
    is_explicit = ~grouping.groups["is_implicit"].to_numpy(np.bool_)
    grouped &= ~(grouping.is_adopted[plane] & np.append(is_explicit, False)[group_id])
    rows = np.flatnonzero(grouped & ~is_derived)
    rows = rows[np.lexsort((duration_ps[rows], start_ps[rows]))]
    if not len(rows):
        return rows, rows, rows
    group = group_id[rows]
    first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    start, end = start_ps[rows[first]], np.maximum.reduceat(end_ps[rows], first)
    keep = np.isin(group[first], busy)
    return group[first][keep], start[keep], (end - start)[keep]


def _longest(group: Int64, duration: Int64, rows: Int64, n_groups: int) -> Int64:
    best = np.full(n_groups, -1, np.int64)
    order = np.lexsort((np.arange(len(group)), -duration, group))
    first = np.append(True, group[order][1:] != group[order][:-1])[: len(order)]
    best[group[order[first]]] = rows[order[first]]
    return best
