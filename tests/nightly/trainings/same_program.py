"""One small Keras training, N times -> a run directory each: run with DIR N it writes `DIR/0` ..."""

from __future__ import annotations

import sys

N_STEPS = 60


def train(directory: str) -> None:
    """A network whose input keeps up, traced before the capture."""
    import keras
    import numpy as np
    import tensorflow as tf

    import tfprof_widgets as tfprof

    keras.backend.clear_session()
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    samples = rng.random((32 * N_STEPS, 28, 28, 1), np.float32), rng.integers(0, 10, 32 * N_STEPS)
    dataset = tf.data.Dataset.from_tensor_slices(samples).batch(32).prefetch(tf.data.AUTOTUNE)
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Input((28, 28, 1)),
            layers.Conv2D(8, 3, activation="relu", name="first"),
            layers.Conv2D(8, 3, activation="relu", name="second"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10, name="classes"),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True))
    model.fit(dataset.take(4), shuffle=False, verbose=0)
    with tfprof.profile() as prof:
        model.fit(dataset, shuffle=False, verbose=0)
    prof.save(directory)  # with the samples of the machine, which tell how busy it was


if __name__ == "__main__":
    for number in range(int(sys.argv[2])):
        train(f"{sys.argv[1]}/{number}")
