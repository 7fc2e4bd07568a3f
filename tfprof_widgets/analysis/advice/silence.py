"""Pieces of advice -> those that no other, more specific one explains."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .advice import MEDIUM_GAIN, Advice

GENERAL = frozenset(("device_idle", "low_utilisation"))
"""Rules that tell how little a device does: nothing beside one that says what it waits for."""
LAST = "largest_part"
"""The rule that tells where time goes and no cause: nothing beside one that knows a cause there."""
OF_DEVICES = frozenset(
    (
        *(
            "input_bound",
            "new_iterator",
            "shuffle_fill",
            "argument_conversion",
            "graph_loop",
            "eager_ops",
            "host_callback",
            "slow_call",
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
    "new_iterator": frozenset(("input_bound", "idle_border", "memory_headroom")),
    "retracing": frozenset(("compilation", "small_batch")),
    "compilation": frozenset(("small_batch",)),
    "argument_conversion": frozenset(("small_batch", "step_overhead")),
    "repeated_work": frozenset(("small_batch",)),
    "eager_ops": frozenset(("small_batch",)),
    "many_calls": frozenset(("small_batch",)),
    "step_overhead": frozenset(("small_batch",)),
    "number_checks": frozenset(("small_batch", "step_overhead")),
    "text_of_numbers": frozenset(("small_batch", "host_fallback", "step_overhead")),
    "graph_loop": frozenset(
        ("small_batch", "step_overhead", "launch_bound", "few_blocks", "memory_headroom", "largest_part")
    ),
    "dense_update": frozenset(("small_batch", "step_overhead")),
    "many_variables": frozenset(("small_batch", "step_overhead")),
    "flattened_features": frozenset(("small_batch",)),
    "input_bound": frozenset(("memory_headroom",)),
    "input_competes": frozenset(("small_batch",)),
}
"""By rule those whose findings its cause leads to, too."""
MUCH = 0.25
"""Of what another rule tells a cause has to explain at least so much."""


def without_explained(found: Sequence[Advice]) -> Iterator[Advice]:
    """Leave out what a more specific piece of advice explains."""
    most: dict[str, float] = {}
    for cause in found:
        for rule in EXPLAINED.get(cause.rule, ()):
            most[rule] = max(most.get(rule, 0.0), cause.gain_ratio)
    explained = {one.rule for one in found if most.get(one.rule, -1.0) >= MUCH * one.gain_ratio}
    if any(one.rule in OF_DEVICES and one.gain_ratio >= MEDIUM_GAIN for one in found):
        explained |= GENERAL
    causes = [one for one in found if one.gain_ratio >= MEDIUM_GAIN and one.rule not in explained]
    return (
        one
        for one in found
        if one.rule not in explained and not (one.rule == LAST and any(_is_there(cause, one) for cause in causes))
    )


def _is_there(cause: Advice, place: Advice) -> bool:
    """Whether a cause is about the ops, the layer or the line that another piece of advice names."""
    if cause.selection.view == "op_table" and set(cause.selection.op_names) & set(place.selection.op_names[:1]):
        return True
    names = [place.evidence.get(name) for name in ("layer", "line")]
    text = " ".join((cause.title, *map(str, cause.evidence.values())))
    return any(re.search(rf"(?<![\w/]){re.escape(str(name))}(?![\w/])", text) for name in names if name)
