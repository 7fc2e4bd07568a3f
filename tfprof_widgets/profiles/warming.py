"""What the first display of a profile needs -> loaded piece by piece, so that a reader need not wait for it all at once."""

# ruff: noqa: F401

from __future__ import annotations

from collections.abc import Iterator


def load_for_display() -> Iterator[None]:
    """Load a piece between two `yield`s: each takes some tenths of a second."""
    from ..analysis import results
    from ..opening import open
    from ..views.payload import embedding, payload

    yield
    from ..views.page import pages
    from ..views.widgets import fallback, timeline, views

    yield
    from ..views.widgets import figures, library

    yield from figures.make_figures()
    library.views_script()
    library.bokeh_script()
