"""A profile's source lines -> the source code widget."""

from __future__ import annotations

from .base import View


class SourceView(View):
    """Your cells and files with the time of each line beside it, for the selected time range or the whole capture."""

    entry = "source_view"
