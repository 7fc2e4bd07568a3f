"""Trace -> `Results`: facts, overview and advice of one run, each computed when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from weakref import ref

import pandas as pd

from ..trace.op_graph import OpGraph
from .advice.card import Advice
from .advice.rules import FoundAdvice, find_advice
from .cluster.cluster import ClusterResults
from .facts import Facts
from .graph.op_graph import compute_op_graph, compute_variables
from .out_of_memory.failure import MemoryFailure, compute_memory_failure
from .overview import Overview, compute_overview
from .verdict import framework_notices
from .xla.programs import graphs_switched_off


@dataclass(frozen=True)
class Results(Facts):
    """The analyses of one trace: a table of facts is asked of it as is the advice."""

    @cached_property
    def memory_failure(self) -> MemoryFailure | None:
        """What lived when that allocation failed."""
        return compute_memory_failure(self)

    @cached_property
    def overview(self) -> Overview:
        """Step time, verdict, environment."""
        return compute_overview(self, advice=_advice_of(self), failure=self.memory_failure)

    @property
    def notices(self) -> tuple[str, ...]:
        """What of the trace could not be used: compiled programs that are damaged, clocks of hosts that disagree, and, once it
        was asked for advice, rules that failed."""
        advice = self._found_advice.notices if "_found_advice" in self.__dict__ else ()
        told = self.occurrences.hlo.modules.warnings if self.trace.blobs else ()
        graphs = graphs_switched_off(self.trace).notice
        return tuple(filter(None, (*framework_notices(self), *told, graphs, *self.clock_notices, *advice)))

    @cached_property
    def op_graph(self) -> OpGraph:
        """Ops, edges, call stacks and the costs of each step, for the views by structure."""
        return compute_op_graph(self) if self.stored_graph is None else self.stored_graph

    @cached_property
    def variables(self) -> pd.DataFrame:
        """The variables of the program."""
        return compute_variables(self)

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """What to change, in the order of `ranked`."""
        return self._found_advice.advice

    @property
    def advice_notices(self) -> tuple[str, ...]:
        """Which rules of the advice failed; also among `notices` from when advice was first asked for."""
        return self._found_advice.notices

    @cached_property
    def _found_advice(self) -> FoundAdvice:
        return find_advice(self)


AnyResults = Results | ClusterResults
"""Of one trace, or of the hosts of a reduced profile; `isinstance` tells whether there are single executions."""


def _advice_of(results: Results) -> Callable[[], tuple[Advice, ...]]:
    """Gives the advice of results without keeping them: an overview that did would never be freed with them."""
    known, made_of = (
        ref(results),
        (results.trace, results.sources, results.system, results.failure, results.stored_graph),
    )

    def advice() -> tuple[Advice, ...]:
        return (known() or Results(*made_of)).advice

    return advice
