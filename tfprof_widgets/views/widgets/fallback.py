"""A cell that showed a view -> one more output of it, for front ends that have no widgets: invisible to all others.

What they get takes longer to make than the view, so it is made when the cell has ended and the view is on the screen. A front
end with widgets prefers the empty one in the same output.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import ipywidgets

from .cells import after_the_cell
from .shell import kernel_shell

logger = logging.getLogger(__name__)

_empty: list[ipywidgets.Widget] = []
"""The one of this kernel, if it was made."""


def publish_fallback(make: Callable[[], dict[str, Any]]) -> None:
    """Have what `make` gives, by MIME type, published when the cell ends that a kernel runs."""
    # Where the view goes: under `%%capture` not where things go when the cell has ended.
    publisher = kernel_shell().display_pub

    def publish() -> None:
        try:
            publisher.publish({**_nothing(), **make()})
        except Exception:  # the cell and its views are there without it
            logger.exception("what front ends without widgets show could not be made")

    after_the_cell(publish)


def _nothing() -> dict[str, Any]:
    """The output of a widget that takes no place; made anew when it was closed, as by `Widget.close_all()`."""
    if not _empty or _empty[0].comm is None:
        _empty[:] = [ipywidgets.Box(layout=ipywidgets.Layout(display="none"))]
    shown: dict[str, Any] = _empty[0]._repr_mimebundle_()
    return shown
