"""`Facts` -> `RunFacts`: the steps, ops and machine of one trace, as rules and the causes behind them ask for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ...trace.trace import Int32, Trace
from ..base.stretches import Stretches
from ..facts.facts import Facts
from ..facts.totals import Totals
from ..system.machine_load import MachineLoad, machine_load
from .op_work import OpWork, op_work
from .side_ops import SideOps, side_ops
from .step_facts import StepFacts, step_facts

_NOT_IN_XLA = re.compile(r"CudnnRNN|(Eager)?PyFunc|Lookup|HashTable|String|Regex|Nccl|Collective")
_DECIMAL = re.compile(r"\d{1,6}(?:\.\d{1,6})?", re.ASCII)
KERAS_STEPS = ("_step_on_iterator", "_step_on_data_distributed", "multi_step_on_data", "train_function")
"""Functions of `fit`, `evaluate` and `predict`, which take `steps_per_execution`; `train_on_batch` calls `one_step_on_data`."""


@dataclass(frozen=True, eq=False, repr=False)
class RunFacts:
    """The results of one trace, and what is read from them directly."""

    results: Totals
    counts_compiling: bool = False
    """Whether steps that compile are among `steps`, but for the first of each loop."""

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
