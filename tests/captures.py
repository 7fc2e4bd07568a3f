"""Real TensorFlow runs, each in its own process -> the xplane.pb files that tests read.

`python tests/captures.py KIND DIR` runs one kind here and leaves `DIR/plugins/profile/*/*.xplane.pb`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

QUICKSTART = Path(__file__).parents[1] / "notebooks" / "quickstart.ipynb"
N_STEPS = 40
N_LOOP_STEPS = 25


def capture(kind: str, directory: Path) -> Path:
    """Run one kind of training in a fresh process and give the path of its xplane.pb."""
    environment = os.environ | {"TF_CPU_ALLOCATOR_USE_BFC": "true", "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, __file__, kind, str(directory)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(f"the capture {kind!r} failed with status {done.returncode}:\n{done.stderr[-2000:]}")
    (path,) = directory.glob("plugins/profile/*/*.xplane.pb")
    return path


def _dataset(n_steps: int) -> Any:
    import numpy as np
    import tensorflow as tf

    rng = np.random.default_rng(0)
    x = rng.random((32 * n_steps, 28, 28, 1), np.float32)
    y = rng.integers(0, 10, 32 * n_steps)
    return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(100).map(lambda a, b: (a * 2, b)).batch(32).prefetch(2)


def _model() -> Any:
    import keras

    layers = [keras.layers.Conv2D(8, 3, activation="relu"), keras.layers.Flatten(), keras.layers.Dense(10)]
    return keras.Sequential(layers)


def _marker(name: str, step: int) -> AbstractContextManager[Any]:
    import tensorflow as tf

    marker: AbstractContextManager[Any] = tf.profiler.experimental.Trace(name, step_num=step, _r=1)
    return marker


@contextmanager
def _profile(directory: str) -> Iterator[None]:
    import tensorflow as tf

    tf.profiler.experimental.start(directory)
    yield
    tf.profiler.experimental.stop()


def _marking_callback() -> Any:
    """Marks each batch of `fit` as a step."""
    import keras

    class Markers(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self.marker = _marker("train", batch)
            self.marker.__enter__()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.marker.__exit__(None, None, None)

    return Markers()


def keras_fit(directory: str, n_steps: int = N_STEPS) -> None:
    """`fit` for two epochs, each batch marked as a step by a callback."""
    import keras

    dataset, model = _dataset(n_steps // 2), _model()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True))
    model.fit(dataset, epochs=1, verbose=0)
    with _profile(directory):
        model.fit(dataset, epochs=2, verbose=0, callbacks=[_marking_callback()])


def keras_bare(directory: str) -> None:
    """`fit` that nobody marked."""
    import keras

    dataset, model = _dataset(N_LOOP_STEPS), _model()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True))
    model.fit(dataset, epochs=1, verbose=0)
    with _profile(directory):
        model.fit(dataset, epochs=1, verbose=0)


def keras_first_step(directory: str) -> None:
    """`fit` from the very first batch, so that tracing and compiling are inside."""
    import keras

    dataset, model = _dataset(N_LOOP_STEPS), _model()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True))
    with _profile(directory):
        model.fit(dataset, epochs=1, verbose=0, callbacks=[_marking_callback()])


def _loop(directory: str, *, is_marked: bool, is_function: bool) -> None:
    import keras
    import tensorflow as tf

    model, loss_of = _model(), keras.losses.SparseCategoricalCrossentropy(True)
    optimizer = keras.optimizers.SGD()

    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
        return loss

    step = tf.function(train_step) if is_function else train_step
    dataset = _dataset(N_LOOP_STEPS)
    for x, y in dataset:
        step(x, y)
    with _profile(directory):
        batches = iter(dataset)
        for i in range(N_LOOP_STEPS):
            with _marker("train", i) if is_marked else nullcontext():
                step(*next(batches))


def function_loop(directory: str) -> None:
    """A hand-written loop around a `tf.function`, no markers."""
    _loop(directory, is_marked=False, is_function=True)


def function_loop_marked(directory: str) -> None:
    """The same loop, marked; `next()` lies inside the step."""
    _loop(directory, is_marked=True, is_function=True)


def eager_loop(directory: str) -> None:
    """A hand-written loop that runs every op eagerly, no markers."""
    _loop(directory, is_marked=False, is_function=False)


def eager_loop_marked(directory: str) -> None:
    """The eager loop, marked; `next()` lies inside the step."""
    _loop(directory, is_marked=True, is_function=False)


def _paced_loop(directory: str, *, is_marked: bool) -> None:
    """Steps of 50 ms, of which TensorFlow takes one or two: two runs then take the same time on any machine."""
    import time

    import tensorflow as tf

    weight = tf.Variable(tf.ones((64, 64)))
    step = tf.function(lambda x: weight.assign_add(tf.matmul(x, x) * 1e-6))
    dataset = tf.data.Dataset.from_tensors(tf.ones((64, 64))).repeat(N_LOOP_STEPS)
    for x in dataset:
        step(x)
    with _profile(directory):
        batches = iter(dataset)
        for i in range(N_LOOP_STEPS):
            with _marker("train", i) if is_marked else nullcontext():
                x = next(batches)
                time.sleep(0.05)
                step(x)


def paced_loop(directory: str) -> None:
    """A loop whose pace the machine does not set, no markers."""
    _paced_loop(directory, is_marked=False)


def paced_loop_marked(directory: str) -> None:
    """The same, marked."""
    _paced_loop(directory, is_marked=True)


def function_epoch(directory: str) -> None:
    """A `tf.function` that loops over the data set itself, called once; no markers."""
    import keras
    import tensorflow as tf

    model, loss_of = _model(), keras.losses.SparseCategoricalCrossentropy(True)
    optimizer, dataset = keras.optimizers.SGD(), _dataset(N_LOOP_STEPS)
    model.build((None, 28, 28, 1))
    optimizer.build(model.trainable_variables)

    @tf.function
    def epoch() -> None:
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = loss_of(y, model(x, training=True))
            optimizer.apply_gradients(
                zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
            )

    epoch()
    with _profile(directory):
        epoch()


def quickstart(directory: str) -> None:
    """notebooks/quickstart.ipynb up to its profiled cell, as a reader runs it."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(QUICKSTART, as_version=4)
    (profiled,) = [i for i, cell in enumerate(notebook.cells) if cell.source.startswith("%%tfprofile")]
    del notebook.cells[profiled + 1 :]
    magic = notebook.cells[profiled].source
    notebook.cells[profiled].source = magic.replace("-o prof", f"-o prof --view none --logdir {directory}", 1)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()


KINDS: dict[str, Callable[[str], None]] = {
    run.__name__: run
    for run in (
        keras_fit,
        keras_bare,
        keras_first_step,
        function_loop,
        function_loop_marked,
        eager_loop,
        eager_loop_marked,
        paced_loop,
        paced_loop_marked,
        function_epoch,
        quickstart,
    )
}

if __name__ == "__main__":
    KINDS[sys.argv[1]](sys.argv[2])
