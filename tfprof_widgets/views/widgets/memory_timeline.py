"""A profile's allocations -> the memory timeline widget."""

from __future__ import annotations

from typing import Any

from .chart_view import ChartView
from .data import TraceData
from .figures import memory_figure
from .link import LinkModel
from .table_view import TableView


class MemoryTimeline(ChartView, TableView):
    """Stack, heap, free and fragmentation against time, with what was held at the peak of the time range."""

    entry = "memory_timeline"

    def __init__(self, *, link: LinkModel, data: TraceData, options: dict[str, Any] | None = None) -> None:
        super().__init__(figure=memory_figure(), link=link, data=data, options=options)
