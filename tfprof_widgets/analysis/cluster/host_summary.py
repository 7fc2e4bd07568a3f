"""Results of one host -> `HostSummary`: what of them travels to where all hosts are merged.

summarize_host(results, path=...) -> HostSummary
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from ...trace.trace import Plane, Session
from ..advice.engine import FoundAdvice
from ..hosts.roles import HostFacts
from ..overview.idle import IdleTimes, idle_times
from .columns import PackedFrame, interned
from .exchanges import summarize_communication
from .host_advice import host_advice
from .low_detail import LongEvents, longest_events
from .memory_summary import MemorySummary, summarize_memory
from .merged_hlo import summarize_hlo
from .merged_input import InputSummary, summarize_input
from .merged_kernels import KernelSummary, summarize_kernels
from .op_summary import OpSummary, kept_units, summarize_ops
from .step_summary import StepSummary, summarize_steps

if TYPE_CHECKING:
    from ..facts.facts import Facts


@dataclass(frozen=True, eq=False, repr=False)
class HostSummary:
    """What is kept of the file of one host. Everything in it is small, whatever the file's size, and can be pickled."""

    host: str
    """The host's name, as the file tells it or the caller gave it."""
    path: str
    """Where the file is."""
    origin_ns: int
    """Unix time of the file's origin, 0 where it does not say."""
    planes: tuple[Plane, ...]
    sessions: tuple[Session, ...]
    n_events: int
    n_threads: int
    """Host threads with at least one event."""
    n_active_devices: int
    warnings: tuple[str, ...]
    facts: Mapping[str, str]
    """What the capture noted of the machine, see `compute_environment`."""
    host_facts: tuple[HostFacts, ...]
    """As `Results.host_facts`: mostly of one host."""
    communication: PackedFrame
    """As `Results.communication`, those with the least exposed time left out where there are too many."""
    idle: IdleTimes
    tf_functions: PackedFrame
    """As `Overview.tf_functions`."""
    steps: StepSummary
    ops: OpSummary
    hlo_ops: PackedFrame
    """See `summarize_hlo`; row `i` is the HLO op `i` of `ops`."""
    kernels: KernelSummary
    memory: MemorySummary
    input: InputSummary
    longest: LongEvents
    advice: FoundAdvice
    """What the rules of a single host say of it, see `host_advice`."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Travels compressed: to a quarter, as most of it are texts."""
        state = {column.name: getattr(self, column.name) for column in fields(self)}
        return _unpacked, (zlib.compress(pickle.dumps(state, protocol=5), 1),)

    def renamed(self, host: str) -> HostSummary:
        """The same, said to come from `host`."""
        return replace(
            self,
            host=host,
            planes=tuple(replace(plane, host=host) for plane in self.planes),
            sessions=tuple(replace(session, host=host) for session in self.sessions),
            host_facts=tuple(replace(facts, host=host) for facts in self.host_facts),
            communication=self.communication.with_text("host", host),
        )

    def __repr__(self) -> str:
        return f"HostSummary({self.host!r}, {self.n_events} events, {len(self.steps)} steps, {len(self.ops)} ops)"


def _unpacked(packed: bytes) -> HostSummary:
    """What was pickled; texts that several hosts have are there once."""
    state = pickle.loads(zlib.decompress(packed))
    for name in ("ops", "kernels", "longest", "steps"):
        part = state[name]
        texts = {
            column.name: interned(values)
            for column in fields(part)
            if isinstance(values := getattr(part, column.name), tuple) and values and isinstance(values[0], str)
        }
        state[name] = replace(part, **texts)
    return HostSummary(**state)


def summarize_host(results: Facts, *, path: str = "", host: str = "") -> HostSummary:
    """Reduce the results of one host's file.

    Args:
        results: of the file.
        path: where the file is, to open it again.
        host: the name of the host; empty for what the file says.
    """
    trace, units = results.trace, kept_units(results)
    return HostSummary(
        host=host or next((plane.host for plane in trace.planes if plane.host), ""),
        path=path,
        origin_ns=trace.origin_ns,
        planes=tuple(trace.planes),
        sessions=tuple(trace.sessions),
        n_events=trace.n_events,
        n_threads=results.environment.n_threads,
        n_active_devices=results.environment.n_active_devices,
        warnings=tuple(trace.warnings),
        facts=results.noted,
        host_facts=results.host_facts,
        communication=summarize_communication(results.communication),
        idle=idle_times(trace, results.occurrences),
        tf_functions=PackedFrame.of(results.tf_functions),
        steps=summarize_steps(results.steps),
        ops=summarize_ops(results, units),
        hlo_ops=summarize_hlo(results.hlo_ops, units.hlo),
        kernels=summarize_kernels(results.kernels),
        memory=summarize_memory(results.memory),
        input=summarize_input(trace, results.tf_data),
        longest=longest_events(results),
        advice=host_advice(results),
    )
