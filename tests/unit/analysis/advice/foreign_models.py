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
