"""A widget and everything it refers to -> plain state, for a page that has no widget manager (`js/src/entries/page.ts`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..widgets.base import View
from ..widgets.kept_once import referred

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
    for widget in referred(root, _DROPPED):
        state = {key: value for key, value in widget.get_state().items() if key not in _DROPPED}
        models[widget.model_id] = {"state": {**state, **replacing.get(widget.model_id, {})}}
    return models
