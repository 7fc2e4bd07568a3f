"""What is planted in a training -> the advice that must come first, and whether the fix wins what it promised."""

from __future__ import annotations

import tfprof_widgets as tfprof

PLANTED = {
    # kind: rule, stage, words of the title, words of the fix
    "small_batch": ("small_batch", "", "the same for any batch", "8 times as many samples"),
    "slow_read": ("input_bound", "generator", "for data", "private_threadpool_size"),
    "overloaded_map": (
        "input_bound",
        "slow_map",
        "for data",
        "mapped = data.map(blur, num_parallel_calls=tf.data.AUTOTUNE).cache()",
    ),
    "inefficient_graph": (
        "inefficient_op",
        "",
        "11 x 11 convolution of sequential",
        "Put two to 5 convolutions of 3 x 3",
    ),
    "heavy_callback": ("host_callback", "", "on_train_batch_end (trainings.py:", "every hundredth batch"),
    "retracing": ("retracing", "", "train_step (trainings.py:", "tf.constant(i)"),
    "eager_loop": ("eager_hot_loop", "", "one by one from Python", "@tf.function"),
    "checkpoints": ("checkpoint_stall", "", "Saving weights", 'save_freq="epoch"'),
}
CLOSE = 2.0
"""Gain measured over gain promised, or the other way round."""
FAR = 3.0
"""More than this no noise explains."""


def why_not_planted(kind: str, prof: tfprof.Profile) -> str:
    """Empty where the first advice is on what was planted, with the right words."""
    rule, stage, title, fix = PLANTED[kind]
    if not prof.advice:
        return "there is no advice"
    top = prof.advice[0]
    if (top.rule, top.stage, top.severity) != (rule, stage, "high"):
        return f"first is {top}"
    return "" if title in top.title and fix in str(top.fix) else f"{top.title}\n{top.fix}"


def why_not_the_gain(bound: float, ratio: float, interval: tuple[float, float]) -> str:
    """Empty where a fix won what was promised, by a factor of two, as far as a noisy machine can tell.

    Args:
        bound: `gain_ratio` of the advice, the most that its fix could win.
        ratio: time per sample after the fix over that before.
        interval: 95 % interval of that.
    """
    gain, low, high = 1 - ratio, 1 - interval[1], 1 - interval[0]
    told = f"promised {bound:.2f}, measured {gain:.2f} ({low:.2f} to {high:.2f})"
    if not bound / FAR <= gain <= bound * FAR:
        return f"{told}: over {FAR:g} times off"
    return "" if high >= bound / CLOSE and low <= bound * CLOSE else f"{told}: over {CLOSE:g} times off"


def measured(before: tfprof.Profile, after: tfprof.Profile) -> tuple[float, tuple[float, float]]:
    """Time per sample after a fix over that before, and its interval, as `diff` tells them."""
    diff = tfprof.diff(before, after)
    return diff.time_per_sample_ratio, diff.time_per_sample_interval
