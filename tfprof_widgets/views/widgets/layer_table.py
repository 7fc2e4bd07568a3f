"""A profile's Keras layers -> the table of their forward, backward and optimizer time."""

from __future__ import annotations

from .table_view import TableView


class LayerTable(TableView):
    """Keras layers by time and memory, for the selected time range or the whole capture."""

    entry = "layer_table"
