"""Small real trainings with one planted cause each, captured by this package in one process -> a run directory per kind."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.warm_process import run_python

N_STEPS = 12
FILTER_PX = 11


def train_all(directory: Path, kinds: Sequence[str]) -> dict[str, Path]:
    """Run some trainings in one fresh process and give the directory of each."""
    program = f"from {__name__} import main\nmain({str(directory)!r}, {list(kinds)!r})"
    done = run_python(program, timeout_s=600, TF_CPU_ALLOCATOR_USE_BFC="true")
    if done.returncode:
        raise RuntimeError(f"the trainings failed with status {done.returncode}:\n{done.stderr[-2000:]}")
    return {kind: directory / kind for kind in kinds}


def _samples(n: int, shape: Sequence[int]) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    return rng.random((n, *shape), np.float32), rng.integers(0, 10, n)


def _batches(batch_size: int, shape: Sequence[int], n_steps: int = N_STEPS) -> Any:
    """A pipeline that keeps up: whole batches are cut out of memory ahead of the training."""
    import tensorflow as tf

    data = tf.data.Dataset.from_tensor_slices(_samples(batch_size * n_steps, shape))
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


def _fit(directory: str, model: Any, dataset: Any, callbacks: Sequence[Any] = (), **compiled: Any) -> None:
    """`fit`, the tracing of it before the capture."""
    import tfprof_widgets as tfprof

    model.compile("sgd", _loss(), **compiled)
    model.fit(dataset.take(2), verbose=0)
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


def healthy_dense(directory: str) -> None:
    _fit(directory, _wide_net(512), _batches(256, (784,)))


def healthy_convolutions(directory: str) -> None:
    _fit(directory, _images_net(), _batches(64, (28, 28, 1)))


def healthy_compiled(directory: str) -> None:
    """The same, compiled by XLA, whose ops on a CPU tell little of their time."""
    _fit(directory, _images_net(), _batches(64, (28, 28, 1)), jit_compile=True)


def small_batch(directory: str) -> None:
    """Two samples at a time."""
    _fit(directory, _wide_net(64), _batches(2, (784,), n_steps=40))


def slow_read(directory: str) -> None:
    """A source that gives a sample every two ms at most, as a slow network does."""
    import tensorflow as tf

    x, y = _samples(16 * N_STEPS, (28, 28, 1))

    def source() -> Iterator[tuple[Any, Any]]:
        for one in zip(x, y, strict=True):
            time.sleep(0.002)
            yield one

    spec = (tf.TensorSpec((28, 28, 1), tf.float32), tf.TensorSpec((), tf.int64))
    dataset = tf.data.Dataset.from_generator(source, output_signature=spec)
    _fit(directory, _images_net(), dataset.batch(16).prefetch(tf.data.AUTOTUNE))


def overloaded_map(directory: str) -> None:
    """A separable convolution of 7 x 7 on each large image, in parallel already."""
    import tensorflow as tf

    depthwise, pointwise = tf.random.normal((7, 7, 8, 1)), tf.random.normal((1, 1, 8, 8))

    def blur(x: Any, y: Any) -> Any:
        large = tf.tile(tf.image.resize(x, (96, 96)), (1, 1, 8))
        blurred = tf.nn.separable_conv2d(large[None], depthwise, pointwise, (1, 1, 1, 1), "SAME")[0]
        return tf.image.resize(blurred[:, :, :1], (28, 28)), y

    data = tf.data.Dataset.from_tensor_slices(_samples(16 * N_STEPS, (28, 28, 1)))
    mapped = data.map(blur, num_parallel_calls=tf.data.AUTOTUNE)
    _fit(directory, _images_net(), mapped.batch(16).prefetch(tf.data.AUTOTUNE))


def inefficient_graph(directory: str) -> None:
    """A convolution of 11 x 11 on the output of the model."""
    import keras

    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Input((28, 28, 1)),
            layers.Conv2D(8, 3, padding="same", activation="relu", name="features"),
            layers.Conv2D(8, FILTER_PX, padding="same", name="smoothing"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10, name="classes"),
        ]
    )
    _fit(directory, model, _batches(16, (28, 28, 1)))


def heavy_callback(directory: str) -> None:
    """Images that a callback makes after every batch."""
    import keras
    import numpy as np

    class SaveImages(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            until = time.perf_counter() + 0.05
            while time.perf_counter() < until:
                np.sort(np.random.default_rng(batch).random(20_000))

    _fit(directory, _images_net(), _batches(16, (28, 28, 1)), callbacks=[SaveImages()])


def retracing(directory: str) -> None:
    """A Python number that is another one in each step."""
    import tensorflow as tf

    import tfprof_widgets as tfprof

    train_step = tf.function(_train_step(_wide_net(64)))
    dataset = _batches(32, (784,))
    for x, y in dataset.take(1):
        train_step(x, y, 0.5)
    with tfprof.profile(logdir=directory):
        for i, (x, y) in enumerate(tfprof.trace_steps(dataset)):
            train_step(x, y, 1.0 + i)


def eager_loop(directory: str) -> None:
    """No function at all."""
    import tfprof_widgets as tfprof

    train_step = _train_step(_wide_net(64))
    dataset = _batches(32, (784,))
    for x, y in dataset.take(1):
        train_step(x, y)
    with tfprof.profile(logdir=directory):
        for x, y in tfprof.trace_steps(dataset):
            train_step(x, y)


def checkpoints(directory: str) -> None:
    """All weights to a file every eighth step, to one of which the disk takes its time."""
    import keras

    with tempfile.TemporaryDirectory() as scratch:

        class Save(keras.callbacks.Callback):  # type: ignore[misc]
            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
                if batch % 8 == 7:
                    self.model.save_weights(f"{scratch}/kept.weights.h5")
                    time.sleep(0.2)

        _fit(directory, _wide_net(512), _batches(128, (784,), n_steps=24), callbacks=[Save()])


TRAININGS: dict[str, Callable[[str], None]] = {
    run.__name__: run
    for run in (
        *(healthy_dense, healthy_convolutions, healthy_compiled, small_batch, slow_read, overloaded_map),
        *(inefficient_graph, heavy_callback, retracing, eager_loop, checkpoints),
    )
}


def main(directory: str, kinds: Sequence[str]) -> None:
    """Write `directory/KIND` for each."""
    import keras

    for kind in kinds:
        keras.utils.set_random_seed(0)
        TRAININGS[kind](f"{directory}/{kind}")
        keras.backend.clear_session()
