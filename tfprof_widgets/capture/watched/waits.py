"""Steps and the iterators of their batches -> how long each step waited for its batches.

Keras takes a batch inside the function that computes it, where no clock of Python sees it. tf.data notes, for its own tuning, the
gaps between the calls of each iterator: the time for which it was *not* waited for. What is left of a step is the wait, where no
function was traced: that is done before the iterator is asked, and lies in the gap behind the step before.

Source: tensorflow/core/framework/model.proto, `ModelProto.gap_times` (in us, of the latest 100 calls).
"""

from __future__ import annotations

import logging
import weakref
from collections import deque
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..session.building import traced_us
from .recorder import StepRow

MAX_READ = 64
"""Of iterators that were asked before, the latest so many are remembered."""
MAX_GAPS = 100
"""Of how many calls tf.data remembers the gaps: who asks less often misses some."""

_logger = logging.getLogger(__name__)


Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Gaps:
    """What an iterator tells of its latest calls."""

    n_elements: int
    """How many it has given in all."""
    gaps_us: Floats
    """Before each of its latest calls, but for the first one of all: time since the call before had ended."""

    n_vain: int = 0
    """How many calls it has answered with the end of the data, which leave a gap as well."""

    def aligned(self, before: Gaps | None) -> Gaps:
        """The same with the calls in vain, which nobody counts: by how many gaps there are, or where the last of `before` is."""
        n = len(self.gaps_us)
        if n < MAX_GAPS:
            return replace(self, n_vain=max(n + 1 - self.n_elements, 0))
        if before is None or not len(before.gaps_us):
            return self
        at = n - 1 - (self.n_elements - before.n_elements)
        is_later = at > 0 and self.gaps_us[at] != before.gaps_us[-1] == self.gaps_us[at - 1]
        return replace(self, n_vain=before.n_vain + bool(is_later))

    def behind(self, first: npt.NDArray[np.int64], n: npt.NDArray[np.int64]) -> Floats:
        """The gaps behind `n` elements from `first` (from 0 on), in us; NaN where one is not known yet, or not any more."""
        begin = len(self.gaps_us) - (self.n_elements + self.n_vain - 1) + first
        end = begin + n
        is_known = (begin >= 0) & (end <= len(self.gaps_us))
        sums = np.concatenate([[0.0], np.cumsum(self.gaps_us)])
        return np.where(is_known, sums[np.where(is_known, end, 0)] - sums[np.where(is_known, begin, 0)], np.nan)


class Waits:
    """Finds what steps waited; those of which it is not known yet come with the next call."""

    def __init__(self) -> None:
        self._held: list[StepRow] = []
        self._read_before: deque[tuple[weakref.ref[Any], Gaps]] = deque(maxlen=MAX_READ)
        self._is_readable = True
        self._latest: tuple[weakref.ref[Any], Gaps] | None = None
        """What was told last, and by which iterator."""

    def read(self, iterator: Any) -> None:
        """Ask an iterator now, on any thread, for the next call of `find`: by then it may have forgotten, or be gone."""
        gaps = self._ask(iterator)
        if gaps is not None:
            self._read_before.append((weakref.ref(iterator), gaps))

    def find(self, rows: list[StepRow], *, is_last: bool = False) -> tuple[list[StepRow], Floats]:
        """Return the steps of earlier calls that were held back, and these, with their waits in ns; NaN where not known.

        Args:
            rows: that ended since the last call.
            is_last: whether there is no next call.
        """
        n_held, rows = len(self._held), self._held + rows
        # They stay: the last steps of one that was asked meanwhile may be told in the next call.
        known = self._read_before.copy()
        self._held = []
        measured = np.array([row.waited_ns for row in rows], np.float64)
        waited = measured.copy()
        is_early = np.zeros(len(rows), np.bool_)
        first = np.array([-1 if row.source is None else row.source.first for row in rows], np.int64)
        n_batches = np.array([row.n_batches for row in rows], np.int64)
        elapsed = np.array([row.elapsed_ns for row in rows], np.float64)
        of_row = np.array([-1 if row.source is None else id(row.source.iterator) for row in rows], np.int64)
        references = {id(row.source.iterator): row.source.iterator for row in rows if row.source is not None}
        for key, reference in references.items():
            told = [gaps for one, gaps in known if one is reference]
            latest = self._ask(reference())
            for gaps in told if latest is None else [*told, latest]:
                own = (of_row == key) & np.isnan(waited)
                waited[own] = np.maximum(elapsed[own] - 1e3 * gaps.behind(first[own], n_batches[own]), 0.0)
            if latest is not None:
                # The gap behind the last step is known when the next one has its batch.
                n_told = latest.n_elements + latest.n_vain
                is_early |= (of_row == key) & (first + n_batches >= n_told) & np.isnan(waited)
        waited[np.isnan(measured) & _may_trace(rows)] = np.nan
        n_early = 0 if is_last else int(np.argmin(np.append(is_early[n_held:][::-1], False)))
        self._held = rows[len(rows) - n_early :]
        return rows[: len(rows) - n_early], waited[: len(rows) - n_early]

    def _ask(self, iterator: Any) -> Gaps | None:
        try:
            if iterator is None or not self._is_readable:
                return None
            before = self._latest
            gaps = read_gaps(iterator).aligned(before[1] if before is not None and before[0]() is iterator else None)
            self._latest = weakref.ref(iterator), gaps
            return gaps
        except Exception:  # an op and a message without a promise: without them waits are not known
            _logger.debug("the gaps of an iterator cannot be read", exc_info=True)
            self._is_readable = False
            return None


def _may_trace(rows: list[StepRow]) -> npt.NDArray[np.bool_]:
    """In which rows a function was traced, or in the step behind, or may have been."""
    ends: list[int | None] = [None if row.traced_us is None else row.traced_us[1] for row in rows[1:]]
    ends += [traced_us()] if rows else []
    found = [row.traced_us is None or row.traced_us[0] != end for row, end in zip(rows, ends, strict=True)]
    return np.array(found, np.bool_)


def read_gaps(iterator: Any) -> Gaps:
    """Ask an iterator of tf.data for its gaps; takes some 0.2 ms, and no step waits for it."""
    import tensorflow as tf
    from tensorflow.core.framework.model_pb2 import ModelProto

    told = tf.raw_ops.IteratorGetModelProto(iterator=iterator._iterator_resource)
    model = ModelProto.FromString(told.numpy())
    n_elements = model.nodes[model.output].num_elements if model.output in model.nodes else 0
    return Gaps(n_elements, np.array(model.gap_times, np.float64))
