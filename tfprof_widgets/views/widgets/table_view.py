"""TableView: a view with tables, drawn by one library that all views of a page share."""

from __future__ import annotations

import anywidget
import traitlets

from .base import View
from .library import Library, tabulator_js


class TableView(View):
    """A view whose front end draws tables."""

    tabulator = anywidget.WidgetTrait().tag(sync=True)
    """The `Library` that draws them."""

    @traitlets.default("tabulator")  # type: ignore[untyped-decorator]
    def _default_tabulator(self) -> Library:
        return tabulator_js()
