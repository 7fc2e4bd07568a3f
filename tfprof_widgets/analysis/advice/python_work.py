"""Python of the user's in a step: lines and calls seen by samples, in stretches in which no op runs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.arrays import Bool, Float64, Int32, Int64
from ...trace.source_map import SourceMap
from ...trace.trace import Trace
from ..card import HIGH_GAIN, Spans
from ..common import PS_PER_MS, Stretches, match_in_time, sum_by
from ..events import int_stat_at
from ..grouping import within_data
from ..names import by_ends
from ..ops.executions import eager_launches
from ..source import sample_times
from ..steps.categories import tracing
from .facts import CodeLine, RunFacts, StepFacts, code_line, covered

MIN_GAP_MS = 3.0
"""Longer stretches in most steps are somebody's code: Keras itself took 0.1 to 0.7 ms between batches, callbacks included."""
MIN_NAMED_GAP_MS = 1.0
"""A shorter stretch counts where samples show the user's thread at another line than the step's; fetching a batch takes less."""
MIN_LINE_SAMPLES = 3
"""The user's line is sampled every 5 ms, or less often where that would cost too much; fewer samples than this name no line."""
MIN_FOR_A_SHARE = 40
"""Samples in the steps from which on a share of them says how long something took, to a tenth or so."""
_CALL = re.compile(r"\$(\S+\.py):(\d+) (.+)")
"""How a tracer of Python names a call: the file, the line at which its function begins, and that function."""
_LONG = 0.5
"""Of the usual longest stretch: others at least this long count with it, and all that are no framework's own."""


@dataclass(frozen=True, eq=False, repr=False)
class PythonGap:
    """The stretches in which neither an op nor the device runs, those of a length that recurs."""

    ms: Float64
    """For each step the time of its long stretches."""
    usual_ms: float
    """Median over the steps of the longest stretch."""
    lines: tuple[CodeLine, ...] = field(default=())
    """Where the user's thread was in them, the most frequent first, without the line that runs the step itself."""
    pieces: pd.DataFrame = field(default_factory=pd.DataFrame)
    """They: `entry` among the steps, `start_ps`, `duration_ps`."""
    n_samples: int = 0
    """How many samples lie in them."""
    sampled_ratio: float = 0.0
    """Share of the steps' samples at those of these lines which mostly run no op; 0 where there are too few samples."""
    sampled: Spans | None = None
    """The time of these samples; None where there are too few."""

    def spans(self, steps: StepFacts) -> Spans:
        """The same as time of the steps."""
        start_ps = self.pieces["start_ps"].to_numpy(np.int64)
        return steps.spans(
            self.pieces["entry"].to_numpy(np.int64), start_ps, start_ps + self.pieces["duration_ps"].to_numpy(np.int64)
        )

    @property
    def is_named(self) -> bool:
        """Whether most samples, and enough of them, were at a line other than that of the step."""
        return self.n_samples >= MIN_LINE_SAMPLES and sum(line.share for line in self.lines) >= _MOST

    @property
    def is_long(self) -> bool:
        """Whether it is more than the framework's own bookkeeping."""
        return self.usual_ms >= (MIN_NAMED_GAP_MS if self.is_named else MIN_GAP_MS)


def python_gap(run: RunFacts) -> PythonGap:
    """The gaps of the steps in which neither an op nor the device runs."""
    trace, source_map, steps = run.trace, run.source_map, run.steps
    if not len(steps):
        return PythonGap(np.zeros(0), 0.0)
    other = steps.gaps
    longest_ps = other.groupby("step")["duration_ps"].max().reindex(steps.row, fill_value=0)
    usual = float(longest_ps.median()) / PS_PER_MS
    long = other[other["duration_ps"] >= max(min(usual * _LONG, MIN_GAP_MS), 1e-6) * PS_PER_MS]
    of_step = np.zeros(steps.n_all, np.float64)
    np.add.at(of_step, long["step"].to_numpy(np.int64), long["duration_ps"].to_numpy(np.int64) / PS_PER_MS)
    pieces = long[["start_ps", "duration_ps"]].assign(entry=steps.entry_of[long["step"].to_numpy(np.int64)])
    gap = PythonGap(of_step[steps.row], usual, pieces=pieces)
    if not len(source_map.samples):
        return gap
    samples = run.samples
    in_gap, entry = samples.within(long), entry_at(steps, samples.time_ps)
    waits = samples.within(steps.pieces[steps.pieces["category"] == "input"])
    # The call of the step: where the thread is most often while ops run.
    main = keras_call(trace, source_map, steps) or samples.most_often((entry >= 0) & ~waits & ~samples.within(other))
    file, line = main[:2] if main else (-1, -1)
    is_other = ((samples.places["file"] != file) | (samples.places["line"] != line)).to_numpy()
    gap = replace(gap, lines=samples.lines(in_gap, is_other), n_samples=int(in_gap.sum()))
    n_in_steps = int((entry >= 0).sum())
    if not gap.lines or n_in_steps < MIN_FOR_A_SHARE:
        return gap
    counts = (entry >= 0) & ~waits
    n = samples.places.assign(n=counts, gap=in_gap).groupby(["file", "line"])[["n", "gap"]].transform("sum")
    chosen = (
        counts & is_other & ((samples.places["file"] >= 0) & (n["gap"] > 0) & (n["gap"] >= _MOST * n["n"])).to_numpy()
    )
    sampled = seen_spans(steps, samples.time_ps, entry, chosen)
    return replace(gap, sampled_ratio=int(chosen.sum()) / n_in_steps, sampled=sampled)


def entry_at(steps: StepFacts, time_ps: Int64) -> Int64:
    """For each moment the entry of its step, -1 for none."""
    order = np.argsort(steps.start_ps, kind="stable")
    at = np.searchsorted(steps.start_ps[order], time_ps, side="right") - 1
    entry = np.where(at >= 0, order[at], -1)
    return np.where((entry >= 0) & (time_ps < steps.end_ps[entry]), entry, -1)


def seen_spans(steps: StepFacts, time_ps: Int64, entry: Int64, chosen: Bool) -> Spans:
    """The time of some samples: from halfway to the one before until halfway to the next, within their step."""
    order = np.lexsort((time_ps, entry))
    order = order[entry[order] >= 0]
    step, time_ps = entry[order], time_ps[order]
    is_same = step[1:] == step[:-1]
    halfway = (time_ps[1:] + time_ps[:-1]) // 2
    since, until = steps.start_ps[step], steps.end_ps[step]
    since[1:][is_same], until[:-1][is_same] = halfway[is_same], halfway[is_same]
    own = chosen[order]
    return steps.spans(step[own], since[own], until[own])


def other_thread(run: RunFacts) -> tuple[CodeLine, Spans] | None:
    """Where another thread of the program runs Python, and when it was seen to in the steps; None where it hardly was."""
    trace, source_map, steps = run.trace, run.source_map, run.steps
    if not len(steps):
        return None
    busy_ps, frame = sample_times(trace, source_map, "other")
    time_ps = np.union1d(sample_times(trace, source_map)[0], busy_ps)
    entry, is_busy = entry_at(steps, time_ps), np.isin(time_ps, busy_ps)
    places = source_map.frames.iloc[frame][["file", "line"]]
    counts = places[places["file"] >= 0].value_counts().reset_index(name="n")
    n_busy = int((is_busy & (entry >= 0)).sum())
    if n_busy < max(MIN_LINE_SAMPLES, HIGH_GAIN * int((entry >= 0).sum())) or counts.empty:
        return None
    file, line, n = counts.iloc[0].astype(int).tolist()
    return code_line(source_map, file, line, n / len(frame)), seen_spans(steps, time_ps, entry, is_busy)


def top_line(run: RunFacts, pieces: pd.DataFrame) -> CodeLine | None:
    """The line at which the user's thread was most often in some pieces; None where nobody sampled it often enough."""
    inside = covered(run.samples.time_ps, pieces)
    lines = run.samples.lines(inside)
    return lines[0] if lines and inside.sum() >= MIN_LINE_SAMPLES else None


def traced_function(trace: Trace, entry: Int32, pieces: pd.DataFrame) -> CodeLine | None:
    """The function in which a tracer of Python was for most of some pieces: of those that steps call, in the file of the
    outermost one, the innermost; None where nothing traced it. `entry` is for each event its step, -1 for none."""
    is_call = by_ends(trace, lambda name, *_: _CALL.match(name) is not None)
    rows = np.flatnonzero(is_call[trace.name_id] & (entry >= 0))
    start_ps, length_ps = (pieces[name].to_numpy(np.int64) for name in ("start_ps", "duration_ps"))
    spans = Stretches.of(start_ps, start_ps + length_ps)
    names, first, at = np.unique(trace.name_id[rows], return_index=True, return_inverse=True)
    share = sum_by(at, spans.within(trace.start_ps[rows], trace.ends(rows)), len(names)) / max(length_ps.sum(), 1)
    order = np.argsort(trace.nesting.depth[rows[first]], kind="stable")
    most = [i for i in order.tolist() if share[i] >= _MOST]
    calls = [_CALL.findall(trace.strings[names[i]])[0] for i in most]
    inner = max((at for at, (file, *_) in enumerate(calls) if file == calls[0][0]), default=-1)
    file, line, function = calls[inner] if calls else ("", "0", "")
    return CodeLine(file, int(line), function, "", float(share[most[inner]])) if file else None


def keras_call(trace: Trace, source_map: SourceMap, steps: StepFacts) -> tuple[int, int, str] | None:
    """File, line and function that run the steps where Keras does, whatever its hooks compute: where the outermost call around
    most of them is, of `fit` or its kin; None where none was recorded."""
    calls = source_map.calls.sort_values("begin_ns", kind="stable")
    end_ns = calls["end_ns"].cummax()
    calls = calls[(calls["end_ns"] > end_ns.shift(fill_value=-1)) & (calls["frame"] >= 0)]
    at_ns = steps.start_ps // 1000 + trace.origin_ns
    at = np.searchsorted(calls["begin_ns"].to_numpy(np.int64), at_ns, side="right") - 1
    at = at[(at >= 0) & (at_ns < np.append(calls["end_ns"].to_numpy(np.int64), 0)[at])]
    if 2 * len(at) <= len(steps):
        return None
    frame = source_map.frames.iloc[calls["frame"].iloc[at]]
    file, line, function = frame[["file", "line", "function"]].value_counts().index[0]
    return int(file), int(line), str(function)


ONE_BATCH = (
    "Each call of predict or evaluate makes a pipeline of its own first, whatever the batch: predict_on_batch and "
    "model(x, training=False) in a tf.function make none."
)
MIN_CALL_SAMPLES = 8
"""Of one function in all steps, or of fewer samples all"""
FEW_SAMPLES = 3
"""at least so many, each in a step of its own: where cores are few, samples are, too."""
MOST_OF_STALL = 0.5
"""Of what a step takes longer than others: whoever was seen at so much of it explains it."""
_MOST = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class CalledWork:
    """A function of the user's beside the one that runs the steps, with all that it calls."""

    line: CodeLine
    """At which it was most often."""
    ms: Float64
    """For each step what it took; 0 for those in which nobody saw it."""
    seen: Spans
    """When it was seen."""

    @property
    def n_steps(self) -> int:
        """In how many steps it was seen."""
        return int((self.ms > 0).sum())


def called_work(run: RunFacts, *, calls_only_hooks: bool) -> tuple[CalledWork, ...]:
    """The user's functions beside the one that runs the steps, most time first; nothing where nobody sampled lines."""
    trace, source_map, steps = run.trace, run.source_map, run.steps
    if not len(source_map.samples) or not len(steps):
        return ()
    samples = run.samples
    entry = entry_at(steps, samples.time_ps)
    inside, waits = entry >= 0, samples.within(steps.pieces[steps.pieces["category"] == "input"])
    computes = inside & ~waits & ~samples.within(steps.gaps)
    if not computes.any():
        return ()
    main = keras_call(trace, source_map, steps) if calls_only_hooks else None
    main = main or samples.step_call(computes, entry)
    count = np.bincount(entry[inside], minlength=len(steps))
    each_ms = (steps.time_ms / np.maximum(count, 1))[entry]
    seen = samples.places.assign(entry=entry, ms=each_ms, computes=computes)
    is_main = (seen["file"] == main[0]) & (seen["function"] == main[2])
    found = []
    for _, own in seen[inside & ~is_main & ~waits & (seen["file"] >= 0)].groupby(["file", "function"]):
        n_seen = own["entry"].nunique()
        if len(own) < MIN_CALL_SAMPLES and n_seen < max(len(own), FEW_SAMPLES):
            continue
        if not calls_only_hooks and own["computes"].mean() > 1 - _MOST:
            continue
        file, line = int(own["file"].iloc[0]), int(own["line"].mode().iloc[0])
        share = len(own) / max(int(inside.sum()), 1)
        ms = np.bincount(own["entry"], own["ms"], minlength=len(steps)).astype(np.float64)
        spans = seen_spans(steps, samples.time_ps, entry, np.isin(np.arange(len(entry)), own.index.to_numpy()))
        found.append(CalledWork(code_line(source_map, file, line, share), ms, spans))
    return tuple(sorted(found, key=lambda one: -float(one.ms.sum())))


MIN_CALLS = 10
"""So many eager ops a step are a loop that runs op by op; fewer are what a loop around a `tf.function` does with its result."""
MIN_EAGER = 0.5
"""Of the model's op time that is eager: else the step is a function, and some ops are left outside of it."""
CALL_MS = 0.020
"""What calling an eager op costs within its own event, measured; the op inside is not recorded on its own."""
_EAGER = "EagerLocalExecute: "
_NOT_OPS = ("Iterator", "Optional", "Dataset", "__")
"""Ops that read the data set, and functions, which are named `__inference_...`."""
_SAVE_OPS = ("SaveV2", "MergeV2Checkpoints", "SaveSlices")
_ENDS_IN_SAVE = tuple(f"{mark}{op}" for op in _SAVE_OPS for mark in ": ")
"""Of an op of a graph, and of one that Python calls."""
READS = "EagerLocalExecute: ReadVariableOp"
MIN_READS = 4
"""So many variables more than in a usual step, read one by one from Python, are a save: Keras reads them all."""
MOST_READING = 0.5
"""Variables read in more of the steps than this are what the loop does; it is then no save that stalls single steps."""


@dataclass(frozen=True, eq=False, repr=False)
class EagerWork:
    """Eager ops within the steps."""

    calls_per_step: float
    op_ms: float
    """What the eager ops of a usual step take themselves."""
    share: float
    """Of the op time of a usual step the share of eager ops, in [0, 1]; where functions run on a device, of its time."""

    @property
    def is_hot(self) -> bool:
        """Whether the steps run op by op."""
        return self.calls_per_step >= MIN_CALLS and self.share >= MIN_EAGER


def eager_work(run: RunFacts) -> EagerWork:
    """Whether the steps run op by op."""
    trace, facts, entry, steps, work = run.trace, run.results, run.entry, run.steps, run.work
    occurrences = facts.occurrences
    is_call = by_ends(trace, lambda name, *_: calls_op(name))[trace.name_id]
    rows = np.flatnonzero(is_call & (entry >= 0) & ~within_data(trace))
    if not len(rows):
        return EagerWork(0.0, 0.0, 0.0)
    calls = np.bincount(entry[rows], minlength=len(steps))
    name, count = np.unique(trace.name_id[rows], return_counts=True)
    usual = np.array([np.median(trace.duration_ps[rows[trace.name_id[rows] == one]]) for one in name]) / 1e9
    runs_here = ~np.isin(rows, eager_launches(trace, rows, facts.launches).call)
    n_here = np.bincount(np.searchsorted(name, trace.name_id[rows[runs_here]]), minlength=len(name))
    op_ms = float((np.maximum(usual - CALL_MS, 0.0) * n_here).sum()) / max(len(steps), 1)
    on_device = occurrences.is_device & (work.is_model | work.is_optimizer)
    eager_device_ms, device_ms = (
        float(work.ms[chosen].sum()) for chosen in (on_device & occurrences.is_eager, on_device)
    )
    op_ms += eager_device_ms
    if device_ms and eager_device_ms < MIN_EAGER * device_ms:  # what Python calls beside functions
        return EagerWork(float(np.median(calls)), op_ms, eager_device_ms / device_ms)
    called_ms = float((usual * count).sum()) / max(len(steps), 1)
    whole = float(work.ms[work.is_model | work.is_optimizer].sum())
    return EagerWork(float(np.median(calls)), op_ms, min(called_ms / whole, 1.0) if whole else 0.0)


def calls_op(name: str) -> bool:
    """Whether an event of this name is an op that Python calls: no function, and none that reads the data set."""
    return name.startswith(_EAGER) and not name.removeprefix(_EAGER).startswith(_NOT_OPS)


@dataclass(frozen=True, eq=False, repr=False)
class TracedCalls:
    """The outermost calls that traced, of the steps that count."""

    event: Int64
    function: tuple[str, ...]
    """Of each the function that it called."""
    entry: Int32
    """Of each its step."""
    cost_ms: Float64
    """For each step what it compiles in these calls, by its categories."""


def traced_calls(run: RunFacts) -> TracedCalls:
    """The calls of the steps that traced a function."""
    trace, entry, steps = run.trace, run.entry, run.steps
    rows = np.flatnonzero(tracing(trace).calls & (entry >= 0))
    names = tuple(trace.strings[i] for i in trace.name_id[rows].tolist())
    pieces = steps.pieces[steps.pieces["category"] == "compile"]
    start, own = pieces["start_ps"].to_numpy(np.int64), steps.entry_of[pieces["step"].to_numpy(np.int64)]
    calls = Stretches.of(trace.start_ps[rows], trace.ends(rows))
    within = calls.within(start, start + pieces["duration_ps"].to_numpy(np.int64)) * np.isin(own, entry[rows])
    return TracedCalls(rows, names, entry[rows], sum_by(own, within, len(steps)) / PS_PER_MS)


@dataclass(frozen=True, eq=False, repr=False)
class Saves:
    """Steps in which weights were saved."""

    is_saving: Bool
    """For each of the steps."""
    stall_ms: Float64
    """For each by how much it took longer than a usual step without a save; 0 for those that do not save."""
    op_types: tuple[str, ...]
    """Types of save ops that ran; empty where variables were read for a file that TensorFlow does not write."""
    spans: Spans
    """From the wait before the first op of each save until the end of its step."""


def find_saves(run: RunFacts) -> Saves:
    """The steps in which weights were saved."""
    trace, entry, steps = run.trace, run.entry, run.steps
    n = len(steps)
    kind = by_ends(trace, lambda name, *_: _kind(name), np.int8)[trace.name_id]
    written = np.bincount(entry[(kind == 1) & (entry >= 0)], minlength=n) > 0
    reads = np.bincount(entry[(kind == 2) & (entry >= 0)], minlength=n)
    is_read = reads >= (np.median(reads) if n else 0) + MIN_READS
    is_saving = written | (is_read & (is_read.mean() <= MOST_READING)) if n else written
    usual = float(np.median(steps.time_ms[~is_saving])) if (~is_saving).any() else 0.0
    stall = np.where(is_saving, np.maximum(steps.time_ms - usual, 0.0), 0.0)
    begin = np.full(n, np.iinfo(np.int64).max)
    usual_reads = np.median(reads) if n else 0
    for rows in (np.flatnonzero((kind == 1) & (entry >= 0)), _behind(trace, entry, kind, int(usual_reads))):
        np.minimum.at(begin, entry[rows], trace.start_ps[rows])
    own = np.flatnonzero(is_saving)
    # A file is opened before the first weight is read.
    begin[own] = np.minimum(begin[own], steps.end_ps[own] - np.rint(stall[own] * PS_PER_MS).astype(np.int64))
    strings = {trace.strings[i] for i in np.unique(trace.name_id[kind == 1]).tolist()}
    types = tuple(op for op in _SAVE_OPS if any(text.endswith(op) for text in strings))
    return Saves(is_saving, stall, types, steps.spans(own, begin[own], steps.end_ps[own]))


def _behind(trace: Trace, entry: Int32, kind: npt.NDArray[np.int8], n_usual: int) -> Int64:
    """The reads of variables in each step behind those that a usual step has."""
    rows = np.flatnonzero((kind == 2) & (entry >= 0))
    rows = rows[np.lexsort((trace.start_ps[rows], entry[rows]))]
    first = np.searchsorted(entry[rows], entry[rows], side="left")
    return rows[np.arange(len(rows)) - first >= n_usual]


def _kind(name: str) -> int:
    if name == READS:
        return 2
    return int(name.endswith(_ENDS_IN_SAVE))


CONVERTS = ("TFE_Py_FastPathExecute_C", "convert_to_tensor", "tf.constant")
"""Events in which Python hands a value over: what they take themselves is making a tensor of it, but for some 20 us."""
_FUNCTION = "EagerLocalExecute: __"
_RUN = "EagerKernelExecute"
_ALLOCATION = "MemoryAllocation"
LARGE_BYTES = 2**23
"""From this size on copying an array in each step is no way to hand over a batch."""
LONG_MS = 10.0
"""From here on a copy of unknown size is large; a shorter one may wait for Python's lock, given away after 5 ms."""


@dataclass(frozen=True, eq=False, repr=False)
class StepCalls:
    """What Python calls in the steps; arrays have one entry for each of them."""

    functions: Int64
    """The events that call functions."""
    n_functions: float
    """How many in a usual step."""
    function_ms: Float64
    """How long their graphs run."""
    runs: Int64
    """The events that run these."""
    converted_ms: Float64
    """How long large arrays take to become tensors."""
    converted_bytes: float
    """Bytes of them a step; 0 where nothing tells."""
    conversions: Int64
    """The events that convert them."""
    ops: Int64
    """The events that call ops outside of functions, but for reading variables."""
    n_ops: float
    """How many in a usual step."""


def step_calls(run: RunFacts) -> StepCalls:
    """What Python calls in the steps."""
    trace, n_steps = run.trace, len(run.steps)
    parent = trace.nesting.parent
    entry = np.where(within_data(trace), np.int32(-1), run.entry)
    is_function = by_ends(trace, lambda name, *_: name.startswith(_FUNCTION))
    is_op = by_ends(trace, lambda name, *_: calls_op(name) and name != READS)
    ops = np.flatnonzero(is_op[trace.name_id] & (entry >= 0))
    calls = np.flatnonzero(is_function[trace.name_id] & (entry >= 0))
    runs = np.flatnonzero(trace.names_matching([_RUN]) & (entry >= 0) & (parent >= 0))
    runs = runs[is_function[trace.name_id[parent[runs]]]]
    conversions = _conversions(trace, entry)
    is_large = conversions.n_bytes >= LARGE_BYTES
    if not trace.names_matching([_ALLOCATION]).any():  # not every allocator tells
        is_large = conversions.own_ps >= LONG_MS * PS_PER_MS
    rows, own = conversions.event[is_large], conversions.own_ps[is_large]
    return StepCalls(
        functions=calls,
        n_functions=_usual(entry[calls], n_steps),
        function_ms=sum_by(entry[runs], trace.duration_ps[runs], n_steps) / PS_PER_MS,
        converted_ms=sum_by(entry[rows], own, n_steps) / PS_PER_MS,
        converted_bytes=float(conversions.n_bytes[is_large].sum()) / max(n_steps, 1),
        conversions=rows,
        runs=runs,
        ops=ops,
        n_ops=_usual(entry[ops], n_steps),
    )


def _usual(entry: Int32, n_steps: int) -> float:
    """The median number of events a step."""
    return float(np.median(np.bincount(entry, minlength=n_steps))) if n_steps else 0.0


@dataclass(frozen=True, eq=False)
class _Conversions:
    event: Int64
    own_ps: Int64
    """What each takes but for the ops that it calls."""
    n_bytes: Int64
    """What each allocates itself."""


def _conversions(trace: Trace, entry: Int32) -> _Conversions:
    """The calls in steps that hand a value over, in order."""
    parent = trace.nesting.parent
    rows = np.flatnonzero(trace.names_matching(CONVERTS) & (entry >= 0))
    place = np.full(trace.n_events + 1, -1, np.int64)
    place[rows] = np.arange(len(rows))
    children = np.flatnonzero(place[parent] >= 0)
    children_ps = sum_by(place[parent[children]], trace.duration_ps[children], len(rows))
    made = children[trace.names_matching([_ALLOCATION])[children]]
    n_bytes = sum_by(place[parent[made]], int_stat_at(trace, "requested_bytes", made), len(rows))
    return _Conversions(rows, trace.duration_ps[rows] - children_ps, n_bytes)


_MODE = "tf_function_call"
"""A stat of each call of a function."""
_RUNS = ("TFE_Py_ExecuteCancelable", "TFE_Py_Execute", "TFE_Py_FastPathExecute_C", "EagerExecute")
"""With what a call begins to run anything."""


@dataclass(frozen=True, eq=False, repr=False)
class CallGaps:
    """The part of the long stretches of Python that lies in calls of functions, before anything of these runs."""

    functions: tuple[str, ...]
    """What the steps call, the most frequent first; empty where the trace tells of no call."""
    ms: Float64
    """For each step."""
    inside_ms: Float64
    """For each step what lies in calls at all, be it after ops of theirs."""
    spans: Spans
    """The calls until something of them runs."""


def call_gaps(run: RunFacts, gap: PythonGap) -> CallGaps:
    """The part of gaps in calls."""
    trace, entry, steps = run.trace, run.entry, run.steps
    calls = np.flatnonzero((trace.string_stat(_MODE) >= 0) & (entry >= 0))
    if not len(calls):
        none = np.empty(0, np.int64)
        return CallGaps((), np.zeros(len(gap.ms)), np.zeros(len(gap.ms)), steps.spans(none, none, none))
    start_ps = gap.pieces["start_ps"].to_numpy(np.int64)
    end_ps = start_ps + gap.pieces["duration_ps"].to_numpy(np.int64)

    def within_ms(until_ps: Int64) -> Float64:
        within = Stretches.of(trace.start_ps[calls], until_ps).within(start_ps, end_ps)
        return np.bincount(gap.pieces["entry"], within / PS_PER_MS, minlength=len(gap.ms)).astype(np.float64)

    names, count = np.unique(trace.name_id[calls], return_counts=True)
    return CallGaps(
        tuple(trace.strings[i] for i in names[np.argsort(-count, kind="stable")].tolist()),
        within_ms(until_ps := _first_runs(trace, calls)),
        within_ms(trace.ends(calls)),
        steps.spans(entry[calls], trace.start_ps[calls], until_ps),
    )


def _first_runs(trace: Trace, calls: Int64) -> Int64:
    """For each call when it first runs anything, else when it ends."""
    runs = np.flatnonzero(trace.names_matching(_RUNS))
    begin_ps, end_ps, lines = trace.start_ps[calls], trace.ends(calls), trace.line_id.astype(np.int64)
    first = match_in_time((lines[calls],), begin_ps, (lines[runs],), trace.start_ps[runs], prefers_later=True)
    first_ps = np.append(trace.start_ps[runs], -1)[first]
    found: Int64 = np.where(first_ps >= begin_ps, np.minimum(first_ps, end_ps), end_ps)
    return found
