"""status_line: where a person looks -> one line there that is rewritten in its place, and gives way to what comes at the end."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import uuid
from types import TracebackType
from typing import Any

from ..views.widgets.shell import is_in_output_widget, kernel_shell, replaceable
from .progress import is_watched


class StatusLine:
    """A line that nobody sees, and what those that somebody sees have in common. It ends with its `with` block."""

    is_seen = False

    def __init__(self) -> None:
        self.rest = ""
        """What stays in the output of a cell where nothing was displayed in the line's place."""

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
    """A line in the output of a notebook's cell: text with a display id, by which it is updated and at last replaced.

    Args:
        takes_all: whether the front end can put anything in its place; where not, that stands below the line.
    """

    is_seen = True

    def __init__(self, *, takes_all: bool) -> None:
        super().__init__()
        self._takes_all = takes_all
        self._publisher = kernel_shell().display_pub
        self._display_id = ""
        """Empty while the line is not shown."""
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
        """Display something in the place of the line."""
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
    """A line on the terminal, where no other stands: it is erased before the program writes, and waits for the end of its line.

    The cursor stays at its begin, so that what TensorFlow writes by itself, past Python, takes its place.
    """

    is_seen = True

    def __init__(self) -> None:
        super().__init__()
        self._terminal: Any = sys.stderr
        self._put = sys.stderr.write
        self._watched: list[tuple[Any, Any, Any]] = []
        """Streams to the terminal, how they write without us, and how with us."""
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._width = 0
        self._is_other_begun = False
        """Whether the program has begun a line and not ended it, as bars of progress do."""

    def begin(self, text: str) -> None:
        """Have the line say this."""
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
        """Take the line away."""
        with self._lock:
            self._erase()
            for stream, write, write_alone in self._watched:
                if stream.write is not write_alone:  # the program has put its own over it, or taken it away
                    continue
                del stream.write
                if stream.write != write:  # the program had put another one there before
                    stream.write = write
            self._watched.clear()
