"""Run: what one profile is made of: its files, opened when first asked for, and the analyses of what they hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import CaptureError, EmptyTraceError

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.results import AnyResults
    from ..capture.session.record import CaptureRecord
    from ..formats.saved import SavedProfile
    from ..opening.many_hosts import ReducedHosts
    from ..opening.opened import Opened
    from ..trace.capture_facts import CaptureFacts
    from ..views.widgets.bookmarks import Bookmark


class Run:
    """One profiled run, from which all parts of a `Profile` read.

    Raises:
        CaptureError: from whatever needs data, while the capture goes on.
        EmptyTraceError: from the same, where nothing could be captured.
        TraceError: from the same, where a captured file cannot be read.
    """

    def __init__(
        self,
        open_files: Callable[[], Opened] | None,
        *,
        title: str,
        notices: tuple[str, ...],
        reduced: ReducedHosts | None,
    ) -> None:
        self.title = title
        """What the run is of, for headings."""
        self.own_notices = notices
        """What was told of it when it was opened."""
        self.reduced = reduced
        """Its hosts, where they were too many to keep all their events."""
        self.record: CaptureRecord | None = None
        """The capture that it comes from; None of a trace that was loaded."""
        self._open_files = open_files

    def take(self, record: CaptureRecord) -> None:
        """Fill it from a capture that ended."""
        self.record = record
        self._open_files = lambda: _open_captured(record)

    @property
    def has_ended(self) -> bool:
        """Whether there are files to open; not while the capture goes on."""
        return self._open_files is not None

    @cached_property
    def opened(self) -> Opened:
        """What was read of the files."""
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
        from ..analysis.steps.interference import measure_interference

        if self.record is None:
            return self.saved.capture if self.saved else None
        return replace(self.record, **vars(measure_interference(self.record.step_times)))

    def samples(self, origin_ns: int) -> pd.DataFrame:
        """The samples of the machine, as `Profile.system` has them, of a trace that begins at this Unix time."""
        from ..capture.machine.sampler import no_samples, on_trace_clock

        known = self.record or self.saved
        return on_trace_clock(no_samples() if known is None or known.system.empty else known.system, origin_ns)

    @cached_property
    def results(self) -> AnyResults:
        """The analyses of the trace, each computed when first asked for."""
        from ..analysis.results import Results

        if self.reduced is not None:
            return self.reduced.results
        opened = self.opened
        failure = None if self.facts is None else self.facts.failure
        samples = self.samples(opened.trace.origin_ns)
        return Results(opened.trace, opened.source_map, samples, failure, opened.op_graph)

    @property
    def is_reduced(self) -> bool:
        """Whether the hosts were too many to keep all their events: tables are of the whole capture, the timeline has each
        host's steps and longest events, and `host(name)` opens one in full."""
        return self.reduced is not None

    @property
    def n_missing_hosts(self) -> int:
        """Hosts of the run that sent no trace, or whose trace could not be read."""
        n_failed = len(self.opened.left_out) if self.reduced is None else self.reduced.n_failed
        return n_failed + (self.saved.n_missing_hosts if self.saved is not None else 0)

    @cached_property
    def bookmarks(self) -> tuple[Bookmark, ...]:
        """The marks of the timeline: those that the run was saved with until a timeline has others, which sets this."""
        import json

        from ..views.widgets.bookmarks import bookmarks_from_json

        return () if self.saved is None else bookmarks_from_json(json.dumps(self.saved.bookmarks))


def _open_captured(record: CaptureRecord) -> Opened:
    from ..opening.open import open_runs

    if not record.run_dirs:
        raise EmptyTraceError("nothing was captured: " + (" ".join(record.notices) or "no session of the profiler ran"))
    return open_runs(record.run_dirs)
