"""Models with one known fault each, in plain Keras and TensorFlow, for `foreign_faults`; each is trained by `fit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Fit = Callable[..., None]
"""Takes the model, its arguments, their targets, the batch size and what else `compile` takes."""


def half_precision(fit: Fit, numbers: Callable[..., Any]) -> None:
    """A policy for GPUs on a CPU."""
    import keras

    keras.mixed_precision.set_global_policy("mixed_float16")
    convolutions = [keras.layers.Conv2D(16, 3, activation="relu") for _ in range(2)]
    model = keras.Sequential([keras.layers.Input((24, 24, 3)), *convolutions, keras.layers.GlobalAveragePooling2D()])
    keras.mixed_precision.set_global_policy("float32")
    fit(model, numbers(160, 24, 24, 3), numbers(160, 16), 16)


def frozen_layers(fit: Fit, numbers: Callable[..., Any]) -> None:
    """Only what is behind a base of convolutions is trained."""
    import keras

    convolutions = [keras.layers.Conv2D(24, 3, activation="relu") for _ in range(3)]
    base = keras.Sequential([*convolutions, keras.layers.GlobalMaxPooling2D()], name="base")
    base.trainable = False
    inputs = keras.Input((32, 32, 3))
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Dropout(0.2)(base(inputs, training=False))))
    fit(model, numbers(320, 32, 32, 3), numbers(320, 1), 32)


def flattened_features(fit: Fit, numbers: Callable[..., Any]) -> None:
    """A Dense of all points of an image."""
    import keras

    convolution = keras.layers.Conv2D(16, 3, padding="same", activation="relu")
    layers = [convolution, keras.layers.Flatten(), keras.layers.Dense(200, activation="relu"), keras.layers.Dense(1)]
    model = keras.Sequential([keras.layers.Input((40, 40, 3)), *layers])
    fit(model, numbers(160, 40, 40, 3), numbers(160, 1), 16, "adam")


def unused_results(fit: Fit, numbers: Callable[..., Any]) -> None:
    """A Dense on all positions, of which the last is used."""
    import keras

    inputs = keras.Input((40, 64))
    every = keras.layers.Dense(3000)(keras.layers.Dense(64, activation="relu")(inputs))
    model = keras.Model(inputs, keras.layers.Lambda(lambda one: one[:, -1], output_shape=(3000,))(every))
    fit(model, numbers(160, 40, 64), numbers(160, 3000), 16)


def all_pairs(fit: Fit, numbers: Callable[..., Any]) -> None:
    """A loss of all differences in a batch."""
    import keras
    import tensorflow as tf

    def spread(_: Any, vectors: Any) -> Any:
        return tf.reduce_mean(tf.reduce_sum((vectors[:, None] - vectors[None]) ** 2, 2))

    model = keras.Sequential([keras.layers.Input((64,)), keras.layers.Dense(128)])
    fit(model, numbers(1280, 64), numbers(1280, 1), 128, loss=spread)
