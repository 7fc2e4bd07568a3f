"""Loads of CPU and GPUs -> where one fell while it was high otherwise, and how long it took to rise at all."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ..base.wording import number, plural
from .finding import Finding
from .samples import Samples, runs

MIN_LEVEL_PCT = 20.0
"""A load whose usual level is below this has nowhere to dip to."""
DIP_RATIO = 0.5
"""A dip lies below this share of the usual level, the median."""
MIN_DIP_S = 0.4
MIN_DIP_SAMPLES = 3
"""Shorter ones are what a scheduler does."""
MOST_DIPS = 5
"""Of one metric; the longest. The text of each says of how many."""
LATE_RATIO = 0.5
"""A processor has begun once its load reaches this share of its usual level afterwards, and stays there for a moment."""
MIN_LATE_S = 1.0
MIN_LATE_RATIO = 0.1
"""Of the capture: a second in ten minutes delays nobody."""

_ONE_GPU = re.compile(r"gpu\d+_pct")


def dips(samples: Samples) -> Iterator[Finding]:
    """Where the load of all cores, of this process or of a GPU fell below half of its median, and rose again."""
    for metric in _metrics(samples):
        seconds, load = samples.known(metric)
        level = float(np.median(load)) if len(load) else 0.0
        if level < MIN_LEVEL_PCT:
            continue
        found = [
            (begin, end)
            for begin, end in runs(load < DIP_RATIO * level)
            # Before the first and after the last there is no program to be slow: a capture begins and ends.
            if begin > 0 and end < len(load)
            if end - begin >= MIN_DIP_SAMPLES and seconds[end - 1] - seconds[begin - 1] >= MIN_DIP_S
        ]
        longest = sorted(found, key=lambda run: seconds[run[0] - 1] - seconds[run[1] - 1])[:MOST_DIPS]
        several = f" One of {plural(len(found), 'dip')}" if len(found) > 1 else ""
        capped = f"; the longest {MOST_DIPS} are listed" if len(found) > MOST_DIPS else ""
        for begin, end in longest:
            # A load is the mean since the sample before.
            start_s, end_s, low = seconds[begin - 1], seconds[end - 1], float(load[begin:end].mean())
            yield Finding(
                *("utilisation_dip", metric, start_s * 1e3, end_s * 1e3, low, "%"),
                f"{_named(metric)} fell to {number(low)} % for {number(end_s - start_s)} s; usual are {number(level)} %. "
                f"Look at what else ran then: input, a callback, a save.{several}{capped}{'.' if several else ''}",
            )


def late_start(samples: Samples) -> Iterator[Finding]:
    """How long the GPU, or without one this process, took until it worked as it did later."""
    metric = "gpu_pct" if samples.known("gpu_pct")[0].size else "process_cpu_pct"
    seconds, load = samples.known(metric)
    if len(load) < 2:
        return
    later = float(np.median(load[len(load) // 2 :]))
    busy = runs(load >= LATE_RATIO * later)
    begun = next((begin for begin, end in busy if end - begin >= MIN_DIP_SAMPLES), 0)
    delay_s = float(seconds[max(begun - 1, 0)] - seconds[0])
    if later < MIN_LEVEL_PCT or delay_s < max(MIN_LATE_S, MIN_LATE_RATIO * float(np.ptp(seconds))):
        return
    yield Finding(
        *("late_start", metric, seconds[0] * 1e3, seconds[begun - 1] * 1e3, delay_s, "s"),
        f"{_named(metric)} stayed low for the first {number(delay_s)} s; {number(later)} % are usual later. That is a model "
        "that is traced and compiled, or a first batch that takes long: capture later steps to see the others.",
    )


def _metrics(samples: Samples) -> list[str]:
    """All cores, this process, and each GPU; their mean where there is only one or they are not told apart."""
    gpus = [column for column in samples.frame.columns if _ONE_GPU.fullmatch(str(column))]
    return ["cpu_pct", "process_cpu_pct", *(gpus if len(gpus) > 1 else ["gpu_pct"])]


def _named(metric: str) -> str:
    words = {
        "cpu_pct": "The load of all cores",
        "process_cpu_pct": "The CPU load of this process",
        "gpu_pct": "The load of the GPU",
    }
    return words.get(metric) or f"The load of GPU {metric[3:-4]}"
