"""Spare files: file descriptors held while a session runs -> some for its end, when the program has used up all."""

from __future__ import annotations

import contextlib
import os
import weakref

_N_FILES = 8
"""More than the profiler's files, and moving them, take at once."""


class SpareFiles:
    """Holds some file descriptors until they are needed."""

    def __init__(self) -> None:
        self._held: list[int] = []
        weakref.finalize(self, _close, self._held).atexit = False

    def hold(self) -> None:
        """Take them, as far as there are any."""
        with contextlib.suppress(OSError):
            while len(self._held) < _N_FILES:
                self._held.append(os.open(os.devnull, os.O_RDONLY))

    def release(self) -> None:
        """Let go of them; a second call does nothing."""
        _close(self._held)


def _close(files: list[int]) -> None:
    while files:
        with contextlib.suppress(OSError):
            os.close(files.pop())
