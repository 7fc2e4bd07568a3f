"""A widget and everything it refers to -> plain state, for a page that has no widget manager (`js/src/entries/page.ts`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..widgets.base import View
from ..widgets.kept_once import referred
from ..widgets.library import Library
from ..widgets.reference import names

_DROPPED = ("_esm", "layout", "tabbable", "tooltip", "_dom_classes", "opened")
"""`opened` is a dashboard of another profile, which a page of this one does not have."""


def snapshot(root: View, replacing: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """State of `root` and of every widget its traits refer to, by model id.

    Args:
        root: where to begin.
        replacing: by model id, state to put in place of the widget's own.

    Returns:
        `{model id: {"state": {...}}}`, JSON-safe: the models of a notebook's widget state, as far as a page without a widget
        manager reads them. Scripts that several profiles have each for themselves are there once.
    """
    models: dict[str, Any] = {}
    widgets = referred(root, _DROPPED)
    scripts: dict[tuple[str, str], Library] = {}
    instead: dict[str, str] = {}
    for one in (widget for widget in widgets if isinstance(widget, Library)):
        instead |= zip(names([one]), names([scripts.setdefault((one.name, one.version), one)]), strict=True)
    for widget in widgets:
        if isinstance(widget, Library) and widget is not scripts[widget.name, widget.version]:
            continue
        held = widget.get_state().items()
        state = {key: instead.get(str(value), value) for key, value in held if key not in _DROPPED}
        models[widget.model_id] = {"state": {**state, **replacing.get(widget.model_id, {})}}
    return models
