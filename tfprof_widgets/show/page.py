"""A dashboard, a comparison or a watched training -> one HTML page that stands alone.

A front end that shows the widget removes all of it (`js/src/data/page.ts`); one with scripts alone shows the plain HTML and
the page in a frame; one that does not trust the notebook shows the plain HTML, and drops the script and so the page.
"""

from __future__ import annotations

import html
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from .library import Library, built, limits_of, names, referred
from .link import LinkModel
from .widgets import HIDDEN, View

if TYPE_CHECKING:
    from .live import LiveView
    from .outputs import DiffPanel
    from .payload import Amount, Payload
    from .widgets import Dashboard


_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; worker-src blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
"""The page may run what it holds, and nothing else: no network, no `eval`."""
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
</head>
<body class="tfp-page">
<noscript>This profile is drawn by JavaScript, which is switched off here.</noscript>
<main><script type="application/vnd.jupyter.widget-view+json">{view}</script></main>
<script type="application/vnd.jupyter.widget-state+json">{state}</script>
<script type="module">{script}</script>
<!--
{notices}-->
</body>
</html>
"""


def html_page(title: str, root: str, models: Mapping[str, Any], *, script: str, notices: str) -> str:
    return _PAGE.format(
        policy=_POLICY,
        title=html.escape(title),
        view=json_safe({"version_major": 2, "version_minor": 0, "model_id": root}),
        state=json_safe({"version_major": 2, "version_minor": 0, "state": models}),
        script=script_safe(script),
        notices=notices,
    )


def json_safe(value: object) -> str:
    """JSON that can stand inside a script element: no trace content can close it, because no `<` is left."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def script_safe(code: str) -> str:
    """JavaScript that can stand inside a script element; in strings and regular expressions `<\\/` means `</`."""
    return re.sub("</(?=script)", r"<\\/", code, flags=re.IGNORECASE).replace("<!--", "<\\!--")


_DROPPED = ("_esm", "layout", "tabbable", "tooltip", "_dom_classes", "opened")
"""`opened` is a dashboard of another profile, which a page of this one does not have."""


def snapshot(root: View, replacing: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """State of `root` and of every widget its traits refer to, by model id."""
    models: dict[str, Any] = {}
    widgets = referred(root, _DROPPED)
    scripts: dict[tuple[str, str], Library] = {}
    instead: dict[str, str] = {}
    for one in (widget for widget in widgets if isinstance(widget, Library)):
        instead |= zip(names([one]), names([scripts.setdefault((one.name, one.version), one)]), strict=True)
    for widget in widgets:
        if isinstance(widget, Library) and widget is not scripts[widget.name, widget.version]:
            continue
        held = widget.get_state().items()
        state = {key: instead.get(str(value), value) for key, value in held if key not in _DROPPED}
        models[widget.model_id] = {"state": {**state, **replacing.get(widget.model_id, {})}}
    return models


_NOTHING_SELECTED = {name: one.default() for name, one in LinkModel.class_own_traits().items() if name != "host"}


def dashboard_page(dashboard: Dashboard, amount: Amount, *, title: str) -> str:
    """The dashboard as one self-contained page that needs no kernel and no network."""
    options = json.loads(dashboard.options)
    parts = dashboard.data.payload.embedded(amount)
    limits = [*options.get("limits", ()), *limits_of(_left_out(dashboard.data.payload, parts))]
    replacing = {
        dashboard.data.model_id: _offline(parts),
        dashboard.link.model_id: _NOTHING_SELECTED,
        dashboard.model_id: {"options": json.dumps({**options, "limits": limits})},
    }
    return _page(dashboard, replacing, title=title)


def comparison_page(panel: DiffPanel, amount: Amount, *, title: str) -> str:
    """A comparison as one self-contained page that needs no kernel and no network."""
    replacing: dict[str, dict[str, Any]] = {}
    limits: list[str] = []
    for name, timeline in (("a", panel.timeline_a), ("b", panel.timeline_b)):
        if timeline is None:
            continue
        parts = timeline.data.payload.embedded(amount)
        replacing |= {timeline.link.model_id: _NOTHING_SELECTED, timeline.data.model_id: _offline(parts)}
        found = _left_out(timeline.data.payload, parts, subject=f" of run {name}")
        limits += [text.replace("prof.to_html", "diff.to_html") for text in found]
    options = {**json.loads(panel.options), "notices": limits}
    return _page(panel, replacing | {panel.model_id: {"options": json.dumps(options)}}, title=title)


def live_page(view: LiveView, *, title: str) -> str:
    """A watched training as one self-contained page, without the dashboards of its windows."""
    return _page(view, {}, title=title)


def _page(root: View, replacing: Mapping[str, Mapping[str, Any]], *, title: str) -> str:
    models = snapshot(root, replacing)
    return html_page(title, root.model_id, models, script=built("page.js"), notices=built("licenses.txt"))


def _offline(parts: Mapping[str, str]) -> dict[str, Any]:
    """State of a `TraceData` in a page where no kernel will send what is lacking."""
    return {"data_id": uuid.uuid4().hex, "parts": [list(part) for part in parts.items()], "is_offline": True}


def _left_out(payload: Payload, parts: Mapping[str, str], subject: str = "") -> Iterator[str]:
    """A sentence on the page's limits, and how to get one without."""
    n_here, n_events = payload.n_events_in(parts), payload.n_events
    if not {*payload.keys} <= parts.keys():
        held = f"holds {n_here:,} of {n_events:,} events{subject} in full and a sample of the others"
        if n_here >= n_events:
            held = f"leaves out some of what its events{subject} carry"
        yield f'To stay small, this page {held}; prof.to_html(path, embed="full") keeps all.'


_HINT = (
    '<div class="tfprof-hint" style="font-size:13px;margin:10px 0 2px 0;opacity:0.8">'
    "The timeline and all other views: trust this notebook, or run the cell again.</div>"
)


def fallback_html(plain: str, page: str, root: View, *, height_px: int) -> str:
    return (
        f"<div>{plain}{_HINT}</div>"
        f'<div class="{HIDDEN}" data-view="{root.entry} {root.data.model_id}" data-height-px="{height_px}" '
        f'data-page="{escape(page)}"><script>{script_safe(built("fallback.js"))}</script></div>'
    )
