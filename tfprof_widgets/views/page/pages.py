"""A dashboard, a comparison or a watched training -> the text of one HTML page that stands alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..widgets.base import View
from ..widgets.library import built
from ..widgets.limits import limits_of
from .html import html_page
from .snapshot import snapshot

if TYPE_CHECKING:
    from ..payload.embedding import Embedded
    from ..widgets.data import TraceData
    from ..widgets.diff_panel import DiffPanel
    from ..widgets.live import LiveView
    from ..widgets.views import Dashboard

_NOTHING_SELECTED: dict[str, Any] = {"time_range": [], "whole_capture": False, "selection": [], "hover": "", "step": -1}


def dashboard_page(dashboard: Dashboard, embedded: Embedded, *, title: str) -> str:
    """The dashboard as one self-contained page that needs no kernel and no network.

    Args:
        dashboard: gives the views and their settings; what is selected in it stays behind.
        embedded: what the page holds besides the first pack.
        title: of the page.
    """
    options = json.loads(dashboard.options)
    told = _left_out(embedded, n_events=dashboard.data.payload.n_events)
    limits = [*options.get("limits", ()), *limits_of(told)]
    replacing = {
        dashboard.data.model_id: embedded.state(dashboard.data.payload),
        dashboard.link.model_id: _NOTHING_SELECTED,
        dashboard.model_id: {"options": json.dumps({**options, "limits": limits})},
    }
    return _page(dashboard, replacing, title=title)


def comparison_page(panel: DiffPanel, embedded: Mapping[TraceData, Embedded], *, title: str) -> str:
    """A comparison as one self-contained page that needs no kernel and no network.

    Args:
        panel: gives the views and their settings; what is selected in them stays behind.
        embedded: by profile of a shown timeline what the page holds besides its first pack.
        title: of the page.
    """
    replacing: dict[str, dict[str, Any]] = {data.model_id: one.state(data.payload) for data, one in embedded.items()}
    limits: list[str] = []
    for name, timeline in (("a", panel.timeline_a), ("b", panel.timeline_b)):
        if timeline is None:
            continue
        replacing[timeline.link.model_id] = _NOTHING_SELECTED
        found = _left_out(embedded[timeline.data], n_events=timeline.data.payload.n_events, subject=f" of run {name}")
        limits += [text.replace("prof.to_html", "diff.to_html") for text in found]
    options = {**json.loads(panel.options), "notices": limits}
    return _page(panel, replacing | {panel.model_id: {"options": json.dumps(options)}}, title=title)


def live_page(view: LiveView, *, title: str) -> str:
    """A watched training as one self-contained page, without the dashboards of its windows."""
    return _page(view, {}, title=title)


def _page(root: View, replacing: Mapping[str, Mapping[str, Any]], *, title: str) -> str:
    models = snapshot(root, replacing)
    return html_page(title, root.model_id, models, script=built("page.js"), notices=built("licenses.txt"))


def _left_out(embedded: Embedded, *, n_events: int, subject: str = "") -> Iterator[str]:
    """What a page says of its limits, and how to get one that has none."""
    if embedded.n_left_out:
        held = f"holds {embedded.n_events:,} of {n_events:,} events{subject} in full and a sample of the others"
        if embedded.n_events >= n_events:
            held = f"leaves out some of what its events{subject} carry"
        yield f'To stay small, this page {held}; prof.to_html(path, embed="full") keeps all.'
