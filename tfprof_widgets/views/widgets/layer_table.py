"""A profile's Keras layers -> the table of their forward, backward and optimizer time."""

from __future__ import annotations

from .base import View


class LayerTable(View):
    """Keras layers by time and memory, for the selected time range or the whole capture."""

    entry = "layer_table"
