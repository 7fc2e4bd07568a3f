"""A profile's steps -> the step-time chart widget."""

from __future__ import annotations

from typing import Any

from .chart_view import ChartView
from .data import TraceData
from .figures import step_chart_figure
from .link import LinkModel


class StepChart(ChartView):
    """One stacked bar a step, by category; click a bar for that step, drag for a range."""

    entry = "step_chart"

    def __init__(self, *, link: LinkModel, data: TraceData, options: dict[str, Any] | None = None) -> None:
        super().__init__(figure=step_chart_figure(), link=link, data=data, options=options)
