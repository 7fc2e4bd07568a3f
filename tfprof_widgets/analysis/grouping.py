"""Trace -> the step group of each event, whether it ran eagerly, and the time of each compute unit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..trace.arrays import Bool, Float64, Int32, Int64, SmallInt, UInt8
from ..trace.trace import Trace, small_int
from .common import dense_codes, distinct, first_of, same_key
from .events import CAPTURED_FUNCTIONS, IMPLICIT_ROOTS, EventGraph, build_graph, nearest_marked
from .names import OpCategory, by_ends, once


@dataclass(frozen=True, eq=False, repr=False)
class Grouping:
    group_id: SmallInt
    """For each event a row of `groups`, -1 for none."""
    is_eager: Bool
    """For each event whether it is an op kernel that was run eagerly rather than inside a function."""
    is_adopted: Bool
    """For each event of a device whether nothing links it to its group but the event before it in time."""
    groups: pd.DataFrame
    """One row per group: `session`; `number`, XProf's group id; `name` (empty for a root of the runtime); `is_implicit`; `root`
    (row of its event, -1 if the file came grouped without it)."""


def group_events(trace: Trace) -> Grouping:
    """Group all events of a trace into steps-to-be (semantics 2.1-2.4), without TPU grouping. Differs from XProf (D2): a
    `tf.while_loop` or dynamic RNN inside a step never replaces its group."""
    given = np.zeros(max(len(trace.sessions), 1), np.bool_)
    given[trace.session_id[trace.keyed_stats("group_id").event]] = True
    if trace.n_events and given[trace.session_id].all():
        return _groups_of_file(trace)
    graph = build_graph(trace)
    roots = _roots(trace, given)
    group, numbered = _assign(graph, roots)
    grouping = _describe(trace, graph, group, numbered)
    return _add_given(trace, grouping) if given.any() else grouping


def _roots(trace: Trace, given: Bool) -> list[Int64]:
    """Candidates for roots, in the order in which XProf visits them: by level, which falls, and each level in time order."""
    level = trace.int_stat("_r", signed_only=True)
    level[trace.names_matching(["TraceContext"]) & (level == 0)] = 1
    level[given[trace.session_id]] = 0
    rows = np.flatnonzero(level > 0)
    called = np.flatnonzero(trace.names_matching(CAPTURED_FUNCTIONS) & trace.has_stat("id"))
    if len(called) and len(rows):
        both = np.concatenate([called, rows])
        key = same_key(trace.int_stat("id")[both], trace.session_id[both])
        by_tf_data = np.isin(key[len(called) :], key[: len(called)]) & trace.has_stat("id")[rows]
        rows = rows[~by_tf_data]
    rows = rows[np.lexsort((trace.start_ps[rows], -level[rows]))]
    return np.split(rows, np.flatnonzero(np.diff(level[rows])) + 1) if len(rows) else []


def _assign(graph: EventGraph, roots: list[Int64]) -> tuple[Int32, Int64]:
    """Group of every event (an index into the second result), and the root event of every group."""
    group = np.full(len(graph.up), -1, np.int32)
    numbered: list[Int64] = []
    n_groups = 0
    for rows in roots:
        below = _strictly_below(graph, rows)
        fresh = rows[(group[rows] < 0) & ~below[rows]]
        reached = graph.reach(fresh, np.arange(len(fresh)) + n_groups, nearest=False)
        group = np.where(group < 0, reached, group)
        numbered.append(fresh)
        n_groups += len(fresh)
    return group, np.concatenate(numbered) if numbered else np.empty(0, np.int64)


def _strictly_below(graph: EventGraph, rows: Int64) -> Bool:
    """For each event whether another of `rows` leads to it."""
    parents_of_links = graph.reach(rows, rows, nearest=True)
    inside = np.zeros(len(graph.up), np.bool_)
    has_up = graph.up >= 0
    inside[has_up] = parents_of_links[graph.up[has_up]] >= 0
    linked = parents_of_links[graph.link_from]
    strict = (linked >= 0) & (linked != graph.link_to)
    inside[graph.link_to[strict]] = True
    return inside


def _describe(trace: Trace, graph: EventGraph, group: Int32, roots: Int64) -> Grouping:
    session = trace.session_id[roots].astype(np.int64)
    order = np.argsort(session, kind="stable")
    rank = np.full(len(roots) + 1, -1, small_int(len(roots)))  # the last stands for no group
    rank[order] = np.arange(len(roots))
    number = np.arange(len(roots)) - np.searchsorted(session[order], session[order])
    groups = _name_groups(trace, graph, roots[order], number)
    linked = rank[group]
    adopted = _ungrouped_device_events(trace, linked)
    return Grouping(
        group_id=adopted,
        is_eager=_eager(trace, graph),
        is_adopted=_nowhere(trace) if adopted is linked else adopted != linked,
        groups=groups,
    )


def _name_groups(trace: Trace, graph: EventGraph, roots: Int64, number: Int64) -> pd.DataFrame:
    strings = trace.strings
    events = [strings[i] for i in trace.name_id[roots].tolist()]
    graph_type = _of_nearest(graph, roots, trace.string_stat("graph_type").astype(np.int64), absent=-1)
    absent = np.iinfo(np.int64).min
    counter = _of_nearest(graph, roots, trace.int_stat("iter_num", default=absent), absent=absent)
    step_num = trace.int_stat("step_num", default=absent)[roots]
    counter = np.where(counter != absent, counter, np.where(step_num != absent, step_num, number))
    titles = [strings[kind] if kind >= 0 else event for kind, event in zip(graph_type.tolist(), events, strict=True)]
    implicit = [event in IMPLICIT_ROOTS for event in events]
    names = [
        "" if skip else f"{title} {count}"
        for skip, title, count in zip(implicit, titles, counter.tolist(), strict=True)
    ]
    return pd.DataFrame(
        {
            "session": trace.session_id[roots].astype(np.int32),
            "number": number.astype(np.int64),
            "name": names,
            "is_implicit": np.array(implicit, np.bool_),
            "root": roots.astype(np.int64),
        }
    )


def _of_nearest(graph: EventGraph, roots: Int64, values: Int64, *, absent: int) -> Int64:
    """For each root the value of itself or its nearest ancestor that has one."""
    found, at = values[roots], graph.up[roots]
    while (open_ := (found == absent) & (at >= 0)).any():
        found[open_] = values[at[open_]]
        at[open_] = graph.up[at[open_]]
    return found


def _ungrouped_device_events(trace: Trace, group: SmallInt) -> SmallInt:
    """On a device plane an event without a group joins the group of the event before it in time (semantics 1.8.1)."""
    if not any(plane.is_device for plane in trace.planes):
        return group
    group = group.copy()
    derived = np.array([line.is_derived for line in trace.lines], np.bool_)
    for index, plane in enumerate(trace.planes):
        if not plane.is_device:
            continue
        own = trace.events_of_plane(index)
        rows = own.start + np.flatnonzero(~derived[trace.line_id[own]])
        rows = rows[np.lexsort((trace.duration_ps[rows], trace.start_ps[rows], trace.session_id[rows]))]
        grouped = group[rows] >= 0
        last = np.maximum.accumulate(np.where(grouped, np.arange(len(rows)), -1))
        known = last >= 0
        known[known] &= trace.session_id[rows[last[known]]] == trace.session_id[rows[known]]
        group[rows[known]] = group[rows[last[known]]]
    return group


def _eager(trace: Trace, graph: EventGraph) -> Bool:
    """Op kernels whose nearest `EagerExecute` says `is_func` = 0. Source: semantics 2.4.6."""
    calls = np.flatnonzero(trace.names_matching(["EagerExecute"]))
    if not len(calls):
        return _nowhere(trace)
    is_func = trace.int_stat("is_func", default=1, signed_only=True)[calls]
    under = graph.reach(calls, (is_func == 0).astype(np.int64), nearest=True)
    is_op = by_ends(trace, lambda _, parsed: parsed.category == OpCategory.TENSORFLOW, np.bool_)
    on_device = trace.on_planes([plane.is_device for plane in trace.planes])
    eager: Bool = (under == 1) & (is_op[trace.name_id] | on_device)
    return eager if eager.any() else _nowhere(trace)


def _nowhere(trace: Trace) -> Bool:
    """False for each event, without memory of its own."""
    return np.broadcast_to(np.False_, trace.n_events)


def _groups_of_file(trace: Trace) -> Grouping:
    columns = {"session": np.int32, "number": np.int64, "name": object, "is_implicit": np.bool_, "root": np.int64}
    none = Grouping(
        group_id=np.full(trace.n_events, -1, np.int32),
        is_eager=trace.int_stat("is_eager", signed_only=True) != 0,
        is_adopted=_nowhere(trace),
        groups=pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in columns.items()}),
    )
    return _add_given(trace, none)


def _add_given(trace: Trace, grouping: Grouping) -> Grouping:
    """Add the groups that the file itself carries; a name is the last `step_name` of an event of the host."""
    rows = distinct(trace.keyed_stats("group_id").event)
    number = trace.int_stat("group_id", default=-1, signed_only=True)[rows]
    rows, number = rows[number >= 0], number[number >= 0]
    session = trace.session_id[rows]
    code, n = dense_codes(session, number)
    first = first_of(code, n)
    group_id = grouping.group_id.astype(np.int32)
    group_id[rows] = code + len(grouping.groups)
    is_host = trace.on_planes([plane.is_host for plane in trace.planes])
    step_name = trace.string_stat("step_name")
    named = np.flatnonzero(is_host & (step_name >= 0) & (group_id >= len(grouping.groups)))
    text = np.full(n, -1, np.int64)
    text[group_id[named] - len(grouping.groups)] = step_name[named]  # of several the last stays
    names = [trace.strings[i] if i >= 0 else "" for i in text.tolist()]
    columns = {
        "session": session[first],
        "number": number[first],
        "name": names,
        "is_implicit": np.array([not name for name in names], np.bool_),
        "root": np.full(n, -1),
    }
    groups = pd.DataFrame(columns)
    both = pd.concat([grouping.groups, groups], ignore_index=True) if len(grouping.groups) else groups
    return Grouping(group_id, grouping.is_eager, grouping.is_adopted, both)


class ComputeUnit(IntEnum):
    """What a kernel computes on, and in which type."""

    VECTOR_32 = 0
    """Ordinary cores, on 32 bits, or on integers of more."""
    VECTOR_16 = 1
    """Ordinary cores, on fewer."""
    TENSOR_TF32 = 2
    """Tensor Cores, on the upper 19 bits of float32."""
    TENSOR_16 = 3
    """Tensor Cores, or AMD's matrix cores, on 16 bits or fewer."""
    TENSOR_OTHER = 4
    """Tensor Cores on float64; AMD's matrix cores on float32 and float64."""
    VECTOR_64 = 5
    """Ordinary cores, on float64."""
    UNKNOWN = 255
    """The trace does not tell, or the event computes nothing."""


UNIT_TEXTS: dict[int, str] = {
    ComputeUnit.VECTOR_32: "32-bit vector",
    ComputeUnit.VECTOR_16: "16-bit vector",
    ComputeUnit.TENSOR_TF32: "TF32 Tensor Core",
    ComputeUnit.TENSOR_16: "16-bit Tensor Core",
    ComputeUnit.TENSOR_OTHER: "other Tensor Core",
    ComputeUnit.VECTOR_64: "64-bit vector",
    ComputeUnit.UNKNOWN: "",
}
N_UNITS = 6
UNIT_RATIOS = {
    "tensor_16bit_ratio": (ComputeUnit.TENSOR_16,),
    "tensor_tf32_ratio": (ComputeUnit.TENSOR_TF32,),
    "vector_16bit_ratio": (ComputeUnit.VECTOR_16,),
    "vector_32bit_ratio": (ComputeUnit.VECTOR_32, ComputeUnit.VECTOR_64),
}
"""Columns of tables: the part of the kernel time in some units, those of 32 bits or more in one."""


def on_tensor_cores(unit: npt.NDArray[np.integer]) -> Bool:
    return (unit >= ComputeUnit.TENSOR_TF32) & (unit <= ComputeUnit.TENSOR_OTHER)


def in_16_bits(unit: npt.NDArray[np.integer]) -> Bool:
    """Which of some `ComputeUnit`s compute on 16 bits or fewer."""
    found: Bool = (unit == ComputeUnit.VECTOR_16) | (unit == ComputeUnit.TENSOR_16)
    return found


def time_by_unit(row: npt.NDArray[np.integer], unit: UInt8, time: Int64, n_rows: int) -> Float64:
    """Time of kernels by what they are part of and by unit, shape (n_rows, N_UNITS); that in unknown ones is left out."""
    is_told = (row >= 0) & (unit < N_UNITS)
    place = row[is_told].astype(np.int64) * N_UNITS + unit[is_told]
    total = np.bincount(place, time[is_told], minlength=n_rows * N_UNITS)
    return np.asarray(total, np.float64).reshape(n_rows, N_UNITS)


def unit_ratios(time: Float64) -> dict[str, Float64]:
    """Columns of tables, from `time_by_unit`: the part of each class in a row's time, NaN where there is none."""
    whole = time.sum(axis=1)
    part = time / np.where(whole > 0, whole, np.nan)[:, None]
    return {name: part[:, list(units)].sum(axis=1) for name, units in UNIT_RATIOS.items()}


_DATA_THREAD = re.compile(r"tf_data_(private_threadpool|iterator_resource)")
"""Threads of tf.data's own; on `tf_data_iterator_get_next` the step goes on with what waited for the batch."""


@once
def within_data(trace: Trace) -> Bool:
    """For each event whether it lies within an iterator's call or on a thread of tf.data's own."""
    is_iterator = by_ends(trace, lambda names, _: [name.startswith("Iterator::") for name in names], np.bool_)[
        trace.name_id
    ]
    found = data_lines(trace)[trace.line_id] | (nearest_marked(trace.nesting.parent, is_iterator) >= 0)
    found.flags.writeable = False
    return found


def data_lines(trace: Trace) -> Bool:
    """For each line of the trace whether it is a thread of tf.data's own."""
    return np.array([bool(_DATA_THREAD.match(line.name)) for line in trace.lines], np.bool_)
