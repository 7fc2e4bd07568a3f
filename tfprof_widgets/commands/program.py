"""`tfprof ...` -> an exit status: 0 where it was done, 2 where it could not be, with one line that says why."""

from __future__ import annotations

import traceback
from collections.abc import Sequence

from ..errors import TfProfError
from .arguments import ERROR, make_parser
from .terminal import drop_output, write_error

_INTERRUPTED, _NO_READER = 130, 141
"""What a shell tells of a program that Ctrl-C ended, and of one whose output nobody reads any more."""


def main(words: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        words: those after `tfprof`; by default those that this process was started with.

    Returns:
        The exit status: 0 where it was done; 1 where `diff` is above its limit, or `doctor` found something to do; 2 where it
        could not be done, and standard error says in a line why.

    Raises:
        SystemExit: help or the version was asked for, or the words mean nothing.
    """
    options = make_parser().parse_args(words)
    try:
        with options.streams():
            status: int = options.run_command(options)
    except BrokenPipeError:
        drop_output()
        return _NO_READER
    except KeyboardInterrupt:
        return _INTERRUPTED
    except OSError as error:
        write_error(f"{error.filename}: {error.strerror}" if error.filename else error)
    except (TfProfError, TypeError, ValueError) as error:
        write_error(error)
    except Exception:  # a fault of ours: status 1 would mean something else
        traceback.print_exc()
    else:
        return status
    return ERROR
