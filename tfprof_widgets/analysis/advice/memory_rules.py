"""Memory of the allocators -> advice on pieces too small, on room for a larger batch, and on leaks; none is about time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..base.wording import number, percent, size
from ..memory.memory_findings import FRAGMENTED, FRAGMENTED_FROM, NEARLY_FULL
from .advice import Advice, Highlight, advise, ns_range, step_highlight
from .code_text import remark

if TYPE_CHECKING:
    from .run import Run

ROOM_FACTORS = (4, 2)
"""By how much one would try a larger batch: the larger that fits."""
FULL_USE, WAITS = 0.5, 0.2
"""A device that computes from the one share of a step on, or waits less than the other for Python and launches, gains little by
a larger batch."""


def memory_fragmentation(run: Run) -> Iterator[Advice]:
    """Free memory is in pieces too small for what may be asked for."""
    summary = run.results.memory.summary
    for row in summary.to_dict("records"):  # one turn per allocator
        capacity, peak, ratio = row["capacity_bytes"], row["peak_bytes"], row["fragmentation_ratio"]
        if not capacity > 0 or peak < FRAGMENTED_FROM * capacity or not ratio >= FRAGMENTED:  # also of NaN
            continue
        yield advise(
            "memory_fragmentation",
            f"{row['allocator']} is fragmented: at the peak {percent(ratio)} of its {size(row['free_bytes'])} of free memory is "
            "in pieces too small for the largest.",
            evidence={
                "fragmentation_ratio": float(ratio),
                "free_bytes": float(row["free_bytes"]),
                "peak_bytes": float(peak),
                "capacity_bytes": float(capacity),
                "allocator": str(row["allocator"]),
            },
            fix='import os; os.environ["TF_GPU_ALLOCATOR"] = "cuda_malloc_async"  # before TensorFlow is imported',
            selection=_at_peak(run, str(row["allocator"]), float(row["peak_at_ms"])),
        )


def memory_headroom(run: Run) -> Iterator[Advice]:
    """A larger batch fits into the memory of a device that waits for what is the same for any batch.

    What was in use before the capture (weights, state of the optimizer) stays as it is; all else is taken to grow with the batch.
    """
    steps, row = run.steps, run.results.memory.fullest_device
    waited_ms = sum(float(steps.wait_ms(name).sum()) for name in ("dispatch", "kernel_launch", "sync"))
    if row is None or not steps.device_computes or steps.ratio("device_compute") >= FULL_USE:
        return
    name, peak, capacity = str(row["allocator"]), float(row["peak_bytes"]), float(row["capacity_bytes"])
    by_op = run.results.memory_by_op
    fixed = min(float(by_op.before_capture_bytes) if by_op.allocator == name else 0.0, peak)
    fitting = [factor for factor in ROOM_FACTORS if fixed + factor * (peak - fixed) <= NEARLY_FULL * capacity]
    if not fitting or waited_ms < WAITS * float(steps.time_ms.sum()):
        return
    used = peak / capacity
    share = f"{number(used * 100)} %" if used < 0.01 else percent(used)
    yield advise(
        "memory_headroom",
        f"{share} of the memory of {name} is used at the peak ({size(peak)} of {size(capacity)}); try {fitting[0]} times the "
        "batch.",
        evidence={
            "peak_bytes": peak,
            "fixed_bytes": fixed,
            "capacity_bytes": capacity,
            "used_ratio": peak / capacity,
            "batch_factor": fitting[0],
            "allocator": name,
        },
        fix=f"dataset = dataset.batch({fitting[0]} * batch_size).prefetch(tf.data.AUTOTUNE)",
        selection=_at_peak(run, name, float(row["peak_at_ms"])),
    )


def memory_growth(run: Run) -> Iterator[Advice]:
    """Memory in use keeps growing from step to step."""
    memory = run.facts.memory
    if not len(memory.step_spans):
        return
    for name in memory.allocators:  # one turn per allocator
        growth = memory.growth(name)
        if not growth.is_significant:
            continue
        held = memory.unfreed(name)
        held = held[held["held_bytes"] > 0]
        op = str(held["op"].iloc[0]) if len(held) else ""
        steps = run.results.steps.frame
        start, end = int(steps["start_ps"].min()), int((steps["start_ps"] + steps["duration_ps"]).max())
        yield advise(
            "memory_growth",
            f"{name}: {growth.sentence}",
            evidence={
                "bytes_per_step": growth.bytes_per_step,
                "n_steps": growth.n_steps,
                "allocator": name,
                **({"op": op, "held_bytes": float(held["held_bytes"].iloc[0])} if op else {}),
            },
            fix=(
                remark(f"{op or 'tensors'} of each step kept in a list, a closure or a metric: keep numbers instead")
                + "losses.append(float(loss))  # not losses.append(loss)"
            ),
            selection=Highlight(
                op_names=run.known(op, f"eager/{op}"),
                time_range_ns=ns_range(start, end),
                view="memory_timeline",
            ),
        )


def _at_peak(run: Run, allocator: str, peak_at_ms: float) -> Highlight:
    """The step in which a peak is, with the ops that hold most then."""
    frame = run.results.steps.frame
    at_ps = round(peak_at_ms * 1e9)
    inside = frame[(frame["start_ps"] <= at_ps) & (frame["start_ps"] + frame["duration_ps"] > at_ps)]
    held = run.known(*run.results.memory.peak(allocator)["op"].head(10).tolist())
    if inside.empty:
        return Highlight(op_names=held, view="memory_timeline")
    return step_highlight(inside, 0, view="memory_timeline", op_names=held)
