"""A profile's overview -> the panel with step time, verdict, breakdown and top ops."""

from __future__ import annotations

from .base import View


class OverviewPanel(View):
    """How long a step takes, what limits it, where its time goes and which ops cost most."""

    entry = "overview_panel"
