"""A profile's hosts -> the worker chart widget."""

from __future__ import annotations

from .base import View


class WorkerChart(View):
    """The same step on every host, one stacked bar a host; of the selected step, or the mean of the selected range."""

    entry = "worker_chart"
