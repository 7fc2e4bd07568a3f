"""Programs that train with Keras `fit`, under TensorFlow's own profiler."""

from __future__ import annotations

import tempfile
from typing import Any

from tests.captures.run_parts import (
    N_FEW_STEPS,
    N_LOOP_STEPS,
    N_STEPS,
    image_batches,
    marking_callback,
    profiled,
    small_model,
)


def _fit(directory: str, model: Any, dataset: Any) -> None:
    """`fit` over a dataset once untraced and once traced, each traced batch marked as a step."""
    import keras

    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True))
    model.fit(dataset, epochs=1, verbose=0)
    with profiled(directory):
        model.fit(dataset, epochs=1, verbose=0, callbacks=[marking_callback()])


def keras_fit(directory: str, n_steps: int = N_STEPS) -> None:
    """`fit` for two epochs, each batch marked as a step by a callback."""
    import keras

    dataset, model = image_batches(n_steps // 2), small_model()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True))
    model.fit(dataset, epochs=1, verbose=0)
    with profiled(directory):
        model.fit(dataset, epochs=2, verbose=0, callbacks=[marking_callback()])


def keras_bare(directory: str) -> None:
    """`fit` that nobody marked."""
    import keras

    dataset, model = image_batches(N_LOOP_STEPS), small_model()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True))
    model.fit(dataset, epochs=1, verbose=0)
    with profiled(directory):
        model.fit(dataset, epochs=1, verbose=0)


def keras_first_step(directory: str) -> None:
    """`fit` from the very first batch, so that tracing and compiling are inside."""
    import keras

    dataset, model = image_batches(N_LOOP_STEPS), small_model()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True))
    with profiled(directory):
        model.fit(dataset, epochs=1, verbose=0, callbacks=[marking_callback()])


def xla_fit(directory: str) -> None:
    """`fit` of a convolutional net compiled by XLA, each batch marked as a step."""
    import keras

    layers = [
        keras.layers.Input((28, 28, 1)),
        keras.layers.Conv2D(8, 3, activation="relu", name="conv"),
        keras.layers.BatchNormalization(name="norm"),
        keras.layers.MaxPooling2D(name="pool"),
        keras.layers.Flatten(),
        keras.layers.Dense(16, activation="tanh", name="hidden"),
        keras.layers.Dense(10, name="out"),
    ]
    model, dataset = keras.Sequential(layers, name="net"), image_batches(N_FEW_STEPS)
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True), jit_compile=True)
    model.fit(dataset, epochs=1, verbose=0)
    with profiled(directory):
        model.fit(dataset, epochs=1, verbose=0, callbacks=[marking_callback()])


def lstm_fit(directory: str) -> None:
    """`fit` of a recurrent net, whose loop runs inside the step."""
    import keras
    import numpy as np
    import tensorflow as tf

    rng = np.random.default_rng(0)
    x, y = rng.random((8 * N_FEW_STEPS, 6, 4), np.float32), rng.integers(0, 5, 8 * N_FEW_STEPS)
    model = keras.Sequential([keras.layers.LSTM(8), keras.layers.Dense(5)])
    _fit(directory, model, tf.data.Dataset.from_tensor_slices((x, y)).batch(8).prefetch(2))


def tfrecord_fit(directory: str) -> None:
    """`fit` from record files: interleaved, mapped in parallel, cached, shuffled, batched, prefetched."""
    import keras
    import tensorflow as tf

    files = []
    with tempfile.TemporaryDirectory() as scratch:
        for k in range(3):
            files.append(f"{scratch}/{k}.tfrecord")
            with tf.io.TFRecordWriter(files[-1]) as writer:
                for i in range(8 * N_FEW_STEPS // 3 + 1):
                    writer.write(tf.io.serialize_tensor(tf.fill([16], float(i))).numpy())

        def parse(record: Any) -> Any:
            return tf.ensure_shape(tf.io.parse_tensor(record, tf.float32), [16]), tf.constant(1)

        records = tf.data.Dataset.from_tensor_slices(files).interleave(
            tf.data.TFRecordDataset, cycle_length=2, num_parallel_calls=2
        )
        dataset = records.map(parse, num_parallel_calls=2).cache().shuffle(32).batch(8).prefetch(tf.data.AUTOTUNE)
        model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(5)])
        model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True))
        model.fit(dataset.take(1), epochs=1, verbose=0)
        with profiled(directory):
            model.fit(dataset, epochs=2, verbose=0, callbacks=[marking_callback()])


def _mixed_fit(directory: str, policy: str) -> None:
    import keras

    layers = [keras.layers.Conv2D(4, 3, dtype=policy), keras.layers.Flatten(), keras.layers.Dense(10, dtype=policy)]
    _fit(directory, keras.Sequential(layers), image_batches(N_FEW_STEPS))


def bfloat16_fit(directory: str) -> None:
    """`fit` of a convolutional net that computes in bfloat16."""
    _mixed_fit(directory, "mixed_bfloat16")


def float16_fit(directory: str) -> None:
    """`fit` of a convolutional net that computes in float16, so with a scaled loss."""
    _mixed_fit(directory, "mixed_float16")
