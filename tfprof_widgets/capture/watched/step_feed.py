"""Rows of a recorder -> the columns of a watched training, with what each step waited where that is known."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ...trace.watched import (
    AFTER_WINDOW,
    COMPILED,
    EPOCH_BEGIN,
    OTHER,
    PREDICT,
    PROFILED,
    STEP,
    TRAIN,
    VALIDATION,
    Steps,
)
from .recorder import StepRecorder, StepRow
from .waits import Floats, Waits

_KINDS = {"train": TRAIN, "test": VALIDATION, "test_predict": PREDICT}
_MOST = {"number": 2**31 - 1, "n_batches": 2**16 - 1}


class StepFeed:
    """Takes the steps of a recorder, on one thread."""

    def __init__(self, recorder: StepRecorder) -> None:
        self.recorder = recorder
        self._waits = Waits()
        recorder.on_let_go = self._waits.read
        self._disturbances: deque[tuple[int, int]] = deque(maxlen=16)

    @contextmanager
    def disturbing(self) -> Iterator[None]:
        """Have the steps that run meanwhile say that they were held up by the profiler; on any thread."""
        begin_ns = time.time_ns()
        self._disturbances.append((begin_ns, 2**62))
        try:
            yield
        finally:
            self._disturbances.remove((begin_ns, 2**62))
            self._disturbances.append((begin_ns, time.time_ns()))

    def ask(self) -> None:
        """Ask the iterator of the latest step for the waits that it remembers, for the next `take`; 0.2 ms."""
        reference = self.recorder.latest_iterator
        iterator = None if reference is None else reference()
        if iterator is not None:
            self._waits.read(iterator)

    def take(self, *, is_last: bool = False) -> Steps:
        """Return the steps since the last call: rows of `STEP`, in the order of their ends.

        Args:
            is_last: whether nothing is to be held back until more is known of it.
        """
        rows, waited_ns = self._waits.find(self.recorder.take(), is_last=is_last)
        return self._as_steps(rows, waited_ns) if rows else np.empty(0, STEP)

    def _as_steps(self, rows: list[StepRow], waited_ns: Floats) -> Steps:
        steps = np.empty(len(rows), STEP)
        columns = StepRow(*zip(*rows, strict=True))
        elapsed, computing = (np.array(column, np.float64) for column in (columns.elapsed_ns, columns.computing_ns))
        # Keras takes a batch within the call that computes it, a loop of the user's outside; computing is of the former.
        steps["start_ns"] = columns.start_ns
        steps["duration_us"], steps["wait_us"], steps["outside_us"] = (
            elapsed / 1e3,
            waited_ns / 1e3,
            (elapsed - computing) / 1e3,
        )
        losses = self.recorder.losses
        steps["loss"] = [losses.pop(row.number + row.n_batches - 1, np.nan) for row in rows]
        for name, most in _MOST.items():
            steps[name] = np.minimum(getattr(columns, name), most)
        steps["kind"] = [_KINDS.get(name, OTHER) for name in columns.name]
        begins, ends = steps["start_ns"], steps["start_ns"] + elapsed.astype(np.int64)
        is_held_up = np.zeros(len(steps), np.bool_)
        for begin_ns, end_ns in tuple(self._disturbances):
            is_held_up |= (ends > begin_ns) & (begins < end_ns)
        profiled = np.array(columns.is_profiled, np.bool_)
        compiled = np.array(
            [row.traced_us is not None and row.traced_us[1] > row.traced_us[0] for row in rows], np.bool_
        )
        flags = {PROFILED: profiled, EPOCH_BEGIN: np.array(columns.begins_epoch, np.bool_)}
        flags |= {AFTER_WINDOW: is_held_up, COMPILED: compiled}
        steps["flags"] = sum(flag * is_set for flag, is_set in flags.items())
        return steps
