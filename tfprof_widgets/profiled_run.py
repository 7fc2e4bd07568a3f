"""The files of one run, opened when first asked for, their analyses, and how the run was captured."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

from .errors import CaptureError, EmptyTraceError, TfProfError

if TYPE_CHECKING:
    import pandas as pd

    from .analysis.analysis import Analysis
    from .analysis.many_hosts import ReducedHosts
    from .analysis.out_of_memory.failure import MemoryFailure
    from .analysis.steps.steps import CaptureSummary
    from .capture.program.calls import FitCall
    from .capture.program.captured import CapturedProgram
    from .capture.record import CaptureRecord
    from .export.document import Subject
    from .read.opening import Opened
    from .read.saved import SavedProfile
    from .show.link import Bookmark
    from .trace.capture_facts import CaptureCost, CaptureFacts


_NOT_CAPTURED = (
    "Nothing was captured, so what held the memory is not known. Capture from the first step on:\n"
    "with tfprof.profile() as prof: ..."
)
_MOST_WARNINGS = 5
"""Of the warnings in `trace.warnings` that a view shows."""


class ProfiledRun:
    """One profiled run for `Profile` and its views; its data raises `CaptureError` during the capture."""

    def __init__(
        self,
        open_files: Callable[[], Opened] | None,
        *,
        title: str,
        notices: tuple[str, ...],
        reduced: ReducedHosts | None,
    ) -> None:
        self.title = title
        self.own_notices = notices
        self.reduced = reduced
        """Its hosts, where they were too many to hold all their events."""
        self.since_last = ""
        """A sentence that compares it with the last run of its cell; "" for none."""
        self.record: CaptureRecord | None = None
        """None for a trace that was loaded."""
        self._open_files = open_files

    def take(self, record: CaptureRecord) -> None:
        self.record = record
        self._open_files = lambda: _open_captured(record)

    @property
    def has_ended(self) -> bool:
        """Whether there are files to open; not while the capture goes on."""
        return self._open_files is not None

    @cached_property
    def opened(self) -> Opened:
        if self._open_files is None:
            raise CaptureError("this profile is still being captured: its data is there after the `with` block ends")
        return self._open_files()

    @property
    def saved(self) -> SavedProfile | None:
        """What an earlier profile of the same run was saved with; None where there was none."""
        return self.opened.saved

    @cached_property
    def facts(self) -> CaptureFacts | None:
        """What is known of the capture beside its cost; None for a trace loaded without it."""
        from .analysis.steps.steps import measure_interference

        if self.record is None:
            return self.saved.capture if self.saved else None
        return replace(self.record, **vars(measure_interference(self.record.step_times)))

    def samples(self, origin_ns: int) -> pd.DataFrame:
        """The samples of the machine, as `Profile.system` has them, of a trace that begins at this Unix time."""
        from .capture.machine import no_samples, on_trace_clock

        known = self.record or self.saved
        return on_trace_clock(no_samples() if known is None or known.system.empty else known.system, origin_ns)

    @cached_property
    def results(self) -> Analysis:
        """The analyses of the trace, each computed when first asked for."""
        from .analysis.analysis import Analysis

        if self.reduced is not None:
            return self.reduced.results
        opened = self.opened
        failure = None if self.facts is None else self.facts.failure
        samples = self.samples(opened.trace.origin_ns)
        return Analysis(opened.trace, self._program or opened.source_map, samples, failure, opened.op_graph)

    @property
    def _program(self) -> CapturedProgram | None:
        """The program of the capture; None for a loaded trace, beside which it was written."""
        return None if self.record is None else self.record.program

    def whole(self, what: str) -> Analysis:
        """The results with every single execution."""

        if self.results.summed is not None:
            raise self.results.summed.no_events(what)
        return self.results

    @property
    def n_missing_hosts(self) -> int:
        """Hosts of the run that sent no trace, or whose trace could not be read."""
        n_failed = len(self.opened.left_out) if self.reduced is None else self.reduced.n_failed
        return n_failed + (self.saved.n_missing_hosts if self.saved is not None else 0)

    @cached_property
    def bookmarks(self) -> tuple[Bookmark, ...]:
        """The marks of the timeline: those that the run was saved with until a timeline has others, which sets this."""
        import json

        from .show.link import bookmarks_from_json

        return () if self.saved is None else bookmarks_from_json(json.dumps(self.saved.bookmarks))

    def saved_now(self) -> SavedProfile:
        """What is known beside the events, as of now."""
        import json

        from .read.saved import SavedProfile
        from .show.link import bookmarks_to_json

        before = self.saved or SavedProfile()
        known = self.record or before
        return SavedProfile(
            title=self.title,
            notices=known.notices,
            n_missing_hosts=before.n_missing_hosts,
            system=known.system,
            cost=known.cost,
            capture=self.facts,
            bookmarks=tuple(json.loads(bookmarks_to_json(self.bookmarks))),
        )

    def saved_with_trace(self) -> SavedProfile:
        """The saved profile to go with the events of `trace`, which are few for a reduced one, as its notices say."""
        saved = self.saved_now()
        return saved if self.results.has_events else replace(saved, notices=self.notices)

    @cached_property
    def hosts(self) -> pd.DataFrame:
        from .analysis.many_hosts import with_paths

        frame = self.results.hosts
        return frame if self.reduced is not None else with_paths(frame, self.opened)

    def subject(self) -> Subject:
        from .export.document import Subject

        return Subject(
            results=self.results,
            title=self.title,
            notices=self.notices,
            since_last=self.since_last,
            capture=self.capture,
            system=self.system,
            findings=self.system_findings,
            version=str(getattr(sys.modules[__name__.partition(".")[0]], "__version__", "")),
        )

    @property
    def capture(self) -> CaptureSummary | None:
        from .analysis.steps.steps import CaptureSummary
        from .trace.capture_facts import CaptureFacts

        if not self.has_ended:
            return None
        known, cost, record = self.facts, self.cost, self.record
        if known is None or cost is None:
            return None
        return CaptureSummary(
            **{one.name: getattr(known, one.name) for one in fields(CaptureFacts)},
            **(vars(cost) | {"n_events": cost.n_events or 0}),
            windows=() if record is None else record.windows,
            step_times=None if record is None else record.step_times,
            held_bytes=0 if self._program is None else self._program.held_bytes,
        )

    @property
    def fit_call(self) -> FitCall | None:
        """The last `fit` within the capture; None of a trace that was loaded."""
        return None if self._program is None else self._program.fit

    def write_program(self) -> None:
        """Write what is known of the program beside the traces, from where it is loaded and saved."""
        if self._program is not None:
            self._program.write()

    @property
    def cost(self) -> CaptureCost | None:
        """What starting and stopping the profiler took, as `Profile.cost` has it."""
        if self.record is not None and not self.record.run_dirs:
            return self.record.cost
        known = self.record or self.saved
        cost = None if known is None else known.cost
        return None if cost is None else replace(cost, n_events=self.results.trace.n_events)

    @property
    def system(self) -> pd.DataFrame:
        """Loads of the machine on the clock of the trace, as `Profile.system` has them."""
        return self.samples(self.results.trace.origin_ns)

    @cached_property
    def system_findings(self) -> pd.DataFrame:
        from .analysis.machine import find_anomalies

        trace = self.results.trace
        known = self.facts
        pauses_ms = [
            ((begin_ns - trace.origin_ns) / 1e6, (end_ns - trace.origin_ns) / 1e6)
            for begin_ns, end_ns in (() if known is None else known.pauses_ns)
        ]
        return find_anomalies(self.system, pauses_ms=pauses_ms)

    @property
    def memory_failure(self) -> MemoryFailure | None:
        """What held the memory when an allocation failed, as `Profile.memory_failure` has it."""
        from .analysis.out_of_memory.failure import failure_alone

        try:
            return self.results.memory_failure
        except EmptyTraceError:  # nothing was captured, but the exception told something
            known = self.facts
            if known is None or known.failure is None:
                raise
            return failure_alone(known.failure, remedy=_NOT_CAPTURED)

    @property
    def notices(self) -> tuple[str, ...]:
        """What a reader must know before the numbers, as `Profile.notices` has it."""
        told = self.own_notices + (self.record.notices if self.record is not None else ())
        told += self._program.notices if self._program is not None else ()
        try:
            told += self._capture_notices()
            told += _not_in(told, self._saved_notices())
            # A capture writes its notices beside the trace too, for whoever opens it later.
            told += _not_in(told, self.results.trace.warnings)[:_MOST_WARNINGS]
            return told + _not_in(told, self.results.notices)
        except TfProfError:  # a trace that is not there yet, or cannot be read, says so where its data is asked for
            return told

    def _saved_notices(self) -> tuple[str, ...]:
        """The notices saved beside the trace; a folder may have lost the source map that some of them are about."""
        from .trace.source_map import is_of_source_map

        notices = self.saved.notices if self.saved is not None else ()
        if not any(map(is_of_source_map, notices)):
            return notices
        source_map = self.results.source_map
        is_here = source_map is not None and not source_map.is_empty
        return tuple(notice for notice in notices if is_here or not is_of_source_map(notice))

    def _capture_notices(self) -> tuple[str, ...]:
        """That memory ran out, and that the capture distorts what it shows, where so."""
        from .analysis.steps.steps import step_sentence

        facts = self.facts
        if facts is None:
            return ()
        failure = None if facts.failure is None else self.memory_failure
        failed = () if failure is None else (failure.notice,)
        return failed + ((step_sentence(facts, facts.detail),) if facts.is_distorting else ())


def _not_in(told: tuple[str, ...], texts: Sequence[str]) -> tuple[str, ...]:
    """The texts that are not part of another one's words, as one notice may hold several sentences of a capture."""
    return tuple(text for text in texts if not any(text in one for one in told))


def _open_captured(record: CaptureRecord) -> Opened:
    from .read.opening import open_runs

    if not record.run_dirs:
        raise EmptyTraceError("nothing was captured: " + (" ".join(record.notices) or "no session of the profiler ran"))
    return open_runs(record.run_dirs)
