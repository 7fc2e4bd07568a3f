"""Steps and the iterators of their batches -> how long each step waited for its batches.

Keras takes a batch inside the function that computes it, where no clock of Python sees it. tf.data notes, for its own tuning, the
gaps between the calls of each iterator: the time for which it was *not* waited for. What is left of a step is the wait.

Source: tensorflow/core/framework/model.proto, `ModelProto.gap_times` (in us, of the latest 100 calls).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from .recorder import StepRow

MAX_GAPS = 100
"""Of how many calls tf.data remembers the gaps: who asks less often misses some."""

_logger = logging.getLogger(__name__)


class Gaps(NamedTuple):
    """What an iterator tells of its latest calls."""

    n_elements: int
    """How many it has given in all."""
    gaps_us: Sequence[int]
    """Before each of its latest calls, but for the first one of all: time since the call before had ended."""

    def after(self, element: int) -> int | None:
        """The gap behind an element (from 0 on), in us; None where it is not known yet, or not any more."""
        place = len(self.gaps_us) - (self.n_elements - 1 - element)
        return self.gaps_us[place] if 0 <= place < len(self.gaps_us) else None

    def is_future(self, element: int) -> bool:
        """Whether the gap behind an element may still come."""
        return element >= self.n_elements - 1


class Waits:
    """Fills in what rows waited; those of which it is not known yet come with the next call."""

    def __init__(self) -> None:
        self._held: list[StepRow] = []
        self._is_readable = True

    def fill(self, rows: list[StepRow], *, is_last: bool = False) -> list[StepRow]:
        """Return the rows of earlier calls that were held back, and these, with `waited_ns` where it is known.

        Args:
            rows: that ended since the last call.
            is_last: whether there is no next call.
        """
        n_held, rows = len(self._held), self._held + rows
        self._held = []
        source = rows[-1].source if rows else None
        iterator = source.iterator() if source is not None and self._is_readable else None
        if source is None or iterator is None:
            return rows
        gaps = self._read(iterator)
        if gaps is None:
            return rows
        filled = [_with_wait(row, gaps) if row.source and row.source.iterator is source.iterator else row for row in rows]
        # The gap behind the last step is known when the next one has its batch.
        while filled and not is_last and len(filled) > n_held and _is_early(filled[-1], gaps):
            self._held.insert(0, filled.pop())
        return filled

    def _read(self, iterator: Any) -> Gaps | None:
        try:
            return read_gaps(iterator)
        except Exception:  # an op and a message without a promise: without them waits are not known
            _logger.debug("the gaps of an iterator cannot be read", exc_info=True)
            self._is_readable = False
            return None


def read_gaps(iterator: Any) -> Gaps:
    """Ask an iterator of tf.data for its gaps; takes some 0.2 ms, and no step waits for it."""
    import tensorflow as tf
    from tensorflow.core.framework.model_pb2 import ModelProto

    told = tf.raw_ops.IteratorGetModelProto(iterator=iterator._iterator_resource)
    model = ModelProto.FromString(told.numpy())
    return Gaps(model.nodes[model.output].num_elements if model.output in model.nodes else 0, model.gap_times)


def _with_wait(row: StepRow, gaps: Gaps) -> StepRow:
    if row.source is None or row.waited_ns is not None:
        return row
    behind = [gaps.after(row.source.first + i) for i in range(row.n_batches)]
    known = [gap for gap in behind if gap is not None]
    if len(known) < len(behind):
        return row
    return row._replace(waited_ns=max(0, row.elapsed_ns - 1000 * sum(known)))


def _is_early(row: StepRow, gaps: Gaps) -> bool:
    return (
        row.waited_ns is None
        and row.source is not None
        and gaps.is_future(row.source.first + row.n_batches - 1)
    )
