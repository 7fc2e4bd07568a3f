"""ProfileCapture: how one profile was captured, and what the machine did meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import EmptyTraceError

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.failure.memory_failure import MemoryFailure
    from ..analysis.results import Results
    from ..analysis.steps.interference import CaptureSummary
    from ..capture.session.record import CaptureRecord
    from ..opening.open import Opened
    from ..trace.capture_facts import CaptureCost, CaptureFacts

_NOT_CAPTURED = (
    "Nothing was captured, so what held the memory is not known. Capture from the first step on:\n"
    "with tfprof.profile() as prof: ..."
)


class ProfileCapture:
    """The part of a `Profile` about its capture."""

    _record: CaptureRecord | None
    _open_files: Callable[[], Opened] | None

    @property
    def _results(self) -> Results:
        """What the tables hold."""
        raise NotImplementedError

    @property
    def _opened(self) -> Opened:
        """The files that the profile came from."""
        raise NotImplementedError

    @property
    def capture(self) -> CaptureSummary | None:
        """What the capture was and what it cost: seconds, bytes, by how much steps took longer meanwhile, and `.sentence`.

        None for a trace loaded without it, and while the capture still runs. It counts the events, so it reads the trace.
        """
        from ..analysis.steps.interference import CaptureSummary
        from ..trace.capture_facts import CaptureFacts

        if self._open_files is None:
            return None
        known, cost, record = self._capture_now, self.cost, self._record
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
        if self._record is not None and not self._record.run_dirs:
            return self._record.cost
        known = self._record or self._opened.saved
        cost = None if known is None else known.cost
        if cost is None:
            return None
        return replace(cost, n_events=self._results.trace.n_events)

    @property
    def system(self) -> pd.DataFrame:
        """Samples of the machine, one row each in time order: `time_ms` after the trace origin, CPU, memory, disk, network, GPU.

        The columns are those of `SystemSampler`, `time_ms` in place of `time_ns`: loads of all cores, of each core
        (`cpu0_pct`, ...) and of each GPU (`gpu0_pct`, ...) among them. They begin before the first window of the profiler, so
        the first times are negative, and go on to the end of the capture. No rows when none were taken, as for a trace that
        was loaded without them.
        """
        return self._samples(self._results.trace.origin_ns)

    @cached_property
    def system_findings(self) -> pd.DataFrame:
        """What is odd in `system`: one row per finding, `kind, metric, start_ms, end_ms, value, unit, text`, by kind and start.

        Kinds: `utilisation_dip, rising_memory, choppy_network_in, saturated_network_in, growing_network_out, late_start`.
        While the profiler wrote its files the program waited for it, so those samples are not looked at. Empty when nothing is
        odd, and where there are too few samples to tell (less than 2 s, or 20).
        """
        from ..analysis.system.anomalies import find_anomalies

        trace = self._results.trace
        known = self._capture_now
        pauses_ms = [
            ((begin_ns - trace.origin_ns) / 1e6, (end_ns - trace.origin_ns) / 1e6)
            for begin_ns, end_ns in (() if known is None else known.pauses_ns)
        ]
        return find_anomalies(self.system, n_events=trace.n_events, pauses_ms=pauses_ms)

    def _samples(self, origin_ns: int) -> pd.DataFrame:
        from ..capture.machine.sampler import no_samples, on_trace_clock

        if self._record is not None:
            samples = self._record.system
        else:
            saved = self._opened.saved
            samples = no_samples() if saved is None or saved.system.empty else saved.system
        return on_trace_clock(samples, origin_ns)

    @cached_property
    def _capture_now(self) -> CaptureFacts | None:
        """What is known of the capture beside its cost; None for a trace loaded without it."""
        from ..analysis.steps.interference import measure_interference

        record = self._record
        if record is None:
            return self._opened.saved.capture if self._opened.saved else None
        return replace(record, **vars(measure_interference(record.step_times)))

    def _memory_failure_now(self) -> MemoryFailure | None:
        """The failed allocation that ended the profiled code, explained as far as there is a trace."""
        from ..analysis.failure.memory_failure import failure_alone

        try:
            return self._results.memory_failure
        except EmptyTraceError:  # nothing was captured, but the exception told something
            known = self._capture_now
            if known is None or known.failure is None:
                raise
            return failure_alone(known.failure, remedy=_NOT_CAPTURED)

    def _capture_notices(self) -> tuple[str, ...]:
        """That memory ran out, and that the capture distorts what it shows; nothing where neither is so."""
        known = self._capture_now
        failed = () if known is None or known.failure is None else (self._failure_notice(),)
        return failed + self._distortion_notices()

    def _failure_notice(self) -> str:
        """What happened and what to do first."""
        failure = self._memory_failure_now()
        return "" if failure is None else failure.notice

    def _distortion_notices(self) -> tuple[str, ...]:
        """That the capture distorts what it shows; nothing where it does not."""
        from ..analysis.steps.interference import step_sentence

        known = self._capture_now
        return (step_sentence(known, known.detail),) if known is not None and known.is_distorting else ()
