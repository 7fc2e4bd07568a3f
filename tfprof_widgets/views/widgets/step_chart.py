"""A profile's steps -> the step-time chart widget."""

from __future__ import annotations

from .chart_view import ChartView
from .figures import step_chart_figure


class StepChart(ChartView):
    """One stacked bar a step, by category; click a bar for that step, drag for a range."""

    entry = "step_chart"
    make_figure = staticmethod(step_chart_figure)
