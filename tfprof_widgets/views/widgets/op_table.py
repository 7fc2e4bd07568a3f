"""A profile's op occurrences -> the op statistics table widget."""

from __future__ import annotations

from .table_view import TableView


class OpTable(TableView):
    """Ops by self time, for the selected time range or the whole capture; sortable, filterable, with CSV."""

    entry = "op_table"
