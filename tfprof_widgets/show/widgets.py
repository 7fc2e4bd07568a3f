"""`View` and every view of a profile; a cell that shows a profile again closes the widgets of its last run."""

from __future__ import annotations

import base64
import json
import logging
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, ClassVar, Literal, Protocol, TypeAlias
from weakref import WeakKeyDictionary, WeakSet

import anywidget
import ipywidgets
import traitlets

from ..analysis.graph.options import VIEWS, check_view
from ..analysis.graph.options import TreeView as Structure
from ..analysis.steps.categories import STEP_CATEGORIES
from .front_end import kernel_shell, open_widgets
from .library import (
    KeptOnce,
    Library,
    Reference,
    bokeh_script,
    built,
    library_of,
    refers_to,
    shared_by,
    views_js,
)
from .link import Bookmarks, LinkModel, bookmarks_from_json, bookmarks_to_json
from .pack import as_text, deflated
from .payload import Payload

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
    figure.add_layout(Span(name="median", dimension="width", location=0, line_dash=[3, 3], line_width=1, visible=False))
    _band(figure, "range")
    _band(figure, "hover")
    return _item(figure)


@cache
def memory_figure() -> str:
    """Makes the memory chart: stack, heap and free bytes stacked against time."""
    from bokeh.models import ColumnDataSource, Span

    figure = _figure(height=116)
    columns = ("time", "zero", *MEMORY_LAYERS, "held")
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
    axis.update(axis_line_alpha=0, major_tick_line_alpha=0, minor_tick_in=0, minor_tick_out=5, major_tick_out=0)
    axis.update(major_tick_in=0, major_label_standoff=4, major_label_text_font_size="11px")
    return axis


def _band(figure: Any, name: str) -> None:
    from bokeh.models import BoxAnnotation

    figure.add_layout(BoxAnnotation(name=name, left=0, right=0, visible=False, level="underlay", line_width=1))


def _item(figure: Any) -> str:
    from bokeh.embed import json_item

    return deflated(json.dumps(json_item(figure)))


Data: TypeAlias = "TraceData | ipywidgets.Widget"
"""The source of one profile's views; what draws from its own state stands for itself."""


class Shown(Protocol):
    """A widget that a cell shows."""

    def shown_data(self) -> tuple[Any, ...]:
        """What a reader sees with it."""
        ...


_LARGE = 500
"""Letters or items of a trait that is emptied before its widget is closed."""


@dataclass
class _Run:
    message_id: str
    shown: list[Data] = field(default_factory=list)


_runs: dict[str, _Run] = {}
"""The last execution of each cell that showed a view, by cell id."""
_views: WeakKeyDictionary[Data, WeakSet[View]] = WeakKeyDictionary()
"""All views of one profile, by their data."""


def after_the_cell(action: Callable[[], None]) -> None:
    """Run once when the cell that runs now has ended; not at all outside a kernel."""
    found = kernel_shell()
    if found is None:
        return

    def run(*_: object) -> None:
        found.events.unregister("post_run_cell", run)
        action()

    found.events.register("post_run_cell", run)


def note_shown(view: Shown) -> None:
    """Note that the running cell shows a view; what only its last execution showed is closed when it has ended."""
    cell, message_id = _running()
    if not cell:
        return
    run = _runs.get(cell)
    if run is None or run.message_id != message_id:
        before = run.shown if run is not None else []
        run = _runs[cell] = _Run(message_id)
        if before:
            after_the_cell(lambda: close_unseen(before))
    run.shown += [data for data in view.shown_data() if data not in run.shown]


_MAKES = re.compile(r"^%%|^[^\n(]*[^=!<>\n(]=(?!=)|\bas \w+:", re.MULTILINE)
"""A cell magic, an assignment, a `with`."""


def _running() -> tuple[str, str]:
    """Id of the running cell, and of the message that runs it.

    Where the front end does not say, a cell that makes something is known by its code; "" for one that only shows something.
    """
    found = kernel_shell()
    if found is None:
        return "", ""
    parent = found.kernel.get_parent()
    code = str(parent.get("content", {}).get("code", ""))
    cell = parent.get("metadata", {}).get("cellId") or (code if _MAKES.search(code) else "")
    return str(cell), str(parent.get("header", {}).get("msg_id", ""))


def close_unseen(candidates: Iterable[Data]) -> None:
    """Close the widgets of those profiles that no cell and no other widget shows."""
    for data in candidates:
        is_seen = any(data in run.shown for run in _runs.values())
        if not is_seen and not _is_held(data):
            for widget in reversed(family(data)):
                _close(widget)


def _close(widget: ipywidgets.Widget) -> None:
    """Close a widget after emptying it, as JupyterLab 4.6 holds the last state of closed ones while the kernel lives."""
    large = {
        name: value
        for name in widget.keys
        if isinstance(value := getattr(widget, name), (str, list, tuple)) and len(value) > _LARGE
    }
    for name, value in large.items():
        setattr(widget, name, type(value)())
    widget.close()
    for name, value in large.items():
        setattr(widget, name, value)


def open_again(data: Data) -> None:
    """Open the widgets of a profile where they were closed."""
    for widget in family(data):
        if widget.comm is None:
            widget.__dict__.pop("_repr_mimebundle_", None)  # `close` hides the method behind None
            widget.open()


def family(data: Data) -> list[ipywidgets.Widget]:
    """All widgets of one profile but the shared libraries, each behind those that it refers to."""
    found: dict[int, ipywidgets.Widget] = {}

    def visit(widget: ipywidgets.Widget) -> None:
        if id(widget) in found or isinstance(widget, Library) or getattr(widget, "data", data) is not data:
            return
        for other in refers_to(widget):
            if other is not widget:  # what draws from its own state refers to itself
                visit(other)
        found[id(widget)] = widget

    visit(data)
    for view in sorted(_views.get(data, ()), key=lambda view: view.entry):
        visit(view)
    return list(found.values())


def _is_held(data: Data) -> bool:
    """Whether a widget outside the family, such as a box, refers to one of it."""
    own = {id(widget) for widget in family(data)}
    others = (widget for widget in open_widgets() if id(widget) not in own)
    return any(id(referred) in own for widget in others for referred in refers_to(widget))


logger = logging.getLogger(__name__)

Message = dict[str, Any]
Call = Callable[[Message], tuple[Mapping[str, Any], Sequence[bytes]]]
"""From a message to what its reply holds (JSON-safe) and its buffers."""


class TraceData(KeptOnce):
    """What all views of one profile draw from: the first parts are state and survive saving, others are sent when asked for."""

    large = ("parts",)

    data_id = traitlets.Unicode().tag(sync=True)
    """Names the decoded arrays in the page, so that views share them."""
    parts = traitlets.List().tag(sync=True)
    """`[key, base64]` of the first parts; after the output of those that a notebook saves."""
    is_offline = traitlets.Bool().tag(sync=True)
    """Whether there is no kernel, and never will be, as in an exported page."""

    def __init__(self, payload: Payload) -> None:
        self.payload = payload
        self.calls: dict[str, Call] = {}
        """Answers to the browser other than parts, by name."""
        first = [[key, as_text(part)] for key, part in payload.first.items()]
        super().__init__(data_id=uuid.uuid4().hex, parts=first)
        self.on_msg(self._answer)
        if kernel_shell() is None:
            self._embed()
        else:  # not before the output of the cell is there
            after_the_cell(self._complete)

    def _complete(self) -> None:
        """Send slow tables as soon as they are found: the page cannot be heard before the cell has ended."""
        for key in self.payload.late_keys:
            self._reply({"key": key}, partial(self._part, key), False)
        self._embed()

    def _embed(self) -> None:
        """Embed what a saved notebook keeps; a failure is only reported, as the views still work."""
        try:
            self.parts = [list(part) for part in self.payload.of_steps.items()]
        except Exception:  # must not turn a finished cell into a failed one
            logger.exception("could not put parts of a trace into the state of its widgets")

    def _answer(self, _widget: object, message: Message, _buffers: object) -> None:
        is_text = message.get("encoding") == "base64"
        if message.get("kind") == "parts?":
            for key in message.get("keys", ()):
                self._reply({"key": key}, partial(self._part, str(key)), is_text)
        elif message.get("kind") == "call":
            self._reply({"id": message.get("id")}, partial(self._call, message), is_text)

    def _part(self, key: str) -> tuple[Mapping[str, Any], Sequence[bytes]]:
        kept = next((text for name, text in self.parts if name == key), None)
        return {"kind": "part"}, [self.payload.part(key) if kept is None else base64.b64decode(kept)]

    def _call(self, message: Message) -> tuple[Mapping[str, Any], Sequence[bytes]]:
        name = message.get("name")
        if name not in self.calls:
            raise KeyError(f"no call {name!r}; there are: {', '.join(self.calls) or 'none'}")
        head, buffers = self.calls[name](message)
        return {**head, "kind": "reply"}, buffers

    def _reply(
        self, address: Message, answer: Callable[[], tuple[Mapping[str, Any], Sequence[bytes]]], is_text: bool
    ) -> None:
        """Send an answer or, where there is none, why; buffers as text for a front end that drops them."""
        try:
            head, buffers = answer()
            if not is_text:
                self.send({**head, **address}, buffers=list(buffers))
            else:
                texts = [as_text(buffer) for buffer in buffers]
                data = {"data": texts[0] if head["kind"] == "part" else texts}
                self.send({**head, **address, **data})
        except Exception as error:  # the message crosses to the browser, which shows it in its place
            logger.exception("could not answer a view")
            self.send({**address, "kind": "error", "message": f"{type(error).__name__}: {error}"})


HIDDEN = "lm-Widget lm-mod-hidden"
"""Hides a script in JupyterLab and in pages of nbconvert, which show its text where they take out the tags."""
_waiting: set[int] = set()
"""Shells in whose running cell a view was shown."""


def publish_after_cell() -> None:
    """Have the script published when the running cell ends, once a cell; nothing happens outside a kernel."""
    found: Any = kernel_shell()
    if found is None or id(found) in _waiting:
        return
    _waiting.add(id(found))

    def publish() -> None:
        _waiting.discard(id(found))
        found.display_pub.publish({"text/html": _script(), "text/plain": ""})

    after_the_cell(publish)


@cache
def _script() -> str:
    code = built("page.js").replace("</script", "<\\/script")
    return f'<div class="{HIDDEN}"><script type="module">{code}</script></div>'


class View(anywidget.AnyWidget):  # type: ignore[misc]
    """One widget of one profile, such as `Profile.timeline()` gives; what is selected in one view is selected in all."""

    entry: ClassVar[str]
    """The name of this kind of view in the scripts: `op_table` of `OpTable`."""

    _esm = built("loader.js")
    # What ipywidgets 7 displays by, which would come before `_repr_mimebundle_`.
    _ipython_display_ = None

    script = Reference()
    """The scripts of all views, shared by all widgets of the page."""
    builder = traitlets.Unicode().tag(sync=True)
    """Its `entry`."""
    link = Reference()
    """The selection that all views of the profile share: a `LinkModel`."""
    data = Reference()
    """What the views of the profile draw from, shared by all of them; the view itself where it draws from its own state."""
    options = traitlets.Unicode("{}").tag(sync=True)
    """Settings of the view as JSON."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "entry" not in vars(cls):
            cls.entry = re.sub(r"(?<=.)(?=[A-Z])", "_", cls.__name__).lower()

    def __init__(
        self,
        *,
        link: LinkModel | None,
        data: TraceData | None,
        options: dict[str, Any] | None = None,
        **traits: Any,
    ) -> None:
        """Without `data` it draws from its own state."""
        shared = {"script": views_js(link or data or self), "builder": self.entry, "link": link, "data": data}
        super().__init__(**shared, options=json.dumps(options or {}), **traits)
        if data is None:
            self.data = self
        _views.setdefault(self.data, WeakSet()).add(self)

    def open(self) -> None:
        """Show it to the front end, which names it only then: what draws from its own state refers to itself afterwards."""
        own = self if self.data is self else None
        if own is not None:
            self.set_trait("data", None)
        super().open()
        if own is not None:
            self.set_trait("data", own)

    def shown_data(self) -> tuple[Any, ...]:
        """What the view draws from, each profile or comparison once."""
        return (self.data,)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        note_shown(self)
        for model in shared_by(self):
            model.show()
        publish_after_cell()
        return super()._repr_mimebundle_(**kwargs)  # type: ignore[no-any-return]


class OverviewPanel(View):
    """How long a step takes, what limits it, one step to scale, and what to change: `Profile.overview_panel()` gives it."""


class OpTable(View):
    """Ops by self time of the selected range or of a step, to sort, filter and copy as CSV: `Profile.op_table()` gives it."""


class SourceView(View):
    """Your cells and files with the time of each line beside it: what `Profile.source_view()` gives."""


class LayerTable(View):
    """Keras layers by time and memory: what `Profile.layer_table()` gives."""


class KernelTable(View):
    """Kernels of GPUs by time, and whether they run on Tensor Cores: what `Profile.kernel_table()` gives."""


class CopyTable(View):
    """Copies between host and GPUs by what they cost: what `Profile.copy_table()` gives."""


class RooflineChart(View):
    """Float operations a byte and a second of GPUs' ops, under their device's limits: `Profile.roofline_chart()` gives it."""


class HloTable(View):
    """Ops of compiled XLA programs by self time, with the op that each was made from: what `Profile.hlo_table()` gives."""


class InputGraph(View):
    """A node for each tf.data iterator, waited-for ones bold, the bottleneck outlined: `Profile.input_graph()` gives it."""


class WorkerChart(View):
    """The same step on every host, a stacked bar for each, or the selected range's mean: `Profile.worker_chart()` gives it."""


class TreeView(View):
    """The cost by structure: icicle, table, ranking of op types, and drawn graph: `Profile.tree_view()` gives it."""

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
    bokeh = Reference()

    @traitlets.default("figure")  # type: ignore[untyped-decorator]
    def _default_figure(self) -> str:
        return type(self).make_figure()

    @traitlets.default("bokeh")  # type: ignore[untyped-decorator]
    def _default_bokeh(self) -> Library:
        return library_of(self.link, "bokeh", bokeh_script())


class StepChart(ChartView):
    """A stacked bar for each step's time; click one for its step, drag for a range: `Profile.step_chart()` gives it."""

    make_figure = staticmethod(step_chart_figure)


class MemoryTimeline(ChartView):
    """Memory in use, free and fragmented over time, and its holders at the range's peak: `Profile.memory_timeline()` gives it."""

    make_figure = staticmethod(memory_figure)


def _panel() -> Any:
    return Reference().tag(is_panel=True)


class Dashboard(View):
    """The overview on top, the timeline across, and a tab for each other view: what `Profile.dashboard()` gives."""

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
    """The dashboard of one host that is shown in place of this one."""


class Compact(Dashboard):
    """The overview, until a button opens the dashboard: `Profile.dashboard(compact=True)` gives it."""

    entry = "dashboard"


class Timeline(View):
    """The trace as a timeline, with the steps on top and nested slices below: what `Profile.timeline()` gives.

    Drag over the ruler to select a time range; `?` lists the keys.
    """

    bookmarks = Bookmarks().tag(sync=True, to_json=bookmarks_to_json, from_json=bookmarks_from_json)
    """Notes at moments and ranges: a tuple of `Bookmark(start_ns, end_ns, text)` in the order of time. Set them by the key
    B in the page, or assign here; `Profile.save`, a saved notebook and a page keep them.
    """
    arrangement = traitlets.Unicode("{}").tag(sync=True)
    """JSON: which tracks are pinned, hidden, folded and open, and what the colours mean."""
