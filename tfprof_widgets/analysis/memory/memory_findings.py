"""The summary of allocators -> sentences on those that are nearly full or torn to pieces."""

from __future__ import annotations

import pandas as pd

from ..base.wording import percent, size

NEARLY_FULL = 0.90
"""Share of an allocator's memory at its peak from which the next larger batch may not fit."""
FRAGMENTED_WORDS = " is fragmented: "
FRAGMENTED, FRAGMENTED_FROM = 0.50, 0.50
"""Fragmentation matters where this share of the memory is in use: an allocator that is mostly empty has room anyway."""


def judge_memory(summary: pd.DataFrame) -> tuple[str, ...]:
    """A sentence on each allocator whose peak is close to its capacity or whose free memory is in small pieces.

    Args:
        summary: `MemoryProfile.summary`.
    """
    columns = ["allocator", "capacity_bytes", "peak_bytes", "free_bytes", "fragmentation_ratio"]
    sentences = []
    for name, capacity, peak, free, fragmentation in zip(
        *(summary[column].tolist() for column in columns), strict=True
    ):
        if not capacity > 0:  # also of NaN: an allocator without a limit is never full
            continue
        if peak >= NEARLY_FULL * capacity:
            sentences.append(f"{name} is nearly full: {size(peak)} of {size(capacity)} in use at the peak.")
        elif peak >= FRAGMENTED_FROM * capacity and fragmentation >= FRAGMENTED:
            sentences.append(
                f"{name}{FRAGMENTED_WORDS}at the peak {percent(fragmentation)} of its {size(free)} of free memory is in pieces "
                "too small for the largest."
            )
    return tuple(sentences)
