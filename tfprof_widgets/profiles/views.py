"""ProfileViews: the widgets of one profile, each made when first asked for; all share one selection and one payload."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..analysis.results import Results
    from ..analysis.tree.tree_options import TreeView as Structure
    from ..views.widgets.base import View
    from ..views.widgets.bookmarks import Bookmark
    from ..views.widgets.dashboard import Dashboard
    from ..views.widgets.data import Call, TraceData
    from ..views.widgets.hlo_table import HloTable
    from ..views.widgets.input_graph import InputGraph
    from ..views.widgets.kernel_table import KernelTable
    from ..views.widgets.layer_table import LayerTable
    from ..views.widgets.link import LinkModel
    from ..views.widgets.memory_timeline import MemoryTimeline
    from ..views.widgets.op_table import OpTable
    from ..views.widgets.overview_panel import OverviewPanel
    from ..views.widgets.scope_icicle import ScopeIcicle
    from ..views.widgets.source_view import SourceView
    from ..views.widgets.step_chart import StepChart
    from ..views.widgets.timeline import Timeline
    from ..views.widgets.tree_view import TreeView
    from ..views.widgets.worker_chart import WorkerChart


class ProfileViews:
    """The part of a `Profile` that makes widgets: one of each kind, the same one however often it is asked for.

    Making the first one computes what all of them show, so it raises what the data raises; see `Profile`. A view without
    anything to show says why.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        """What the profile is of, for headings."""
        self._views: dict[type[View], View] = {}

    @property
    def _results(self) -> Results:
        """What the widgets show."""
        raise NotImplementedError

    @property
    def notices(self) -> tuple[str, ...]:
        """What a reader must know first; one sentence each."""
        raise NotImplementedError

    def _calls(self) -> dict[str, Call]:
        """What the views may ask the kernel for besides their data."""
        return {}

    def _loaded_bookmarks(self) -> tuple[Bookmark, ...]:
        """What the timeline is marked with from the start."""
        return ()

    @cached_property
    def link(self) -> LinkModel:
        """The selection that all views of this profile share: `time_range` (`(t0_ns, t1_ns)` after the trace origin, `()` for
        the whole capture), `selection` (names of ops), `hover` (the name of an op, `""` for none), `step` (row of `steps`, -1
        for none), `host` (the name of a host, `""` for all)."""
        from ..analysis.ops.host_totals import hosts_of
        from ..views.widgets.link import LinkModel

        return LinkModel(lambda: hosts_of(self._results.trace))

    @cached_property
    def _data(self) -> TraceData:
        from ..analysis.ops.host_totals import hosts_of
        from ..views.payload.payload import build_payload
        from ..views.widgets.data import TraceData

        results = self._results
        has_hosts = results.is_reduced or len(hosts_of(results.trace)) > 1
        payload = build_payload(results, title=self.title, notices=self.notices)
        data = TraceData(payload, has_hosts=has_hosts)
        data.calls |= self._calls()
        self.link.use(data.payload.contents.names.cut)
        return data

    def _view(self, kind: type[Any], **traits: Any) -> Any:
        if kind not in self._views:
            self._views[kind] = kind(link=self.link, data=self._data, **traits)
        if self._views[kind].comm is None:  # closed, as a cell that showed it was run again
            from ..views.widgets.cells import open_again

            open_again(self._data)
        return self._views[kind]

    def timeline(self) -> Timeline:
        """The trace timeline."""
        from ..views.widgets.timeline import Timeline

        return self._view(Timeline, bookmarks=self._loaded_bookmarks())  # type: ignore[no-any-return]

    def memory_timeline(self) -> MemoryTimeline:
        """Memory in use and fragmentation against time."""
        from ..views.widgets.memory_timeline import MemoryTimeline

        return self._view(MemoryTimeline)  # type: ignore[no-any-return]

    def op_table(self) -> OpTable:
        """The op statistics."""
        from ..views.widgets.op_table import OpTable

        return self._view(OpTable)  # type: ignore[no-any-return]

    def input_graph(self) -> InputGraph:
        """The input pipeline as a graph."""
        from ..views.widgets.input_graph import InputGraph

        return self._view(InputGraph)  # type: ignore[no-any-return]

    def step_chart(self) -> StepChart:
        """The time of every step."""
        from ..views.widgets.step_chart import StepChart

        return self._view(StepChart)  # type: ignore[no-any-return]

    def overview_panel(self) -> OverviewPanel:
        """Step time, verdict, breakdown and top ops."""
        from ..views.widgets.overview_panel import OverviewPanel

        return self._view(OverviewPanel)  # type: ignore[no-any-return]

    def kernel_table(self) -> KernelTable:
        """The code that ran on GPUs, kernel by kernel."""
        from ..views.widgets.kernel_table import KernelTable

        return self._view(KernelTable)  # type: ignore[no-any-return]

    def hlo_table(self) -> HloTable:
        """The ops of XLA programs."""
        from ..views.widgets.hlo_table import HloTable

        return self._view(HloTable)  # type: ignore[no-any-return]

    def layer_table(self) -> LayerTable:
        """Forward, backward and optimizer time of each Keras layer."""
        from ..views.widgets.layer_table import LayerTable

        return self._view(LayerTable)  # type: ignore[no-any-return]

    def source_view(self) -> SourceView:
        """Your code with the time of each line."""
        from ..views.widgets.source_view import SourceView

        return self._view(SourceView)  # type: ignore[no-any-return]

    def scope_icicle(self) -> ScopeIcicle:
        """Name scopes as a zoomable icicle."""
        from ..views.widgets.scope_icicle import ScopeIcicle

        return self._view(ScopeIcicle)  # type: ignore[no-any-return]

    def tree_view(self, view: Structure = "scope") -> TreeView:
        """The cost of the ops by structure, to look into.

        Args:
            view: what to begin with, as for `tree`: `"scope"`, `"graph"`, `"op"` or `"code"`.

        Raises:
            ValueError: there is no such view; the message names those there are.
        """
        from ..views.widgets.tree_view import TreeView

        made: TreeView = self._view(TreeView)
        made.begin_with(view)
        return made

    def worker_chart(self) -> WorkerChart:
        """The breakdown of a step on each host."""
        from ..views.widgets.worker_chart import WorkerChart

        return self._view(WorkerChart)  # type: ignore[no-any-return]

    def dashboard(self) -> Dashboard:
        """All views, linked, in one widget."""
        from ..views.widgets.dashboard import Dashboard

        return self._view(  # type: ignore[no-any-return]
            Dashboard,
            options={"title": self.title, "notices": list(self.notices)},
            overview_panel=self.overview_panel(),
            step_chart=self.step_chart(),
            timeline=self.timeline(),
            op_table=self.op_table(),
            source_view=self.source_view(),
            layer_table=self.layer_table(),
            tree_view=self.tree_view(),
            kernel_table=self.kernel_table(),
            hlo_table=self.hlo_table(),
            memory_timeline=self.memory_timeline(),
            input_graph=self.input_graph(),
            worker_chart=self.worker_chart(),
        )
