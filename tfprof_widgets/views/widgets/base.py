"""View: what every widget of the package has in common: its built JavaScript, the shared link and the shared data."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import anywidget
import traitlets

from .cells import add_view, note_shown
from .data import TraceData
from .diff_data import DiffData
from .library import STATIC, hosts_js, view_js
from .link import LinkModel
from .saved_page import publish_after_cell


def built(file_name: str) -> str:
    """The text of a built JavaScript or CSS file; empty when an entry has no CSS.

    Raises:
        FileNotFoundError: the JavaScript was not built.
    """
    path = STATIC / file_name
    if path.suffix == ".css" and not path.exists():
        return ""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} is missing, so no view can be drawn: run `make js`, or install again"
        ) from None


class View(anywidget.AnyWidget):  # type: ignore[misc]
    """One widget of one profile. Subclasses name their entry in `tfprof_widgets/static/`."""

    entry: ClassVar[str]

    _esm = built("loader.js")

    script = anywidget.WidgetTrait().tag(sync=True)
    """The `Library` with the module of this kind of view. Not `_esm`: that would be in the state of every widget, and a
    browser keeps each module that it ever imported."""
    link = anywidget.WidgetTrait().tag(sync=True)
    """The `LinkModel` shared by all views of a profile."""
    data = anywidget.WidgetTrait().tag(sync=True)
    """The `TraceData` shared by all views of a profile."""
    hosts = anywidget.WidgetTrait().tag(sync=True)
    """The `Library` for a profile of several hosts, or a reduced one; None for others."""
    options = traitlets.Unicode("{}").tag(sync=True)
    """JSON settings of the view. A string, because saved notebooks sort the keys of a dict."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Take `_css` from the built file of `entry`."""
        if "entry" in cls.__dict__:
            cls._css = built(f"{cls.entry}.css")
        super().__init_subclass__(**kwargs)

    def __init__(
        self,
        *,
        link: LinkModel | None,
        data: TraceData | DiffData,
        options: dict[str, Any] | None = None,
        **traits: Any,
    ) -> None:
        script = view_js(self.entry, built(f"{self.entry}.js"))
        hosts = hosts_js() if isinstance(data, TraceData) and data.has_hosts else None
        super().__init__(script=script, link=link, data=data, hosts=hosts, options=json.dumps(options or {}), **traits)
        add_view(self)

    def shown_data(self) -> tuple[Any, ...]:
        """What a reader sees with this view: one model for each profile or comparison in it."""
        return (self.data,)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        note_shown(self)
        publish_after_cell()
        return super()._repr_mimebundle_(**kwargs)  # type: ignore[no-any-return]
