"""A profile's op occurrences -> the op statistics table widget."""

from __future__ import annotations

from .base import View


class OpTable(View):
    """Ops by self time, for the selected time range or the whole capture; sortable, filterable, with CSV."""

    entry = "op_table"
