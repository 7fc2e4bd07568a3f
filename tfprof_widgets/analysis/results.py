"""Trace -> `Results`: every analysis of it, each computed when first asked for and kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ..store.trace import Int32, Trace
from .events import compute_events
from .input_pipeline import InputPipeline, compute_input_pipeline
from .memory import MemoryProfile, compute_memory
from .op_occurrences import Occurrences, op_occurrences
from .ops import aggregate_ops
from .overview import Overview, compute_overview
from .steps import Steps, compute_steps
from .tf_data import TfData, compute_tf_data

_INTERNAL_STEP_COLUMNS = ["start_ps", "duration_ps"]


@dataclass(frozen=True)
class Results:
    """The analyses of one trace."""

    trace: Trace

    @cached_property
    def steps(self) -> Steps:
        """Steps with their breakdown, and the step of each event."""
        return compute_steps(self.trace)

    @cached_property
    def step_frame(self) -> pd.DataFrame:
        """The `steps` table as a user sees it."""
        return self.steps.frame.drop(columns=_INTERNAL_STEP_COLUMNS)

    @cached_property
    def occurrences(self) -> Occurrences:
        """Every execution of every op."""
        return op_occurrences(self.trace, grouping=self.steps.grouping)

    @cached_property
    def event_op(self) -> Int32:
        """For each event the op that it executes, a row of the op table of `occurrences`; -1 for none."""
        op = np.full(self.trace.n_events, -1, np.int32)
        op[self.occurrences.event] = self.occurrences.op
        return op

    @cached_property
    def ops(self) -> pd.DataFrame:
        """The `ops` table of the whole trace, without idle time."""
        return aggregate_ops(self.occurrences)

    @cached_property
    def events(self) -> pd.DataFrame:
        """The `events` table."""
        return compute_events(self.trace, self.steps.event_step)

    @cached_property
    def memory(self) -> MemoryProfile:
        """Memory by allocator."""
        return compute_memory(self.trace, event_step=self.steps.event_step, grouping=self.steps.grouping)

    @cached_property
    def tf_data(self) -> TfData:
        """tf.data pipelines and iterators."""
        return compute_tf_data(self.trace, grouping=self.steps.grouping)

    @cached_property
    def input_pipeline(self) -> InputPipeline:
        """The verdict on the input."""
        steps = self.steps.frame.assign(is_averaged=self.overview.is_averaged)
        return compute_input_pipeline(self.trace, steps=steps, ops=self.ops, tf_data=self.tf_data)

    @cached_property
    def overview(self) -> Overview:
        """Step time, verdict, environment."""
        return compute_overview(self.trace, self.steps, self.occurrences)
