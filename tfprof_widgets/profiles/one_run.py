"""Profile: what a user holds after a capture or a load; every table, every view and every export of one run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import CaptureError, EmptyTraceError, TfProfError
from .exports import ProfileExports
from .hosts import ProfileHosts
from .structure import ProfileStructure
from .views import ProfileViews
from .workers import ProfileWorkers

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.advice.advice import Advice
    from ..analysis.failure.memory_failure import MemoryFailure
    from ..analysis.input.input_pipeline import InputPipeline
    from ..analysis.memory.memory import MemoryProfile
    from ..analysis.overview.overview import Overview
    from ..analysis.results import Results
    from ..analysis.selection import OpRows, Selection
    from ..capture.session.record import CaptureRecord
    from ..opening.many_hosts import ReducedHosts
    from ..opening.open import Opened
    from ..trace.trace import Trace
    from ..views.payload.embedding import Embedded
    from ..views.widgets.data import Call

logger = logging.getLogger(__name__)

_FRAME_PX = 920
_MOST_WARNINGS = 5
"""Of what the profiler and the reader report about a trace, a view shows so many; `trace.warnings` has all."""


class Profile(ProfileExports, ProfileHosts, ProfileStructure, ProfileWorkers, ProfileViews):
    """One profiled run. All data is computed when first asked for and kept: copy a table before you change it.

    Made by `profile()`, `%%tfprofile`, `ProfileCallback` or `load()`. A table without rows has its columns all the same.

    Raises:
        CaptureError: from whatever needs data, inside the `with` block of `profile()`: the capture has not ended yet.
        EmptyTraceError: from the same, where nothing could be captured; the message says why.
        TraceError: from the same, where a captured file cannot be read; the message says which and where in it.
    """

    def __init__(
        self,
        open_files: Callable[[], Opened] | None = None,
        *,
        title: str = "",
        notices: tuple[str, ...] = (),
        hosts: ReducedHosts | None = None,
    ) -> None:
        super().__init__(title)
        self._reduced = hosts
        self._open_files = open_files
        self._record: CaptureRecord | None = None
        self._notices = notices

    def take(self, record: CaptureRecord) -> None:
        """Fill the profile from a capture that ended."""
        self._record = record
        self._open_files = lambda: _open_captured(record)

    # ---- data -------------------------------------------------------------------------------------------------------

    @cached_property
    def _opened(self) -> Opened:
        if self._open_files is None:
            raise CaptureError("this profile is still being captured: its data is there after the `with` block ends")
        return self._open_files()

    @cached_property
    def _results(self) -> Results:
        from ..analysis.results import Results

        if self._reduced is not None:
            return self._reduced.results
        opened = self._opened
        known = self._capture_now
        failure = None if known is None else known.failure
        return Results(opened.trace, opened.source_map, self._samples(opened.trace.origin_ns), failure, opened.op_graph)

    @property
    def trace(self) -> Trace:
        """All events as one columnar table.

        Raises:
            TraceError: the captured file cannot be read.
            CaptureError: the capture has not ended yet.
        """
        return self._results.trace

    @property
    def events(self) -> pd.DataFrame:
        """One row per event: `plane, line, name, start_ns, duration_ns, self_ns, depth, step`; in the order of `trace`.

        Times are in ns, `start_ns` after the trace origin, with the ps behind the point; `step` is a row of `steps`, -1 for
        none. Empty where the trace holds no event.
        """
        return self._results.events

    @property
    def flows(self) -> pd.DataFrame:
        """One row per event that made another start: `kind, from_event, to_event, from_name, to_name, delay_ns`; the events
        are rows of `events`, the kinds `launch`, `producer`, `pool`, `tf_data` and `send_recv`. Empty where none did."""
        from ..analysis.timeline.flows import flow_table

        return flow_table(self.trace, self._results.flows)

    @property
    def steps(self) -> pd.DataFrame:
        """One row per training step, by start: `step, name, host, start_ms, step_time_ms`, a column in ms for each category
        (they add up to the step time), `source` (`marker` or `inferred`) and more, see `Steps.frame`; empty without steps."""
        return self._results.step_frame

    @property
    def ops(self) -> pd.DataFrame:
        """One row per op, those of devices before those of the host, most self time first; without idle time.

        Columns: `ops.OPS_COLUMNS`. Times are in us, over all threads and streams; the two ratios are of the self time of the
        side (`device` is `Device` or `Host`), in [0, 1]. Empty when no op ran.
        """
        return self._results.ops

    def op_statistics(self, *, by: OpRows = "op", idle: bool = False) -> pd.DataFrame:
        """The op statistics as a whole.

        Args:
            by: `"op"` for the columns of `ops`, `"type"` for one row per op type: `n_ops` in place of `name`.
            idle: add a row `IDLE` for the time in which threads and devices ran no op; ratios then include it.

        Raises:
            ValueError: `by` is neither.
        """
        from ..analysis.selection import Selection

        return Selection(self._results, None, ()).op_statistics(by=by, idle=idle)

    @property
    def kernels(self) -> pd.DataFrame:
        """One row per kernel, its launch configuration and the op that launched it, most total time first; times in us.
        Columns: `kernels.KERNEL_COLUMNS`. Empty when nothing ran on a GPU."""
        return self._results.kernels.frame

    @property
    def hlo_ops(self) -> pd.DataFrame:
        """One row per op of an XLA program, most self time first; times in us, `source` is `file:line`. Columns:
        `hlo_ops.HLO_OPS_COLUMNS`. Empty when no compiled program ran."""
        return self._results.hlo_ops.frame

    @property
    def layers(self) -> pd.DataFrame:
        """Time (us) and memory (bytes) by Keras layer; loss, optimizer, input and all else have rows of their own, so the
        shares of a side add up to 1. Columns: `layers.LAYER_COLUMNS`, see `Layers.frame`. Empty when no op ran."""
        return self._results.layers.frame

    @property
    def source_lines(self) -> pd.DataFrame:
        """Op time (us) by line of your code; what no line can be charged with has named rows, so the shares of a side add up
        to 1. Columns: `source_lines.SOURCE_LINE_COLUMNS`, see `SourceLines.frame`. Empty when no op ran."""
        return self._results.source_lines.frame

    @property
    def scopes(self) -> pd.DataFrame:
        """Op time (us) by name scope, as a tree: one row per scope, the root first. Columns: `scopes.SCOPE_COLUMNS`, see
        `Scopes.frame`. Empty when no op ran."""
        return self._results.scopes.frame

    @property
    def memory(self) -> MemoryProfile:
        """Allocations by allocator: `.summary`, `.timeline(allocator)`, `.peak(allocator)`; `.allocators` is empty where none
        was recorded, as on a CPU without `TF_CPU_ALLOCATOR_USE_BFC=true`."""
        return self._results.memory

    @property
    def memory_failure(self) -> MemoryFailure | None:
        """What lived when an allocation failed and ended the profiled code, by op, layer and line, and what to do; None where it
        ended otherwise. It displays itself."""
        return self._memory_failure_now()

    @property
    def input_pipeline(self) -> InputPipeline:
        """What tf.data did: `.verdict`, `.bottleneck`, `.suggestion`, `.hosts`, `.pipelines`, `.iterators`, `.steps`, `.ops`,
        `.categories`, and `.execution(pipeline, rank)` for one call of a pipeline. Its tables are empty without tf.data."""
        return self._results.input_pipeline

    @property
    def overview(self) -> Overview:
        """Step time (ms), breakdown, verdict, environment and top ops; without steps its times are 0 and its verdict says why."""
        return self._results.overview

    @property
    def advice(self) -> list[Advice]:
        """What to change, the largest gain first, single slow steps of unknown cause last: each `Advice` has numbers, a fix to
        paste, what to select, and the share of the step time that it could win at most. Empty where nothing is wrong, or nothing
        can be judged.

        A reduced profile has the advice on each of its hosts that train, merged: what was found on several is said once, as it
        is on the host where it costs most, with the number of hosts; its share is of the step time of all of them, and below
        5 % of that it is left out. `prof.host(name).advice` is the advice on one host."""
        return list(self._results.advice)

    @property
    def advice_table(self) -> pd.DataFrame:
        """The same as a table, one row per advice in that order: `rule, severity, title, gain_ratio, fix, view`."""
        from ..analysis.advice.engine import advice_table

        return advice_table(self._results.advice)

    @property
    def counters(self) -> pd.DataFrame:
        """What rose and fell, one row per change: `counter, unit, time_ms, value`; by counter, then time.

        Bytes in use of each allocator, buffers of tf.data iterators, counters that a device recorded, and the samples of
        `system`, totals as rates. A value holds until the next one of its counter.
        """
        return self._results.counters.frame

    @property
    def notices(self) -> tuple[str, ...]:
        """What a reader must know first, such as a capture cut short or a damaged trace; one sentence each."""
        told = self._notices + (self._record.notices if self._record is not None else ())
        try:
            told += self._capture_notices()
            saved = self._opened.saved
            told += tuple(text for text in (saved.notices if saved is not None else ()) if text not in told)
            # A capture writes its notices beside the trace too, for whoever opens it later.
            told += tuple(text for text in self.trace.warnings if text not in told)[:_MOST_WARNINGS]
            return told + tuple(text for text in self._results.notices if text not in told)
        except TfProfError:  # a trace that is not there yet, or cannot be read, says so where its data is asked for
            return told

    def select(
        self,
        *,
        time_range: tuple[int, int] | None = None,
        step: int | None = None,
        ops: tuple[str, ...] | None = None,
        host: str | None = None,
    ) -> Selection:
        """Select a time range, a step, ops or a host in every view, and return the numbers of that part alone.

        Args:
            time_range: `(t0_ns, t1_ns)` after the trace origin.
            step: row of `steps`; its time becomes the time range.
            ops: names of ops to highlight.
            host: the only one that counts, as `hosts` names it; all without it.

        Raises:
            ValueError: both a time range and a step, or a step or a host that is not there.
        """
        from ..analysis.selection import select

        selection = select(self._results, time_range_ns=time_range, step=step, ops=ops, host=host)
        self.link.time_range = selection.time_range_ns or ()
        self.link.step = -1 if step is None else int(step)
        self.link.selection = selection.op_names
        self.link.host = selection.host
        return selection

    def _calls(self) -> dict[str, Call]:
        return {**super()._calls(), "open_host": self._open_host}

    def _open_host(self, message: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        """Show a host in full in place of the dashboard, as the page asked for."""
        name = str(message.get("host"))
        self.dashboard().opened = self.host(name).dashboard()
        return {"host": name}, []

    # ---- out --------------------------------------------------------------------------------------------------------

    def to_html(self, path: str | Path, *, embed: int | Literal["full"] = 4 * 2**20) -> Path:
        """Write the dashboard as one self-contained page that needs no kernel and no network; returns its path.

        The page holds the text of the cells and files whose lines made ops: who gets the page gets that code.

        Args:
            path: of the page.
            embed: how many bytes of the trace the page may hold, besides some 1.5 MB of scripts. Of a larger trace it has
                every event around the typical steps and a sample of the others, and says so. `"full"` keeps everything.

        Raises:
            ValueError: `embed` is neither "full" nor a positive number.
            TfProfError: it cannot be written. What was at the path before is still there, and no part of a page.
        """
        from ..views.payload.embedding import embed as choose
        from .display import write_page

        return write_page(path, lambda most: self._page(choose(self._data.payload, max_bytes=most)), embed=embed)

    def _page(self, embedded: Embedded) -> str:
        from .display import dashboard_page

        return dashboard_page(self.dashboard(), embedded, title=self.title or "tfprof")

    def _fallback(self) -> str:
        """A small page that goes into each output beside the widgets, for front ends that have none."""
        from ..views.payload.embedding import FALLBACK_BYTES, embed

        return self._page(embed(self._data.payload, max_bytes=FALLBACK_BYTES, events=False))

    def summary(self) -> str:
        """The profile in some thirty lines of text, as a terminal shows it; what has no data says so in a line."""
        from ..export.text import summarize

        cost = self.cost
        spent = None if cost is None else (cost.start_s, cost.stop_s, cost.n_bytes)
        return summarize(self._results, title=self.title, notices=self.notices, spent=spent)

    def __repr__(self) -> str:
        from ..analysis.base.wording import plural

        if self._open_files is None:
            return "<Profile: capture still running>"
        try:
            n, average_ms = self.overview.n_steps, self.overview.step_time_avg_ms
            steps = f"{plural(n, 'step')}, {average_ms:.3g} ms a step" if n else "no steps"
            environment = self.overview.environment
            reduced = f"reduced, {plural(len(environment.hosts), 'host')}, " if self._results.is_reduced else ""
            return f"<Profile {self.title}: {reduced}{steps}, {plural(environment.n_events, 'event')}>"
        except TfProfError as error:
            return f"<Profile {self.title}: {error}>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        from ..views.page.html import framed
        from .display import in_notebook

        if self._open_files is None:
            return {"text/plain": repr(self)}
        text = ""
        try:
            text = self.summary()
            if not in_notebook():
                return {"text/plain": text}
            fallback = framed(self._fallback(), height_px=_FRAME_PX)
            return {**self.dashboard()._repr_mimebundle_()[0], "text/plain": text, "text/html": fallback}
        except TfProfError as error:
            return {"text/plain": f"{text}\ntfprof: {error}".strip()}
        except Exception as error:  # a display must not turn a finished training cell into a failed one
            logger.exception("the dashboard cannot be shown")
            reason = f"tfprof: the dashboard cannot be shown: {type(error).__name__}: {error}"
            return {"text/plain": f"{text}\n{reason}".strip()}


def _open_captured(record: CaptureRecord) -> Opened:
    from ..opening.open import open_runs

    if not record.run_dirs:
        raise EmptyTraceError("nothing was captured: " + (" ".join(record.notices) or "no session of the profiler ran"))
    return open_runs(record.run_dirs)
