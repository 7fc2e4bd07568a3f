"""A training that is watched beside the same one that is not -> what a step costs more, of time and of the training thread, by
turns, with an interval.

Run as `python benchmarks/bench_watch.py`; prints JSON. Pieces of one training alternate, watched and not, in an order that is
drawn, so that what else the machine does falls on both. No window is profiled; the widget is pushed as in a notebook.
"""

from __future__ import annotations

import contextlib
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import processes
from processes import Outcome

STEPS_MS = (1.0, 5.0, 50.0)
N_PAIRS, QUICK_PAIRS = 30, 6
PIECE_S = 2.0
_BATCH = 64
_N_BOOTSTRAPS = 2_000


def run(*, is_quick: bool) -> Outcome:
    """Measure in a process of its own; some 12 min, 2.5 min when quick."""
    return processes.run(Path(__file__).name, QUICK_PAIRS if is_quick else N_PAIRS)


def sentences(outcome: Outcome) -> list[str]:
    """What was found, for the report."""
    if outcome.problem:
        return [f"watched training: {outcome.problem}"]
    return [
        f"watched {row['loop']}, {row['step_ms']:.3g} ms a step: {row['ratio']:.4f} times as long as without (95 % interval "
        f"{row['low']:.4f} to {row['high']:.4f}, {row['n_pairs']} pairs of pieces of {row['n_steps']} steps), "
        f"{row['thread_us']:.0f} us of the training thread ({row['thread_low_us']:.0f} to {row['thread_high_us']:.0f})"
        for row in outcome.get("rows")
    ]


def main(n_pairs: int) -> dict[str, Any]:
    """Alternate pieces of a fit and of a loop, for each length of a step."""
    return {"rows": [_compared(name, piece, n_pairs) for ms in STEPS_MS for name, piece in _trainings(ms)]}


def _trainings(step_ms: float) -> Iterator[tuple[str, Callable[[int], None]]]:
    """A fit and a loop of the user's own whose steps take about so long: by name, what runs so many of them."""
    import keras
    import tensorflow as tf

    import tfprof_widgets as tfprof

    def made(width: int) -> Any:
        model = keras.Sequential([keras.Input((width,)), keras.layers.Dense(width), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        batch = tf.ones((_BATCH, width)), tf.ones((_BATCH, 1))
        return model, tf.data.Dataset.from_tensors(batch).repeat().prefetch(2)

    width = 16
    model, data = made(width)
    while (taken_ms := _step_ms(model, data)) < step_ms and width < 2**14:
        width = int(width * (1.2 if taken_ms > step_ms / 2 else 2))
        model, data = made(width)
    yield "fit", lambda n: model.fit(data, steps_per_epoch=n, verbose=0)

    step = tf.function(lambda x, y: model.train_step((x, y)))

    def loop(n: int) -> None:
        for x, y in tfprof.trace_steps(data.take(n)):
            step(x, y)

    yield "loop", loop


def _step_ms(model: Any, data: Any) -> float:
    """How long a step of a model takes, without what each call of `fit` does besides."""
    taken = {}
    for n in (10, 10, 110):
        begin_s = time.perf_counter()
        model.fit(data, steps_per_epoch=n, verbose=0)
        taken[n] = time.perf_counter() - begin_s
    return (taken[110] - taken[10]) / 100 * 1e3


def _compared(name: str, piece: Callable[[int], None], n_pairs: int) -> dict[str, Any]:
    import tfprof_widgets as tfprof

    piece(20)
    begin_s = time.perf_counter()
    piece(50)
    n_steps = max(20, round(PIECE_S * 50 / (time.perf_counter() - begin_s)))
    order, ratios, plain, thread_us = random.Random(7), [], [], []
    for _ in range(n_pairs):
        taken, used = {}, {}
        for is_watched in order.sample([True, False], 2):
            with tfprof.watch(windows=False) if is_watched else contextlib.nullcontext() as watch:
                if watch is not None:
                    watch.dashboard()
                begin_s, begin_thread_s = time.perf_counter(), time.thread_time()
                piece(n_steps)
                taken[is_watched] = time.perf_counter() - begin_s
                used[is_watched] = time.thread_time() - begin_thread_s
        ratios.append(taken[True] / taken[False])
        thread_us.append((used[True] - used[False]) / n_steps * 1e6)
        plain.append(taken[False])
    low, high = _interval(ratios, order)
    thread_low, thread_high = _interval(thread_us, order)
    return {
        "loop": name,
        "step_ms": statistics.median(plain) / n_steps * 1e3,
        "ratio": statistics.median(ratios),
        "low": low,
        "high": high,
        "thread_us": statistics.median(thread_us),
        "thread_low_us": thread_low,
        "thread_high_us": thread_high,
        "n_pairs": n_pairs,
        "n_steps": n_steps,
    }


def _interval(values: list[float], order: random.Random) -> tuple[float, float]:
    """The 95 % interval of a median."""
    drawn = sorted(statistics.median(order.choices(values, k=len(values))) for _ in range(_N_BOOTSTRAPS))
    return drawn[round(0.025 * _N_BOOTSTRAPS)], drawn[round(0.975 * _N_BOOTSTRAPS) - 1]


if __name__ == "__main__":
    import sys

    sys.stdout.write(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else N_PAIRS)) + "\n")
