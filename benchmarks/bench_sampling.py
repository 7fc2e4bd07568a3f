"""Sampling of the machine at 10 Hz beside a training loop -> what it costs: the ratio of step times, and CPU time of its thread.

Run as `python benchmarks/bench_sampling.py`; prints JSON. Short pieces of one loop alternate, with the sampler and
without, so that what else the machine does falls on both.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from pathlib import Path
from typing import Any

import processes
from processes import Outcome
from table import three_digits

RATE_HZ = 10.0
MAX_CPU_RATIO = 0.01
"""Of one core."""
N_PAIRS = 24
PIECE_S = 1.0
QUICK_PAIRS = 6
_BATCH, _WIDTH = 256, 512


def run(*, is_quick: bool) -> Outcome:
    """Measure in a process of its own; some 50 s, 12 s when quick."""
    return processes.run(Path(__file__).name, QUICK_PAIRS if is_quick else N_PAIRS)


def sentences(outcome: Outcome) -> list[str]:
    """What was found, for the report."""
    if outcome.problem:
        return [f"sampling at {RATE_HZ:g} Hz: {outcome.problem}"]
    ratio, low, high = (outcome.get(name) for name in ("ratio", "low", "high"))
    return [
        f"sampling at {RATE_HZ:g} Hz: a step takes {ratio:.3f} times as long as without (95 % interval {low:.3f} to {high:.3f}, "
        f"{outcome.get('n_pairs')} pairs of pieces of {PIECE_S:g} s, {outcome.get('n_steps')} steps of "
        f"{three_digits(outcome.get('step_ms'))} ms); {outcome.get('n_samples')} samples, "
        f"{three_digits(outcome.get('sample_us'))} us of CPU each"
    ]


def main(n_pairs: int) -> dict[str, Any]:
    """Alternate pieces of a loop with the sampler and without; the order in a pair is drawn."""
    import tensorflow as tf

    weights = tf.Variable(tf.random.stateless_normal((_WIDTH, _WIDTH), (1, 2)) / _WIDTH)
    batch = tf.random.stateless_normal((_BATCH, _WIDTH), (3, 4))

    @tf.function
    def train_step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(batch, weights)), weights) - batch))
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    for _ in range(20):
        train_step()
    order = random.Random(7)
    times: dict[bool, list[float]] = {True: [], False: []}
    ratios, cpu_s, sampled_s, n_samples = [], 0.0, 0.0, 0
    for _ in range(n_pairs):
        medians = {}
        for is_sampled in order.sample([True, False], 2):
            sampler = _MeasuredSampler() if is_sampled else None
            begin = time.perf_counter()
            if sampler:
                sampler.start()
            piece = _piece(train_step)
            if sampler:
                n_samples += sampler.end()
                sampled_s += time.perf_counter() - begin
                cpu_s += sampler.cpu_s
            times[is_sampled] += piece
            medians[is_sampled] = statistics.median(piece)
        ratios.append(medians[True] / medians[False])
    low, high = _interval(ratios)
    return {
        "ratio": statistics.median(ratios),
        "low": low,
        "high": high,
        "cpu_ratio": cpu_s / sampled_s,
        "sample_us": 1e6 * cpu_s / n_samples,
        "n_samples": n_samples,
        "n_pairs": n_pairs,
        "n_steps": len(times[True]) + len(times[False]),
        "step_ms": 1e3 * statistics.median(times[False]),
    }


class _MeasuredSampler:
    """The package's own sampler, and the CPU time that its thread used."""

    def __init__(self) -> None:
        from tfprof_widgets.capture import SystemSampler

        class Timed(SystemSampler):
            """Notes the CPU time of its thread when that ends, which nobody can ask for afterwards."""

            cpu_s = 0.0

            def _run(self, *arguments: Any) -> None:
                super()._run(*arguments)
                self.cpu_s = time.thread_time()

        self._sampler = Timed(interval_s=1 / RATE_HZ)

    def start(self) -> None:
        self._sampler.start()

    def end(self) -> int:
        return len(self._sampler.stop())

    @property
    def cpu_s(self) -> float:
        return self._sampler.cpu_s


def _piece(train_step: Any) -> list[float]:
    """Seconds of each step in one piece of the loop."""
    times = []
    end = time.perf_counter() + PIECE_S
    while (begin := time.perf_counter()) < end:
        train_step().numpy()
        times.append(time.perf_counter() - begin)
    return times


def _interval(ratios: list[float]) -> tuple[float, float]:
    """Bootstrap of the median over pairs, with a fixed seed."""
    draw = random.Random(11)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(2000))
    return medians[50], medians[-51]


if __name__ == "__main__":
    import sys

    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else N_PAIRS)))
