"""Plain HTML and a page -> one output for all front ends, which finds out by itself whether the widget came.

What it is, in front ends that

- show the widget: nothing (`js/src/data/page.ts` takes the plain HTML away);
- run scripts and have no widget, as it was not saved: the plain HTML, and below it the page in a frame;
- run nothing, as they do not trust the notebook: the plain HTML. The page is in an attribute, which they drop with the script.
"""

from __future__ import annotations

from html import escape

from ..widgets.base import View
from ..widgets.library import built
from ..widgets.saved_page import HIDDEN
from .html import script_safe

_HINT = (
    '<div class="tfprof-hint" style="font-size:13px;margin:10px 0 2px 0;opacity:0.8">'
    "The timeline and all other views: trust this notebook, or run the cell again.</div>"
)


def fallback_html(plain: str, page: str, root: View, *, height_px: int) -> str:
    """The output.

    Args:
        plain: HTML that needs no script.
        page: a page that stands alone, as text.
        root: the widget in whose place both are.
        height_px: of the page.
    """
    return (
        f"<div>{plain}{_HINT}</div>"
        f'<div class="{HIDDEN}" data-view="{root.entry} {root.data.model_id}" data-height-px="{height_px}" '
        f'data-page="{escape(page)}"><script>{script_safe(built("fallback.js"))}</script></div>'
    )
