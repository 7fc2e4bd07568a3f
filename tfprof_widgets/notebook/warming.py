"""A kernel that waits for its reader -> what the first display needs is loaded by then: in the display it would take a second."""

from __future__ import annotations

import asyncio
import logging

from ..capture.session.active import active_capture
from ..loading import load_for_display
from ..views.widgets.shell import kernel_shell

logger = logging.getLogger(__name__)

_CAPTURE_PAUSE_S = 1.0
"""While something is captured nothing is loaded: cells that await let it."""


def warm_when_idle() -> None:
    """Load it piece by piece when the event loop of the kernel has nothing else to do; nothing happens elsewhere.

    Between two pieces the kernel takes what the reader sends.
    """
    if kernel_shell() is None:
        return
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return
    pieces = load_for_display()

    def go_on() -> None:
        if active_capture() is not None:
            loop.call_later(_CAPTURE_PAUSE_S, go_on)
            return
        try:
            next(pieces)
        except StopIteration:
            return
        except Exception:  # the display says what it lacks
            logger.debug("what the views need cannot be loaded", exc_info=True)
            return
        loop.call_soon(go_on)

    loop.call_soon(go_on)
