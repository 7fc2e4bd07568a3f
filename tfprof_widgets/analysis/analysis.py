"""Trace, or the summaries of many hosts -> `Analysis`: facts, overview and advice of one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..errors import TraceError
from .facts import Facts

if TYPE_CHECKING:
    from ..trace.op_graph import OpGraph
    from ..trace.source_map import SourceMap
    from .advice.claims import Claimed
    from .card import Advice, FoundAdvice
    from .input.pipeline import InputPipeline
    from .out_of_memory.failure import MemoryFailure
    from .overview import Overview
    from .summaries import HostSummary


@dataclass(frozen=True)
class Analysis(Facts):
    """All that is said of a run: a table of facts is asked of it as is the advice."""

    @cached_property
    def memory_failure(self) -> MemoryFailure | None:
        """What lived when that allocation failed; of summed hosts it is there."""
        from .out_of_memory.failure import compute_memory_failure

        return compute_memory_failure(self) if self.has_events else None

    @cached_property
    def overview(self) -> Overview:
        from .overview import compute_overview

        return compute_overview(self, failure=self.memory_failure)

    @property
    def notices(self) -> tuple[str, ...]:
        """What of the run could not be used, clocks of hosts that disagree, and, once asked for advice, rules that failed."""
        from .verdict import framework_notices
        from .xla.programs import GraphsSwitchedOff, graphs_switched_off

        if self.summed is None:
            lost = self.occurrences.hlo.modules.warnings if self.trace.blobs else ()
            graphs = graphs_switched_off(self.trace)
        else:
            from .summarizing import left_out

            lost = left_out(self.summed.summaries, self.summed.sums)
            graphs = GraphsSwitchedOff(**{one.name: self.summed.sums[one.name] for one in fields(GraphsSwitchedOff)})
        advice = self._found_advice[0].notices if "_found_advice" in self.__dict__ else ()
        return tuple(filter(None, (*framework_notices(self), *lost, graphs.notice, *self.clock_notices, *advice)))

    @cached_property
    def op_graph(self) -> OpGraph:
        """Ops, edges, call stacks and the costs of each step, for the views by structure."""
        from .graph.op_graph import compute_op_graph

        return compute_op_graph(self) if self.stored_graph is None else self.stored_graph

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        return self._found_advice[0].advice

    @cached_property
    def judged_input(self) -> InputPipeline:
        """`input_pipeline`, and what the advice on it says."""
        fixes = (one.fix.words for one in self.advice if one.rule in ("input_bound", "shuffle_fill", "new_iterator"))
        return replace(self.input_pipeline, suggestion=next(fixes, ""))

    @property
    def claimed(self) -> Claimed:
        """The rows of `attribution`, and which advice each is about; raises TfProfError where the hosts are summed up."""
        from .advice.claims import Claimed

        found = self._found_advice[1]
        return Claimed(self.attribution, np.full(len(self.attribution), -1)) if found is None else found

    @property
    def advice_notices(self) -> tuple[str, ...]:
        """Which rules of the advice failed; also among `notices` from when advice was first asked for."""
        return self._found_advice[0].notices

    @cached_property
    def _found_advice(self) -> tuple[FoundAdvice, Claimed | None]:
        from .advice.of_hosts import reduced_advice
        from .advice.rules import find_advice

        return find_advice(self) if self.has_events else (reduced_advice(self), None)


def merge_hosts(summaries: Sequence[HostSummary], *, source_map: SourceMap | None = None) -> Analysis:
    """The analysis of the hosts of one run whose events were read elsewhere; raises TraceError without any host."""
    from .low_detail import merge_low_detail
    from .summaries import HostSums, Stack

    if not summaries:
        raise TraceError("There is no host to merge (0 given): give at least one.")
    tables = [one.tables for one in summaries]
    trace, low_step = merge_low_detail([one.trace for one in summaries], [len(one["steps"]) for one in tables])
    sessions = [len(one.trace.sessions) for one in summaries]
    shift_ps = [1000 * (one.trace.origin_ns - trace.origin_ns) if one.trace.origin_ns else 0 for one in summaries]
    return Analysis(trace, source_map, summed=HostSums(tuple(summaries), Stack(tables, sessions, shift_ps), low_step))
