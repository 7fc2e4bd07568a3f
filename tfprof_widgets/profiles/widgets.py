"""Widgets: the views of one run, each made when first asked for; all share one selection and one payload."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

if TYPE_CHECKING:
    from ..analysis.graph.options import TreeView as Structure
    from ..analysis.selection import Selection
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
        """What all views of this profile have selected: a `LinkModel`. Set its fields to move every view; read them for
        what is selected on the screen.

        `time_range` is `(t0_ns, t1_ns)` after the trace origin, `()` for none. `step` is a row of `steps`, -1 for none.
        `selection` has names of ops, `hover` the name of one (`""` for none), `host` the name of a host (`""` for all).
        `whole_capture` says whether figures without a time range are of the whole capture; otherwise they are of the
        averaged steps.

        Examples:
            >>> prof.link.time_range = (0, 5_000_000)
            >>> prof.link.time_range = ()
        """
        from ..analysis.base.hosts import hosts_of
        from ..views.widgets.link import LinkModel

        return LinkModel(lambda: hosts_of(self._run.results.trace))

    @cached_property
    def _data(self) -> TraceData:
        from ..views.payload.payload import build_payload
        from ..views.widgets.data import TraceData
        from ..views.widgets.library import views_js

        views_js(self.link)  # which the page receives while the payload is made
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
        """Select a time range, a step, ops or a host in every view, and get the numbers of that part alone.

        Without arguments all is selected again. In the tables of the part times are the overlap with it.

        Args:
            time_range: `(t0_ns, t1_ns)`, nanoseconds after the trace origin.
            step: a step, whose time becomes the time range: its row of `steps` as a number, 0 the first that was
                captured, or its name, such as `"train 12"`.
            ops: names of ops to highlight; they restrict nothing.
            host: the only host that counts, as `hosts` names it.

        Returns:
            The part, with tables of its own: `.ops`, `.kernels`, `.layers`, `.source_lines`, `.scopes`, `.hlo_ops`,
            `.steps`, `.events`, `.memory(allocator)`.

        Raises:
            ValueError: both a time range and a step; a range that ends before it begins; a step or a host that is not
                there.
            TfProfError: from a table of the part, where the profile is reduced (`is_reduced`) and has no single
                executions.

        Examples:
            >>> part = prof.select(step="train 1·2")
            >>> part.steps["name"].tolist()
            ['train 1·2']
            >>> everything = prof.select()
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
        """The trace as a timeline: the steps on top, below them threads and streams as tracks of nested slices.

        Drag over its ruler to select a time range, click a slice to select its op; `?` lists its keys.
        """
        from ..views.widgets.timeline import Timeline

        made = self._view(Timeline, bookmarks=self._run.bookmarks)
        made.observe(self._keep_bookmarks, "bookmarks")
        return made

    def _keep_bookmarks(self, change: Mapping[str, Any]) -> None:
        self._run.bookmarks = change["new"]

    def memory_timeline(self) -> MemoryTimeline:
        """Memory in use, free memory and fragmentation against time, and who held it at the peak of the selected range."""
        from ..views.widgets.views import MemoryTimeline

        return self._view(MemoryTimeline)

    def op_table(self) -> OpTable:
        """The ops by self time, on devices and on the CPU, as a table to sort, filter and copy."""
        from ..views.widgets.views import OpTable

        return self._view(OpTable)

    def input_graph(self) -> InputGraph:
        """The tf.data pipelines as graphs: what the training waits for is bold, the bottleneck is outlined with its
        remedy.
        """
        from ..views.widgets.views import InputGraph

        return self._view(InputGraph)

    def step_chart(self) -> StepChart:
        """The time of every step as a bar, by what it went to; click a bar to select that step."""
        from ..views.widgets.views import StepChart

        return self._view(StepChart)

    def overview_panel(self) -> OverviewPanel:
        """The verdict, the step time, what a step is made of, the ops that cost most, and the advice."""
        from ..views.widgets.views import OverviewPanel

        options = {"since_last": self._run.since_last, "measurable": self._measured_advice.rules()}
        return self._view(OverviewPanel, options=options)

    def kernel_table(self) -> KernelTable:
        """The kernels of GPUs by time, by name, op, op type or unit, and whether they run on Tensor Cores."""
        from ..views.widgets.views import KernelTable

        return self._view(KernelTable)

    def copy_table(self) -> CopyTable:
        """The copies between host and GPUs by what they cost: which tensor, which way, how fast. The table is `copies`."""
        from ..views.widgets.views import CopyTable

        return self._view(CopyTable)

    def roofline_chart(self) -> RooflineChart:
        """The ops of GPUs by float operations a byte and a second, under what their device could do."""
        from ..views.widgets.views import RooflineChart

        return self._view(RooflineChart)

    def hlo_table(self) -> HloTable:
        """The ops of compiled XLA programs by self time, with the TensorFlow op that each was made from."""
        from ..views.widgets.views import HloTable

        return self._view(HloTable)

    def layer_table(self) -> LayerTable:
        """The Keras layers: forward, backward and optimizer time, parameters and memory of each."""
        from ..views.widgets.views import LayerTable

        return self._view(LayerTable)

    def source_view(self) -> SourceView:
        """Your cells and files with the forward and backward time of each line beside it."""
        from ..views.widgets.views import SourceView

        return self._view(SourceView)

    def scope_icicle(self) -> ScopeIcicle:
        """The name scopes as an icicle, as wide as their time; click one to look into it."""
        from ..views.widgets.views import ScopeIcicle

        return self._view(ScopeIcicle)

    def worker_chart(self) -> WorkerChart:
        """The same step on every host, a stacked bar for each; above 32 hosts a heat map."""
        from ..views.widgets.views import WorkerChart

        return self._view(WorkerChart)

    def tree_view(self, view: Structure | Literal["hlo"] = "scope") -> TreeView:
        """The cost of the ops by structure: an icicle and a table, or the graph of ops drawn with its heat.

        Args:
            view: what to begin with, as for `tree`: `"scope"`, `"graph"`, `"op"` or `"code"`; or `"hlo"`, the graphs of
                XLA.

        Raises:
            ValueError: there is no such view; the message names those that there are.
        """
        from ..views.widgets.views import TreeView

        made = self._view(TreeView)
        made.begin_with(view)
        return made

    def dashboard(self) -> Dashboard:
        """All views in one widget, linked: the overview on top, the timeline across, a tab for each other view."""
        from ..views.widgets.views import Dashboard

        return self._dashboard(Dashboard)

    def compact(self) -> Compact:
        """The verdict, the steps and the first advice, some 250 pixels high; a button opens all that `dashboard` has."""
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
        """Write the dashboard as one page that needs no kernel and no network: all views and their links work in it.

        The page holds the text of the cells and files whose lines made ops: who gets the page gets that code.

        Args:
            path: of the page; its folder is made where it is not there.
            embed: how much of the trace the page holds, besides some 0.8 MB of scripts. `"steps"`: totals as far as
                they fit, every event of three typical steps and a sample of the others. A number: as many events as fit
                into so many bytes. `"full"`: everything. The page says what it leaves out.

        Returns:
            The path.

        Raises:
            ValueError: `embed` is neither "steps" nor "full" nor a positive number.
            TfProfError: it cannot be written. What was at the path before is still there, and no part of a page.

        Examples:
            >>> page = prof.to_html(folder / "run.html")
        """
        from .display import write_page

        return write_page(path, self.page, embed=embed)

    def page(self, amount: Amount) -> str:
        """The text of that page with so much of the trace."""
        from ..views.page.pages import dashboard_page
        from ..views.payload.embedding import embed

        embedded = embed(self._data.payload, amount)
        return dashboard_page(self.dashboard(), embedded, title=self._run.title or "tfprof")
