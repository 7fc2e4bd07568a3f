"""`RunFacts` -> `Run`: the causes of lost time that several rules ask for, each found once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...trace.trace import Float64, Int64
from ..steps.step_batches import fetches_in_a_loop
from .call_gaps import CallGaps, call_gaps
from .called_work import CalledWork, called_work
from .device_waits import DeviceWaits, device_waits
from .input_wait import InputWait, input_wait
from .new_iterators import ShuffleFill, new_iterator_ms, shuffle_fill_of
from .outside import OutsideWork, outside_work
from .python_calls import EagerWork, Saves, TracedCalls, eager_work, find_saves, traced_calls
from .python_gaps import PythonGap, python_gap
from .run_facts import RunFacts
from .step_calls import StepCalls, step_calls
from .task_work import TaskWork, task_work
from .traced_ops import TracedOps, traced_ops


@dataclass(frozen=True, eq=False, repr=False)
class Run(RunFacts):
    """The results of one trace, and what rules share.

    One cause shall give one advice. Where several rules could explain the same time, the more specific one owns it: a
    function that is traced again, eager ops, a save and a callback come before a batch that is too small.
    """

    @cached_property
    def with_compiling(self) -> Run:
        """The same with these, for rules on what compiles."""
        has_more = not self.counts_compiling and self.results.averaged_steps.compiles_again.any()
        return Run(self.results, counts_compiling=True) if has_more else self

    @cached_property
    def eager(self) -> EagerWork:
        """Whether the steps run op by op."""
        return eager_work(self.facts, self.entry, self.steps, self.work)

    @cached_property
    def traced(self) -> TracedCalls:
        """Calls that traced a function within the steps."""
        return traced_calls(self.trace, self.entry, self.steps)

    @cached_property
    def calls(self) -> StepCalls:
        """What Python calls in the steps."""
        return step_calls(self.trace, self.entry, len(self.steps))

    @cached_property
    def saves(self) -> Saves:
        """Steps in which weights were saved."""
        return find_saves(self.trace, self.entry, self.steps)

    @cached_property
    def wait(self) -> InputWait:
        """Waiting for data."""
        return input_wait(self)

    @cached_property
    def new_iterator_ms(self) -> Float64:
        """For each step what an iterator takes that it makes itself."""
        return new_iterator_ms(self)

    @cached_property
    def shuffle_fill(self) -> ShuffleFill | None:
        """The shuffle whose filling the training waits for."""
        return shuffle_fill_of(self)

    @cached_property
    def waits(self) -> DeviceWaits:
        """What devices wait for between kernels and at the borders of steps."""
        return device_waits(self)

    @cached_property
    def takes_several(self) -> bool:
        """Whether a call takes several batches already, as with `steps_per_execution`."""
        is_marked = bool((self.steps.waits["n_batches"] > 1).any())
        return is_marked or fetches_in_a_loop(self.trace, self.results.steps.event_step, self.steps.row)

    @cached_property
    def starves(self) -> bool:
        """Whether a device waits longer for launches and for data than it computes: it then computes what is ready at once, and
        faster kernels would only wait longer."""
        steps = self.steps
        if not steps.has_device:
            return False
        waited_ms = sum(float(steps.wait_ms(name).mean()) for name in ("input", "kernel_launch"))
        return waited_ms > steps.ms("device_compute")

    @cached_property
    def gap(self) -> PythonGap:
        """The Python code between the computations of usual steps."""
        return python_gap(self.trace, self.results.source_map, self.steps)

    @cached_property
    def call_gaps(self) -> CallGaps:
        """What of that lies in calls of functions, before anything of these runs."""
        return call_gaps(self.trace, self.entry, self.gap)

    @cached_property
    def traced_ops(self) -> TracedOps | None:
        """The ops of the noted graphs; None where none is noted."""
        return traced_ops(self)

    @property
    def runs_eagerly(self) -> bool:
        """Whether the step itself runs op by op: beside a function that Keras calls, the eager ops are those of callbacks."""
        has_function = self.is_keras_loop and not self.steps.has_device and self.calls.n_functions > 0
        return self.eager.is_hot and not has_function

    @cached_property
    def called_at_all(self) -> tuple[CalledWork, ...]:
        """What functions of the user's take of the steps beside computing, be it of a single one."""
        source_map = self.results.source_map
        return called_work(
            self.trace, source_map, self.steps, calls_only_hooks=self.is_keras_loop and not self.runs_eagerly
        )

    @property
    def called(self) -> tuple[CalledWork, ...]:
        """Those seen in several steps: what happens in a single one may never come again."""
        return tuple(one for one in self.called_at_all if one.n_steps > 1)

    @cached_property
    def called_ms(self) -> Float64:
        """What they take of each step."""
        total: Float64 = sum((one.ms for one in self.called), np.zeros(len(self.steps)))
        return total

    @cached_property
    def outside(self) -> tuple[OutsideWork, ...]:
        """What the user's functions do outside of training steps; of several hosts nobody knows whose lines were sampled."""
        results = self.results
        if results.steps.frame["host"].nunique() > 1:
            return ()
        return outside_work(self.trace, results.source_map, results.coverage, results.steps.frame, results.is_averaged)

    @cached_property
    def tasks(self) -> TaskWork:
        """What each task of a distributed training does."""
        return task_work(self)


def event_names(run: RunFacts, rows: Int64) -> tuple[str, ...]:
    """Up to five names of some events, the most frequent first."""
    names, count = np.unique(run.trace.name_id[rows], return_counts=True)
    return tuple(run.trace.strings[i] for i in names[np.argsort(-count, kind="stable")][:5].tolist())
