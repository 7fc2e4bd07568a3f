"""Executions that make one tensor, in a loop many -> which of them another execution took it from, without trying each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Maker:
    """An execution that makes or takes a tensor."""

    row: int
    start_ps: int
    host: str
    is_received: bool
    """Whether it is the arrival of a tensor of another task."""


class TensorMakers:
    """The makers of one tensor, by task and in the order of their starts."""

    def __init__(self, makers: Iterable[Maker]) -> None:
        """Sort them."""
        self._of: dict[tuple[str, bool], list[tuple[int, int]]] = {}
        for one in makers:
            # Of several that start together the first row is the last one here.
            self._of.setdefault((one.host, one.is_received), []).append((one.start_ps, -one.row))
        for starts in self._of.values():
            starts.sort()

    def source_of(self, taker: Maker) -> int:
        """The row that one took the tensor from; -1 for none.

        It is the last one of its own task before it, else the next one after it, else one of another task. A tensor that
        was received comes from another task, if it can, and never from another arrival.
        """
        keys: list[tuple[bool, bool, int, int]] = []  # is near, is before, how close, the row below 0
        for (host, is_received), starts in self._of.items():  # as many as there are tasks
            if taker.is_received and is_received:
                continue
            is_near = (host == taker.host) != taker.is_received
            at = bisect_right(starts, (taker.start_ps, 1))
            before = [one for one in starts[max(at - 2, 0) : at] if one != (taker.start_ps, -taker.row)]
            if before:
                keys.append((is_near, True, *before[-1]))
            elif at < len(starts):
                start, row = starts[bisect_right(starts, (starts[at][0], 1)) - 1]
                keys.append((is_near, False, -start, row))
        return -max(keys)[-1] if keys else -1
