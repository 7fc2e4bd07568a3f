"""The views of one profile that need no state of their own, and the dashboard that arranges them.

`js/src/views/<entry>/` draws each; the timeline and the comparison, which have more to say, are in modules of their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import traitlets

from ...analysis.tree.tree_options import VIEWS, check_view
from ...analysis.tree.tree_options import TreeView as Structure
from .base import View
from .figures import memory_figure, step_chart_figure
from .library import Library, bokeh_js
from .reference import Reference


class OverviewPanel(View):
    """How long a step takes, what limits it, where its time goes and which ops cost most."""

    entry = "overview_panel"


class OpTable(View):
    """Ops by self time, for the selected time range or the whole capture; sortable, filterable, with CSV."""

    entry = "op_table"


class SourceView(View):
    """Your cells and files with the time of each line beside it, for the selected time range or the whole capture."""

    entry = "source_view"


class LayerTable(View):
    """Keras layers by time and memory, for the selected time range or the whole capture."""

    entry = "layer_table"


class ScopeIcicle(View):
    """Name scopes from the root down, as wide as their time; click one to see inside it and to select its ops."""

    entry = "scope_icicle"


class KernelTable(View):
    """Kernels by time, for the selected time range or the whole capture, and whether they run on Tensor Cores."""

    entry = "kernel_table"


class CopyTable(View):
    """Copies between host and devices by exposed time: which tensor, which way, how fast, and what hid behind kernels."""

    entry = "copy_table"


class RooflineChart(View):
    """Ops of GPUs by float operations a byte and a second, under what their device could do."""

    entry = "roofline_chart"


class HloTable(View):
    """Ops of XLA programs by self time, for the selected time range or the whole capture, with the op each was made from."""

    entry = "hlo_table"


class InputGraph(View):
    """One node per iterator; the critical path is bold, the bottleneck outlined and its remedy beside it."""

    entry = "input_graph"


class WorkerChart(View):
    """The same step on every host, one stacked bar a host; of the selected step, or the mean of the selected range."""

    entry = "worker_chart"


class TreeView(View):
    """Where the cost goes, by structure: an icicle and a table of scopes or calls, a ranking of op types, the drawn graph."""

    entry = "tree_view"

    def begin_with(self, view: Structure | Literal["hlo"]) -> None:
        """Begin with a view of a tree, or the graphs of HLO ops; those who look at the widget already keep what they chose.

        Raises:
            ValueError: there is no such view; the message names those there are.
        """
        check_view(view, (*VIEWS, "hlo"))
        self.options = json.dumps({**json.loads(self.options), "view": view})


class ChartView(View):
    """A view with a Bokeh figure, drawn by the installed wheel's own JavaScript; the browser fills it from the shared data."""

    make_figure: ClassVar[Callable[[], str]]
    """Gives the figure, `bokeh.embed.json_item` deflated."""

    figure = traitlets.Unicode().tag(sync=True)
    """What `make_figure` gave."""
    bokeh = Reference()
    """The `Library` that draws it."""

    @traitlets.default("figure")  # type: ignore[untyped-decorator]
    def _default_figure(self) -> str:
        return type(self).make_figure()

    @traitlets.default("bokeh")  # type: ignore[untyped-decorator]
    def _default_bokeh(self) -> Library:
        return bokeh_js()


class StepChart(ChartView):
    """One stacked bar a step, by category; click a bar for that step, drag for a range."""

    entry = "step_chart"
    make_figure = staticmethod(step_chart_figure)


class MemoryTimeline(ChartView):
    """Stack, heap, free and fragmentation against time, with what was held at the peak of the time range."""

    entry = "memory_timeline"
    make_figure = staticmethod(memory_figure)


def _panel() -> Any:
    return Reference().tag(is_panel=True)


class Dashboard(View):
    """The overview on top, the timeline across, and a tab for each other view. Made by `Profile.dashboard`."""

    entry = "dashboard"

    overview_panel = _panel()
    step_chart = _panel()
    timeline = _panel()
    op_table = _panel()
    source_view = _panel()
    layer_table = _panel()
    tree_view = _panel()
    kernel_table = _panel()
    copy_table = _panel()
    roofline_chart = _panel()
    hlo_table = _panel()
    memory_timeline = _panel()
    input_graph = _panel()
    worker_chart = _panel()
    opened = Reference()
    """The dashboard of one host that is shown in place of this one; None for none."""


class Compact(Dashboard):
    """The same with its overview and steps only, until a button opens the rest. Made by `Profile.compact`."""
