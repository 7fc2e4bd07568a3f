"""A cell that showed a view -> one more output of it, which stands for the view where that is missing.

It takes longer to make than the view, so it is made when the cell has ended and the view is on the screen. It is no alternative
in the view's own output: a front end that has widgets, but not the state of this one, would choose the view and show an error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import ipywidgets

from .cells import after_the_cell
from .kept_once import put_back_held, shared_by
from .shell import is_in_output_widget, kernel_shell

logger = logging.getLogger(__name__)


def publish_fallback(root: ipywidgets.Widget, make: Callable[[], dict[str, Any]]) -> None:
    """Have what `make` gives, by MIME type, published when the cell ends that a kernel runs; `root` need not keep it then."""
    shell = kernel_shell()
    # Where the view goes: under `%%capture` not where things go when the cell has ended.
    publisher = shell.display_pub
    is_in_widget = is_in_output_widget()

    def publish() -> None:
        try:
            publisher.publish(make())
        except Exception:  # the cell and its views are there without it
            logger.exception("what stands for a view where it is missing could not be made")
            return
        if is_in_widget or publisher is not shell.display_pub:
            return  # any cell may show the view, and this one the page
        for model in shared_by(root):
            model.note_page()
        put_back_held()
        shell.events.register("post_execute", put_back_held)

    after_the_cell(publish)
