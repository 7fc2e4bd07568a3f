"""Steps that begin and end -> rows for another thread. Their wait is what tf.data's gaps leave, as Keras takes batches inside its
function. Source: tensorflow/core/framework/model.proto, `ModelProto.gap_times` (in us, of the latest 100 calls)."""

from __future__ import annotations

import logging
import math
import operator
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..trace.capture_facts import AFTER_WINDOW, BEFORE, COMPILED, CUT, EPOCH_BEGIN, OTHER, PROFILED, STEP, Steps
from .bounds import traced_us
from .program.calls import user_place
from .program.frames import running_frames, title_of
from .record import Phase
from .steps import OpenStep

if TYPE_CHECKING:
    import pandas as pd

    from ..read.steps_file import WatchWriter

MAX_WAITING = 1_000_000
"""Steps that wait to be taken; later ones are lost, so that a watcher that hangs costs no more memory."""
MEMORY_NS = 25_000_000
"""Interval of reading memory, longer where that takes more than `MEMORY_SHARE` of a core and steps are shorter."""
MEMORY_SHARE = 0.0002
MAX_LOSSES = 10_000
"""Losses that wait for their steps to be taken."""
MAX_STEPS = 100_000
"""Rows of `StepRecorder.frame`: half for the steps inside windows, half for the others."""
MOST_LATEST = 4_096
"""Steps that wait for rows where no other thread makes them: then the one that trains does."""
WRITING_NS = 1_000_000_000
"""Likewise: so old a step is written."""
_AT_ONCE_NS = 50_000
"""What begins so soon after the end of a step begins with it: nothing was traced between."""
_KINDS = ("train", "test", "test_predict", "")
"""Names of markers, in the order of `TRAIN`, `VALIDATION`, `PREDICT`, `OTHER`."""
_FLAGS = {"before": BEFORE, "during": PROFILED, "cut": PROFILED | CUT, "after": 0}


Floats = npt.NDArray[np.float64]


class StepRow(NamedTuple):
    """A step that has ended, with the fields of `OpenStep`."""

    name: str
    number: int
    n_batches: int
    phase: Phase
    begins_epoch: bool
    start_ns: int
    begin_ns: int
    elapsed_ns: int
    asked_ns: int | None
    computing_ns: int | None
    waited_ns: int | None
    traced_us: int | None
    until_us: int | None
    iterator: weakref.ref[Any] | None
    first_element: int


_ENDED: Callable[[Any], tuple[Any, ...]] = operator.attrgetter(*StepRow._fields)


class StepRecorder:
    """The steps of a capture, in the order of their ends: hooks leave them in a ring, and the thread that watches makes rows.

    Nobody else asks for iterators, losses and memory; where nobody watches, the recorder writes the rows.
    """

    def __init__(self, read_memory: Callable[[], dict[str, float]] | None = None, *, is_watched: bool = False) -> None:
        self.is_watched = is_watched
        self.writer: WatchWriter | None = None
        """Of the rows that nobody takes."""
        self._written_ns = 0
        self._read_memory = read_memory
        self._memory: list[tuple[int, dict[str, float]]] = []
        self._memory_due_ns = 0
        self._logs: list[tuple[int, Any]] = []
        """Number of a step and what Keras told of it, until rows are made."""
        self._losses: dict[int, float] = {}
        """By number, of steps of which there is no row yet."""
        self._ended: list[tuple[Any, ...]] = []
        """With the fields of `StepRow`."""
        self._epochs: list[dict[str, Any]] = []
        self._current: OpenStep | None = None
        self._last_end_ns, self._last_traced_us = 0, traced_us()
        self._waits = Waits()
        self._disturbances: deque[tuple[int, int]] = deque(maxlen=16)
        self._names = list(_KINDS)
        self._lock = threading.Lock()

    # ---- on the threads that train --------------------------------------------------------------------------------------

    def began(self, step: OpenStep) -> None:
        """Take a step that began, which may turn out to be none."""
        self._current = step
        is_next = step.begin_ns - self._last_end_ns < _AT_ONCE_NS
        step.traced_us = self._last_traced_us if is_next else traced_us()
        if step.start_ns >= self._memory_due_ns:
            self._look_at_memory(step.start_ns)

    def ended(self, step: OpenStep) -> None:
        """Add a step, whose row is made when it is taken."""
        self._current = None
        step.until_us = self._last_traced_us = traced_us()
        self._last_end_ns = step.begin_ns + step.elapsed_ns
        if step.elapsed_ns >= MEMORY_NS:
            self._memory_due_ns = 0
        if len(self._ended) < MAX_WAITING:
            self._ended.append(_ENDED(step))
        if not self.is_watched:
            is_late = step.start_ns + step.elapsed_ns - self._written_ns >= WRITING_NS
            if is_late or len(self._ended) >= MOST_LATEST:
                self.sort_in()

    def passed(self, step: OpenStep, phase: Phase) -> None:
        """Add a step of one batch, which becomes the next."""
        until_us, begin_ns, start_ns = traced_us(), step.begin_ns, step.start_ns
        step.begin_ns = now_ns = time.perf_counter_ns()
        elapsed_ns = now_ns - begin_ns
        ended = (step.name, step.number, 1, phase, step.begins_epoch, start_ns, begin_ns, elapsed_ns)
        waits = (step.asked_ns, step.computing_ns, None, step.traced_us, until_us, step.iterator, step.first_element)
        if len(self._ended) < MAX_WAITING:
            self._ended.append(ended + waits)
        step.asked_ns = step.computing_ns = None
        step.begins_epoch = False
        step.number += 1
        step.start_ns = start_ns + elapsed_ns
        step.traced_us = self._last_traced_us = until_us
        if step.start_ns >= self._memory_due_ns or elapsed_ns >= MEMORY_NS:
            self._look_at_memory(step.start_ns)

    def _look_at_memory(self, now_ns: int) -> None:
        if self._read_memory is None:
            self._memory_due_ns = 2**63
            return
        begin_ns = time.thread_time_ns()
        if len(self._memory) < MAX_LOSSES:
            self._memory.append((now_ns, self._read_memory()))
        took_ns = time.thread_time_ns() - begin_ns
        self._memory_due_ns = now_ns + max(MEMORY_NS, round(took_ns / MEMORY_SHARE))

    def note_logs(self, number: int, logs: Any) -> None:
        """Take what Keras tells of a step, on any thread."""
        if len(self._logs) < MAX_LOSSES:
            self._logs.append((number, logs))

    def let_go(self, iterator: Any) -> None:
        """Ask an iterator that is about to be gone, as it has given the last batches of an epoch."""
        if self.is_watched:
            self._waits.read(iterator)

    def note_epoch(self, epoch: int, values: dict[str, float], ended_ns: int) -> None:
        """Add the end of an epoch (from 0 on in each `fit`), after which callbacks ran until now, with Keras' values of it."""
        if len(self._epochs) < MAX_LOSSES:
            event = {"kind": "epoch_end", "at_ns": ended_ns, "epoch": epoch, "values": values}
            self._epochs.append({**event, "seconds": (time.time_ns() - ended_ns) / 1e9})

    # ---- on the thread that watches -------------------------------------------------------------------------------------

    def take(self, *, is_last: bool = False) -> Steps:
        """Return the steps since the last call: rows of `STEP`."""
        current = self._current  # before the others: it began behind them, or is the last of them
        steps, waited_ns = self._waits.find(
            self._drain(), is_last=is_last, next_ns=0 if current is None else current.begin_ns
        )
        return self._rows(steps, waited_ns)

    def take_memory(self) -> list[tuple[int, dict[str, float]]]:
        """Return what was in use since the last call, with its Unix time."""
        taken, self._memory = self._memory, []
        return taken

    def take_epochs(self) -> list[dict[str, Any]]:
        """Return the ends of epochs since the last call, as events with the `seconds` of callbacks."""
        ended, self._epochs = self._epochs, []
        return ended

    def ask(self) -> None:
        """Ask the iterator of the latest step for the waits that it remembers, for the next `take`; 0.2 ms."""
        for latest in map(StepRow._make, self._ended[-1:]):
            if latest.iterator is not None and (iterator := latest.iterator()) is not None:
                self._waits.read(iterator)

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

    @property
    def n_waiting(self) -> int:
        """How many steps have ended since the last take."""
        return len(self._ended)

    @property
    def current(self) -> tuple[int, int, int] | None:
        """Number, thread and age in ns of the step that runs; None between two."""
        step = self._current
        return None if step is None else (step.number, step.thread_id, time.perf_counter_ns() - step.begin_ns)

    # ---- where nobody watches -------------------------------------------------------------------------------------------

    def sort_in(self) -> None:
        """Make rows of the steps that wait, and write them, unless somebody else does."""
        if self.is_watched or self.writer is None:
            return
        with self._lock:
            steps = self._drain()
            self.writer.add_steps(self._rows(steps, np.array([step.waited_ns for step in steps], np.float64)))
            self._written_ns = time.time_ns()

    def frame(self, most: int = MAX_STEPS) -> pd.DataFrame:
        """A row per step, of very many an even spread, by their begins: `number, name, start_ns, duration_ns, phase`."""
        import pandas as pd

        self.sort_in()
        written = np.empty(0, STEP) if self.writer is None else self.writer.steps()
        is_inside = written["flags"] & (PROFILED | CUT) == PROFILED
        places = (np.flatnonzero(is_so) for is_so in (is_inside, ~is_inside))
        spread = np.concatenate([those[:: max(1, -(-len(those) // (most // 2)))] for those in places])
        rows = np.sort(written[spread], order="start_ns", kind="stable")
        flags = rows["flags"]
        phases = np.select(
            [flags & CUT != 0, flags & PROFILED != 0, flags & BEFORE != 0], ["cut", "during", "before"], "after"
        )
        names = np.array([*self._names, ""], object)
        return pd.DataFrame(
            {
                "number": rows["number"].astype(np.int64),
                "name": names[np.minimum(rows["kind"], len(self._names))],
                "start_ns": rows["start_ns"],
                "duration_ns": np.round(rows["duration_us"].astype(np.float64) * 1e3).astype(np.int64),
                "phase": phases,
            }
        ).astype({"name": "str", "phase": "str"})

    def _drain(self) -> list[StepRow]:
        # One list for ever: a step may be about to be put in on another thread.
        ended = self._ended[:]
        del self._ended[: len(ended)]
        return list(map(StepRow._make, ended))

    def _rows(self, steps: list[StepRow], waited_ns: Floats) -> Steps:
        rows = np.empty(len(steps), STEP)
        elapsed = np.array([step.elapsed_ns for step in steps], np.float64)
        computing = np.array([step.computing_ns for step in steps], np.float64)
        rows["start_ns"] = [step.start_ns for step in steps]
        rows["duration_us"], rows["wait_us"] = elapsed / 1e3, waited_ns / 1e3
        # Keras takes a batch within the call that computes it, a loop of the user's outside; computing is of the former.
        rows["outside_us"] = (elapsed - computing) / 1e3
        losses = self._noted_losses()
        # A validation within a callback has numbers of its own, which may be the same.
        rows["loss"] = [
            losses.pop(step.number + step.n_batches - 1, np.nan) if losses and step.name == "train" else np.nan
            for step in steps
        ]
        rows["number"] = [min(step.number, 2**31 - 1) for step in steps]
        rows["n_batches"] = [min(step.n_batches, 2**16 - 1) for step in steps]
        rows["kind"] = [self._kind(step.name) for step in steps]
        rows["flags"] = [
            _FLAGS[step.phase]
            | (EPOCH_BEGIN if step.begins_epoch else 0)
            | (COMPILED if step.traced_us is not None and step.traced_us < (step.until_us or 0) else 0)
            for step in steps
        ]
        ends = rows["start_ns"] + elapsed.astype(np.int64)
        for begin_ns, end_ns in tuple(self._disturbances):
            rows["flags"][(ends > begin_ns) & (rows["start_ns"] < end_ns)] |= AFTER_WINDOW
        return rows

    def _noted_losses(self) -> dict[int, float]:
        """Those of which no row was made yet."""
        logs = self._logs[:]
        del self._logs[: len(logs)]
        if len(self._losses) >= MAX_LOSSES:
            self._losses.clear()
        for number, told in logs:
            loss = told.get("loss") if isinstance(told, dict) else None
            if isinstance(loss, float) and math.isfinite(loss):
                self._losses[number] = loss
        return self._losses

    def _kind(self, name: str) -> int:
        """The place of a marker's name; those of the user's loops come behind the others."""
        if name not in self._names and len(self._names) < 255:
            self._names.append(name)
        return self._names.index(name) if name in self._names else OTHER


MAX_READ = 64
"""Iterators of the latest reads."""
MAX_GAPS = 100
"""tf.data remembers the gaps of so many calls: who asks less often misses some."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Gaps:
    """Gaps and counts of an iterator's latest calls."""

    n_elements: int
    """Number of elements that it has given."""
    gaps_us: Floats
    """Time from the end of the call before to each of its latest calls, but the first of all."""

    n_vain: int = 0
    """Calls answered with the end of the data, which leave a gap as well."""

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
        """The last answer and its iterator."""
        self._owed: tuple[weakref.ref[Any] | None, int, float] = (None, 0, 0.0)
        """An iterator, its next element, and the time by which the step before that asked late, in ns."""

    def read(self, iterator: Any) -> None:
        """Ask an iterator now, on any thread, for the next call of `find`: by then it may have forgotten, or be gone."""
        gaps = self._ask(iterator)
        if gaps is not None:
            self._read_before.append((weakref.ref(iterator), gaps))

    def find(self, rows: list[StepRow], *, is_last: bool = False, next_ns: int = 0) -> tuple[list[StepRow], Floats]:
        """Return the steps of earlier calls that were held back, and these, with their waits in ns; NaN where not known.

        `next_ns` is the begin of the step that runs.
        """
        n_held, rows = len(self._held), self._held + rows
        # They stay: the last steps of one that was asked meanwhile may be told in the next call.
        known = self._read_before.copy()
        self._held = []
        measured = np.array([row.waited_ns for row in rows], np.float64)
        is_told = np.array([row.iterator is not None for row in rows], np.bool_)
        waited = np.where(is_told, np.nan, measured)
        is_early = np.zeros(len(rows), np.bool_)
        first = np.array([-1 if row.iterator is None else row.first_element for row in rows], np.int64)
        n_batches = np.array([row.n_batches for row in rows], np.int64)
        of_row = np.array([-1 if row.iterator is None else id(row.iterator) for row in rows], np.int64)
        is_joined = (of_row[1:] == of_row[:-1]) & (first[1:] == (first + n_batches)[:-1]) & (of_row[1:] >= 0)
        # From call to call where the next one is here: what happens before the iterator is asked is no wait.
        elapsed = np.array([row.elapsed_ns for row in rows], np.float64)
        computing = np.array([row.computing_ns for row in rows], np.float64)
        longest = np.fmin(np.fmin(elapsed, computing), measured)  # it lies within the call
        begins = np.array([row.begin_ns for row in rows], np.int64)
        asked = np.array([row.asked_ns or row.begin_ns for row in rows], np.int64)
        periods = elapsed - (asked - begins)
        periods[:-1][is_joined] = np.diff(asked)[is_joined]
        # A window that closes behind the last one is in its gap as well.
        periods[-1:] += np.maximum(next_ns - (begins + elapsed)[-1:], 0.0)
        references = {id(row.iterator): row.iterator for row in rows if row.iterator is not None}
        for key, reference in references.items():
            told = [gaps for one, gaps in known if one is reference]
            latest = self._ask(reference())
            for gaps in told if latest is None else [*told, latest]:
                own = (of_row == key) & np.isnan(waited)
                waited[own] = periods[own] - 1e3 * gaps.behind(first[own], n_batches[own])
            if latest is not None:
                # The gap behind the last step is known when the next one has its batch.
                n_told = latest.n_elements + latest.n_vain
                is_early |= (of_row == key) & (first + n_batches >= n_told) & np.isnan(waited)
        ends = [*(row.until_us for row in rows[1:]), traced_us()] if rows else []
        found = [row.traced_us is None or row.traced_us != end for row, end in zip(rows, ends, strict=True)]
        waited[(is_told | np.isnan(measured)) & np.array(found, np.bool_)] = np.nan
        is_early[-1:] |= is_told[-1:]  # what the next one asks late is owed by this one
        n_early = 0 if is_last else int(np.argmin(np.append(is_early[n_held:][::-1], False)))
        n = len(rows) - n_early
        self._held = rows[n:]
        settled = np.minimum(self._settled(waited[:n], rows, is_joined), longest[:n])
        return rows[:n], np.where(np.isnan(settled), measured[:n], settled)

    def _settled(self, waited: Floats, rows: list[StepRow], is_joined: npt.NDArray[np.bool_]) -> Floats:
        """Waits that are not negative: a step that asks late for its batch makes the wait of the one before so much less."""
        n, (reference, element, owed) = len(waited), self._owed
        if not n:
            return waited
        self._owed = (None, 0, 0.0)
        is_whole = np.isfinite(waited)
        is_linked = is_joined[: n - 1] & is_whole[:-1] & is_whole[1:]
        starts = np.flatnonzero(np.append(True, ~is_linked)[:n])
        settled: Floats = np.maximum(waited, 0.0)
        for begin, end in zip(starts, np.append(starts[1:], n), strict=True):
            row = rows[begin]
            is_next = begin == 0 and row.iterator is not None and row.iterator is reference
            before = owed if is_next and row.first_element == element else 0.0
            is_followed = bool(end == n < len(rows) and is_joined[n - 1] and is_whole[n - 1])
            if end - begin == 1 and not before and not is_followed:
                continue
            sums = np.cumsum(waited[begin:end]) + before
            most = np.maximum.accumulate(np.append(0.0, sums))
            settled[begin:end] = np.diff(most)
            if is_followed:
                last = rows[n - 1]
                self._owed = (last.iterator, last.first_element + last.n_batches, float(sums[-1] - most[-1]))
        return settled

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


def read_gaps(iterator: Any) -> Gaps:
    """Ask an iterator of tf.data for its gaps; takes some 0.2 ms, and no step waits for it."""
    import tensorflow as tf
    from tensorflow.core.framework.model_pb2 import ModelProto

    told = tf.raw_ops.IteratorGetModelProto(iterator=iterator._iterator_resource)
    model = ModelProto.FromString(told.numpy())
    n_elements = model.nodes[model.output].num_elements if model.output in model.nodes else 0
    return Gaps(n_elements, np.array(model.gap_times, np.float64))


def place_of(thread_id: int) -> str:
    """Where a thread is; "" where no frame of it is the user's."""
    found = user_place(running_frames().get(thread_id))
    if found is None:
        return ""
    code, line = found
    return f"{title_of(code.co_filename)}, line {line}, in {code.co_name}"
