"""ChartView: a view that draws with Bokeh, from the installed wheel's own JavaScript."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from .base import View
from .data import TraceData
from .library import Library, bokeh_js
from .link import LinkModel


class ChartView(View):
    """A view with a Bokeh figure, whose data the browser fills from the shared `TraceData`."""

    figure = traitlets.Unicode().tag(sync=True)
    """`bokeh.embed.json_item` as a string."""
    bokeh = anywidget.WidgetTrait().tag(sync=True)
    """The `Library` that draws it."""

    def __init__(self, *, figure: str, link: LinkModel, data: TraceData, options: dict[str, Any] | None = None) -> None:
        super().__init__(link=link, data=data, options=options, figure=figure)

    @traitlets.default("bokeh")  # type: ignore[untyped-decorator]
    def _default_bokeh(self) -> Library:
        return bokeh_js()
