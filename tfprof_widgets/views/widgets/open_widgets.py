"""open_widgets: all widgets of this process that were not closed, whoever made them."""

from __future__ import annotations

import ipywidgets
from ipywidgets.widgets import widget as module


def open_widgets() -> list[ipywidgets.Widget]:
    """List them; ipywidgets has no public list: version 8 keeps it in its module, version 7 (as of Colab) in the class."""
    kept = module._instances if hasattr(module, "_instances") else ipywidgets.Widget.widgets
    return list(kept.values())
