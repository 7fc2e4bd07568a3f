"""A profile's events -> the trace timeline widget."""

from __future__ import annotations

import traitlets

from .base import View
from .bookmarks import Bookmarks, bookmarks_from_json, bookmarks_to_json


class Timeline(View):
    """Planes and lines as tracks of nested slices, with the steps on top; drag over the ruler to select a time range."""

    entry = "timeline"

    bookmarks = Bookmarks().tag(sync=True, to_json=bookmarks_to_json, from_json=bookmarks_from_json)
    """Notes at moments and ranges, a tuple of frozen `Bookmark(start_ns, end_ns, text)` in the order of time; set by key B
    in the page or by assigning here. A saved notebook and an exported page keep them."""
    arrangement = traitlets.Unicode("{}").tag(sync=True)
    """JSON: which tracks are pinned, hidden, moved, folded and open, and what the colours mean."""
