"""A profile's XLA programs -> the table of their HLO ops."""

from __future__ import annotations

from .table_view import TableView


class HloTable(TableView):
    """Ops of XLA programs by self time, for the selected time range or the whole capture, with the op each was made from."""

    entry = "hlo_table"
