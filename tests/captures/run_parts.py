"""What the captured programs share: batches of images, a small model, step markers, and the profiler around them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

N_STEPS = 8
N_LOOP_STEPS = 6
N_FEW_STEPS = 6


def image_batches(n_steps: int) -> Any:
    import numpy as np
    import tensorflow as tf

    rng = np.random.default_rng(0)
    x = rng.random((32 * n_steps, 28, 28, 1), np.float32)
    y = rng.integers(0, 10, 32 * n_steps)
    return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(100).map(lambda a, b: (a * 2, b)).batch(32).prefetch(2)


def small_model() -> Any:
    import keras

    layers = [keras.layers.Conv2D(8, 3, activation="relu"), keras.layers.Flatten(), keras.layers.Dense(10)]
    return keras.Sequential(layers)


def step_marker(name: str, step: int) -> AbstractContextManager[Any]:
    import tensorflow as tf

    marker: AbstractContextManager[Any] = tf.profiler.experimental.Trace(name, step_num=step, _r=1)
    return marker


@contextmanager
def profiled(directory: str) -> Iterator[None]:
    import tensorflow as tf

    tf.profiler.experimental.start(directory)
    yield
    tf.profiler.experimental.stop()


def marking_callback() -> Any:
    """Marks each batch of `fit` as a step."""
    import keras

    class Markers(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self.marker = step_marker("train", batch)
            self.marker.__enter__()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.marker.__exit__(None, None, None)

    return Markers()
