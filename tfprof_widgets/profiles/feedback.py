"""feedback: a capture while it runs -> what a status line says of it, several times a second."""

from __future__ import annotations

import contextlib
import contextvars
import logging
import threading
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..analysis.base.wording import number, plural, size
from .status_line import StatusLine

if TYPE_CHECKING:
    from ..capture.session.record import CaptureRecord
    from ..capture.session.session import Capture
    from ..capture.session.standing import Standing

READING = "tfprof: reading"
TICK_S = 0.25
TELLING_BYTES = 100 * 2**10
"""An estimated size below this says only that the program has hardly begun."""
_PATIENCE_S = 0.2
"""How long the end of a capture waits for a front end that takes nothing just now."""

_logger = logging.getLogger(__name__)


@contextlib.contextmanager
def following(capture: Capture, line: StatusLine) -> Iterator[None]:
    """Have the line say how far the running capture is as long as the block runs, and then that it is read.

    A thread of its own looks; steps do nothing for it.
    """
    if not line.is_seen:
        yield
        return
    over = threading.Event()
    running = weakref.ref(capture)  # a capture that everybody else has dropped must go

    def follow() -> None:
        try:
            while not over.wait(TICK_S) and (found := running()) is not None:
                line.say(standing_text(found.standing))
                del found
        except Exception:  # a front end that is gone: the training goes on
            _logger.debug("the line of the capture ends", exc_info=True)

    # In the context of the cell: by it ipykernel knows whose output a thread's is.
    thread = threading.Thread(target=contextvars.copy_context().run, args=(follow,), name="tfprof-line", daemon=True)
    try:
        line.begin(standing_text(capture.standing))
        thread.start()
        yield
    finally:
        over.set()
        if thread.ident is not None:
            thread.join(_PATIENCE_S)
        line.begin(READING)


def standing_text(standing: Standing) -> str:
    """`tfprof: recording, step 120, 8.2 s, 11.3 MiB`, as far as it is known; `tfprof: waiting for step 10, at step 3`."""
    parts = [standing.state]
    if standing.step is not None:
        parts.append(f"{'at step' if 'step' in standing.state else 'step'} {standing.step:,}")
    if standing.seconds >= 0.05:
        parts.append(f"{standing.seconds:,.1f} s")
    if standing.n_bytes >= TELLING_BYTES:
        parts.append(size(standing.n_bytes))
    return "tfprof: " + ", ".join(parts)


def record_text(record: CaptureRecord) -> str:
    """`tfprof: recorded 40 steps, 2.14 s, 3.02 MiB`; why, where there is nothing."""
    if not record.windows:
        return "tfprof: nothing was captured. " + " ".join(record.notices)
    n_steps = sum(window.n_steps for window in record.windows)
    seconds = sum(window.stop_ns - window.start_ns for window in record.windows) / 1e9
    steps = f"{plural(n_steps, 'step')}, " if n_steps else ""
    return f"tfprof: recorded {steps}{number(seconds)} s, {size(record.cost.n_bytes)}"
