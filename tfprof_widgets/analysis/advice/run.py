"""`Facts` -> `Run`: what several rules ask of them, each found once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ...trace.trace import Float64, Int32, Trace
from ..base.stretches import Stretches
from ..facts.facts import Facts
from ..facts.totals import Totals
from ..steps.step_batches import fetches_in_a_loop
from ..system.machine_load import MachineLoad, machine_load
from .call_gaps import CallGaps, call_gaps
from .called_work import CalledWork, called_work
from .device_waits import DeviceWaits, device_waits
from .input_wait import InputWait, input_wait
from .iterator_rules import ShuffleFill, new_iterator_ms, shuffle_fill_of
from .op_work import OpWork, op_work
from .outside import OutsideWork, outside_work
from .python_calls import EagerWork, Saves, TracedCalls, eager_work, find_saves, traced_calls
from .python_gaps import PythonGap, python_gap
from .spent_ops import SideOps, side_ops
from .step_calls import StepCalls, step_calls
from .step_facts import StepFacts, step_facts
from .task_work import TaskWork, task_work
from .traced_ops import TracedOps, traced_ops

_NOT_IN_XLA = re.compile(r"CudnnRNN|(Eager)?PyFunc|Lookup|HashTable|String|Regex|Nccl|Collective")
_DECIMAL = re.compile(r"\d{1,6}(?:\.\d{1,6})?", re.ASCII)
KERAS_STEPS = ("_step_on_iterator", "_step_on_data_distributed", "multi_step_on_data", "train_function")
"""Functions of `fit`, `evaluate` and `predict`, which take `steps_per_execution`; `train_on_batch` calls `one_step_on_data`."""


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """The results of one trace, and what rules share.

    One cause shall give one advice. Where several rules could explain the same time, the more specific one owns it: a
    function that is traced again, eager ops, a save and a callback come before a batch that is too small.
    """

    results: Totals
    counts_compiling: bool = False
    """Whether steps that compile are among `steps`, but for the first of each loop."""

    @cached_property
    def with_compiling(self) -> Run:
        """The same with these, for rules on what compiles."""
        has_more = not self.counts_compiling and self.results.averaged_steps.compiles_again.any()
        return Run(self.results, counts_compiling=True) if has_more else self

    @property
    def trace(self) -> Trace:
        """The trace."""
        return self.results.trace

    @property
    def facts(self) -> Facts:
        """The same with every execution, for rules that need them.

        Raises:
            TypeError: these are of hosts whose executions were read elsewhere.
        """
        if not isinstance(self.results, Facts):
            raise TypeError("this rule needs the executions of each host: ask it there")
        return self.results

    @cached_property
    def steps(self) -> StepFacts:
        """The steps that averages are over, but for those of parameter servers."""
        return step_facts(self.results, with_compiling=self.counts_compiling)

    @cached_property
    def task_steps(self) -> StepFacts:
        """The same with those of parameter servers."""
        return step_facts(self.results, with_servers=True)

    @cached_property
    def entry(self) -> Int32:
        """For each event the entry of its step in `steps`, -1 for none."""
        entries = np.full(self.steps.n_all + 1, -1, np.int32)
        entries[self.steps.row] = np.arange(len(self.steps))
        found: Int32 = entries[self.results.steps.event_step]
        return found

    @cached_property
    def work(self) -> OpWork:
        """What the ops of a usual step take."""
        return op_work(self.facts, self.entry, len(self.steps))

    @cached_property
    def side(self) -> SideOps:
        """What the ops of the side that computes cost."""
        return side_ops(self)

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
    def load(self) -> MachineLoad | None:
        """Who used the cores of the machine during the steps; None where nobody sampled that."""
        sources, steps = self.results.sources, self.steps
        facts = {} if sources is None else dict(zip(sources.facts["name"], sources.facts["value"], strict=True))
        quota = str(facts.get("cpu_quota", ""))
        cores = float(quota) if _DECIMAL.fullmatch(quota) else 0.0
        return machine_load(self.results.system, steps.start_ps, steps.end_ps, quota=cores)

    @property
    def is_machine_busy(self) -> bool:
        """Whether other programs took cores that this one could have used."""
        return self.load is not None and self.load.is_busy

    @cached_property
    def waits(self) -> DeviceWaits:
        """What devices wait for between kernels and at the borders of steps."""
        return device_waits(self)

    @cached_property
    def compiled(self) -> frozenset[str]:
        """The ops of devices that XLA compiled."""
        frame = self.results.hlo_ops.frame
        return frozenset(frame["op_name"][frame["device"] == "Device"])

    @cached_property
    def is_compiled(self) -> bool:
        """Whether XLA compiled most of what devices compute."""
        hlo, kernels = self.results.hlo_ops.frame, self.results.kernels.frame
        own_us = float(hlo["total_self_time_us"][hlo["device"] == "Device"].sum())
        return bool(own_us > 0 and own_us >= 0.5 * float(kernels["total_time_us"].sum()))

    @cached_property
    def can_be_compiled(self) -> bool:
        """Whether XLA compiled little, and could: it has no program for recurrent networks of cuDNN, Python, text and what
        devices exchange."""
        scopes = self.results.op_scopes
        own = zip(scopes.type, scopes.is_input.tolist(), strict=True)
        return not self.is_compiled and not any(_NOT_IN_XLA.match(kind) for kind, is_input in own if not is_input)

    @cached_property
    def is_keras_loop(self) -> bool:
        """Whether Keras calls the steps, as `fit` does."""
        if self._in_keras_calls:
            return True
        # Of hosts that were read elsewhere the trace has few names, but all functions.
        texts = (*self.trace.strings, *self.results.tf_functions["function"])
        return any(word in text for text in texts for word in KERAS_STEPS)

    @cached_property
    def takes_several(self) -> bool:
        """Whether a call takes several batches already, as with `steps_per_execution`."""
        is_marked = bool((self.steps.waits["n_batches"] > 1).any())
        return is_marked or fetches_in_a_loop(self.trace, self.results.steps.event_step, self.steps.row)

    @cached_property
    def _in_keras_calls(self) -> bool:
        """Whether most steps began within a noted call of `fit`, `evaluate` or `predict`."""
        source_map = self.results.source_map
        if source_map is None or not len(source_map.calls) or not len(self.steps):
            return False
        begin, end = (source_map.calls[name].to_numpy(np.int64) for name in ("begin_ns", "end_ns"))
        at = self.steps.start_ps // 1000 + self.trace.origin_ns
        return bool(Stretches.of(begin, end).within(at, at + 1).mean() > 0.5)

    @cached_property
    def compiles_functions(self) -> bool:
        """Whether XLA compiles a `tf.function` that Python called."""
        return bool(self.results.tf_functions["compiler"].isin(["xla", "mixed"]).any())

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

    @cached_property
    def op_names(self) -> frozenset[str]:
        """Names in the `ops` table: what a selection may name."""
        # Not from the table, which takes a hundred times as long to make.
        count = self.results.op_sums.count.tolist()
        return frozenset(name for name, n in zip(self.results.op_shares.name, count, strict=True) if n)

    @cached_property
    def has_layers(self) -> bool:
        """Whether ops are known to belong to layers."""
        return bool((self.results.layers.entries["kind"] == "layer").any())

    def of_kernels(self, kernels: pd.DataFrame) -> tuple[str, ...]:
        """The ops of the first five of some kernels."""
        return self.known(*kernels["op_name"].head(5).tolist())

    def known(self, *names: str) -> tuple[str, ...]:
        """Those that are names of ops, each once."""
        return tuple(dict.fromkeys(name for name in names if name in self.op_names))
