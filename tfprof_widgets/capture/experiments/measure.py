"""measure: variants of a program -> how long a bounded number of their steps took, in turns, without their warm-up."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

Advance = Callable[[int], object]
"""Told how many more steps are done."""

N_WARM_UP = 3
"""Steps at the start of each run that do not count: filling buffers, first use of memory. Tracing comes before all runs."""


@dataclass(frozen=True)
class Bounds:
    """How much may be measured."""

    n_steps: int
    """Of one run."""
    max_seconds: float
    """Of all runs of one variant together; the step in progress ends, and one step is always measured."""
    n_repeats: int

    def __post_init__(self) -> None:
        for name in ("n_steps", "n_repeats"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}={value!r} must be a whole number of at least 1.")
        if not self.max_seconds > 0:
            raise ValueError(f"max_seconds={self.max_seconds!r} must be more than 0.")

    @property
    def run_seconds(self) -> float:
        """Bound of one run."""
        return self.max_seconds / self.n_repeats


@dataclass(frozen=True)
class Run:
    """One measured run of one variant."""

    variant: str
    repeat: int
    n_steps: int
    n_samples: int
    seconds: float


@dataclass(frozen=True)
class Measured:
    """All runs of an experiment, variant by variant in the order given; repeats count from 0."""

    variants: tuple[str, ...]
    """The first is what the others are compared with. One without runs ran out of memory."""
    runs: tuple[Run, ...]
    notices: tuple[str, ...]


class Variant(Protocol):
    """One way to run the program."""

    name: str
    notices: list[str]

    def prepare(self) -> None:
        """Do what happens only once: trace, compile, build."""

    def run(self, repeat: int, bounds: Bounds, advance: Advance) -> Run:
        """Measure one run."""


def measure(
    variants: Sequence[Variant], bounds: Bounds, advance: Advance, *, may_lack_memory: bool = False
) -> Measured:
    """Measure all variants in turns.

    Every other round goes backwards, so that a machine that gets slower or faster meanwhile favours no variant.

    Args:
        variants: their names differ.
        bounds: of each.
        advance: is told of each measured step.
        may_lack_memory: whether a variant that runs out of memory is left out, with a notice, instead of raising.
    """
    notices: list[str] = []
    left = list(variants)

    @contextlib.contextmanager
    def left_out_without_memory(variant: Variant) -> Iterator[None]:
        import tensorflow as tf

        try:
            yield
        except tf.errors.ResourceExhaustedError:
            if not may_lack_memory:
                raise
            left.remove(variant)
            notices.append(f"{variant.name} ran out of memory.")

    for variant in tuple(left):
        with left_out_without_memory(variant):
            variant.prepare()
    runs: list[Run] = []
    for repeat in range(bounds.n_repeats):
        for variant in tuple(left if repeat % 2 == 0 else reversed(left)):
            with left_out_without_memory(variant):
                runs.append(variant.run(repeat, bounds, advance))
    order = {variant.name: i for i, variant in enumerate(variants)}
    lasting = {variant.name for variant in left}
    told = [text for variant in variants for text in variant.notices]
    return Measured(
        tuple(order),
        tuple(
            sorted((run for run in runs if run.variant in lasting), key=lambda run: (order[run.variant], run.repeat))
        ),
        tuple(dict.fromkeys([*notices, *told])),
    )


def timed(execute: Callable[[], object], bounds: Bounds, advance: Advance, *, per_call: int = 1) -> tuple[int, float]:
    """Call `execute` until the bounds are met, after a warm-up.

    Args:
        execute: does `per_call` steps.
        bounds: of the run.
        advance: told of each call.
        per_call: steps that one call does.

    Returns:
        Steps done and the seconds that they took, devices included.
    """
    stop = time.perf_counter() + bounds.run_seconds
    for _ in range(0, N_WARM_UP, per_call):
        execute()
        if time.perf_counter() > stop:
            break
    wait_for_devices()
    n_done = 0
    start = time.perf_counter()
    while True:
        execute()
        n_done += per_call
        advance(per_call)
        if n_done >= bounds.n_steps or time.perf_counter() - start >= bounds.run_seconds:
            break
    wait_for_devices()
    return n_done, time.perf_counter() - start


def n_warmed_up(per_call: int) -> int:
    """Steps of a whole warm-up."""
    return -(-N_WARM_UP // per_call) * per_call


def wait_for_devices() -> None:
    """Wait until nothing runs on any device: GPUs work behind what Python has called."""
    import tensorflow as tf

    sync = getattr(tf.test.experimental, "sync_devices", None)
    if sync is not None:
        sync()
