"""Ops and functions that Python calls -> whether steps run op by op, which calls traced, and which steps save weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Bool, Float64, Int32, Int64, Trace
from ..base.data_threads import within_data
from ..base.event_graph import nearest_marked
from ..base.event_names import by_ends
from ..base.matching import sum_by
from ..base.stretches import Stretches
from ..base.units import PS_PER_MS
from ..facts.facts import Facts
from ..ops.eager_calls import eager_launches
from ..steps.step_spans import on_host
from .op_work import OpWork
from .step_facts import StepFacts

MIN_CALLS = 10
"""So many eager ops a step are a loop that runs op by op; fewer are what a loop around a `tf.function` does with its result."""
MIN_EAGER = 0.5
"""Of the model's op time that is eager: else the step is a function, and some ops are left outside of it."""
CALL_MS = 0.020
"""What calling an eager op costs within its own event, measured; the op inside is not recorded on its own."""
_EAGER = "EagerLocalExecute: "
_NOT_OPS = ("Iterator", "Optional", "Dataset", "__")
"""Ops that read the data set, and functions, which are named `__inference_...`."""
_EXECUTES = "EagerKernelExecute"
"""Within the call of a function: its graph runs. What comes before is tracing, optimizing and instantiating it."""
_SAVE_OPS = ("SaveV2", "MergeV2Checkpoints", "SaveSlices")
_ENDS_IN_SAVE = tuple(f":{op}" for op in _SAVE_OPS)
_SAVES = frozenset(f"EagerLocalExecute: {op}" for op in _SAVE_OPS)
READS = "EagerLocalExecute: ReadVariableOp"
MIN_READS = 4
"""So many variables more than in a usual step, read one by one from Python, are a save: Keras' `.save` and `.save_weights`
read them all, and the two of a smallest layer come with the optimizer's."""
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


def eager_work(facts: Facts, entry: Int32, steps: StepFacts, work: OpWork) -> EagerWork:
    """Find it; `entry` is for each event its step among the counted ones, -1 for none.

    An op that a call enqueued on a device takes as long as its kernels do, and the call takes Python's time.
    """
    trace, occurrences = facts.trace, facts.occurrences
    is_call = by_ends(trace, lambda names, _: [calls_op(name) for name in names], np.bool_)[trace.name_id]
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
    """The events."""
    function: tuple[str, ...]
    """Of each the function that it called."""
    entry: Int32
    """Of each its step."""
    cost_ms: Float64
    """For each step what its tracing calls took, less the running of the graph; with what XLA compiled of it."""


def traced_calls(trace: Trace, entry: Int32, steps: StepFacts) -> TracedCalls:
    """Find them; `entry` is for each event its step among `steps`, -1 for none."""
    mode = trace.string_stat("tf_function_call")
    texts = {text: trace.strings[text].startswith("traced") for text in np.unique(mode[mode >= 0]).tolist()}
    is_traced = on_host(trace) & np.isin(mode, [text for text, traced in texts.items() if traced])
    rows = np.flatnonzero(is_traced & (entry >= 0))
    if not len(rows):
        return TracedCalls(rows, (), entry[rows], np.zeros(len(steps)))
    around = np.append(nearest_marked(trace.nesting.parent, is_traced), -1)
    rows = rows[around[trace.nesting.parent[rows]] < 0]
    runs = np.flatnonzero(trace.names_matching([_EXECUTES]))
    call = np.append(nearest_marked(trace.nesting.parent, is_traced), -1)[runs]
    runs, call = runs[call >= 0], call[call >= 0]
    outer = np.full(trace.n_events, -1, np.int64)
    outer[rows] = np.arange(len(rows))
    # Runs of functions within a function that is being traced belong to an inner call and are left as they are.
    inside = outer[call] >= 0
    runs = runs[inside]
    ran = trace.duration_ps[runs] - _compiled(steps).within(trace.start_ps[runs], trace.end_ps[runs])
    spent = trace.duration_ps[rows] - sum_by(outer[call[inside]], ran, len(rows))
    cost = sum_by(entry[rows], np.maximum(spent, 0), len(steps)) / PS_PER_MS
    names = tuple(trace.strings[i] for i in trace.name_id[rows].tolist())
    return TracedCalls(rows, names, entry[rows], cost)


def _compiled(steps: StepFacts) -> Stretches:
    """When steps compiled: XLA does it in the first run of a graph."""
    pieces = steps.pieces[steps.pieces["category"] == "compile"]
    start = pieces["start_ps"].to_numpy(np.int64)
    return Stretches.of(start, start + pieces["duration_ps"].to_numpy(np.int64))


@dataclass(frozen=True, eq=False, repr=False)
class Saves:
    """Steps in which weights were saved."""

    is_saving: Bool
    """For each of the steps."""
    stall_ms: Float64
    """For each by how much it took longer than a usual step without a save; 0 for those that do not save."""
    op_types: tuple[str, ...]
    """Types of save ops that ran; empty where variables were read for a file that TensorFlow does not write."""


def find_saves(trace: Trace, entry: Int32, steps: StepFacts) -> Saves:
    """Find them; `entry` is for each event its step among `steps`, -1 for none."""
    n = len(steps)
    kind = by_ends(trace, lambda names, _: [_kind(name) for name in names], np.int8)[trace.name_id]
    written = np.bincount(entry[(kind == 1) & (entry >= 0)], minlength=n) > 0
    reads = np.bincount(entry[(kind == 2) & (entry >= 0)], minlength=n)
    is_read = reads >= (np.median(reads) if n else 0) + MIN_READS
    is_saving = written | (is_read & (is_read.mean() <= MOST_READING)) if n else written
    usual = float(np.median(steps.time_ms[~is_saving])) if (~is_saving).any() else 0.0
    stall = np.where(is_saving, np.maximum(steps.time_ms - usual, 0.0), 0.0)
    strings = {trace.strings[i] for i in np.unique(trace.name_id[kind == 1]).tolist()}
    types = tuple(op for op in _SAVE_OPS if any(_names_op(text, op) for text in strings))
    return Saves(is_saving, stall, types)


def _kind(name: str) -> int:
    if name == READS:
        return 2
    return int(name.endswith(_ENDS_IN_SAVE) or name in _SAVES)


def _names_op(name: str, op: str) -> bool:
    return name == f"EagerLocalExecute: {op}" or name.endswith(f":{op}")
