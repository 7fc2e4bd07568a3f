"""The memory of a device and what it waits for -> whether a larger batch fits, and may help, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..base.wording import size
from ..memory.memory_findings import NEARLY_FULL
from .advice import Advice
from .run import Run
from .silence import EXPLAINED

if TYPE_CHECKING:
    from ..facts.totals import Totals

FACTORS = (4, 2)
"""By how much one would try a larger batch."""
WAITS = 0.2
"""A device that waits less of a step for Python and launches gains little by a larger batch."""


@dataclass(frozen=True)
class BatchRoom:
    """What the fullest device holds, in bytes."""

    allocator: str
    peak: float
    fixed: float
    """Of the peak what was in use before the capture, such as weights: all else is taken to grow with the batch."""
    capacity: float
    peak_at_ms: float
    waited_ratio: float
    """Of a step, what the device waits for what is the same for any batch."""

    @property
    def factor(self) -> int:
        """The largest of `FACTORS` that fits; 0 for none."""
        fits = (n for n in FACTORS if self.fixed + n * (self.peak - self.fixed) <= NEARLY_FULL * self.capacity)
        return next(fits, 0)


def batch_room(run: Run) -> BatchRoom | None:
    """None where no device computes in steps and reported its memory."""
    steps, row = run.steps, run.results.memory.fullest_device
    if row is None or not steps.device_computes:
        return None
    name, peak, by_op = str(row["allocator"]), float(row["peak_bytes"]), run.results.memory_by_op
    fixed = min(float(by_op.before_capture_bytes) if by_op.allocator == name else 0.0, peak)
    waited_ms = sum(float(steps.wait_ms(part).sum()) for part in ("dispatch", "kernel_launch", "sync"))
    capacity, peak_at_ms = (float(row[column]) for column in ("capacity_bytes", "peak_at_ms"))
    return BatchRoom(name, peak, fixed, capacity, peak_at_ms, waited_ms / max(float(steps.time_ms.sum()), 1e-9))


def batch_words(results: Totals, advice: Sequence[Advice]) -> tuple[str, ...]:
    """Whether a larger batch fits, and why: `("A larger batch fits and may help", "4.46 GiB of 76.4 GiB used, and ...")`.

    That it may help is said where the device waits for what no batch changes, and no cause explains that away.

    Returns:
        The two; nothing where no larger batch fits. Whether it helps is left to advice on the batch where there is some.
    """
    run = Run(results)
    room = batch_room(run)
    if room is None or not room.factor:
        return ()
    used = f"{size(room.peak)} of {size(room.capacity)} used"
    larger = f"A batch {'twice' if room.factor == 2 else f'{room.factor} times'} as large fits"
    if any("larger batch" in one.fix.words for one in advice):
        return "A larger batch fits", used
    if run.wait.sets_the_pace:
        return f"{larger}, but the input sets the pace", used
    if room.waited_ratio >= WAITS and not any("memory_headroom" in EXPLAINED.get(one.rule, ()) for one in advice):
        why = f"{used}, and the {run.steps.device} waits for the CPU as long for any batch"
        return "A larger batch fits and may help", why
    return larger, used
