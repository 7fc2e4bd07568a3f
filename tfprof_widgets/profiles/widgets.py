"""Widgets: the views of one run, each made when first asked for; all share one selection and one payload."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

if TYPE_CHECKING:
    from ..analysis.selection import Selection
    from ..analysis.tree.tree_options import TreeView as Structure
    from ..views.payload.embedding import Amount
    from ..views.widgets.base import View
    from ..views.widgets.data import TraceData
    from ..views.widgets.link import LinkModel
    from ..views.widgets.timeline import Timeline
    from ..views.widgets.views import (
        Compact,
        CopyTable,
        Dashboard,
        HloTable,
        InputGraph,
        KernelTable,
        LayerTable,
        MemoryTimeline,
        OpTable,
        OverviewPanel,
        RooflineChart,
        ScopeIcicle,
        SourceView,
        StepChart,
        TreeView,
        WorkerChart,
    )
    from .exports import Exports
    from .hosts import Hosts
    from .measured_advice import MeasuredAdvice
    from .run import Run

V = TypeVar("V", bound="View")
D = TypeVar("D", bound="Dashboard")


class Widgets:
    """One widget of each kind, the same one however often it is asked for; all share one selection and one payload.

    Making the first one computes what all of them show, so it raises what the data raises; see `Profile`. A view without
    anything to show says why.
    """

    def __init__(self, run: Run, exports: Exports, hosts: Hosts) -> None:
        self._run = run
        self._exports = exports
        self._hosts = hosts
        self._views: dict[type[View], View] = {}

    @cached_property
    def link(self) -> LinkModel:
        """The selection that all views of this profile share: `time_range` (`(t0_ns, t1_ns)` after the trace origin, `()` for
        none), `whole_capture` (whether figures without a range are of the whole capture, rather than of the averaged steps),
        `selection` (names of ops), `hover` (the name of an op, `""` for none), `step` (row of `steps`, -1 for none), `host`
        (the name of a host, `""` for all)."""
        from ..analysis.base.hosts import hosts_of
        from ..views.widgets.link import LinkModel

        return LinkModel(lambda: hosts_of(self._run.results.trace))

    @cached_property
    def _data(self) -> TraceData:
        from ..views.payload.payload import build_payload
        from ..views.widgets.data import TraceData
        from ..views.widgets.library import views_js

        views_js()  # which the page receives while the payload is made
        payload = build_payload(self._run.results, title=self._run.title)
        data = TraceData(payload)
        data.calls |= {
            "chrome_trace": self._exports.chrome_trace_reply,
            "open_host": self._open_host,
            "measure": self._measured_advice.reply,
        }
        self.link.use(data.payload.contents.names.cut)
        return data

    @cached_property
    def _measured_advice(self) -> MeasuredAdvice:
        from .measured_advice import MeasuredAdvice

        return MeasuredAdvice(self._run.fit_call)

    def _open_host(self, message: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        """Show a host in full in place of the dashboard, as the page asked for."""
        name = str(message.get("host"))
        self.dashboard().opened = (self._hosts.host(name) or self).dashboard()
        return {"host": name}, []

    def _view(self, kind: type[V], **traits: Any) -> V:
        if kind not in self._views:
            self._views[kind] = kind(link=self.link, data=self._data, **traits)
        view = cast("V", self._views[kind])
        if view.comm is None:  # closed, as a cell that showed it was run again
            from ..views.widgets.cells import open_again

            open_again(self._data)
        return view

    def select(
        self,
        *,
        time_range: tuple[int, int] | None = None,
        step: int | str | None = None,
        ops: Iterable[str] | None = None,
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
        from ..analysis.selection import select, step_row

        results = self._run.results
        row = None if step is None else step_row(results, step, host)
        selection = select(results, time_range_ns=time_range, step=row, ops=ops, host=host)
        self.link.time_range = selection.time_range_ns or ()
        self.link.step = -1 if row is None else row
        self.link.selection = selection.op_names
        self.link.host = selection.host
        return selection

    def timeline(self) -> Timeline:
        """The trace timeline."""
        from ..views.widgets.timeline import Timeline

        made = self._view(Timeline, bookmarks=self._run.bookmarks)
        made.observe(self._keep_bookmarks, "bookmarks")
        return made

    def _keep_bookmarks(self, change: Mapping[str, Any]) -> None:
        self._run.bookmarks = change["new"]

    def memory_timeline(self) -> MemoryTimeline:
        """Memory in use and fragmentation against time."""
        from ..views.widgets.views import MemoryTimeline

        return self._view(MemoryTimeline)

    def op_table(self) -> OpTable:
        """The op statistics."""
        from ..views.widgets.views import OpTable

        return self._view(OpTable)

    def input_graph(self) -> InputGraph:
        """The input pipeline as a graph."""
        from ..views.widgets.views import InputGraph

        return self._view(InputGraph)

    def step_chart(self) -> StepChart:
        """The time of every step."""
        from ..views.widgets.views import StepChart

        return self._view(StepChart)

    def overview_panel(self) -> OverviewPanel:
        """Step time, verdict, breakdown and top ops."""
        from ..views.widgets.views import OverviewPanel

        options = {"since_last": self._run.since_last, "measurable": self._measured_advice.rules()}
        return self._view(OverviewPanel, options=options)

    def kernel_table(self) -> KernelTable:
        """The code that ran on GPUs, kernel by kernel."""
        from ..views.widgets.views import KernelTable

        return self._view(KernelTable)

    def copy_table(self) -> CopyTable:
        """The copies between host and devices."""
        from ..views.widgets.views import CopyTable

        return self._view(CopyTable)

    def roofline_chart(self) -> RooflineChart:
        """The ops of GPUs under what their device could do."""
        from ..views.widgets.views import RooflineChart

        return self._view(RooflineChart)

    def hlo_table(self) -> HloTable:
        """The ops of XLA programs."""
        from ..views.widgets.views import HloTable

        return self._view(HloTable)

    def layer_table(self) -> LayerTable:
        """Forward, backward and optimizer time of each Keras layer."""
        from ..views.widgets.views import LayerTable

        return self._view(LayerTable)

    def source_view(self) -> SourceView:
        """Your code with the time of each line."""
        from ..views.widgets.views import SourceView

        return self._view(SourceView)

    def scope_icicle(self) -> ScopeIcicle:
        """Name scopes as a zoomable icicle."""
        from ..views.widgets.views import ScopeIcicle

        return self._view(ScopeIcicle)

    def worker_chart(self) -> WorkerChart:
        """The breakdown of a step on each host."""
        from ..views.widgets.views import WorkerChart

        return self._view(WorkerChart)

    def tree_view(self, view: Structure | Literal["hlo"] = "scope") -> TreeView:
        """The cost of the ops by structure, to look into.

        Args:
            view: what to begin with, as for `tree`: `"scope"`, `"graph"`, `"op"` or `"code"`; or `"hlo"`, graphs of XLA.

        Raises:
            ValueError: there is no such view; the message names those there are.
        """
        from ..views.widgets.views import TreeView

        made = self._view(TreeView)
        made.begin_with(view)
        return made

    def dashboard(self) -> Dashboard:
        """All views, linked, in one widget."""
        from ..views.widgets.views import Dashboard

        return self._dashboard(Dashboard)

    def compact(self) -> Compact:
        """Step time, verdict, steps and the first advice, some 250 pixels high; a button opens all that `dashboard` has."""
        from ..views.widgets.views import Compact

        return self._dashboard(Compact, compact=True)

    def _dashboard(self, kind: type[D], **options: Any) -> D:
        from ..views.widgets.limits import limits_of

        facts = self._run.facts
        outcome = "" if facts is None else facts.outcome
        options |= {"title": self._run.title, "limits": limits_of(self._run.notices), "outcome": outcome}
        panels = {name: getattr(self, name)() for name in kind.class_trait_names(is_panel=True)}
        return self._view(kind, options=options, **panels)

    def to_html(self, path: str | Path, *, embed: Amount = "steps") -> Path:
        """Write the dashboard as one self-contained page that needs no kernel and no network; returns its path.

        The page holds the text of the cells and files whose lines made ops: who gets the page gets that code.

        Args:
            path: of the page.
            embed: how much of the trace the page holds, besides some 0.8 MB of scripts. `"steps"`: totals as far as they fit,
                every event of three typical steps and a sample of the others; or a number of bytes, for as many events
                around those as fit. The page says what it leaves out. `"full"` keeps everything.

        Raises:
            ValueError: `embed` is neither "steps" nor "full" nor a positive number.
            TfProfError: it cannot be written. What was at the path before is still there, and no part of a page.
        """
        from .display import write_page

        return write_page(path, self.page, embed=embed)

    def page(self, amount: Amount) -> str:
        """The text of that page with so much of the trace."""
        from ..views.page.pages import dashboard_page
        from ..views.payload.embedding import embed

        embedded = embed(self._data.payload, amount)
        return dashboard_page(self.dashboard(), embedded, title=self._run.title or "tfprof")
