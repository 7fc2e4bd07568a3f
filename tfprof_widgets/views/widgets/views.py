"""The views of one profile that need no state of their own, and the dashboard that arranges them.

`js/src/views/<entry>/` draws each; the timeline and the comparison, which have more to say, are in modules of their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import traitlets

from ...analysis.graph.options import VIEWS, check_view
from ...analysis.graph.options import TreeView as Structure
from .base import View
from .figures import memory_figure, step_chart_figure
from .library import Library, bokeh_js
from .reference import Reference


class OverviewPanel(View):
    """How long a step takes, what limits it, where its time goes and which ops cost most: what `Profile.overview_panel()`
    gives.
    """

    entry = "overview_panel"


class OpTable(View):
    """Ops by self time, of the selected range or of a step; to sort, filter and copy as CSV. `Profile.op_table()` gives
    it.
    """

    entry = "op_table"


class SourceView(View):
    """Your cells and files with the time of each line beside it: what `Profile.source_view()` gives."""

    entry = "source_view"


class LayerTable(View):
    """Keras layers by time and memory: what `Profile.layer_table()` gives."""

    entry = "layer_table"


class ScopeIcicle(View):
    """Name scopes from the root down, as wide as their time; click one to look into it. `Profile.scope_icicle()` gives it."""

    entry = "scope_icicle"


class KernelTable(View):
    """Kernels of GPUs by time, and whether they run on Tensor Cores: what `Profile.kernel_table()` gives."""

    entry = "kernel_table"


class CopyTable(View):
    """Copies between host and GPUs by what they cost: what `Profile.copy_table()` gives."""

    entry = "copy_table"


class RooflineChart(View):
    """Ops of GPUs by float operations a byte and a second, under what their device could do: what
    `Profile.roofline_chart()` gives.
    """

    entry = "roofline_chart"


class HloTable(View):
    """Ops of compiled XLA programs by self time, with the op that each was made from: what `Profile.hlo_table()` gives."""

    entry = "hlo_table"


class InputGraph(View):
    """A node for each tf.data iterator; what the training waits for is bold, the bottleneck outlined.
    `Profile.input_graph()` gives it.
    """

    entry = "input_graph"


class WorkerChart(View):
    """The same step on every host, a stacked bar for each, or the mean of the selected range: what
    `Profile.worker_chart()` gives.
    """

    entry = "worker_chart"


class TreeView(View):
    """The cost by structure: icicle and table of scopes or calls, a ranking of op types, the drawn graph.
    `Profile.tree_view()` gives it.
    """

    entry = "tree_view"

    def begin_with(self, view: Structure | Literal["hlo"]) -> None:
        """Begin with a view of a tree, or the graphs of HLO ops; who looks at the widget already keeps what they chose.

        Args:
            view: `"scope"`, `"graph"`, `"op"`, `"code"` or `"hlo"`.

        Raises:
            ValueError: there is no such view; the message names those that there are.
        """
        check_view(view, (*VIEWS, "hlo"))
        self.options = json.dumps({**json.loads(self.options), "view": view})


class ChartView(View):
    """A view with a Bokeh figure, drawn by the installed wheel's own JavaScript; the browser fills it from the shared data."""

    make_figure: ClassVar[Callable[[], str]]
    """Makes the figure, as JSON that is deflated."""

    figure = traitlets.Unicode().tag(sync=True)
    """The figure that the browser fills with data."""
    bokeh = Reference()
    """The script that draws it."""

    @traitlets.default("figure")  # type: ignore[untyped-decorator]
    def _default_figure(self) -> str:
        return type(self).make_figure()

    @traitlets.default("bokeh")  # type: ignore[untyped-decorator]
    def _default_bokeh(self) -> Library:
        return bokeh_js(self.link)


class StepChart(ChartView):
    """A stacked bar for each step, by what its time went to; click a bar for that step, drag for a range.
    `Profile.step_chart()` gives it.
    """

    entry = "step_chart"
    make_figure = staticmethod(step_chart_figure)


class MemoryTimeline(ChartView):
    """Memory in use, free and fragmented against time, with who held it at the peak of the range: what
    `Profile.memory_timeline()` gives.
    """

    entry = "memory_timeline"
    make_figure = staticmethod(memory_figure)


def _panel() -> Any:
    return Reference().tag(is_panel=True)


class Dashboard(View):
    """The overview on top, the timeline across, and a tab for each other view: what `Profile.dashboard()` gives."""

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
    """The overview and the steps, until a button opens all that the dashboard has: `Profile.dashboard(compact=True)`
    gives it.
    """
