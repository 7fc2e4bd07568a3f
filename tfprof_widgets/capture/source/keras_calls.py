"""Calls of Keras' `fit`, `evaluate` and `predict` -> the user's line of each, and from when to when it ran."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType
from typing import Any

from .columns import Columns
from .line_sampler import user_place
from .source_graphs import FrameTable

MAX_CALLS = 10_000
"""How many are noted; one within another has the same line."""


@dataclass
class _Call:
    begin_ns: int
    code: CodeType
    line: int
    end_ns: int = 0


class KerasCalls:
    """The calls of one capture. Keeps code objects, but no frames."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note what runs inside, called from the user's line that is nearest."""
        place = user_place(sys._getframe(1))
        if place is None or len(self._calls) >= MAX_CALLS:
            yield
            return
        call = _Call(time.time_ns(), *place)
        self._calls.append(call)
        try:
            yield
        finally:
            call.end_ns = time.time_ns()

    def columns(self, frames: FrameTable) -> dict[str, list[Any]]:
        """The calls as columns; one that still runs ends now. Their frames are added to `frames`."""
        calls = Columns("begin_ns", "end_ns", "frame")
        for call in list(self._calls):
            row = frames.add(-1, call.code.co_filename, call.line, call.code.co_name)
            calls.add(call.begin_ns, call.end_ns or time.time_ns(), row)
        return calls
