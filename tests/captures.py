"""Real TensorFlow runs, each in its own process -> the xplane.pb files that tests read.

`python tests/captures.py KIND DIR` runs one kind here and leaves `DIR/plugins/profile/*/*.xplane.pb`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

QUICKSTART = Path(__file__).parents[1] / "notebooks" / "quickstart.ipynb"
N_STEPS = 40
N_LOOP_STEPS = 25
N_FEW_STEPS = 9


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
    model, dataset = keras.Sequential(layers, name="net"), _dataset(N_FEW_STEPS)
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True), jit_compile=True)
    model.fit(dataset, epochs=1, verbose=0)
    with _profile(directory):
        model.fit(dataset, epochs=1, verbose=0, callbacks=[_marking_callback()])


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


def _fit(directory: str, model: Any, dataset: Any) -> None:
    """`fit` over a dataset once untraced and once traced, each traced batch marked as a step."""
    import keras

    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True))
    model.fit(dataset, epochs=1, verbose=0)
    with _profile(directory):
        model.fit(dataset, epochs=1, verbose=0, callbacks=[_marking_callback()])


def lstm_fit(directory: str) -> None:
    """`fit` of a recurrent net, whose loop runs inside the step."""
    import keras
    import numpy as np
    import tensorflow as tf

    rng = np.random.default_rng(0)
    x, y = rng.random((8 * N_FEW_STEPS, 12, 4), np.float32), rng.integers(0, 5, 8 * N_FEW_STEPS)
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
        with _profile(directory):
            model.fit(dataset, epochs=2, verbose=0, callbacks=[_marking_callback()])


def _mixed_fit(directory: str, policy: str) -> None:
    import keras

    layers = [keras.layers.Conv2D(4, 3, dtype=policy), keras.layers.Flatten(), keras.layers.Dense(10, dtype=policy)]
    _fit(directory, keras.Sequential(layers), _dataset(N_FEW_STEPS))


def bfloat16_fit(directory: str) -> None:
    """`fit` of a convolutional net that computes in bfloat16."""
    _mixed_fit(directory, "mixed_bfloat16")


def float16_fit(directory: str) -> None:
    """`fit` of a convolutional net that computes in float16, so with a scaled loss."""
    _mixed_fit(directory, "mixed_float16")


def nested_fit(directory: str) -> None:
    """A model of models, shared layers, layers within layers and attention, captured by this package with its layers."""
    import keras
    import numpy as np

    import tfprof_widgets as tfprof

    layers = keras.layers

    class Block(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.dense, self.norm = layers.Dense(16), layers.LayerNormalization()

        def call(self, x: Any) -> Any:
            return keras.ops.relu(x) + self.norm(self.dense(x))

    encoder = keras.Sequential([layers.Dense(16, activation="relu", name="wide"), layers.Dense(16)], name="encoder")
    shared = layers.Dense(16, name="shared")
    left, right = layers.Input((8, 4)), layers.Input((8, 4))
    x = layers.Add()([shared(encoder(left)), shared(encoder(right))])
    x = Block()(Block()(x))
    x = layers.MultiHeadAttention(2, 8)(x, x)
    model = keras.Model([left, right], layers.Dense(1)(layers.GlobalAveragePooling1D()(x)), name="twins")
    model.compile(keras.optimizers.Adam(clipnorm=1.0), "mse", metrics=["mae"])
    data = np.random.default_rng(0).random((32 * 10, 8, 4), np.float32)
    model.fit([data, data], data[:, 0, 0], batch_size=32, verbose=0)
    with tfprof.profile(logdir=directory):
        model.fit([data, data], data[:, 0, 0], batch_size=32, verbose=0)


def two_optimizers(directory: str) -> None:
    """A step written by hand in a model of its own: two networks, each with its optimizer; captured by this package."""
    import keras
    import numpy as np
    import tensorflow as tf

    import tfprof_widgets as tfprof

    class Pair(keras.Model):
        def __init__(self) -> None:
            super().__init__(name="pair")
            self.maker = keras.Sequential([keras.layers.Dense(8)], name="maker")
            self.judge = keras.Sequential([keras.layers.Dense(8), keras.layers.Dense(1)], name="judge")
            self.maker_optimizer = keras.optimizers.SGD(name="maker_sgd")
            self.judge_optimizer = keras.optimizers.SGD(name="judge_sgd")

        def train_step(self, data: Any) -> Any:
            with tf.GradientTape(persistent=True) as tape:
                real, made = self.judge(data), self.judge(self.maker(data))
                judge_loss = tf.reduce_mean(tf.square(real - 1.0)) + tf.reduce_mean(tf.square(made))
                maker_loss = tf.reduce_mean(tf.square(made - 1.0))
            for part, loss, optimizer in (
                (self.judge, judge_loss, self.judge_optimizer),
                (self.maker, maker_loss, self.maker_optimizer),
            ):
                gradients = tape.gradient(loss, part.trainable_variables)
                optimizer.apply_gradients(zip(gradients, part.trainable_variables, strict=True))
            return {"loss": judge_loss}

    model = Pair()
    model.compile()
    data = np.random.default_rng(0).random((32 * 10, 8), np.float32)
    model.fit(data, batch_size=32, verbose=0)
    with tfprof.profile(logdir=directory):
        model.fit(data, batch_size=32, verbose=0)


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
        xla_fit,
        keras_bare,
        keras_first_step,
        function_loop,
        function_loop_marked,
        eager_loop,
        eager_loop_marked,
        paced_loop,
        paced_loop_marked,
        function_epoch,
        lstm_fit,
        tfrecord_fit,
        bfloat16_fit,
        float16_fit,
        nested_fit,
        two_optimizers,
        quickstart,
    )
}

if __name__ == "__main__":
    KINDS[sys.argv[1]](sys.argv[2])
