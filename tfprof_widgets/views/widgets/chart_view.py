"""ChartView: a view that draws with Bokeh, from the installed wheel's own JavaScript."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import anywidget
import traitlets

from .base import View
from .library import Library, bokeh_js


class ChartView(View):
    """A view with a Bokeh figure, whose data the browser fills from the shared `TraceData`."""

    make_figure: ClassVar[Callable[[], str]]
    """Gives the figure, `bokeh.embed.json_item` as a string."""

    figure = traitlets.Unicode().tag(sync=True)
    """What `make_figure` gave."""
    bokeh = anywidget.WidgetTrait().tag(sync=True)
    """The `Library` that draws it."""

    @traitlets.default("figure")  # type: ignore[untyped-decorator]
    def _default_figure(self) -> str:
        return type(self).make_figure()

    @traitlets.default("bokeh")  # type: ignore[untyped-decorator]
    def _default_bokeh(self) -> Library:
        return bokeh_js()
