"""The chart of a view -> the deflated Bokeh JSON of glyphs on empty, named sources that `js/src/views` fill, in a string, as a
saved notebook sorts a dict's keys and so breaks references. An axis named `a` has the ticker `a_ticker`."""

from __future__ import annotations

import json
import zlib
from functools import cache
from typing import Any

from ..analysis.steps.categories import STEP_CATEGORIES
from .pack import as_text

MEMORY_LAYERS = ("stack", "heap", "free")
"""From the bottom."""


@cache
def step_chart_figure() -> str:
    """Makes the step chart: one bar per step (or one per pixel column), stacked by category."""
    from bokeh.models import ColumnDataSource, Span

    figure = _figure(height=150)
    columns = [f"{edge}_{category}" for category in STEP_CATEGORIES for edge in ("bottom", "top")]
    bars = ColumnDataSource({name: [] for name in ("x", "width", *columns)}, name="bars")
    for category in STEP_CATEGORIES:
        renderer = figure.vbar(
            x="x", width="width", bottom=f"bottom_{category}", top=f"top_{category}", source=bars, line_width=0.6
        )
        renderer.glyph.name = f"bar_{category}"
    whiskers = ColumnDataSource({"x": [], "low": [], "high": []}, name="whiskers")
    figure.segment("x", "low", "x", "high", source=whiskers).glyph.name = "whisker"
    breaks = ColumnDataSource({"xs": [], "ys": []}, name="breaks")
    figure.patches("xs", "ys", source=breaks, line_alpha=0).glyph.name = "break"
    figure.add_layout(Span(name="mean", dimension="width", location=0, line_dash=[3, 3], line_width=1, visible=False))
    _band(figure, "range")
    _band(figure, "hover")
    return _item(figure)


@cache
def memory_figure() -> str:
    """Makes the memory chart: stack, heap and free bytes stacked against time, fragmentation on the right axis."""
    from bokeh.models import ColumnDataSource, FixedTicker, LinearAxis, Range1d, Span

    figure = _figure(height=116)
    columns = ("time", "zero", *MEMORY_LAYERS, "fragmentation", "held")
    memory = ColumnDataSource({name: [] for name in columns}, name="memory")
    below = "zero"
    for layer in MEMORY_LAYERS:
        # Not varea_step: BokehJS 3.9 never returns from painting one without data. The corners come with the data.
        renderer = figure.varea("time", y1=below, y2=layer, source=memory)
        renderer.glyph.name = f"area_{layer}"
        below = layer
    # A level that held for a moment is too thin for the area to show.
    figure.line("time", "heap", source=memory, line_width=1.5, line_join="bevel").glyph.name = "level"
    figure.varea("time", y1="zero", y2="held", source=memory).glyph.name = "held"
    figure.extra_y_ranges = {"fragmentation": Range1d(0, 1, name="fragmentation")}
    axis = LinearAxis(
        y_range_name="fragmentation",
        name="fragmentation_axis",
        ticker=FixedTicker(ticks=[], name="fragmentation_axis_ticker"),
    )
    figure.add_layout(_plain_axis(axis), "right")
    for name, width in (("fragmentation_halo", 3), ("fragmentation_line", 1.2)):
        line = figure.line("time", "fragmentation", source=memory, line_width=width, y_range_name="fragmentation")
        line.glyph.name = name
    peak = ColumnDataSource({"x": [], "y": []}, name="peak")
    figure.scatter("x", "y", source=peak, marker="inverted_triangle", size=8, line_alpha=0).glyph.name = "peak_mark"
    figure.add_layout(Span(name="moment", dimension="height", location=0, line_width=1, visible=False))
    _band(figure, "range")
    return _item(figure)


def _figure(*, height: int) -> Any:
    """A plot with no tool, no toolbar and ticks that the front end sets: pointer, keys and wheel belong to the view."""
    from bokeh.models import FixedTicker, Range1d
    from bokeh.plotting import figure

    plot = figure(
        height=height,
        sizing_mode="stretch_width",
        tools="",
        toolbar_location=None,
        output_backend="canvas",
        x_range=Range1d(0, 1, name="x"),
        y_range=Range1d(0, 1, name="y"),
        min_border=0,
        min_border_top=2,
        min_border_left=34,
        background_fill_alpha=0,
        border_fill_alpha=0,
        outline_line_alpha=0,
        name="plot",
    )
    plot.xgrid.visible = False
    plot.ygrid.name = "grid"
    for axis, name in ((plot.xaxis[0], "x_axis"), (plot.yaxis[0], "y_axis")):
        axis.name = name
        axis.ticker = FixedTicker(ticks=[], name=f"{name}_ticker")
        _plain_axis(axis)
    plot.ygrid.ticker = plot.yaxis[0].ticker
    return plot


def _plain_axis(axis: Any) -> Any:
    axis.axis_line_alpha = 0
    axis.major_tick_line_alpha = 0
    axis.minor_tick_in = 0
    axis.minor_tick_out = 5
    axis.major_tick_out = 0
    axis.major_tick_in = 0
    axis.major_label_standoff = 4
    axis.major_label_text_font_size = "11px"
    return axis


def _band(figure: Any, name: str) -> None:
    from bokeh.models import BoxAnnotation

    figure.add_layout(BoxAnnotation(name=name, left=0, right=0, visible=False, level="underlay", line_width=1))


def _item(figure: Any) -> str:
    from bokeh.embed import json_item

    return as_text(zlib.compress(json.dumps(json_item(figure)).encode()))
