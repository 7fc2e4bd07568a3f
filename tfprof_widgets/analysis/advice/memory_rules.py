"""Memory of the allocators -> advice on pieces too small, on room for a larger batch, and on leaks; none is about time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..base.wording import number, percent, size
from ..memory.memory_findings import FRAGMENTED, FRAGMENTED_FROM
from .advice import Advice, Highlight, advise, ns_range, step_highlight
from .batch_room import WAITS, batch_room
from .code_text import one_line
from .fix import Fix

if TYPE_CHECKING:
    from .run import Run

FULL_USE = 0.5
"""A device that computes from this share of a step on gains little by a larger batch."""


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
            fix=Fix(
                "Let CUDA allocate: set this before TensorFlow is imported.",
                'import os\n\nos.environ["TF_GPU_ALLOCATOR"] = "cuda_malloc_async"',
            ),
            selection=_at_peak(run, str(row["allocator"]), float(row["peak_at_ms"])),
        )


def memory_headroom(run: Run) -> Iterator[Advice]:
    """A larger batch fits into the memory of a device that waits for what is the same for any batch.

    What was in use before the capture (weights, state of the optimizer) stays as it is; all else is taken to grow with the batch.
    """
    room = batch_room(run)
    if room is None or not room.factor or room.waited_ratio < WAITS or run.steps.ratio("device_compute") >= FULL_USE:
        return
    name, peak, capacity = room.allocator, room.peak, room.capacity
    used = peak / capacity
    share = f"{number(used * 100)} %" if used < 0.01 else percent(used)
    yield advise(
        "memory_headroom",
        f"{share} of the memory of {name} is used at the peak ({size(peak)} of {size(capacity)}); try {room.factor} times the "
        "batch.",
        evidence={
            "peak_bytes": peak,
            "fixed_bytes": room.fixed,
            "capacity_bytes": capacity,
            "used_ratio": peak / capacity,
            "batch_factor": room.factor,
            "allocator": name,
        },
        fix=Fix(
            f"Try a larger batch, {room.factor} times as many samples: an epoch then has fewer, larger updates, "
            "which changes the training."
        ),
        selection=_at_peak(run, name, room.peak_at_ms),
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
            fix=Fix(
                f"{one_line(op) or 'Tensors'} of each step may be kept in a list, a closure or a metric: keep "
                "numbers instead, float(loss) and not loss."
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
