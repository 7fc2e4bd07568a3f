"""A comparison and the timelines of both runs -> the widget that shows what changed."""

from __future__ import annotations

from typing import Any

from .base import View
from .diff_data import DiffData
from .reference import Reference


class DiffPanel(View):
    """Verdict, step times, tables of what changed, and both timelines, linked: what `ProfileDiff.dashboard()` gives."""

    entry = "diff_panel"

    timeline_a = Reference()
    """The timeline of the first run; None where it recorded nothing."""
    timeline_b = Reference()
    """The timeline of the second run; None likewise."""

    def __init__(self, *, data: DiffData, timelines: tuple[Any, Any], **traits: Any) -> None:
        """Show a comparison beside the timelines of its runs; a selection in one is translated into the other by the page."""
        timeline_a, timeline_b = timelines
        super().__init__(link=None, data=data, timeline_a=timeline_a, timeline_b=timeline_b, **traits)

    def shown_data(self) -> tuple[Any, ...]:
        """The comparison, and what both timelines draw from."""
        return (self.data, *(one.data for one in (self.timeline_b, self.timeline_a) if one is not None))
