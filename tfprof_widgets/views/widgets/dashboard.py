"""The views of one profile -> one widget that arranges them."""

from __future__ import annotations

import anywidget

from .base import View


class Dashboard(View):
    """The overview on top, the timeline across, and a tab for each other view. Made by `Profile.dashboard`."""

    entry = "dashboard"

    overview_panel = anywidget.WidgetTrait().tag(sync=True)
    step_chart = anywidget.WidgetTrait().tag(sync=True)
    timeline = anywidget.WidgetTrait().tag(sync=True)
    op_table = anywidget.WidgetTrait().tag(sync=True)
    source_view = anywidget.WidgetTrait().tag(sync=True)
    layer_table = anywidget.WidgetTrait().tag(sync=True)
    tree_view = anywidget.WidgetTrait().tag(sync=True)
    kernel_table = anywidget.WidgetTrait().tag(sync=True)
    hlo_table = anywidget.WidgetTrait().tag(sync=True)
    memory_timeline = anywidget.WidgetTrait().tag(sync=True)
    input_graph = anywidget.WidgetTrait().tag(sync=True)
    worker_chart = anywidget.WidgetTrait().tag(sync=True)
    opened = anywidget.WidgetTrait().tag(sync=True)
    """The dashboard of one host that is shown in place of this one; None for none."""
