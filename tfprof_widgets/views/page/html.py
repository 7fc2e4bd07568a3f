"""Widget state, the built script among it -> one self-contained HTML page that works with no kernel and no network."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from typing import Any

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; worker-src blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
"""What the browser lets the page do: run what it holds, and nothing else. No network, no `eval`."""
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
    """Assemble the page.

    Args:
        title: of the page; escaped here.
        root: id of the model to draw.
        models: `{id: {"state": {...}}}`; the bundle of all views is the state of one of them.
        script: has that bundle draw.
        notices: of the licences of what the bundle contains; they end no comment.
    """
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
