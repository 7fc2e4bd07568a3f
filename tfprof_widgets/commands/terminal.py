"""Text and JSON -> the output of a command: nothing in it that a terminal takes for a command, errors in one line."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any, TextIO

from ..errors import without_controls


def write_text(text: str) -> None:
    """Print a text; what a trace holds does nothing to the terminal."""
    print(without_controls(text), flush=True)  # noqa: T201 -- this is the output


def write_json(value: Any) -> None:
    """Print a value as JSON, in ASCII; what is no number is null."""
    import json

    from ..views.payload.plain import plain

    print(json.dumps(plain(value), indent=2, allow_nan=False), flush=True)  # noqa: T201 -- this is the output


def write_error(text: object) -> None:
    """Say on standard error what went wrong, in one line."""
    print(f"tfprof: {one_line(text)}", file=sys.stderr, flush=True)  # noqa: T201


def one_line(text: object) -> str:
    """A text on one line; what a trace holds does nothing to the terminal."""
    return " ".join(without_controls(str(text)).split())


@contextlib.contextmanager
def plain_streams() -> Iterator[None]:
    """Within the block nothing that is written fails for its characters, a warning is a line, and where the output is no
    terminal there are no bars."""
    from ..progress import without_bars

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # not the ones that tests put in their place
            stream.reconfigure(errors="backslashreplace")
    with contextlib.ExitStack() as block:
        if not is_terminal(sys.stdout):
            block.enter_context(without_bars())
        block.enter_context(warnings.catch_warnings())
        warnings.showwarning = lambda message, *_, **__: write_error(message)
        yield


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person reads it as it comes."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it is closed
        return False


def drop_output() -> None:
    """Nobody reads standard output any more: have Python's end not complain about what is left of it."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
