"""Events -> the kind of step time each stands for, and the steps that averages are over: the `steps` table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.arrays import Bool, Int32, Int64, SmallInt, UInt8
from ...trace.trace import Trace, small_int
from ..common import PS_PER_MS, Stretches, milliseconds, moments_of, plural, same_key, sum_by
from ..events import is_collective, nearest_marked, sends_to_other_tasks
from ..grouping import Grouping, in_16_bits
from ..names import COMPILATION, OpCategory, by_ends


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


_NOT_COMPUTE = ("EagerExecute", "EagerLocalExecute", "EagerKernelExecute", "FunctionRun", "$")
"""The last begins the name of a function that Python's own tracer saw, `$train.py:7 load`."""
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
    """The `SpanType` of every event, `NONE` for wrappers and functions of Python. Differs from XProf: compilation is a type,
    `MemcpyH2D` and kin are copies (D1), bfloat16 is 16-bit (D9), not the name alone decides (D13), exchanges count."""
    host, stream = on_host(trace), on_stream(trace)
    types = np.full(trace.n_events, SpanType.NONE, np.uint8)
    types[host] = by_ends(trace, _host_type, np.uint8)[trace.name_id[host]]
    types[sends_to_other_tasks(trace)] = SpanType.COLLECTIVES
    with_device = sessions_with_device(trace)
    if with_device.any():
        is_process = by_ends(trace, lambda name, *_: name.lower().startswith("executorstate::process"))
        has_correlation = trace.has_stat("correlation_id")
        launches = host & with_device[trace.session_id] & (has_correlation | is_process[trace.name_id])
        types[launches & np.isin(types, (SpanType.HOST_COMPUTE, SpanType.WAIT_INPUT))] = SpanType.KERNEL_LAUNCH
        kinds = by_ends(trace, _device_type, np.uint8)[trace.name_id]
        other = np.flatnonzero(stream & trace.names_matching(("MemcpyOther",)))
        texts, place = np.unique(trace.string_stat("memcpy_details")[other], return_inverse=True)
        ends = ("".join(_OF_HOST.findall(trace.strings[text] if text >= 0 else "")) for text in texts.tolist())
        kinds[other] = np.array([_OTHER_COPIES.get(one, SpanType.DEVICE_TO_DEVICE) for one in ends], np.uint8)[place]
        kinds[(kinds == SpanType.COMPUTE_32) & in_16_bits(units)] = SpanType.COMPUTE_16
        ran = stream & (has_correlation | trace.has_stat("kernel_details") | trace.has_stat("memcpy_details"))
        types[ran] = kinds[ran]
    stage = _root_stages(trace, host)
    types[stage & (types == SpanType.HOST_COMPUTE)] = SpanType.WAIT_INPUT
    types[host_markers(trace, grouping) | (host & _is_named_marker(trace))] = SpanType.NONE
    return types


def _host_type(name: str, category: int, _: str) -> SpanType:
    if name.startswith(_NOT_COMPUTE):
        return SpanType.NONE
    if category == OpCategory.MEMCPY_HTOD or (category and name.rpartition(":")[2].startswith("InfeedEnqueue")):
        return SpanType.HOST_TO_DEVICE
    if category == OpCategory.MEMCPY_HTOH:
        return SpanType.HOST_TO_HOST
    # The arrival of a tensor of another task is an event in old files alone; `find_exchanges` knows of others.
    if name.endswith(":RecvTensor") or is_collective(category, name.rpartition(":")[2]):
        return SpanType.COLLECTIVES
    if name.lower().startswith(("iteratorgetnext", "enumerate(dataloader)")):
        return SpanType.WAIT_INPUT
    return SpanType.COMPILE if name.startswith(_TRACE) or COMPILATION.match(name) else SpanType.HOST_COMPUTE


def _device_type(name: str, category: int, _: str) -> SpanType:
    if category in _PARSED_COPIES:
        return _PARSED_COPIES[OpCategory(category)]
    low = name[:11].lower()
    if kind := _COPIES.get(low[:9]) or _COPIES.get(f"memcpy{low[7:].replace('to', '2')}"):
        return kind
    if low.startswith("nccl"):
        return SpanType.COLLECTIVES
    return SpanType.COMPUTE_32


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
    """Names that mark a step by convention, here as in XProf also a `tf.function` called `train_step`."""
    named = by_ends(trace, lambda name, *_: name.startswith(_MARKERS) and "/" not in name)
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
    """Start and duration of each group's longest stretch on one device, -1 without one, as in XProf (semantics 1.8.2)."""
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


_N_TYPES = 24


@dataclass(frozen=True)
class Pieces:
    """Pieces that tile each step without overlap, by step, then time."""

    step: Int64
    start_ps: Int64
    end_ps: Int64
    span_type: UInt8
    """A `SpanType` or a `Part`; 0 where nothing ran."""

    def total_ps(self, n_steps: int) -> Int64:
        """Time of each step in each type, shape (n_steps, number of types)."""
        total = sum_by(self.step * _N_TYPES + self.span_type, self.end_ps - self.start_ps, n_steps * _N_TYPES)
        return total.reshape(n_steps, _N_TYPES)


def resolve(
    step: Int64, start_ps: Int64, end_ps: Int64, span_type: UInt8, *, step_start_ps: Int64, step_end_ps: Int64
) -> Pieces:
    """Clip spans to their steps and give each instant to the largest type that is present."""
    start, end = np.maximum(start_ps, step_start_ps[step]), np.minimum(end_ps, step_end_ps[step])
    kept = start < end
    step, kind = step[kept], span_type[kept].astype(np.int64)
    since = step_start_ps[step]  # times within a step leave room for many steps in one number
    step, start, end, kind = _unite(step, start[kept] - since, end[kept] - since, kind)
    every, none = np.arange(len(step_start_ps)), np.zeros(len(step_start_ps), np.int64)
    at = np.concatenate([start, end, none, step_end_ps - step_start_ps])
    owner = np.concatenate([step, step, every, every])
    bit = np.left_shift(1, kind)
    change = np.concatenate([bit, -bit, none, none])
    order = np.argsort(moments_of((owner, at))[0], kind="stable")
    at, owner, present = at[order], owner[order], np.cumsum(change[order])
    at += step_start_ps[owner]
    inside = (owner[1:] == owner[:-1]) & (at[1:] > at[:-1])
    _, n_bits = np.frexp(present[:-1][inside])
    winner = np.maximum(n_bits - 1, 0).astype(np.uint8)
    return merged(owner[:-1][inside], at[:-1][inside], at[1:][inside], winner)


def _unite(step: Int64, start: Int64, end: Int64, kind: Int64) -> tuple[Int64, Int64, Int64, Int64]:
    """The union of the spans of each (step, type), as disjoint spans that do not touch."""
    if not len(step):
        return step, start, end, kind
    key = step * _N_TYPES + kind
    begin, stop = moments_of((key, start), (key, end))
    order = np.argsort(begin, kind="stable")
    reach = np.maximum.accumulate(stop[order])
    first = np.flatnonzero(np.append(True, begin[order][1:] > reach[:-1]))
    rows = order[first]
    return step[rows], start[rows], np.maximum.reduceat(end[order], first), kind[rows]


def merged(step: Int64, start: Int64, end: Int64, kind: UInt8) -> Pieces:
    """Join neighbours of one step and type."""
    if not len(step):
        return Pieces(step, start, end, kind)
    first = np.flatnonzero(np.append(True, (step[1:] != step[:-1]) | (kind[1:] != kind[:-1])))
    last = np.append(first[1:], len(step)) - 1
    return Pieces(step[first], start[first], end[last], kind[first])


_NUMBER = r"(?:\d+·)?\d+\Z"


def kinds_of(names: pd.Series[str]) -> npt.NDArray[np.object_]:
    """For each step its name without its number: `train`, `test`."""
    return names.str.replace(rf"\s*{_NUMBER}", "", regex=True).to_numpy(np.object_)


def distinct_names(names: Sequence[str], hosts: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """Give the steps of a host that were marked alike different names."""
    step = pd.DataFrame({"host": hosts, "name": np.array(names, np.object_)})
    if not step.duplicated().any():
        return step["name"].to_numpy(np.object_)
    step["kind"] = step["name"].str.replace(r"\d+\Z", "", regex=True)
    digits = step["name"].str.extract(r"(\d+)\Z", expand=False)
    step["number"] = digits.astype(float).fillna(-1)
    kind = [step["host"], step["kind"]]
    before = step.groupby(kind)["number"].shift()
    epoch = (step["number"] < before).groupby(kind).cumsum() + 1
    repeats = step.duplicated(["host", "name"]).groupby(kind).transform("any")
    is_counted = (step["number"] == before).groupby(kind).transform("any")
    in_epoch = step["kind"] + epoch.astype(str) + "·" + digits.fillna("")
    space = np.where(digits.isna(), " ", "")
    counted = step["kind"] + space + step.groupby(kind).cumcount().astype(str)
    found = step["name"].mask(repeats, in_epoch).mask(repeats & is_counted, counted)
    return found.to_numpy(np.object_)


MIN_STEPS = 3
"""Of fewer steps nobody can tell what is usual; rules about what recurs say nothing then."""
_OUTLIER = 3.0
"""The first step of a session is left out of averages when it takes more than this many medians of the others, and"""
_MOST_WARMING = 3
"""so are the second and third behind such a one: kernels are chosen and memory is taken for the first time."""
_COMPILING = 0.1
"""A step that spends this share of its time compiling is left out, wherever it lies."""
_MOST_NAMED = 3
"""Of more steps that compile only their number is named."""
_PAUSE = 10.0
"""A loop of steps begins anew, such as another `fit`, where the time since the last step is so many usual ones, and"""
_MIN_PAUSE_MS = 1.0
"""at least this."""
_TRAINS = "train"
"""The kind of steps that a capture of a training is about, however long it validates."""


class Averaged(NamedTuple):
    """Which steps count."""

    is_averaged: Bool
    left_out: str
    """Why not all; "" where all do."""
    compiles_again: Bool
    """Which are left out as they compile, although no loop begins with them."""


def choose_steps(
    frame: pd.DataFrame,
    *,
    coordinators: Collection[str] = (),
    has_failed: bool = False,
    epoch_starts: Bool | None = None,
) -> Averaged:
    """Leave out incomplete steps, other kinds of steps, those that compile, and a first one that is an outlier."""
    if has_failed:
        none = np.zeros(len(frame), np.bool_)
        return Averaged(none, "No step is averaged, as memory ran out." if len(frame) else "", none)
    averaged = frame["is_complete"].to_numpy(np.bool_).copy()
    reasons = [plural(int((~averaged).sum()), "incomplete step")] if not averaged.all() else []
    coordinating = frame["host"].isin(list(coordinators)).to_numpy(np.bool_)
    if (averaged & coordinating).any():
        reasons.append(f"{plural(int((averaged & coordinating).sum()), 'step')} of hosts that do not train")
        averaged &= ~coordinating
    kinds = kinds_of(frame["name"])
    if len(set(kinds[averaged])) > 1:
        time = frame["step_time_ms"][averaged].groupby(kinds[averaged]).sum()
        main = _TRAINS if _TRAINS in time.index else time.idxmax()
        for kind, count in Counter(kinds[averaged & (kinds != main)].tolist()).items():
            reasons.append(plural(count, f"{kind} step" if kind else "unnamed step"))
        averaged &= kinds == main
    compile_ms = frame["compile_ms"].to_numpy()
    compiles = (compile_ms > 0) & (compile_ms >= _COMPILING * frame["step_time_ms"].to_numpy())
    again = np.zeros(len(frame), np.bool_)
    for host in sorted(set(frame["host"][averaged])):  # bounded by the number of hosts
        own = np.flatnonzero(averaged & (frame["host"] == host).to_numpy())
        reasons += _leave_out_unusual(frame, own, compiles, averaged, again)
    if epoch_starts is not None and is_selection(frame, averaged):
        others = averaged & ~epoch_starts
        if MIN_STEPS <= others.sum() < averaged.sum():
            reasons.append(f"{plural(int(averaged.sum() - others.sum()), 'step')} at the begin of an epoch")
            averaged = others
    sentences = _sentence(reasons), _still_compiling(int((averaged & compiles).sum()), int(averaged.sum()))
    return Averaged(averaged, " ".join(filter(None, sentences)), again)


def is_selection(frame: pd.DataFrame, averaged: Bool) -> bool:
    """Whether the averaged steps lie in windows of their own, as of `every=`."""
    return bool(averaged.any()) and 2 * frame["session"][averaged].nunique() > averaged.sum() >= MIN_STEPS


def _sentence(reasons: list[str]) -> str:
    """`Step 0 (1.03 s, warm-up) and 2 test steps are excluded.`"""
    if not reasons:
        return ""
    *most, last = sorted(reasons, key=lambda reason: not reason.startswith("step "))
    said = f"{', '.join(most)} and {last}" if most else last
    is_one = not most and last.startswith(("step ", "1 "))
    return f"{said[0].upper()}{said[1:]} {'is' if is_one else 'are'} excluded."


def _still_compiling(n: int, n_averaged: int) -> str:
    """That averaged steps compile, as most do or no other was captured."""
    if not n:
        return ""
    if n < n_averaged:
        return f"{n} of the {n_averaged} averaged steps compile."
    return "All averaged steps compile." if n > 1 else "The only averaged step compiles."


def _leave_out_unusual(frame: pd.DataFrame, own: Int64, compiles: Bool, averaged: Bool, again: Bool) -> Iterator[str]:
    """Take steps that compile, unless most do, and long first ones out of `averaged`, say why, and set `again`."""
    session = frame["session"].to_numpy()[own]
    parts = [own[session == one].tolist() for one in sorted(set(session.tolist()))]
    begins = {part[0] for at, part in enumerate(parts) if len(part) > 1 or not at}
    of_loops = {step for part in parts for step in _first_of_loops(frame, part)}
    is_begin = np.isin(own, [*begins, *of_loops])
    compiling, later = own[compiles[own]], own[~is_begin]
    if 2 * np.count_nonzero(compiles[later]) > len(later):  # it is what a step does
        compiling = own[compiles[own] & is_begin]
    if len(compiling) < len(own):
        averaged[compiling] = False
        again[np.setdiff1d(compiling, own[is_begin])] = True
        yield from _compile_words(frame, compiling.tolist(), of_loops)
    time_ms = frame["step_time_ms"].to_numpy()
    for at, part in enumerate(parts):
        for place, step in enumerate(part[:_MOST_WARMING]):
            others = part[place + 1 :] if len(part) > 1 or at else own.tolist()
            others = [one for one in others if averaged[one] and one != step]
            is_warming = len(others) >= (MIN_STEPS if place else 1) and time_ms[step] > _OUTLIER * np.median(
                time_ms[others]
            )
            if averaged[step] and is_warming:
                averaged[step] = False
                yield f"step {step} ({milliseconds(time_ms[step])}, warm-up)"
            elif averaged[step]:
                break


def _compile_words(frame: pd.DataFrame, steps: list[int], of_loops: Collection[int]) -> Iterator[str]:
    """Of steps that compile and are left out: `step 0 (1.03 s, compiles)`; of many how many they are."""
    named = [step for step in steps if step not in of_loops]
    for step in named[: len(named) if len(named) <= _MOST_NAMED else 1]:
        yield f"step {step} ({milliseconds(frame['step_time_ms'].iloc[step])}, compiles)"
    if len(named) > _MOST_NAMED:
        yield f"{len(named) - 1} more that compile"
    if n := len(steps) - len(named):
        yield f"{plural(n, 'step')} that {'compile' if n > 1 else 'compiles'} at the begin of a loop"


def _first_of_loops(frame: pd.DataFrame, steps: list[int]) -> list[int]:
    """Of steps of one session, in order of time, those that come after a pause as between two calls of `fit`."""
    start_ps, duration_ps = (frame[name].to_numpy(np.int64)[steps] for name in ("start_ps", "duration_ps"))
    pause_ms = (start_ps[1:] - (start_ps + duration_ps)[:-1]) / PS_PER_MS
    usual_ms = float(np.median(pause_ms)) if len(pause_ms) else 0.0
    found = np.flatnonzero(pause_ms >= max(_PAUSE * usual_ms, _MIN_PAUSE_MS)) + 1
    return [steps[at] for at in found.tolist()]


@dataclass(frozen=True, eq=False, repr=False)
class Coverage:
    """The time in and out of such steps, of sessions of one host in which the program ran some."""

    captured_ps: int
    """From the begin of each session to its end."""
    outside_ps: int
    """Of that what lies in no such step; steps of another kind, such as those of a validation, count here."""
    edges_ps: int
    """Of `outside_ps` what comes before the first step of any kind and after the last: how a program begins and ends."""
    start_ps: Int64
    """When each stretch without such a step begins, in order of time; `end_ps` when it ends."""
    end_ps: Int64

    @property
    def ratio(self) -> float:
        """Share of the time captured that lies in steps; 1 where it is unknown."""
        return 1 - self.outside_ps / self.captured_ps if self.captured_ps else 1.0

    @property
    def between_ps(self) -> int:
        """What lies outside of such steps between the first step and the last."""
        return self.outside_ps - self.edges_ps


def step_coverage(trace: Trace, frame: pd.DataFrame, averaged: Bool) -> Coverage:
    """How much of the capture the steps cover; not of single runs of a session, between which nothing was recorded."""
    is_told = frame["host"].nunique() == 1 and not _is_of_single_runs(trace)
    sessions = trace.sessions if is_told else ()
    kinds = kinds_of(frame["name"])
    chosen = frame[np.isin(kinds, np.unique(kinds[averaged]))]
    start = chosen["start_ps"].to_numpy(np.int64)
    end = start + chosen["duration_ps"].to_numpy(np.int64)
    captured, edges, starts, ends = 0, 0, [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for number, session in enumerate(sessions):  # one turn per session
        own = chosen["session"].to_numpy() == number
        if not own.any():
            continue
        steps = Stretches.of(start[own], end[own])
        first, last = int(steps.start[0]), int(steps.end[-1])
        if len(sessions) == 1:  # of several the profiler begins and ends each around steps that were asked for
            first, last = min(first, session.start_ps), max(last, session.stop_ps)
            begins = frame["start_ps"].to_numpy(np.int64)
            edges = max(int(begins.min()) - first, 0) + max(last - int((begins + frame["duration_ps"]).max()), 0)
        captured += last - first
        starts.append(np.append(first, steps.end))
        ends.append(np.append(steps.start, last))
    begin, until = np.concatenate(starts), np.concatenate(ends)
    order = np.argsort(begin, kind="stable")
    order = order[until[order] > begin[order]]
    return Coverage(captured, int((until - begin)[order].sum()), edges, begin[order], until[order])


def _is_of_single_runs(trace: Trace) -> bool:
    """Whether TensorFlow's first profiler recorded it, which writes one file a run: the reader makes the line of its steps."""
    return any(line.name == "Steps" and trace.planes[line.plane].is_host for line in trace.lines)


_ARRAYS = ("session", "start_ps", "end_ps", "is_inferred", "is_complete", "is_tiling")
"""The columns of a `StepTable` that are arrays with an entry per step."""


@dataclass(frozen=True)
class StepTable:
    """Steps as columns, one entry per step except for `member`."""

    session: Int64
    start_ps: Int64
    end_ps: Int64
    name: tuple[str, ...]
    is_inferred: Bool
    is_complete: Bool
    is_tiling: Bool
    """Whether the device work that counts for a step is what runs during it, whoever launched it."""
    member: SmallInt
    """For each event of the trace the index of the step whose work it is, -1 for none."""

    @classmethod
    def empty(cls, n_events: int) -> StepTable:
        none, no = np.empty(0, np.int64), np.empty(0, np.bool_)
        return cls(none, none, none, (), no, no, no, np.broadcast_to(np.int32(-1), n_events))

    @classmethod
    def of_groups(
        cls,
        grouping: Grouping,
        chosen: Int64,
        start_ps: Int64,
        end_ps: Int64,
        *,
        is_complete: Bool | None = None,
        is_inferred: bool = False,
        name: tuple[str, ...] | None = None,
    ) -> StepTable:
        """The steps that some groups are, called as these, by default complete; all else is of the chosen ones."""
        session, texts, numbers = (grouping.groups[key].to_numpy()[chosen] for key in ("session", "name", "number"))
        own = zip(texts.tolist(), numbers.tolist(), strict=True)
        return cls(
            session=session.astype(np.int64),
            start_ps=start_ps,
            end_ps=end_ps,
            name=tuple(name or str(number) for name, number in own) if name is None else name,
            is_inferred=np.full(len(chosen), is_inferred),
            is_complete=np.ones(len(chosen), np.bool_) if is_complete is None else is_complete,
            is_tiling=np.zeros(len(chosen), np.bool_),
            member=members(grouping, chosen),
        )

    def is_tiling_of(self, step: SmallInt) -> Bool:
        """`is_tiling` of each of the given steps, False for -1."""
        return np.append(self.is_tiling, False)[step]

    def joined(self, other: StepTable) -> StepTable:
        """The steps of both; an event of both stays with the first."""
        if not len(other.start_ps):
            return self
        if not len(self.start_ps):
            return other
        shifted = np.where(other.member >= 0, other.member + np.int32(len(self.start_ps)), np.int32(-1))
        columns = {key: np.concatenate([getattr(self, key), getattr(other, key)]) for key in _ARRAYS}
        member = np.where(self.member >= 0, self.member, shifted)
        return StepTable(name=self.name + other.name, member=member, **columns)

    def sorted(self) -> StepTable:
        """By start, then session; steps of no duration are left out."""
        order = np.lexsort((self.session, self.start_ps))
        return self.at(order[self.end_ps[order] > self.start_ps[order]])

    def at(self, order: Int64) -> StepTable:
        place = np.full(len(self.start_ps) + 1, -1, small_int(len(order)))
        place[order] = np.arange(len(order))
        columns = {key: getattr(self, key)[order] for key in _ARRAYS}
        return StepTable(name=tuple(self.name[i] for i in order.tolist()), member=place[self.member], **columns)

    def during(self, steps: Int64, start_ps: Int64, end_ps: Int64) -> tuple[Int64, Int64]:
        """Every pair of a span and one of `steps` (disjoint, by start) that it overlaps: rows of the spans, and the steps."""
        first = np.searchsorted(self.end_ps[steps], start_ps, side="right")
        count = np.maximum(np.searchsorted(self.start_ps[steps], end_ps, side="left") - first, 0)
        place = np.repeat(first - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))
        return np.repeat(np.arange(len(start_ps)), count), steps[place]


def members(grouping: Grouping, chosen: Int64) -> Int32:
    """For each event of the trace which of the chosen groups it belongs to, -1 for none."""
    row = np.full(len(grouping.groups) + 1, -1, np.int32)
    row[chosen] = np.arange(len(chosen))
    return row[grouping.group_id]


def device_events(trace: Trace, types: UInt8) -> Int64:
    return np.flatnonzero(on_stream(trace) & (types != SpanType.NONE) & (trace.duration_ps > 0))


def spans_by_time(trace: Trace, events: Int64, table: StepTable, steps: Bool) -> tuple[Int64, Int64]:
    """Pair events with every one of some steps (no two of a session overlap) of their session that they overlap."""
    rows, found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for session in np.unique(table.session[steps]).tolist():  # bounded by the number of sessions
        own = events[trace.session_id[events] == session]
        span, step = table.during(
            np.flatnonzero(steps & (table.session == session)), trace.start_ps[own], trace.ends(own)
        )
        rows.append(own[span])
        found.append(step)
    return np.concatenate(rows), np.concatenate(found)


def outermost_spans(trace: Trace, types: UInt8, member: SmallInt) -> Int64:
    """Events with a type and a step, less those inside an event of the same type and step, which add nothing."""
    counted = (types != SpanType.NONE) & (member >= 0) & (trace.duration_ps > 0)
    rows = np.flatnonzero(counted)
    parent = trace.nesting.parent[rows]
    repeated = (parent >= 0) & counted[parent] & (types[parent] == types[rows]) & (member[parent] == member[rows])
    outermost: Int64 = rows[~repeated]
    return outermost
