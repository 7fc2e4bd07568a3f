"""A profile's XLA programs -> the table of their HLO ops."""

from __future__ import annotations

from .base import View


class HloTable(View):
    """Ops of XLA programs by self time, for the selected time range or the whole capture, with the op each was made from."""

    entry = "hlo_table"
