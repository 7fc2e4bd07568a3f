"""A number of events -> a real TensorFlow capture of at least so many: a convolutional network fed by tf.data.

Run as `python make_capture.py DIRECTORY N_EVENTS TARGET`; moves the `*.xplane.pb` file to TARGET and prints what is in it.
Ten million events take two minutes, and TensorFlow's profiler takes 10.7 GB of memory while it captures them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

N_TRIAL_STEPS = 10


def main(directory: Path, n_events: int, target: Path) -> None:
    os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"  # records memory; must be set before TensorFlow's first op
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    shutil.rmtree(directory, ignore_errors=True)
    model, data = _model_and_data()
    model.fit(data, steps_per_epoch=5, verbose=0)  # compile outside the capture
    file, n_steps, n_captured = directory, N_TRIAL_STEPS, 0
    for trial in range(4):  # each tells how many events a step has; a longer run has fewer a step
        file = _captured(model, data, directory / f"trial_{trial}", n_steps)
        n_captured = _count_events(file)
        if n_captured >= n_events:
            break
        n_steps = int(1.02 * n_steps * n_events / n_captured) + 1
    shutil.move(file, target)
    shutil.rmtree(directory)
    print(json.dumps({"n_events": n_captured}))


def _model_and_data() -> tuple[Any, Any]:
    import keras
    import numpy as np
    import tensorflow as tf

    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(1)
    images, labels = rng.random((4000, 28, 28, 1), np.float32), rng.integers(0, 10, 4000)
    data = tf.data.Dataset.from_tensor_slices((images, labels))
    data = data.map(lambda image, label: (image * 2 - 1, label), num_parallel_calls=2).batch(16).prefetch(2).repeat()
    model = keras.Sequential(
        [
            keras.layers.Input((28, 28, 1)),
            keras.layers.Conv2D(8, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(10),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model, data


def _captured(model: Any, data: Any, directory: Path, n_steps: int) -> Path:
    """The trace file of a fit of so many marked steps."""
    import keras
    import tensorflow as tf

    class Marks(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
            self.mark = tf.profiler.experimental.Trace("train", step_num=batch, _r=1)
            self.mark.__enter__()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
            self.mark.__exit__(None, None, None)

    tf.profiler.experimental.start(str(directory))
    try:
        model.fit(data, steps_per_epoch=n_steps, verbose=0, callbacks=[Marks()])
    finally:
        tf.profiler.experimental.stop()
    return next(directory.glob("plugins/profile/*/*.xplane.pb"))


def _count_events(file: Path) -> int:
    from tfprof_widgets.read import read_xspace

    return read_xspace(file.read_bytes()).n_events


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
