"""Events -> the steps in which weights were saved: by TensorFlow's save ops, or by reading every variable for a file.

find_saves(trace, entry, steps) -> Saves
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Bool, Float64, Int32, Trace
from ..base.event_names import by_name
from .step_facts import StepFacts

_SAVE_OPS = ("SaveV2", "MergeV2Checkpoints", "SaveSlices")
_READ = "EagerLocalExecute: ReadVariableOp"
MIN_READS = 4
"""So many variables more than in a usual step, read one by one from Python, are a save: Keras' `.save` and `.save_weights`
read them all, and the two of a smallest layer come with the optimizer's."""
MOST_STEPS = 0.5
"""Variables read in more of the steps than this are what the loop does; it is then no save that stalls single steps."""


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
    kind = by_name(trace, lambda names: [_kind(name) for name in names], np.int8)[trace.name_id]
    written = np.bincount(entry[(kind == 1) & (entry >= 0)], minlength=n) > 0
    reads = np.bincount(entry[(kind == 2) & (entry >= 0)], minlength=n)
    is_read = reads >= (np.median(reads) if n else 0) + MIN_READS
    is_saving = written | (is_read & (is_read.mean() <= MOST_STEPS)) if n else written
    usual = float(np.median(steps.time_ms[~is_saving])) if (~is_saving).any() else 0.0
    stall = np.where(is_saving, np.maximum(steps.time_ms - usual, 0.0), 0.0)
    strings = {trace.strings[i] for i in np.unique(trace.name_id[kind == 1]).tolist()}
    types = tuple(op for op in _SAVE_OPS if any(_names_op(text, op) for text in strings))
    return Saves(is_saving, stall, types)


def _kind(name: str) -> int:
    if name == _READ:
        return 2
    return int(any(_names_op(name, op) for op in _SAVE_OPS))


def _names_op(name: str, op: str) -> bool:
    return name == f"EagerLocalExecute: {op}" or name.endswith(f":{op}")
