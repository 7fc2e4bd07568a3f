"""The figures of each size -> which of the marks are met; one line each, met or MISSED."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from bench_capture import MAX_STOP_MS
from bench_kernel import FIRST, KINDS, MAX_GROWTH_BYTES
from bench_sampling import MAX_CPU_RATIO, RATE_HZ
from processes import Outcome
from table import Figures, bytes_text, ms_text, seconds_text

MIN_RATIO = 15
MAX_FIRST_PAINT_S = 1.0
FRAME_MS = 1000 / 60
FRAME_TOLERANCE_MS = 0.15
"""Browsers round the time of a frame to 0.1 ms."""
MAX_PAYLOAD_BYTES = 2**20
KERNEL_BYTES_PER_EVENT = 80
KERNEL_BYTES = 200e6
MAX_GROWTH = 1.3
"""Times the growth of the events: what is linear, on a machine that others use too."""


@dataclass(frozen=True)
class Mark:
    text: str
    found: str
    is_met: bool

    def __str__(self) -> str:
        return f"{'met   ' if self.is_met else 'MISSED'}  {self.text}: {self.found}"


def marks(by_size: dict[int, Figures]) -> list[Mark]:
    """Those whose sizes were measured."""
    found = []
    if 500_000 in by_size:
        found += _half_a_million(by_size[500_000])
    limits = ((1_000_000, 1.0), (10_000_000, 2.0))
    found += [_frames(by_size[size], n_frames) for size, n_frames in limits if size in by_size]
    found += [mark for figures in by_size.values() for mark in (_payload(figures), *_kernel(figures))]
    return found + _growth(by_size)


def sampling_mark(outcome: Outcome) -> Mark:
    """CPU time of the thread that samples the machine during a capture."""
    text = f"sampling at {RATE_HZ:g} Hz within {MAX_CPU_RATIO:.0%} of one core"
    return _at_most(text, outcome.get("cpu_ratio"), MAX_CPU_RATIO, "{:.2%}".format)


def capture_marks(costs: dict[str, Outcome], kernel: dict[str, Outcome]) -> list[Mark]:
    """What a capture costs beyond TensorFlow's own, and what it leaves in the process."""
    stop, steps = costs["stop"], costs["steps"]
    found = [
        _at_most(f"stop() beyond TensorFlow's: {name}", _figure(stop, name, "beyond_ms"), limit, ms_text)
        for name, limit in MAX_STOP_MS.items()
    ]
    for name in MAX_STOP_MS:
        left = [stop.get(name, "n_threads"), stop.get(name, "n_files")]
        found.append(Mark(f"nothing left behind: {name}", f"{left[0]} threads, {left[1]} files", left == [0, 0]))
    for name in steps.result:
        median, low, high = steps.get(name, "ratio")
        told = f"{median:.3f} times ({low:.3f} to {high:.3f})"
        found.append(Mark(f"a step no longer than with the bare profiler: {name}", told, low <= 1))
    if steps.problem:
        found.append(Mark("a step no longer than with the bare profiler", steps.problem, is_met=False))
    for kind, outcome in kernel.items():
        sizes = outcome.get("bytes")
        growth = outcome.problem or sizes[-1] - sizes[FIRST - 1]
        if kind not in ("none", "bare"):
            found.append(
                _at_most(f"a kernel flat after {FIRST} captures: {KINDS[kind]}", growth, MAX_GROWTH_BYTES, bytes_text)
            )
    return found


def _figure(outcome: Outcome, *path: str) -> Any:
    """The median, or the problem."""
    value = outcome.get(*path)
    return value[0] if isinstance(value, list) else value


def _half_a_million(figures: Figures) -> list[Mark]:
    ours, theirs = figures.loads.our_seconds, figures.loads.their_seconds
    text = f"load, tables and first payload at least {MIN_RATIO} times faster than XProf's tools at 500 k"
    if isinstance(ours, str) or isinstance(theirs, str):
        ratio = Mark(text, str(ours if isinstance(ours, str) else theirs), is_met=False)
    else:
        found = f"{theirs / ours:.1f} times ({seconds_text(ours)} against {seconds_text(theirs)})"
        ratio = Mark(text, found, theirs / ours >= MIN_RATIO)
    paint = figures.shown.ours.get("first_paint", "seconds")
    text = f"first paint within {MAX_FIRST_PAINT_S:g} s of the cell's end at 500 k"
    return [ratio, _at_most(text, paint, MAX_FIRST_PAINT_S, seconds_text)]


def _frames(figures: Figures, n_frames: float) -> Mark:
    """Of the session after all is loaded; that while loading is told in the table."""
    limit = n_frames * FRAME_MS
    text = f"95 of 100 frames within {limit:.1f} ms at {figures.size_text}"
    return _at_most(text, figures.shown.ours.get("when_loaded", "frame_ms", "p95"), limit + FRAME_TOLERANCE_MS, _ms)


def _payload(figures: Figures) -> Mark:
    text = f"first payload within 1 MiB at {figures.size_text}"
    return _at_most(text, figures.loads.ours.get("n_bytes"), MAX_PAYLOAD_BYTES, bytes_text)


def _kernel(figures: Figures) -> list[Mark]:
    limit = KERNEL_BYTES_PER_EVENT * figures.n_events + KERNEL_BYTES
    rule = f"within {KERNEL_BYTES_PER_EVENT} B an event + 200 MB = {bytes_text(limit)} at {figures.size_text}"
    kernel = figures.shown.ours
    return [
        _at_most(f"kernel memory at rest {rule}", kernel.get("kernel", "now"), limit, bytes_text),
        _at_most(f"kernel memory at its peak {rule}", kernel.get("kernel", "peak"), limit, bytes_text),
    ]


def _growth(by_size: dict[int, Figures]) -> list[Mark]:
    """From the second size on: what is fixed hides growth in the smallest."""
    sizes = sorted(by_size)[1:]
    found = []
    for small, large in itertools.pairwise(sizes):
        before, after = by_size[small].loads.our_seconds, by_size[large].loads.our_seconds
        if isinstance(before, str) or isinstance(after, str):
            continue
        growth, events = after / before, by_size[large].n_events / by_size[small].n_events
        text = (
            f"cost grows linearly from {by_size[small].size_text} to {by_size[large].size_text} events (x {events:.1f})"
        )
        found.append(Mark(text, f"time x {growth:.1f}", growth <= events * MAX_GROWTH))
    return found


def _at_most(text: str, value: Any, limit: float, words: Any) -> Mark:
    if not isinstance(value, (int, float)):
        return Mark(text, str(value or "not measured"), is_met=False)
    return Mark(text, words(value), value <= limit)


def _ms(value: float) -> str:
    return f"{value:.1f} ms"
