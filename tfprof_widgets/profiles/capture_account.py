"""CaptureAccount: how one run was captured, what the machine did meanwhile, and what a reader must know of it first."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import EmptyTraceError, TfProfError

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.failure.memory_failure import MemoryFailure
    from ..analysis.steps.interference import CaptureSummary
    from ..trace.capture_facts import CaptureCost
    from .run import Run

_NOT_CAPTURED = (
    "Nothing was captured, so what held the memory is not known. Capture from the first step on:\n"
    "with tfprof.profile() as prof: ..."
)
_MOST_WARNINGS = 5
"""Of what the profiler and the reader report about a trace, a view shows so many; `trace.warnings` has all."""


class CaptureAccount:
    """What is known of the capture of a run."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @property
    def capture(self) -> CaptureSummary | None:
        """What the capture was and what it cost: seconds, bytes, by how much steps took longer meanwhile, and `.sentence`.

        None for a trace loaded without it, and while the capture still runs. It counts the events, so it reads the trace.
        """
        from ..analysis.steps.interference import CaptureSummary
        from ..trace.capture_facts import CaptureFacts

        if not self._run.has_ended:
            return None
        known, cost, record = self._run.facts, self.cost, self._run.record
        if known is None or cost is None:
            return None
        return CaptureSummary(
            **{one.name: getattr(known, one.name) for one in fields(CaptureFacts)},
            **(vars(cost) | {"n_events": cost.n_events or 0}),
            windows=() if record is None else record.windows,
            step_times=None if record is None else record.step_times,
        )

    @property
    def cost(self) -> CaptureCost | None:
        """What the capture itself took: seconds to start and to stop, bytes and events; None for a trace loaded without it.

        It counts the events, so it reads the trace.
        """
        if self._run.record is not None and not self._run.record.run_dirs:
            return self._run.record.cost
        known = self._run.record or self._run.saved
        cost = None if known is None else known.cost
        if cost is None:
            return None
        return replace(cost, n_events=self._run.results.trace.n_events)

    @property
    def system(self) -> pd.DataFrame:
        """Samples of the machine, one row each in time order: `time_ms` after the trace origin, CPU, memory, disk, network, GPU.

        The columns are those of `SystemSampler`, `time_ms` in place of `time_ns`: loads of all cores, of each core
        (`cpu0_pct`, ...) and of each GPU (`gpu0_pct`, ...) among them. They begin before the first window of the profiler, so
        the first times are negative, and go on to the end of the capture. No rows when none were taken, as for a trace that
        was loaded without them.
        """
        return self._run.samples(self._run.results.trace.origin_ns)

    @cached_property
    def system_findings(self) -> pd.DataFrame:
        """What is odd in `system`: one row per finding, `kind, metric, start_ms, end_ms, value, unit, text`, by kind and start.

        Kinds: `utilisation_dip, rising_memory, choppy_network_in, saturated_network_in, growing_network_out, late_start`.
        While the profiler wrote its files the program waited for it, so those samples are not looked at. Empty when nothing is
        odd, and where there are too few samples to tell (less than 2 s, or 20).
        """
        from ..analysis.system.anomalies import find_anomalies

        trace = self._run.results.trace
        known = self._run.facts
        pauses_ms = [
            ((begin_ns - trace.origin_ns) / 1e6, (end_ns - trace.origin_ns) / 1e6)
            for begin_ns, end_ns in (() if known is None else known.pauses_ns)
        ]
        return find_anomalies(self.system, n_events=trace.n_events, pauses_ms=pauses_ms)

    @property
    def memory_failure(self) -> MemoryFailure | None:
        """What lived when an allocation failed and ended the profiled code, by op, layer and line, and what to do; None where it
        ended otherwise. It displays itself."""
        from ..analysis.failure.memory_failure import failure_alone

        try:
            return self._run.results.memory_failure
        except EmptyTraceError:  # nothing was captured, but the exception told something
            known = self._run.facts
            if known is None or known.failure is None:
                raise
            return failure_alone(known.failure, remedy=_NOT_CAPTURED)

    @property
    def notices(self) -> tuple[str, ...]:
        """What a reader must know first, such as a capture cut short or a damaged trace; one sentence each."""
        run = self._run
        told = run.own_notices + (run.record.notices if run.record is not None else ())
        try:
            told += self._capture_notices()
            told += tuple(text for text in (run.saved.notices if run.saved is not None else ()) if text not in told)
            # A capture writes its notices beside the trace too, for whoever opens it later.
            told += tuple(text for text in run.results.trace.warnings if text not in told)[:_MOST_WARNINGS]
            return told + tuple(text for text in run.results.notices if text not in told)
        except TfProfError:  # a trace that is not there yet, or cannot be read, says so where its data is asked for
            return told

    def _capture_notices(self) -> tuple[str, ...]:
        """That memory ran out, and that the capture distorts what it shows; nothing where neither is so."""
        from ..analysis.steps.interference import step_sentence

        facts = self._run.facts
        if facts is None:
            return ()
        failure = None if facts.failure is None else self.memory_failure
        failed = () if failure is None else (failure.notice,)
        return failed + ((step_sentence(facts, facts.detail),) if facts.is_distorting else ())
