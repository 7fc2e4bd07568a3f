"""Small real trainings with one planted cause each, captured by this package in one process -> a run directory per kind."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.warm_process import run_python

N_STEPS = 12
FIXED = ".fixed"
FILTER_PX = 11


def train_all(directory: Path, seed: int = 0, *, runs: Sequence[str] = ()) -> dict[str, Path]:
    """Run some trainings, or all of `RUNS`, in one fresh process and give the directory of each."""
    chosen = list(runs or RUNS)
    program = f"from {__name__} import main\nmain({str(directory)!r}, {seed}, {chosen!r})"
    done = run_python(program, timeout_s=600, TF_CPU_ALLOCATOR_USE_BFC="true")
    if done.returncode:
        raise RuntimeError(f"the trainings failed with status {done.returncode}:\n{done.stderr[-2000:]}")
    return {run: directory / run for run in chosen}


def _samples(n: int, shape: Sequence[int], seed: int) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(seed)
    return rng.random((n, *shape), np.float32), rng.integers(0, 10, n)


def _batches(batch_size: int, shape: Sequence[int], seed: int, n_steps: int = N_STEPS) -> Any:
    """A pipeline that keeps up: whole batches are cut out of memory ahead of the training."""
    import tensorflow as tf

    data = tf.data.Dataset.from_tensor_slices(_samples(batch_size * n_steps, shape, seed))
    return data.batch(batch_size).prefetch(tf.data.AUTOTUNE)


def _images_net() -> Any:
    import keras

    layers = keras.layers
    return keras.Sequential(
        [
            layers.Input((28, 28, 1)),
            layers.Conv2D(8, 3, activation="relu", name="first"),
            layers.Conv2D(8, 3, activation="relu", name="second"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10, name="classes"),
        ]
    )


def _wide_net(units: int) -> Any:
    import keras

    layers = keras.layers
    return keras.Sequential([layers.Input((784,)), layers.Dense(units, activation="relu"), layers.Dense(10)])


def _loss() -> Any:
    import keras

    return keras.losses.SparseCategoricalCrossentropy(True)


def _fit(
    directory: str, model: Any, dataset: Any, callbacks: Sequence[Any] = (), *, first: int = 2, **compiled: Any
) -> None:
    """`fit`, the tracing of it before the capture, over so many steps (-1 for an epoch)."""
    import tfprof_widgets as tfprof

    model.compile("sgd", _loss(), **compiled)
    model.fit(dataset.take(first), verbose=0)
    with tfprof.profile(logdir=directory):
        model.fit(dataset, verbose=0, callbacks=list(callbacks))


def _train_step(model: Any) -> Callable[[Any, Any, Any], Any]:
    """One step of a loop of one's own, not yet a function."""
    import keras
    import tensorflow as tf

    optimizer, loss_of = keras.optimizers.SGD(), _loss()

    def train_step(x: Any, y: Any, scale: Any = 1.0) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True)) * scale
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
        return loss

    return train_step


def healthy_dense(directory: str, seed: int) -> None:
    _fit(directory, _wide_net(512), _batches(256, (784,), seed))


def healthy_convolutions(directory: str, seed: int) -> None:
    _fit(directory, _images_net(), _batches(64, (28, 28, 1), seed))


def healthy_compiled(directory: str, seed: int) -> None:
    """The same, compiled by XLA, whose ops on a CPU tell little of their time."""
    _fit(directory, _images_net(), _batches(64, (28, 28, 1), seed), jit_compile=True)


def small_batch(directory: str, seed: int, *, is_fixed: bool = False) -> None:
    """Two samples at a time; fixed: 16."""
    _fit(directory, _wide_net(64), _batches(16 if is_fixed else 2, (784,), seed, n_steps=40))


def slow_read(directory: str, seed: int, *, is_fixed: bool = False) -> None:
    """A source that gives a sample every two ms at most, as a slow network does; fixed: indices, many read at a time."""
    import tensorflow as tf

    x, y = _samples(16 * N_STEPS, (28, 28, 1), seed)

    def source() -> Iterator[tuple[Any, Any]]:
        for one in zip(x, y, strict=True):
            time.sleep(0.002)
            yield one

    def load(i: int) -> Any:
        time.sleep(0.002)
        return x[i]

    def loaded(i: Any, label: Any) -> Any:
        return tf.ensure_shape(tf.numpy_function(load, [i], tf.float32), (28, 28, 1)), label

    if is_fixed:
        indices = tf.data.Dataset.from_tensor_slices((range(len(x)), y))
        options = tf.data.Options()
        options.threading.private_threadpool_size = 16
        dataset = indices.map(loaded, num_parallel_calls=16).with_options(options)
    else:
        spec = (tf.TensorSpec((28, 28, 1), tf.float32), tf.TensorSpec((), tf.int64))
        dataset = tf.data.Dataset.from_generator(source, output_signature=spec)
    _fit(directory, _images_net(), dataset.batch(16).prefetch(tf.data.AUTOTUNE))


def overloaded_map(directory: str, seed: int, *, is_fixed: bool = False) -> None:
    """A separable convolution of 7 x 7 on each large image, in parallel already; fixed: cached, and in its second epoch."""
    import tensorflow as tf

    depthwise, pointwise = tf.random.normal((7, 7, 8, 1)), tf.random.normal((1, 1, 8, 8))

    def blur(x: Any, y: Any) -> Any:
        large = tf.tile(tf.image.resize(x, (96, 96)), (1, 1, 8))
        blurred = tf.nn.separable_conv2d(large[None], depthwise, pointwise, (1, 1, 1, 1), "SAME")[0]
        return tf.image.resize(blurred[:, :, :1], (28, 28)), y

    data = tf.data.Dataset.from_tensor_slices(_samples(16 * N_STEPS, (28, 28, 1), seed))
    mapped = data.map(blur, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = (mapped.cache() if is_fixed else mapped).batch(16).prefetch(tf.data.AUTOTUNE)
    _fit(directory, _images_net(), dataset, first=-1 if is_fixed else 2)


def inefficient_graph(directory: str, seed: int, *, is_fixed: bool = False) -> None:
    """A convolution of 11 x 11 on the output of the model; fixed: five of 3 x 3."""
    import keras

    layers = keras.layers
    small = [layers.Conv2D(8, 3, padding="same", activation="relu") for _ in range((FILTER_PX - 1) // 2)]
    model = keras.Sequential(
        [
            layers.Input((28, 28, 1)),
            layers.Conv2D(8, 3, padding="same", activation="relu", name="features"),
            *(small if is_fixed else [layers.Conv2D(8, FILTER_PX, padding="same", name="smoothing")]),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10, name="classes"),
        ]
    )
    _fit(directory, model, _batches(16, (28, 28, 1), seed))


def heavy_callback(directory: str, seed: int, *, is_fixed: bool = False) -> None:
    """Images that a callback makes after every batch; fixed: after every hundredth."""
    import keras
    import numpy as np

    class SaveImages(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if is_fixed and batch % 100 != 99:
                return
            until = time.perf_counter() + 0.05
            while time.perf_counter() < until:
                np.sort(np.random.default_rng(batch).random(20_000))

    _fit(directory, _images_net(), _batches(16, (28, 28, 1), seed), callbacks=[SaveImages()])


def retracing(directory: str, seed: int, *, is_fixed: bool = False) -> None:
    """A Python number that is another one in each step; fixed: a tensor."""
    import tensorflow as tf

    import tfprof_widgets as tfprof

    train_step = tf.function(_train_step(_wide_net(64)))
    dataset = _batches(32, (784,), seed)
    scale = tf.constant if is_fixed else float
    for x, y in dataset.take(1):
        train_step(x, y, scale(0.5))
    with tfprof.profile(logdir=directory):
        for i, (x, y) in enumerate(tfprof.trace_steps(dataset)):
            train_step(x, y, scale(1.0 + i))


def eager_loop(directory: str, seed: int, *, is_fixed: bool = False) -> None:
    """No function at all; fixed: one."""
    import tensorflow as tf

    import tfprof_widgets as tfprof

    train_step = _train_step(_wide_net(64))
    train_step = tf.function(train_step) if is_fixed else train_step
    dataset = _batches(32, (784,), seed)
    for x, y in dataset.take(1):
        train_step(x, y)
    with tfprof.profile(logdir=directory):
        for x, y in tfprof.trace_steps(dataset):
            train_step(x, y)


def checkpoints(directory: str, seed: int, *, is_fixed: bool = False) -> None:
    """All weights to a file every eighth step, to one of which the disk takes its time; fixed: after the epoch."""
    import keras

    with tempfile.TemporaryDirectory() as scratch:

        class Save(keras.callbacks.Callback):  # type: ignore[misc]
            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
                if batch % 8 == 7 and not is_fixed:
                    self.model.save_weights(f"{scratch}/kept.weights.h5")
                    time.sleep(0.2)

            def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
                if is_fixed:
                    self.model.save_weights(f"{scratch}/kept.weights.h5")

        _fit(directory, _wide_net(512), _batches(128, (784,), seed, n_steps=24), callbacks=[Save()])


HEALTHY: dict[str, Callable[[str, int], None]] = {
    run.__name__: run for run in (healthy_dense, healthy_convolutions, healthy_compiled)
}
PLANTED: dict[str, Callable[..., None]] = {
    run.__name__: run
    for run in (
        small_batch,
        slow_read,
        overloaded_map,
        inefficient_graph,
        heavy_callback,
        retracing,
        eager_loop,
        checkpoints,
    )
}
RUNS = (*HEALTHY, *(run for kind in PLANTED for run in (kind, f"{kind}{FIXED}")))
"""Each training, and after one with a planted cause the same with the advised fix: a machine's load changes."""


def main(directory: str, seed: int, runs: Sequence[str]) -> None:
    """Write `directory/RUN` for each."""
    import keras

    for run in runs:
        keras.utils.set_random_seed(seed)
        kind = run.removesuffix(FIXED)
        options = {"is_fixed": True} if kind != run else {}
        (HEALTHY | PLANTED)[kind](f"{directory}/{run}", seed, **options)
        keras.backend.clear_session()
