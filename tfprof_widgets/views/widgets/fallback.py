"""A cell that showed a view -> one more output of it, which stands for the view where that is missing.

It takes longer to make than the view, so it is made when the cell has ended and the view is on the screen. It is no alternative
in the view's own output: a front end that has widgets, but not the state of this one, would choose the view and show an error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from .cells import after_the_cell
from .shell import kernel_shell

logger = logging.getLogger(__name__)


def publish_fallback(make: Callable[[], dict[str, Any]]) -> None:
    """Have what `make` gives, by MIME type, published when the cell ends that a kernel runs."""
    # Where the view goes: under `%%capture` not where things go when the cell has ended.
    publisher = kernel_shell().display_pub

    def publish() -> None:
        try:
            publisher.publish(make())
        except Exception:  # the cell and its views are there without it
            logger.exception("what stands for a view where it is missing could not be made")

    after_the_cell(publish)
