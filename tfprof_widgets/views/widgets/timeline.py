"""A profile's events -> the trace timeline widget."""

from __future__ import annotations

import traitlets

from .base import View
from .bookmarks import Bookmarks, bookmarks_from_json, bookmarks_to_json


class Timeline(View):
    """The trace as a timeline, with the steps on top and nested slices below: what `Profile.timeline()` gives.

    Drag over the ruler to select a time range; `?` lists the keys.
    """

    entry = "timeline"

    bookmarks = Bookmarks().tag(sync=True, to_json=bookmarks_to_json, from_json=bookmarks_from_json)
    """Notes at moments and ranges: a tuple of `Bookmark(start_ns, end_ns, text)` in the order of time. Set them by the key
    B in the page, or assign here; `Profile.save`, a saved notebook and a page keep them.
    """
    arrangement = traitlets.Unicode("{}").tag(sync=True)
    """JSON: which tracks are pinned, hidden, folded and open, and what the colours mean."""
