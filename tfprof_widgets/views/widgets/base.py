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
    """One widget of one profile: what `Profile.timeline()` and the others give. All views of a profile are linked: what is
    selected in one is selected in all.
    """

    entry: ClassVar[str]

    _esm = built("loader.js")
    # What ipywidgets 7 displays by, which would come before `_repr_mimebundle_`.
    _ipython_display_ = None

    script = Reference()
    """The scripts of all views, shared by all widgets of the page."""
    builder = traitlets.Unicode().tag(sync=True)
    """The name of this kind of view in those scripts."""
    link = Reference()
    """The selection that all views of the profile share: a `LinkModel`."""
    data = Reference()
    """What the views of the profile draw from, shared by all of them; the view itself where it draws from its own state."""
    options = traitlets.Unicode("{}").tag(sync=True)
    """Settings of the view as JSON."""

    def __init__(
        self,
        *,
        link: LinkModel | None,
        data: TraceData | DiffData | None,
        options: dict[str, Any] | None = None,
        **traits: Any,
    ) -> None:
        """Refer to what the view shares with others; without `data` it draws from its own state."""
        shared = {"script": views_js(link or data or self), "builder": self.entry, "link": link, "data": data}
        super().__init__(**shared, options=json.dumps(options or {}), **traits)
        if data is None:
            self.data = self
        add_view(self)

    def shown_data(self) -> tuple[Any, ...]:
        """What the view draws from, each profile or comparison once."""
        return (self.data,)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        note_shown(self)
        for model in shared_by(self):
            model.show()
        publish_after_cell()
        return super()._repr_mimebundle_(**kwargs)  # type: ignore[no-any-return]
