"""Pieces of advice -> those that no other, more specific one explains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .advice import MEDIUM_GAIN, Advice

GENERAL = frozenset(("device_idle", "low_utilisation"))
"""Rules that tell how little a device does: nothing beside one that says what it waits for."""
OF_DEVICES = frozenset(
    (
        *(
            "input_bound",
            "host_callback",
            "output_bound",
            "checkpoint_stall",
            "small_batch",
            "retracing",
            "compilation",
        ),
        *(
            "eager_hot_loop",
            "host_fallback",
            "idle_border",
            "unfused_optimizer",
            "launch_bound",
            "few_blocks",
            "h2d_bound",
        ),
        *("collective_bound", "task_communication", "straggler", "host_communication"),
    )
)
"""Rules on what keeps a device from computing."""
EXPLAINED = {
    "eager_hot_loop": frozenset(
        ("idle_border", "unfused_optimizer", "launch_bound", "small_batch", "few_blocks", "memory_headroom")
    ),
    "new_iterator": frozenset(("input_bound", "memory_headroom")),
    "retracing": frozenset(("compilation",)),
    "input_bound": frozenset(("memory_headroom",)),
    "input_competes": frozenset(("small_batch",)),
}
"""By rule those whose findings its cause leads to, too."""


def without_explained(found: Sequence[Advice]) -> Iterator[Advice]:
    """Leave out what a more specific piece of advice explains."""
    said = {one.rule for one in found}
    explained = {rule for cause in said for rule in EXPLAINED.get(cause, ())}
    if any(one.rule in OF_DEVICES and one.gain_ratio >= MEDIUM_GAIN for one in found):
        explained |= GENERAL
    return (one for one in found if one.rule not in explained)
