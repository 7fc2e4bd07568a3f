"""A profile's allocations -> the memory timeline widget."""

from __future__ import annotations

from .chart_view import ChartView
from .figures import memory_figure


class MemoryTimeline(ChartView):
    """Stack, heap, free and fragmentation against time, with what was held at the peak of the time range."""

    entry = "memory_timeline"
    make_figure = staticmethod(memory_figure)
