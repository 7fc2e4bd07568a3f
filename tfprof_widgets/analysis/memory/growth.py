"""Memory in use, at the ends of steps or in samples of a running training -> whether it grows, and what allocates it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.arrays import Float64, Int64
from ..common import percent, plural, size
from ..table import table
from .moments import Snapshots, StepSpans, texts

UNFREED = table("""
    memory.unfreed: an op that allocates in a step what is held some steps later, most held first
        op               text   that allocated it
        n_allocations    int    that are held so long
        n_steps          int    steps in which it made them
        allocated_bytes  int    of all of them
        bytes_per_step   float  that a step adds [bytes]
        held_bytes       int    the part not given back until the session ends
""")

MAX_STEPS_OF_SESSION = 400
"""Of more steps evenly spread ones are compared: 80,000 pairs tell a slope."""
MIN_DEVIATIONS = 3.0
MIN_SHARE_OF_PEAK = 0.01
MAX_STEPS_LEFT = 100_000


@dataclass(frozen=True, eq=False)
class MemoryGrowth:
    """Whether the memory in use grows from the end of one step to the end of the next: what `Profile.memory.growth` gives."""

    bytes_per_step: float
    """How much it grows a step: a robust slope, negative where it shrinks; NaN where no session of the profiler has two
    steps.
    """
    n_steps: int
    """Steps that it is told from."""
    is_significant: bool
    """Whether it looks like a leak: a steady rise that matters."""
    sentence: str
    """What grows, by how much, and what allocates it, or that nothing does; empty where no session has two steps."""


@dataclass(frozen=True)
class _Slopes:
    rise: Float64
    """Slope of each pair of steps of a session, bytes a step."""
    variance: float
    """Of the number of rising less falling pairs, if there were no trend."""


def measure_growth(steps: pd.DataFrame, session: Int64, peak_bytes: int) -> tuple[float, bool]:
    """The slope in bytes a step, and whether it is a sign of a leak."""
    parts = [
        (steps["step"].to_numpy(np.float64)[session == key], steps["end_bytes"].to_numpy(np.float64)[session == key])
        for key in np.unique(session)
    ]
    parts = [_thinned(step, level) for step, level in parts]
    slopes = _slopes(parts)
    if not len(slopes.rise):
        return float("nan"), False
    slope = float(np.median(slopes.rise))
    later = _slopes([(step[len(step) // 2 :], level[len(step) // 2 :]) for step, level in parts]).rise
    excess = float((slopes.rise > 0).sum() - (slopes.rise < 0).sum()) - 1
    is_steady = excess > 0 and excess >= MIN_DEVIATIONS * slopes.variance**0.5
    goes_on = len(later) > 0 and float(np.median(later)) >= slope / 2
    matters = slope * len(steps) >= MIN_SHARE_OF_PEAK * peak_bytes
    return slope, bool(slope > 0 and is_steady and goes_on and matters)


def _thinned(step: Float64, level: Float64) -> tuple[Float64, Float64]:
    if len(step) <= MAX_STEPS_OF_SESSION:
        return step, level
    chosen = np.arange(MAX_STEPS_OF_SESSION) * (len(step) - 1) // (MAX_STEPS_OF_SESSION - 1)
    return step[chosen], level[chosen]


def _slopes(parts: list[tuple[Float64, Float64]]) -> _Slopes:
    rises, variance = [np.empty(0)], 0.0
    for step, level in parts:  # one turn per session
        n = len(step)
        low, high = np.triu_indices(n, 1)
        rises.append((level[high] - level[low]) / (step[high] - step[low]))
        variance += n * (n - 1) * (2 * n + 5) / 18
    return _Slopes(np.concatenate(rises), variance)


def describe_no_growth(steps: pd.DataFrame, peak_bytes: int) -> str:
    end, said = steps["end_bytes"], plural(len(steps), "step")
    if end.max() - end.min() <= MIN_SHARE_OF_PEAK * peak_bytes:
        return f"Memory in use is the same after each of {said}, within {percent(MIN_SHARE_OF_PEAK)} of the peak."
    return f"Memory in use varies over {said}, without steady growth."


def describe_growth(bytes_per_step: float, n_steps: int, unfreed: pd.DataFrame, free_bytes: int) -> str:
    said = f"Memory in use grows by {size(bytes_per_step)} a step over {plural(n_steps, 'step')}: a sign of a leak."
    # What is left of most steps is the leak; what is left of one step is a variable or a cache.
    leaking = unfreed[(unfreed["n_steps"] * 2 >= unfreed["n_steps"].max()) & (unfreed["held_bytes"] > 0)]
    if len(leaking):
        top = leaking.iloc[0]
        rate = size(top["bytes_per_step"] * top["held_bytes"] / top["allocated_bytes"])
        said += f" {top['op'] or 'An op without a name'} allocates {rate} a step that is never given back."
    n_left = free_bytes / bytes_per_step
    if 0 < n_left < MAX_STEPS_LEFT:
        said += f" What is free, {size(free_bytes)}, lasts about {plural(round(n_left), 'step')} more."
    return said


def unfreed_table(
    snapshots: Snapshots, rows: slice, strings: tuple[str, ...], spans: StepSpans, step: Int64, after_steps: int
) -> pd.DataFrame:
    """Allocations of a step still held `after_steps` steps later, by op, with the columns of `MemoryProfile.unfreed`."""
    deadline = _ends_later(spans, after_steps)
    due = np.append(deadline, -1)[step]
    freed = snapshots.freed_at[rows]
    freed_ps = np.where(freed >= 0, snapshots.time_ps[freed], np.iinfo(np.int64).max)
    stays = ~snapshots.is_free[rows] & (due >= 0) & (freed_ps > due)
    stays &= spans.session[step] == snapshots.session_id[rows] if len(spans) else False
    at = np.flatnonzero(stays)
    n_due = len(np.intersect1d(np.flatnonzero(deadline >= 0), step))
    size_bytes = snapshots.allocation_bytes[rows][at]
    found = pd.DataFrame(
        {
            "op": snapshots.op[rows][at],
            "step": step[at],
            "allocated_bytes": size_bytes,
            "held_bytes": np.where(freed[at] < 0, size_bytes, 0),
        }
    )
    groups = found.groupby("op", sort=False)
    table = groups.agg(
        n_allocations=("step", "size"),
        n_steps=("step", "nunique"),
        allocated_bytes=("allocated_bytes", "sum"),
        held_bytes=("held_bytes", "sum"),
    ).reset_index()
    table["op"] = texts(table["op"].to_numpy(np.int64), strings)
    table["bytes_per_step"] = table["allocated_bytes"] / max(1, n_due)
    order = ["held_bytes", "allocated_bytes", "op"]
    return table[list(UNFREED.names)].sort_values(
        order, ascending=[False, False, True], kind="stable", ignore_index=True
    )


def _ends_later(spans: StepSpans, after_steps: int) -> Int64:
    """For each step the end of the one `after_steps` later in its session, -1 where the session ends before."""
    deadline = np.full(len(spans), -1, np.int64)
    for session in np.unique(spans.session):  # one turn per session
        step = np.flatnonzero(spans.session == session)
        if len(step) > after_steps:
            deadline[step[: len(step) - after_steps]] = spans.end_ps[step[after_steps:]]
    return deadline


N_BLOCKS = 16
"""Growth is looked for in so many blocks in a row, each with the least of its samples: what a collector frees does not count."""
_FACTOR = 4
"""A block has 1 sample, or so many times as many: slow growth shows in longer ones."""
_N_SCALES = 9
_FEW_BLOCKS = 8
MIN_GROWTH_BYTES = 32 * 2**20
MIN_GROWTH_RATIO = 0.02
"""Less is what allocators keep for later."""
_LARGE_BYTES = 128 * 2**20
_MOST_SLOWING = 0.85
"""In the last quarter it grows at least so fast as on average, or it is a buffer that fills."""
_MOST_FALL = 0.15
"""Of the growth: what falls by more is a buffer that is filled again."""
_GROWS_NS, _ENDS_NS = 12e9, 6e9
"""What grows evenly is looked for over so long at least, and what has ended, where samples come many a second."""
_LEAST_STEPS = 0.1
"""Between two samples, where a step takes minutes."""
_FILLS_NS = 60e9
"""Buffers fill in less."""
_ENDED = 0.1
_FEWEST_FLAT = 3
"""Of the first blocks: where it begins to grow later, it did not so from the begin."""


@dataclass
class Growth:
    first_number: int
    """Of the step that ran when it began."""
    first_ordinal: float
    first_ns: float
    from_bytes: float
    has_begun_before: bool
    """It grew in the first samples already: since when is not known."""
    may_be_cache: bool
    """It may have begun with the training, as a cache of the data set does."""
    to_bytes: float = np.nan
    last_number: int = 0
    last_ns: float = np.nan
    bytes_per_step: float = np.nan
    bytes_per_second: float = 0.0
    has_ended: bool = False
    is_steady: bool = False
    """It grows as fast as at first, for longer than buffers fill."""

    def go_on(self, block: Float64) -> None:
        """Take the latest block: figures are those from the begin to it."""
        self.to_bytes, self.last_ns, ordinal, last_number = block.tolist()
        self.last_number = round(last_number)
        n_bytes, n_steps = self.to_bytes - self.from_bytes, ordinal - self.first_ordinal
        self.bytes_per_second = n_bytes / max(self.last_ns - self.first_ns, 1.0) * 1e9
        self.bytes_per_step = n_bytes / n_steps if n_steps > 0 else np.nan


class GrowingMemory:
    """Looks at one column of the samples, in memory that does not grow."""

    def __init__(self) -> None:
        self.growth: Growth | None = None
        self._scales = [_Scale() for _ in range(_N_SCALES)]
        self._scale = 0
        """At which the growth shows."""
        self._is_earlier = False
        """The growth is that of samples before `restart`."""

    def restart(self) -> None:
        """Compare what comes with nothing that was before, and leave the growth as it was known until now."""
        self._scales = [_Scale() for _ in range(_N_SCALES)]
        self._is_earlier = self.growth is not None

    def add(self, n_bytes: float, ns: float, ordinal: float, number: int) -> None:
        """Take a sample of a time at which so many steps had begun, the last of this number."""
        block = np.array([n_bytes, ns, ordinal, number])
        for i, scale in enumerate(self._scales):
            scale.add(block)
            self._look(i)
            whole = scale.whole()
            if whole is None:
                return
            block = whole

    def _look(self, i: int) -> None:
        blocks = self._scales[i].last(N_BLOCKS)
        growth = self.growth
        has_risen = len(blocks) > 1 and blocks[-1, 0] > blocks[-2, 0]
        may_start = growth is None or growth.has_ended or self._is_earlier
        if may_start and has_risen and (_grows(blocks) or _grows_fast(blocks[-_FEW_BLOCKS:])):
            self._start(i)
        elif growth is None or growth.has_ended:
            return
        elif i == self._scale:
            if _has_ended(self._scales[i].last(_Scale.MOST), growth):
                growth.has_ended = True
            elif not self._is_earlier:
                growth.go_on(blocks[-1])
        elif i > self._scale and _grows(blocks) and _span_ns(blocks) >= _FILLS_NS:
            growth.is_steady = True
            self._scale = i

    def _start(self, i: int) -> None:
        """Find where the line through the latest blocks leaves what was before."""
        known = self._scales[i].last(_Scale.MOST)
        latest = known[-_FEW_BLOCKS:]
        earlier = known[: -N_BLOCKS if len(known) > N_BLOCKS else 1]
        before = float(np.median(earlier[-N_BLOCKS:, 0]))
        back_ns = (latest[-1, 0] - before) / _rate(latest) * 1e9
        first_ns = float(np.clip(latest[-1, 1] - back_ns, known[0, 1], latest[0, 1]))
        from_bytes, ordinal, number = (
            float(np.interp(first_ns, known[:, 1], known[:, column])) for column in (0, 2, 3)
        )
        has_begun_before = first_ns < known[min(_FEWEST_FLAT, len(known) - 1), 1]
        kept = self.growth if self._is_earlier else None
        self.growth = Growth(round(number), ordinal, first_ns, from_bytes, has_begun_before, has_begun_before)
        if kept is not None and not kept.has_ended:
            self.growth.may_be_cache, self.growth.is_steady = kept.may_be_cache, kept.is_steady
        self._scale, self._is_earlier = i, False
        self.growth.go_on(known[-1])


class _Scale:
    """The latest blocks of one length: least bytes, and the time and the steps of that sample."""

    MOST = 256
    """More than 6 s of samples: so long nothing may grow before growth has ended."""

    def __init__(self) -> None:
        self._blocks = np.empty((0, 4))
        self._n = 0

    def add(self, block: Float64) -> None:
        self._blocks = np.concatenate([self._blocks, block[None]])[-self.MOST :]
        self._n += 1

    def last(self, n: int) -> Float64:
        return self._blocks[-n:]

    def whole(self) -> Float64 | None:
        """The least of the last blocks, where these are as many as one of the next scale."""
        if self._n % _FACTOR:
            return None
        blocks = self._blocks[-_FACTOR:]
        found: Float64 = blocks[int(np.argmin(blocks[:, 0]))]
        return found


def _rate(blocks: Float64) -> float:
    """Bytes a second from the first block to the last."""
    return float((blocks[-1, 0] - blocks[0, 0]) / max(blocks[-1, 1] - blocks[0, 1], 1.0) * 1e9)


def _span_ns(blocks: Float64) -> float:
    return float(blocks[-1, 1] - blocks[0, 1]) if len(blocks) else 0.0


def _has_ended(blocks: Float64, growth: Growth) -> bool:
    """Whether the latest blocks hardly rise any more, for long enough."""
    n_late = int((blocks[:, 1] >= blocks[-1, 1] - _ENDS_NS).sum())
    late = blocks[-max(n_late + 1, _FEW_BLOCKS) :]
    late = late[late[:, 1] >= growth.first_ns]
    return _span_ns(late) >= _ENDS_NS and _rate(late) < _ENDED * growth.bytes_per_second


def _grows(blocks: Float64) -> bool:
    """Whether memory rises from block to block, and in the end hardly slower than at first."""
    if len(blocks) < N_BLOCKS or _span_ns(blocks) < _GROWS_NS:
        return False
    n_bytes = blocks[:, 0]
    growth = n_bytes[-1] - n_bytes[0]
    if growth < max(MIN_GROWTH_BYTES, MIN_GROWTH_RATIO * n_bytes[0]) or (np.diff(n_bytes) > 0).mean() < 0.75:
        return False
    if (np.maximum.accumulate(n_bytes) - n_bytes).max() > _MOST_FALL * growth:
        return False
    quarters = n_bytes.reshape(4, -1).mean(axis=1)
    rises = np.diff(quarters)
    return bool((rises > 0).all() and rises[-1] >= _MOST_SLOWING * rises.mean() and rises.max() <= 2 * rises.mean())


def _grows_fast(blocks: Float64) -> bool:
    """Whether few blocks show much growth that is even."""
    if len(blocks) < _FEW_BLOCKS:
        return False
    # By step: a sample of several steps is beside one of a single step.
    rises = np.diff(blocks[:, 0]) / np.maximum(np.diff(blocks[:, 2]), _LEAST_STEPS)
    middle = np.median(rises)
    is_even = (rises > 0.4 * middle).all() and (rises < 2.5 * middle).all()
    is_slowing = rises[-_FEW_BLOCKS // 4 :].mean() < _MOST_SLOWING * rises.mean()
    return bool(blocks[-1, 0] - blocks[0, 0] >= _LARGE_BYTES and is_even and not is_slowing)
