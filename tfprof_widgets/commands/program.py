"""`tfprof ...` -> an exit status: 0 where it was done, 2 where it could not be, with one line that says why."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence

from ..errors import TfProfError
from .arguments import make_parser
from .terminal import drop_output, one_line, write_error, write_json

_ERROR, _INTERRUPTED, _NO_READER = 2, 130, 141
"""The second and third are what a shell tells of a program that Ctrl-C ended, and of one whose output nobody reads any more."""


def main(words: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        words: those after `tfprof`; by default those that this process was started with.

    Returns:
        The exit status: 0 where it was done; 1 where `diff` is above its limit, or `doctor` found something to do; 3 where `diff`
        cannot tell; 2 where it could not be done, or the words mean nothing. Then standard error says in a line why, and with
        `--json` standard output is `{"error": that line}`.

    Raises:
        SystemExit: help or the version was asked for.
    """
    try:
        return _run(sys.argv[1:] if words is None else words)
    except BrokenPipeError:
        drop_output()
        return _NO_READER
    except KeyboardInterrupt:
        return _INTERRUPTED


def _run(words: Sequence[str]) -> int:
    is_json = "--json" in words  # of words that mean nothing
    try:
        options = make_parser().parse_args(words)
        is_json = options.json
        with options.streams():
            status: int = options.run_command(options)
        return status
    except BrokenPipeError:
        raise
    except OSError as error:
        told = one_line(f"{error.filename}: {error.strerror}" if error.filename else error)
        write_error(told)
    except (TfProfError, TypeError, ValueError) as error:
        told = one_line(error)
        write_error(told)
    except Exception as error:  # a fault of ours: status 1 would mean something else
        told = one_line(f"{type(error).__name__}: {error}")
        traceback.print_exc()
    if is_json:
        write_json({"error": told})
    return _ERROR
