"""display: a dashboard or a comparison -> where it is shown, a notebook's widgets or one HTML page that stands alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ..views.payload.embedding import Embedded
    from ..views.widgets.base import View
    from ..views.widgets.dashboard import Dashboard
    from ..views.widgets.data import TraceData
    from ..views.widgets.diff_panel import DiffPanel

_NOTHING_SELECTED: dict[str, Any] = {"time_range": [], "selection": [], "hover": "", "step": -1}


def in_notebook() -> bool:
    """Whether output goes to a front end that may have widgets."""
    import sys

    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def is_watched() -> bool:
    """Whether a person sees a progress bar: in a notebook, or at a terminal."""
    import sys

    return in_notebook() or sys.stderr.isatty()


def dashboard_page(dashboard: Dashboard, embedded: Embedded, *, title: str) -> str:
    """The dashboard as one self-contained page that needs no kernel and no network.

    Args:
        dashboard: gives the views and their settings; what is selected in it stays behind.
        embedded: what the page holds besides the first pack.
        title: of the page.
    """
    options = json.loads(dashboard.options)
    notices = [*options.get("notices", ()), *_left_out(embedded, n_events=dashboard.data.payload.n_events)]
    replacing = {
        dashboard.data.model_id: embedded.state(dashboard.data.payload),
        dashboard.link.model_id: _NOTHING_SELECTED,
        dashboard.model_id: {"options": json.dumps({**options, "notices": notices})},
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


def write_page(path: str | Path, page: Callable[[int | None], str], *, embed: int | Literal["full"]) -> Path:
    """Write a page whole or not at all; returns its path.

    Args:
        path: of the page.
        page: makes its text with at most so many bytes of traces, None for all.
        embed: how many bytes that are; `"full"` for all.

    Raises:
        ValueError: `embed` is neither "full" nor a positive number.
        TfProfError: it cannot be written. What was at the path before is still there, and no part of a page.
    """
    from ..export.atomic import replacing

    if embed != "full" and not (isinstance(embed, int) and embed > 0):
        raise ValueError(f'embed={embed!r} is no size: give a number of bytes, or "full" for everything')
    target = Path(path).expanduser()
    text = page(None if embed == "full" else embed)
    with replacing(target, packs=False) as file:
        file.write(text.encode("utf-8", "xmlcharrefreplace"))
    return target


def _page(root: View, replacing: Mapping[str, Mapping[str, Any]], *, title: str) -> str:
    from ..views.page.html import html_page
    from ..views.page.snapshot import snapshot
    from ..views.widgets.base import built

    state = snapshot(root, replacing)
    entries = sorted({model["entry"] for model in state["models"].values() if model["entry"]})
    return html_page(
        title,
        state,
        modules={entry: built(f"{entry}.js") for entry in entries},
        styles={entry: built(f"{entry}.css") for entry in entries},
        host=built("standalone.js"),
    )


def _left_out(embedded: Embedded, *, n_events: int, subject: str = "") -> Iterator[str]:
    """What a page says of its limits, and how to get one that has none."""
    if embedded.n_left_out:
        yield (
            f"To stay small, this page holds {embedded.n_events:,} of {n_events:,} events{subject} in full and a sample of the "
            'others; prof.to_html(path, embed="full") keeps all.'
        )
