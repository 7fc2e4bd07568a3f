"""View: what every widget of the package has in common: the shared JavaScript, link and data."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import anywidget
import traitlets

from .cells import add_view, note_shown
from .data import TraceData
from .diff_data import DiffData
from .kept_once import shared_by
from .library import built, views_js
from .link import LinkModel
from .reference import Reference
from .saved_page import publish_after_cell


class View(anywidget.AnyWidget):  # type: ignore[misc]
    """One widget of one profile. Subclasses name their folder in `js/src/views/`."""

    entry: ClassVar[str]

    _esm = built("loader.js")
    # What ipywidgets 7 displays by, which would come before `_repr_mimebundle_`.
    _ipython_display_ = None

    script = Reference()
    """The `Library` with all views. Not `_esm`: that is in the state of every widget."""
    builder = traitlets.Unicode().tag(sync=True)
    """Under which name `js/src/entries/views.ts` has this kind of view: `entry`."""
    link = Reference()
    """The `LinkModel` shared by all views of a profile."""
    data = Reference()
    """The `TraceData` shared by all views of a profile; the view itself where it draws from its own state."""
    options = traitlets.Unicode("{}").tag(sync=True)
    """JSON settings of the view. A string, because saved notebooks sort the keys of a dict."""

    def __init__(
        self,
        *,
        link: LinkModel | None,
        data: TraceData | DiffData | None,
        options: dict[str, Any] | None = None,
        **traits: Any,
    ) -> None:
        """Refer to what the view shares with others; without `data` it draws from its own state."""
        shared = {"script": views_js(), "builder": self.entry, "link": link, "data": data}
        super().__init__(**shared, options=json.dumps(options or {}), **traits)
        if data is None:
            self.data = self
        add_view(self)

    def shown_data(self) -> tuple[Any, ...]:
        """What a reader sees with this view: one model for each profile or comparison in it."""
        return (self.data,)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        note_shown(self)
        for model in shared_by(self):
            model.show()
        publish_after_cell()
        return super()._repr_mimebundle_(**kwargs)  # type: ignore[no-any-return]
