"""Results of one host -> `HostSummary`: what of them travels to where all hosts are merged.

summarize_host(results, path=...) -> HostSummary
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...trace.merging import with_host
from ...trace.trace import Trace
from ..advice.engine import FoundAdvice
from ..base.program_calls import Framework
from ..hosts.roles import HostFacts
from ..ops.ops import idle_by_side
from ..overview.idle import idle_times
from ..xla.command_buffers import graphs_switched_off
from .columns import PackedFrame, interned
from .exchanges import summarize_communication
from .host_advice import host_advice
from .low_detail import low_detail
from .memory_summary import summarize_memory
from .merged_copies import summarize_copies
from .merged_hlo import summarize_hlo
from .merged_input import summarize_input
from .merged_kernels import summarize_kernels
from .op_summary import kept_units, summarize_ops
from .step_summary import outlined_pieces, summarize_steps

if TYPE_CHECKING:
    from ..facts.facts import Facts


@dataclass(frozen=True, eq=False, repr=False)
class HostSummary:
    """What is kept of the file of one host. Everything in it is small, whatever the file's size, and can be pickled."""

    host: str
    """The host's name, as the file tells it."""
    path: str
    """Where the file is."""
    trace: Trace
    """Its planes and sessions with the few events of `low_detail`."""
    tables: Mapping[str, PackedFrame]
    """By name. Each has at most so many rows, and those of all hosts are stacked, see `Stack`; times are after the host's own
    origin."""
    n_all: Mapping[str, int]
    """How many rows a table has on the host, for those that are cut."""
    sums: Mapping[str, int]
    """What is added up over all hosts."""
    facts: Mapping[str, str]
    """What the capture noted of the machine, see `compute_environment`."""
    framework: Framework
    """Which calls tell, of which not all travel."""
    memory_remedy: str | None
    """Why little or no memory was recorded; None where all is there."""
    advice: FoundAdvice
    """What the rules of a single host say of it, see `host_advice`."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Travels compressed: to a quarter, as most of it are texts."""
        state = {column.name: getattr(self, column.name) for column in fields(self)}
        return _unpacked, (zlib.compress(pickle.dumps(state, protocol=5), 1),)

    def renamed(self, host: str) -> HostSummary:
        """The same, said to come from `host`."""
        tables = {name: table.of_host(host) for name, table in self.tables.items()}
        return replace(self, host=host, trace=with_host(self.trace, host), tables=tables)

    def __repr__(self) -> str:
        n_events, n_steps, n_ops = self.sums["n_events"], len(self.tables["steps"]), len(self.tables["units"])
        return f"HostSummary({self.host!r}, {n_events} events, {n_steps} steps, {n_ops} ops)"


def _unpacked(packed: bytes) -> HostSummary:
    """What was pickled; texts that several hosts have are there once."""
    summary = HostSummary(**pickle.loads(zlib.decompress(packed)))
    return replace(summary, trace=replace(summary.trace, strings=interned(summary.trace.strings)))


def summarize_host(results: Facts, *, path: str = "") -> HostSummary:
    """Reduce the results of one host's file.

    Args:
        results: of the file.
        path: where the file is, to open it again.
    """
    trace, units = results.trace, kept_units(results)
    pieces, n_pieces = outlined_pieces(results.steps)
    tables = {
        "hosts": PackedFrame.of(pd.DataFrame(results.host_facts, columns=[one.name for one in fields(HostFacts)])),
        "communication": summarize_communication(results.communication),
        "tf_functions": PackedFrame.of(results.tf_functions),
        "steps": summarize_steps(results.steps),
        **summarize_ops(results, units),
        "hlo_ops": summarize_hlo(results.hlo_ops, units.hlo),
        "kernels": summarize_kernels(results.kernels),
        "copies": summarize_copies(results.copies),
        **summarize_memory(results.memory, results.memory_by_op),
        **summarize_input(results.tf_data),
    }
    return HostSummary(
        host=next((plane.host for plane in trace.planes if plane.host), ""),
        path=path,
        trace=low_detail(results, pieces),
        tables=tables,
        n_all={
            "steps": len(results.steps.frame),
            "units": units.n_all,
            "kernels": len(results.kernels.frame),
            "copies": len(results.copies),
            "memory_ops": len(results.memory_by_op.name),
            "pipelines": len(results.tf_data.pipelines),
        },
        sums={
            **n_pieces,
            **idle_times(trace, results.occurrences),
            **idle_by_side(results.occurrences),
            **vars(graphs_switched_off(trace)),
            "n_events": trace.n_events,
            "n_threads": results.environment.n_threads,
            "n_active_devices": results.environment.n_active_devices,
            "compute_16bit_ps": results.steps.compute_16bit_ps,
            "compute_32bit_ps": results.steps.compute_32bit_ps,
            "enqueue_busy_ps": results.enqueue_ps[0],
            "enqueue_period_ps": results.enqueue_ps[1],
        },
        facts=results.noted,
        framework=results.environment.framework,
        memory_remedy=results.memory.remedy,
        advice=host_advice(results),
    )
