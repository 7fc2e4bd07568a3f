"""A widget and everything it refers to -> plain state, for a page that has no widget manager (`js/src/entries/page.ts`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets

from ..widgets.base import View

_DROPPED = ("_esm", "layout", "tabbable", "tooltip", "_dom_classes", "opened")
"""`opened` is a dashboard of another profile, which a page of this one does not have."""


def snapshot(root: View, replacing: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """State of `root` and of every widget its traits refer to, by model id.

    Args:
        root: where to begin.
        replacing: by model id, state to put in place of the widget's own.

    Returns:
        `{model id: {"state": {...}}}`, JSON-safe: the models of a notebook's widget state, as far as a page without a widget
        manager reads them.
    """
    models: dict[str, Any] = {}
    waiting: list[ipywidgets.Widget] = [root]
    while waiting:
        widget = waiting.pop()
        if widget.model_id in models:
            continue
        state = {key: value for key, value in widget.get_state().items() if key not in _DROPPED}
        state |= replacing.get(widget.model_id, {})
        models[widget.model_id] = {"state": state}
        referred = (getattr(widget, key) for key in widget.keys if key not in _DROPPED)
        waiting += [value for value in referred if isinstance(value, ipywidgets.Widget)]
    return models
