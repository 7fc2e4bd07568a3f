"""ChartView: a view that draws with Bokeh, from the installed wheel's own JavaScript."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import traitlets

from .base import View
from .data import TraceData
from .link import LinkModel
from .wire import as_text


class BokehJs(ipywidgets.Widget):  # type: ignore[misc]
    """The text of `bokeh.min.js`, as state: so a chart appears while the kernel is busy and in a reopened notebook."""

    _model_name = traitlets.Unicode("WidgetModel").tag(sync=True)
    _model_module = traitlets.Unicode("@jupyter-widgets/base").tag(sync=True)

    source = traitlets.Unicode().tag(sync=True)
    """Base64 of the zlib-compressed script."""
    version = traitlets.Unicode().tag(sync=True)


_models: list[BokehJs] = []


def bokeh_js() -> BokehJs:
    """The one model of this kernel; a new one when the last was closed (as `Widget.close_all()` does)."""
    import bokeh

    if not _models or _models[-1].comm is None:
        script = Path(bokeh.__file__).parent / "server" / "static" / "js" / "bokeh.min.js"
        _models[:] = [BokehJs(source=as_text(zlib.compress(script.read_bytes(), 9)), version=bokeh.__version__)]
    return _models[-1]


class ChartView(View):
    """A view with a Bokeh figure, whose data the browser fills from the shared `TraceData`."""

    figure = traitlets.Unicode().tag(sync=True)
    """`bokeh.embed.json_item` as a string."""
    bokeh = anywidget.WidgetTrait().tag(sync=True)
    """The `BokehJs` model."""

    def __init__(self, *, figure: str, link: LinkModel, data: TraceData, options: dict[str, Any] | None = None) -> None:
        super().__init__(link=link, data=data, options=options, figure=figure, bokeh=bokeh_js())
