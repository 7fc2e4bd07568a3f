"""What a person sees of work that goes on: a bar of what is done, and one line that is rewritten in its place."""

from __future__ import annotations

import contextlib
import contextvars
import logging
import os
import shutil
import sys
import threading
import time
import uuid
import weakref
from collections.abc import Iterator
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .analysis.common import number, plural, size
from .show.front_end import is_in_output_widget, kernel_shell, replaceable

if TYPE_CHECKING:
    from .capture.control import Standing
    from .capture.record import CaptureRecord
    from .capture.session import Capture


_SLOW_S = 1.0
_shows_bars = ContextVar("shows_bars", default=True)
READING = "tfprof: reading"
TICK_S = 0.25
TELLING_BYTES = 100 * 2**10
"""A smaller estimate says only that the program has hardly begun."""
_PATIENCE_S = 0.2
"""How long the end of a capture waits for a busy front end."""

_logger = logging.getLogger(__name__)


@contextlib.contextmanager
def without_bars() -> Iterator[None]:
    """Within the block nothing is shown of what is done."""
    before = _shows_bars.set(False)
    try:
        yield
    finally:
        _shows_bars.reset(before)


def is_watched() -> bool:
    """Whether a person sees a progress bar: in a notebook, or at a terminal."""
    try:
        return kernel_shell() is not None or sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is no standard error, or it is closed
        return False


class Progress:
    """A bar within a `with` block. It is not there before it is due, so what is quick does not load the library of bars."""

    def __init__(
        self, what: str, *, unit: str, total: int = 0, is_scaled: bool = True, after_s: float | None = None
    ) -> None:
        self._options = {"desc": what, "unit": unit if unit == "B" else f" {unit}", "unit_scale": is_scaled}
        self._n_done, self._n_all = 0, total
        self._after_s = _SLOW_S if after_s is None else after_s
        self._since_s = time.monotonic()
        self._bar: Any = None

    def tell(self, n_done: int, n_more: int = 0) -> None:
        """So many were done since the last call, and `n_more` were found."""
        self._n_done, self._n_all = self._n_done + n_done, self._n_all + n_more
        if (
            self._bar is None
            and time.monotonic() - self._since_s >= self._after_s
            and _shows_bars.get()
            and is_watched()
        ):
            from tqdm.auto import tqdm

            self._bar = tqdm(total=self._n_all, leave=False, **self._options)
            self._bar.start_t -= time.monotonic() - self._since_s
        if self._bar is not None:
            self._bar.total = self._n_all
            self._bar.update(min(self._n_done, self._n_all) - self._bar.n)

    def __enter__(self) -> Progress:
        self.tell(0)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._bar is None:
            return
        if kind is None:  # a bar closed before its total is drawn as one that failed
            self._bar.total = self._bar.n
        self._bar.close()


class StatusLine:
    """A line that nobody sees, and what those that somebody sees have in common. It ends with its `with` block."""

    is_seen = False

    def __init__(self) -> None:
        self.rest = ""
        """The cell's last text where nothing took the line's place."""

    def begin(self, text: str) -> None:
        """Have the line say this, where it is not shown any more too; on the thread of the cell."""

    def say(self, text: str) -> None:
        """Have the line say this where it is still shown; on any thread."""

    def display(self, thing: object, **options: Any) -> None:
        """Display something as `IPython.display.display` does, in the place of the line where the front end can do so."""
        from IPython.display import display

        display(thing, **options)

    def end(self) -> None:
        """Take the line away, or leave its `rest`; a second call does nothing."""

    def __enter__(self) -> StatusLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()


def status_line() -> StatusLine:
    """A line in the output of the running cell or on the terminal; one that nobody sees where there is neither."""
    can_replace = replaceable()
    if can_replace != "nothing":
        return CellLine(takes_all=can_replace == "all")
    return TerminalLine() if kernel_shell() is None and is_watched() else StatusLine()


class CellLine(StatusLine):
    """A line in a cell's output, updated and at last replaced by its display id; without `takes_all` the result is below it."""

    is_seen = True

    def __init__(self, *, takes_all: bool) -> None:
        super().__init__()
        self._takes_all = takes_all
        self._publisher = kernel_shell().display_pub
        self._display_id = ""
        """"" while the line is not shown."""
        self._is_hooked = False
        self._said = ""

    def begin(self, text: str) -> None:
        """Have the line say this; it is shown anew where the cell has cleared its output."""
        if not self._display_id:
            self._display_id = uuid.uuid4().hex
            if not self._is_hooked:
                self._publisher.register_hook(self._see)
                self._is_hooked = True
            self._publish(text, self._display_id, update=False)
        else:
            self.say(text)

    def say(self, text: str) -> None:
        """Have the line say this, unless the cell has cleared its output: what is shown then may wait to be cleared too."""
        display_id = self._display_id
        if display_id and text != self._said:
            self._publish(text, display_id, update=True)

    def _publish(self, text: str, display_id: str, *, update: bool) -> None:
        self._said = text
        self._publisher.publish({"text/plain": text}, transient={"display_id": display_id}, update=update)

    def _see(self, message: dict[str, Any]) -> dict[str, Any]:
        """A message on its way from the thread of the cell to the front end."""
        if message["msg_type"] == "clear_output" and not is_in_output_widget():
            self._display_id = ""
        return message

    def _leave(self) -> None:
        self._display_id, self._is_hooked = "", False
        self._publisher.unregister_hook(self._see)

    def display(self, thing: object, **options: Any) -> None:
        if self._display_id and self._takes_all:
            super().display(thing, display_id=self._display_id, update=True, **options)
            self._leave()
        else:
            super().display(thing, **options)
            self.end()

    def end(self) -> None:
        """Leave the `rest` in the line's place."""
        if self._display_id:
            self.say(self.rest)
        self._leave()


class TerminalLine(StatusLine):
    """A line on the terminal that is erased before the program writes, with the cursor at its begin."""

    is_seen = True

    def __init__(self) -> None:
        super().__init__()
        self._terminal: Any = sys.stderr
        self._put = sys.stderr.write
        self._watched: list[tuple[Any, Any, Any]] = []
        """Streams to the terminal, with their own way to write and ours."""
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._width = 0
        self._is_other_begun = False
        """Whether the program is within a line, as progress bars are."""

    def begin(self, text: str) -> None:
        if not self._watched:
            for stream in {id(stream): stream for stream in (sys.stdout, sys.stderr)}.values():
                with contextlib.suppress(AttributeError, TypeError, ValueError):  # a stream of the program's own
                    if stream.isatty():
                        self._watch(stream)
        self.say(text)

    def _watch(self, stream: Any) -> None:
        write = stream.write

        def write_alone(text: str) -> Any:
            if os.getpid() != self._process:  # a forked process inherits the lock, held maybe by a thread it lacks
                return write(text)
            with self._lock:
                self._erase()
                n_written = write(text)
                self._is_other_begun = not text.endswith("\n") if text else self._is_other_begun
                return n_written

        stream.write = write_alone
        self._watched.append((stream, write, write_alone))

    def say(self, text: str) -> None:
        """Have the line say this, unless the program has begun one itself."""
        with self._lock:
            if self._is_other_begun:
                return
            text = text[: shutil.get_terminal_size().columns - 1]
            self._draw(text.ljust(self._width))
            self._width = len(text)

    def _erase(self) -> None:
        if self._width:
            self._draw(" " * self._width)
            self._width = 0

    def _draw(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # the terminal is gone, or the stream closed
            self._put(f"\r{text}\r")
            self._terminal.flush()

    def display(self, thing: object, **options: Any) -> None:
        """Display something; its first word erases the line."""
        super().display(thing, **options)
        self.end()

    def end(self) -> None:
        with self._lock:
            self._erase()
            for stream, write, write_alone in self._watched:
                if stream.write is not write_alone:  # the program has put its own over it, or taken it away
                    continue
                del stream.write
                if stream.write != write:  # the program had put another one there before
                    stream.write = write
            self._watched.clear()


@contextlib.contextmanager
def following(capture: Capture, line: StatusLine) -> Iterator[None]:
    """Show in the line how far the running capture is while the block runs, and then that it is read."""
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
