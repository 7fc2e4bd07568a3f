"""TensorFlow's bare profiler and ours, turn by turn in one process -> what ours adds to `stop()` and to a step.

Run as `python benchmarks/bench_capture.py [stop|steps] [N_TURNS]`; prints JSON. With no part it measures both, prints
their tables, and needs some 10 minutes. The bare profiler has markers like those of TensorBoard's callback.
"""

# ruff: noqa: ARG002 -- Keras calls its hooks with these arguments

from __future__ import annotations

import gc
import itertools
import json
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import processes
from processes import Outcome
from table import aligned, three_digits

N_TURNS, QUICK_TURNS = 10, 3
N_STEPS = 20
"""Of a capture whose `stop()` is timed."""
MAX_STOP_MS = {"small CNN": 30.0, "ResNet50": 60.0}
"""Beyond TensorFlow's own stop."""
STEPS_MS = (1.0, 10.0)
PIECE_S = 0.8
"""Of steps that are timed: one turn of one kind."""
Medians = tuple[float, float, float]
"""A median and the ends of its interval."""


def run(*, is_quick: bool) -> dict[str, Outcome]:
    """Measure each part in a process of its own; some 10 minutes, 3 when quick."""
    n_turns = QUICK_TURNS if is_quick else N_TURNS
    return {part: processes.run(Path(__file__).name, part, n_turns, timeout_s=1200) for part in ("stop", "steps")}


def tables(outcomes: dict[str, Outcome]) -> list[list[list[str]]]:
    """What was found, for the report: a table of `stop()` and one of steps."""
    stop = [["stop() after 20 steps, ms", "TensorFlow's, bare", "TensorFlow's, ours", "beyond it", "threads", "files"]]
    for name, one in (outcomes["stop"].result or {}).items():
        figures = [_text(one[key]) for key in ("bare_ms", "tf_ms", "beyond_ms")]
        stop.append([name, *figures, str(one["n_threads"]), str(one["n_files"])])
    steps = [["a step, ms", "no profiler", "bare", "ours", "ours / bare", "CPU, ours / bare"]]
    for name, one in (outcomes["steps"].result or {}).items():
        steps.append([name, *(_text(one[key]) for key in ("none_ms", "bare_ms", "ours_ms", "ratio", "cpu_ratio"))])
    return [stop, steps]


def _text(figures: list[float]) -> str:
    median, low, high = (three_digits(one) for one in figures)
    return f"{median} ({low} to {high})"


def median_interval(values: list[float]) -> Medians:
    """The median, and between which of the values it lies with at least 95 %, whatever they are drawn from."""
    ordered = sorted(values)
    n, below, k = len(ordered), 0.0, 0
    weight = 0.5**n
    while k < n // 2 and 2 * (below + weight) <= 0.05:
        below += weight
        weight *= (n - k) / (k + 1)
        k += 1
    k = max(k - 1, 0)
    return statistics.median(ordered), ordered[k], ordered[n - 1 - k]


@contextmanager
def bare() -> Iterator[dict[str, float]]:
    """TensorFlow's profiler around a block; afterwards the result holds the ms of its stop."""
    import tensorflow as tf

    timed: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        yield timed
        begin_s = time.perf_counter()
        tf.profiler.experimental.stop()
        timed["tf_ms"] = 1e3 * (time.perf_counter() - begin_s)


@contextmanager
def ours() -> Iterator[dict[str, float]]:
    """`profile()` around a block; afterwards the result holds the ms of TensorFlow's stop, and of all else at the end."""
    import tensorflow as tf

    import tfprof_widgets as tfprof

    experimental = tf.profiler.experimental
    real_stop, timed = experimental.stop, {}

    def stop(*arguments: Any, **options: Any) -> None:
        begin_s = time.perf_counter()
        real_stop(*arguments, **options)
        timed["tf_ms"] = 1e3 * (time.perf_counter() - begin_s)

    context = tfprof.profile()
    profile = context.__enter__()
    try:
        experimental.stop = stop
        yield timed
        begin_s = time.perf_counter()
        context.__exit__(None, None, None)
        timed["beyond_ms"] = 1e3 * (time.perf_counter() - begin_s) - timed["tf_ms"]
    finally:
        experimental.stop = real_stop
    del context, profile


def _scratch() -> set[str]:
    """The files and folders of this process where captures keep theirs."""
    folders = {Path(tempfile.gettempdir()), Path("/dev/shm")}
    return {str(path) for folder in folders for path in folder.glob(f"tfprof-{os.getpid()}-*")}


def measure_stop(n_turns: int) -> dict[str, Any]:
    """Twenty steps of `fit` under each profiler, in turns whose order is drawn."""
    import keras
    import numpy as np
    import tensorflow as tf

    small = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(10),
        ]
    )
    found = {}
    for name, make, shape, batch in (
        ("small CNN", lambda: small, (28, 28, 1), 32),
        (
            "ResNet50",
            lambda: keras.applications.ResNet50(weights=None, input_shape=(64, 64, 3), classes=10),
            (64, 64, 3),
            8,
        ),
    ):
        model = make()
        model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        x, y = np.ones((batch * N_STEPS, *shape), "f4"), np.zeros(batch * N_STEPS, "i4")
        data = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch)
        found[name] = _stop_by_turns(lambda model=model, data=data: model.fit(data, verbose=0), n_turns)
    return found


def _stop_by_turns(work: Callable[[], Any], n_turns: int) -> dict[str, Any]:
    order = random.Random(7)
    for profiler in (bare, ours):  # what either imports and caches for good
        with profiler():
            work()
    gc.collect()
    threads, files = set(threading.enumerate()), _scratch()
    turns: dict[str, list[dict[str, float]]] = {"bare": [], "ours": []}
    for _ in range(n_turns):
        for profiler in order.sample([bare, ours], 2):
            with profiler() as timed:
                work()
            turns[profiler.__name__].append(timed)
    gc.collect()
    return {
        "bare_ms": median_interval([one["tf_ms"] for one in turns["bare"]]),
        "tf_ms": median_interval([one["tf_ms"] for one in turns["ours"]]),
        "beyond_ms": median_interval([one["beyond_ms"] for one in turns["ours"]]),
        "n_threads": len(set(threading.enumerate()) - threads),
        "n_files": len(_scratch() - files),
    }


def measure_steps(n_turns: int) -> dict[str, Any]:
    """Steps of two lengths, in `fit` and in a loop, under no profiler and each of the two."""
    found = {}
    for target_ms in STEPS_MS:
        for name, make in (("fit", _fitting), ("loop", _looping)):
            work = _of_length(make, target_ms)
            found[f"{name}, at most {target_ms:g} ms"] = _steps_by_turns(work, n_turns)
    return found


Work = Callable[[str, int], list[float]]
"""The kind of profiler that runs, and how many steps -> seconds of each but the first ones."""


def _of_length(make: Callable[[int], Work], target_ms: float) -> Work:
    """The work with the widest layer that stays below the length; a step of Keras may be longer at its narrowest."""
    work = make(8)
    for width in (32, 64, 128, 192, 256, 384, 512, 768, 1024, 1536):
        wider = make(width)
        if 1e3 * statistics.median(wider("none", 60)) > target_ms:
            break
        work = wider
    return work


def _looping(width: int) -> Work:
    import tensorflow as tf

    import tfprof_widgets as tfprof

    weights = tf.Variable(tf.random.stateless_normal((width, width), (1, 2)) / width)
    batch = tf.random.stateless_normal((256, width), (3, 4))

    @tf.function
    def train_step(_: Any) -> Any:
        with tf.GradientTape() as tape:
            hidden = batch
            for _i in range(6):
                hidden = tf.nn.relu(tf.matmul(hidden, weights))
            loss = tf.reduce_mean(tf.square(hidden - batch))
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    def work(kind: str, n_steps: int) -> list[float]:
        times = []
        if kind == "ours":
            for i in tfprof.trace_steps(range(n_steps)):
                times.append(time.perf_counter())
                train_step(tf.constant(i)).numpy()
        else:
            for i in range(n_steps):
                if kind == "bare":
                    with tf.profiler.experimental.Trace("train", step_num=i, _r=1):
                        times.append(time.perf_counter())
                        train_step(tf.constant(i)).numpy()
                else:
                    times.append(time.perf_counter())
                    train_step(tf.constant(i)).numpy()
        return _between(times)

    return work


def _fitting(width: int) -> Work:
    import keras
    import numpy as np
    import tensorflow as tf

    model = keras.Sequential([keras.Input((width,)), *(keras.layers.Dense(width, activation="relu") for _ in range(3))])
    model.compile("sgd", "mse")

    class Times(keras.callbacks.Callback):  # type: ignore[misc]
        """When each step began; of the bare profiler also its marker, as TensorBoard's callback sets it."""

        def __init__(self, kind: str) -> None:
            super().__init__()
            self.kind, self.begun_s, self.marker = kind, list[float](), None

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self.begun_s.append(time.perf_counter())
            if self.kind == "bare":
                self.marker = tf.profiler.experimental.Trace("train", step_num=batch, _r=1)
                self.marker.__enter__()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if self.marker is not None:
                self.marker.__exit__(None, None, None)
                self.marker = None

    def work(kind: str, n_steps: int) -> list[float]:
        x = np.ones((64 * n_steps, width), "f4")
        data = tf.data.Dataset.from_tensor_slices((x, x)).batch(64)
        callback = Times(kind)
        model.fit(data, verbose=0, callbacks=[callback])
        return _between(callback.begun_s)

    return work


def _between(times: list[float]) -> list[float]:
    """The first five are of a loop that starts."""
    return [end - begin for begin, end in itertools.pairwise(times[5:])]


def _steps_by_turns(work: Work, n_turns: int) -> dict[str, Any]:
    order = random.Random(7)
    n_steps = max(20, int(PIECE_S / statistics.median(work("none", 60))))
    medians: dict[str, list[float]] = {"none": [], "bare": [], "ours": []}
    cpu_s: dict[str, list[float]] = {"none": [], "bare": [], "ours": []}
    for turn in range(n_turns + 1):
        for kind in order.sample(sorted(medians), 3):
            ms, cpu = _one_piece(kind, work, n_steps)
            if turn:
                medians[kind].append(ms)
                cpu_s[kind].append(cpu)
    ratios = [mine / plain for mine, plain in zip(medians["ours"], medians["bare"], strict=True)]
    cpu = [mine / plain for mine, plain in zip(cpu_s["ours"], cpu_s["bare"], strict=True)]
    figures = {f"{kind}_ms": median_interval(ms) for kind, ms in medians.items()}
    return {**figures, "ratio": median_interval(ratios), "cpu_ratio": median_interval(cpu), "n_steps": n_steps}


def _one_piece(kind: str, work: Work, n_steps: int) -> tuple[float, float]:
    """The median of its steps in ms, and the CPU seconds of the process meanwhile."""

    def piece() -> tuple[float, float]:
        begin_s = time.process_time()
        times = work(kind, n_steps)
        return 1e3 * statistics.median(times), time.process_time() - begin_s

    if kind == "none":
        return piece()
    with {"bare": bare, "ours": ours}[kind]():
        found = piece()
    gc.collect()
    return found


def main(part: str, n_turns: int) -> dict[str, Any]:
    """Measure one part."""
    return measure_stop(n_turns) if part == "stop" else measure_steps(n_turns)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else N_TURNS)))
    else:
        print("\n\n".join(aligned(one) for one in tables(run(is_quick=False))))
