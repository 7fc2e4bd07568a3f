"""display: a profile's dashboard -> where it is shown, a notebook's widgets or one HTML page that stands alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .views.dashboard import Dashboard
    from .views.payload import Payload

_NOTHING_SELECTED: dict[str, Any] = {"time_range": [], "selection": [], "hover": "", "step": -1}


def in_notebook() -> bool:
    """Whether output goes to a front end that may have widgets."""
    import sys

    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def dashboard_page(dashboard: Dashboard, payload: Payload, *, title: str) -> str:
    """The dashboard as one self-contained page that needs no kernel and no network.

    Args:
        dashboard: gives the views and their settings; what is selected in it stays behind.
        payload: what the page draws from, in place of the widgets' own.
        title: of the page.
    """
    from .export.html import html_page
    from .views.base import built
    from .views.snapshot import snapshot

    replacing = {dashboard.data.model_id: payload.offline_state(), dashboard.link.model_id: _NOTHING_SELECTED}
    state = snapshot(dashboard, replacing)
    entries = sorted({model["entry"] for model in state["models"].values() if model["entry"]})
    return html_page(
        title,
        state,
        modules={entry: built(f"{entry}.js") for entry in entries},
        styles={entry: built(f"{entry}.css") for entry in entries},
        host=built("standalone.js"),
    )
