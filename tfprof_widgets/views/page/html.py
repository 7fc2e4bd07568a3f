"""Widget state and built scripts -> one self-contained HTML page that works with no kernel and no network."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from typing import Any

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{styles}</style>
</head>
<body>
<noscript>This profile is drawn by JavaScript, which is switched off here.</noscript>
{modules}
<script type="application/x-tfprof+json">{snapshot}</script>
<script type="module">{host}</script>
</body>
</html>
"""


def html_page(
    title: str, snapshot: Mapping[str, Any], *, modules: Mapping[str, str], styles: Mapping[str, str], host: str
) -> str:
    """Assemble the page.

    Args:
        title: of the page; escaped here.
        snapshot: `{"root": id, "models": {id: {"state": {...}, "entry": name}}}`.
        modules: JavaScript text by entry name; each is put in once.
        styles: CSS text by entry name.
        host: the script that plays the part of the widget manager.
    """
    blocks = [
        f'<script type="text/plain" id="esm-{html.escape(name)}">{script_safe(text)}</script>'
        for name, text in modules.items()
    ]
    return _PAGE.format(
        title=html.escape(title),
        styles="\n".join(styles.values()).replace("</", "<\\/"),
        modules="\n".join(blocks),
        snapshot=json_safe(snapshot),
        host=script_safe(host),
    )


def json_safe(value: object) -> str:
    """JSON that can stand inside a script element: no trace content can close it, because no `<` is left."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def script_safe(code: str) -> str:
    """JavaScript that can stand inside a script element; in strings and regular expressions `<\\/` means `</`."""
    return re.sub("</(?=script)", r"<\\/", code, flags=re.IGNORECASE).replace("<!--", "<\\!--")


def framed(page: str, height_px: int) -> str:
    """The page as an iframe, for an output area that shows HTML but no widgets."""
    return (
        f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts allow-downloads" title="tfprof dashboard" '
        f'style="width:100%;height:{height_px}px;border:0"></iframe>'
    )
