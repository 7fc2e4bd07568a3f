"""Reference: a trait that holds another widget; the page gets its name, `anywidget:<model_id>`, or null.

anywidget has such a trait since version 0.11. Ours works with the versions before, which Colab has.
"""

from __future__ import annotations

from collections.abc import Sequence

import ipywidgets
import traitlets


class Reference(traitlets.Instance):  # type: ignore[misc]
    """A widget that a view refers to, or None."""

    def __init__(self) -> None:
        super().__init__(ipywidgets.Widget, allow_none=True)
        self.tag(sync=True, to_json=_name_or_none)


def names(widgets: Sequence[ipywidgets.Widget], _owner: object = None) -> list[str]:
    """The same of each widget in a list."""
    return [f"anywidget:{widget.model_id}" for widget in widgets]


def _name_or_none(widget: ipywidgets.Widget | None, _owner: object) -> str | None:
    return None if widget is None else names([widget])[0]
