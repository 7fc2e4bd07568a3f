"""A profile's tf.data statistics -> the input-pipeline graph widget."""

from __future__ import annotations

from .table_view import TableView


class InputGraph(TableView):
    """One node per iterator; the critical path is bold, the bottleneck outlined and its remedy beside it."""

    entry = "input_graph"
