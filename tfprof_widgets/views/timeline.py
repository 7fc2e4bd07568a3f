"""A profile's events -> the trace timeline widget."""

from __future__ import annotations

from .base import View


class Timeline(View):
    """Planes and lines as tracks of nested slices, with the steps on top; drag over the ruler to select a time range."""

    entry = "timeline"
