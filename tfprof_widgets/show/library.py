"""The JavaScript of all views as one shared model, so that a page and a saved notebook have it once.

What the page in a cell's output holds leaves the state of its widgets, once it is published; a view finds it in the page
(`js/src/data/widget.ts`), and Python still has it for a front end that asks the kernel. Nothing leaves the state of what
a cell shows without a page, or of what a widget of others holds, which may stand in any cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

import ipywidgets
import traitlets

from .front_end import kernel_shell, open_widgets
from .pack import deflated


class Reference(traitlets.Instance):  # type: ignore[misc]
    """A widget that a view refers to, or None."""

    def __init__(self) -> None:
        super().__init__(ipywidgets.Widget, allow_none=True)
        self.tag(sync=True, to_json=_name_or_none)


def names(widgets: Sequence[ipywidgets.Widget], _owner: object = None) -> list[str]:
    return [f"anywidget:{widget.model_id}" for widget in widgets]


def _name_or_none(widget: ipywidgets.Widget | None, _owner: object) -> str | None:
    return None if widget is None else names([widget])[0]


class KeptOnce(ipywidgets.Widget):  # type: ignore[misc]
    """A model that widgets share, with traits that are too large to be in a notebook twice."""

    large: ClassVar[tuple[str, ...]]
    """The large traits, strings and lists."""

    def __init__(self, **traits: Any) -> None:
        self._n_without_page = 0
        super().__init__(**traits)
        self.on_msg(self._answer_whole)

    def _answer_whole(self, _widget: object, message: Mapping[str, Any], _buffers: object) -> None:
        if message.get("kind") == "whole?":
            self.put_back()

    def show(self) -> None:
        """Note that a cell shows the model, and no page of it yet."""
        self._n_without_page += 1
        self.put_back()

    def note_page(self) -> None:
        """Note that a page has the model, in the output of a cell that shows it: unless others do, its state need not."""
        self._n_without_page -= 1
        if self._n_without_page == 0 and self.comm is not None:
            empty = {name: type(getattr(self, name))() for name in self.large}
            self._send({"method": "update", "state": empty, "buffer_paths": []})
            _left_out.add(self)

    def put_back(self) -> None:
        """Have the state hold everything again."""
        if self in _left_out and self.comm is not None:
            self.send_state(list(self.large))
        _left_out.discard(self)


_left_out: WeakSet[KeptOnce] = WeakSet()
"""Those whose state is without the large traits, which a page has."""


def put_back_held() -> None:
    """Put back for good what widgets of others show."""
    ours = __name__.partition(".")[0]
    for widget in open_widgets() if _left_out else ():
        if not isinstance(widget, ipywidgets.Layout) and type(widget).__module__.partition(".")[0] != ours:
            for model in _left_out.intersection(shared_by(widget)):
                model.show()


def refers_to(widget: ipywidgets.Widget, dropped: tuple[str, ...] = ()) -> Iterator[ipywidgets.Widget]:
    """The widgets that traits of a widget are or hold, but for some traits."""
    for key in widget.keys:
        value = getattr(widget, key) if key not in dropped else None
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(each, ipywidgets.Widget):
                yield each


def referred(root: ipywidgets.Widget, dropped: tuple[str, ...] = ()) -> list[ipywidgets.Widget]:
    """A widget and all that its traits refer to, directly or not, but for some traits."""
    found: dict[int, ipywidgets.Widget] = {}
    waiting = [root]
    while waiting:
        widget = waiting.pop()
        if id(widget) in found:
            continue
        found[id(widget)] = widget
        waiting += refers_to(widget, dropped)
    return list(found.values())


def shared_by(root: ipywidgets.Widget) -> list[KeptOnce]:
    """The models that a widget and the views in it draw from."""
    return [widget for widget in referred(root, ("opened",)) if isinstance(widget, KeptOnce)]


STATIC = Path(__file__).parents[1] / "static"


class Library(KeptOnce):
    """The text of one script; `js/src/data/widget.ts` runs it once a page."""

    large = ("source", "styles")

    name = traitlets.Unicode().tag(sync=True)
    """With `version`, names it in the page."""
    version = traitlets.Unicode().tag(sync=True)
    source = traitlets.Unicode().tag(sync=True)
    """Base64 of the zlib-compressed script."""
    styles = traitlets.Unicode().tag(sync=True)
    """Likewise its style sheet; "" for none."""


_models: WeakKeyDictionary[object, dict[str, Library]] = WeakKeyDictionary()
"""By what shares them: the kernel, or the owner that a view named."""


class Script(NamedTuple):
    version: str
    source: str
    styles: str = ""


def bokeh_script() -> Script:
    """BokehJS of the installed wheel: figures made in Python need the version of Python."""
    import bokeh

    script = Path(bokeh.__file__).parent / "server" / "static" / "js" / "bokeh.min.js"
    return _script(bokeh.__version__, script)


def views_script() -> Script:
    """All views, and the style sheet that they share; the licences of what they contain go wherever they go."""
    version = built("source.sha256").strip()
    return _script(version, STATIC / "views.js", styles=STATIC / "views.css", notices=STATIC / "licenses.txt")


def views_js(owner: object) -> Library:
    """The model that holds `views_script`, of this kernel or else of the owner."""
    return library_of(owner, "tfprof_widgets", views_script())


def built(file_name: str) -> str:
    path = STATIC / file_name
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} is missing, so no view can be drawn: run `make js`, or install again"
        ) from None


def library_of(owner: object, name: str, script: Script) -> Library:
    """The shared model of this kernel, else of the owner; a new one when the last was closed or is of another version."""
    models = _models.setdefault(getattr(kernel_shell(), "kernel", owner), {})
    model = models.get(name)
    if model is None or model.comm is None or model.version != script.version:
        model = models[name] = Library(name=name, **script._asdict())
    return model


@cache
def _script(version: str, script: Path, *, styles: Path | None = None, notices: Path | None = None) -> Script:
    head = "" if notices is None else f"/*!\n{notices.read_text(encoding='utf-8')}*/\n"
    sheet = "" if styles is None else deflated(styles.read_text(encoding="utf-8"))
    return Script(version, deflated(head + script.read_text(encoding="utf-8")), sheet)


_VIEWS = (
    (re.compile(r"^Source lines |lines are not known\.$|source files are shown in part"), "source_view"),
    (re.compile(r"^(?:No )?FLOP counts\b"), "op_table"),
    (
        re.compile(r"^Of the edges |variables (?:are known|were read)|which variables they use is not known\.$"),
        "tree_view",
    ),
    (re.compile(r"^A profiler made XLA launch "), "kernel_table"),
    (re.compile(r"^(?:A|The) compiled program|^Of [\d,]+ of [\d,]+ HLO ops? only"), "hlo_table"),
    (re.compile(r"than a reduced profile has: .*allocated most"), "memory_timeline"),
    (re.compile(r"ran more input pipelines than"), "input_graph"),
    (re.compile(r"ran more kernels than"), "kernel_table"),
    (re.compile(r"^To stay small, this page "), "timeline"),
    (re.compile(r"^The clocks of "), "worker_chart"),
)
"""How a notice begins or ends -> its view; others are about the whole capture."""


_TOLD = re.compile(r"^Source lines were read |^To stay small, this page ")
"""What the view itself says, in numbers of what it shows."""


def limits_of(notices: Iterable[str]) -> list[dict[str, Any]]:
    """One `{text, view, is_told}` a notice: the trait of the dashboard that it is about or "", and whether that view tells it."""
    return [{"text": text, "view": view_of(text), "is_told": _TOLD.search(text) is not None} for text in notices]


def view_of(notice: str) -> str:
    """The view that a notice is about, "" where it is about the whole capture."""
    return next((view for pattern, view in _VIEWS if pattern.search(notice)), "")
