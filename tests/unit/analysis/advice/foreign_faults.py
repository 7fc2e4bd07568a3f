"""Programs with one known fault of model, graph or calls each, in plain Keras and TensorFlow -> a run directory per fault."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.warm_process import run_python

N_STEPS = 10


def run_faults(directory: Path) -> dict[str, Path]:
    """Run all of `FAULTS` in one fresh process and give the directory of each."""
    done = run_python(f"from {__name__} import main\nmain({str(directory)!r})", timeout_s=600)
    if done.returncode:
        raise RuntimeError(f"the programs failed with status {done.returncode}:\n{done.stderr[-2000:]}")
    return {fault: directory / fault for fault in FAULTS}


def main(directory: str) -> None:
    """Write `directory/FAULT` for each."""
    import keras

    for name, fault in FAULTS.items():
        keras.utils.set_random_seed(0)
        fault(f"{directory}/{name}")
        keras.backend.clear_session()


def _fit(
    directory: str,
    model: Any,
    x: Any,
    y: Any,
    batch_size: int,
    optimizer: str = "sgd",
    *,
    loss: Any = "mse",
    **compiled: Any,
) -> None:
    import tensorflow as tf

    import tfprof_widgets as tfprof

    model.compile(optimizer, loss, **compiled)
    data = tf.data.Dataset.from_tensor_slices((x, y)).cache().batch(batch_size, drop_remainder=True).prefetch(2)
    for _ in range(2):
        model.fit(data, verbose=0, shuffle=False)
    with tfprof.profile(logdir=directory) as prof:
        model.fit(data, verbose=0, shuffle=False)
    assert len(prof.source_lines)  # read while the model is alive, as in a notebook


def _loop(directory: str, step: Callable[[int], Any]) -> None:
    """Run a step some times, then `N_STEPS` times more in a capture."""
    import tfprof_widgets as tfprof

    for i in range(2):
        step(-1 - i)
    with tfprof.profile(logdir=directory) as prof:
        for i in range(N_STEPS):
            with tfprof.step(i):
                step(i)
    assert len(prof.source_lines)  # read while what it is about is alive, as in a notebook


def _numbers(*shape: int) -> Any:
    import numpy as np

    return np.random.default_rng(0).random(shape, np.float32)


def _net(width: int, depth: int = 2) -> Any:
    import keras

    hidden = [keras.layers.Dense(width, activation="relu") for _ in range(depth)]
    return keras.Sequential([keras.layers.Input((64,)), *hidden, keras.layers.Dense(1)])


def _trainer(width: int = 64) -> tuple[Any, Callable[..., Any]]:
    """A model, and a step that trains it."""
    import keras
    import tensorflow as tf

    model, optimizer = _net(width), keras.optimizers.SGD()
    optimizer.build(model.trainable_variables)

    def train(x: Any, y: Any, scale: Any = 1.0) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2) * scale
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return model, train


def one_hot_product(directory: str) -> None:
    """One-hot rows into a Dense."""
    import keras
    import numpy as np
    import tensorflow as tf

    ids = np.arange(64 * N_STEPS * 4).reshape(-1, 4).astype("int32") % 4000
    inputs = keras.Input((4,), dtype="int32")
    rows = keras.layers.Lambda(lambda one: tf.one_hot(one, 4000), output_shape=(4, 4000))(inputs)
    x = keras.layers.Flatten()(keras.layers.Dense(32, use_bias=False)(rows))
    _fit(directory, keras.Model(inputs, keras.layers.Dense(1)(x)), ids, _numbers(len(ids), 1), 64)


def dense_update(directory: str) -> None:
    """Adam on a table of which few rows are read."""
    import keras
    import numpy as np

    ids = np.arange(64 * N_STEPS * 2).reshape(-1, 2).astype("int32")
    model = keras.Sequential(
        [keras.layers.Input((2,), dtype="int32"), keras.layers.Embedding(200_000, 16), keras.layers.Flatten()]
    )
    model.add(keras.layers.Dense(1))
    _fit(directory, model, ids, _numbers(len(ids), 1), 64, "adam")


def many_variables(directory: str) -> None:
    """Forty branches of one unit each."""
    import keras

    inputs = keras.Input((64,))
    branches = [keras.layers.Dense(1)(keras.layers.Dense(2, activation="tanh")(inputs)) for _ in range(40)]
    _fit(directory, keras.Model(inputs, keras.layers.Add()(branches)), _numbers(640, 64), _numbers(640, 1), 64, "adam")


def graph_loop(directory: str) -> None:
    """A recurrent network as a loop of small ops."""
    import keras

    model = keras.Sequential([keras.layers.Input((80, 8)), keras.layers.RNN(keras.layers.GRUCell(8))])
    _fit(directory, model, _numbers(32 * N_STEPS, 80, 8), _numbers(32 * N_STEPS, 8), 32)


def turned_images(directory: str) -> None:
    """Channels first between convolutions that want them last."""
    import keras
    import tensorflow as tf

    class Turn(keras.layers.Layer):  # type: ignore[misc]
        def __init__(self, order: list[int]) -> None:
            super().__init__()
            self.order = order

        def call(self, x: Any) -> Any:
            return tf.transpose(x, self.order)

    inputs = keras.Input((8, 48, 48))
    x = inputs
    for _ in range(3):
        x = Turn([0, 3, 1, 2])(keras.layers.Conv2D(8, 1, activation="relu")(Turn([0, 2, 3, 1])(x)))
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.GlobalAveragePooling2D()(x)))
    _fit(directory, model, _numbers(16 * N_STEPS, 8, 48, 48), _numbers(16 * N_STEPS, 1), 16)


def double_precision(directory: str) -> None:
    """Data, and so all else, in float64."""
    import tensorflow as tf

    x = tf.constant(_numbers(256, 256), tf.float64)
    weights = [tf.Variable(tf.random.normal((256, 256), dtype=tf.float64)) for _ in range(3)]

    @tf.function
    def train() -> Any:
        with tf.GradientTape() as tape:
            y = x
            for one in weights:
                y = tf.nn.relu(y @ one)
            loss = tf.reduce_mean(y)
        for one, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            one.assign_sub(1e-6 * gradient)
        return loss

    _loop(directory, lambda _: train())


def number_checks(directory: str) -> None:
    """Each op's result checked."""
    import tensorflow as tf

    tf.debugging.enable_check_numerics()
    try:
        _fit(directory, _net(32, depth=6), _numbers(64 * N_STEPS, 64), _numbers(64 * N_STEPS, 1), 64)
    finally:
        tf.debugging.disable_check_numerics()


def argument_conversion(directory: str) -> None:
    """A large array of NumPy in each step."""
    import tensorflow as tf

    array = _numbers(120_000 * 256 + 1)[1:].reshape(120_000, 256)  # at an address whose memory TensorFlow cannot share
    _, train = _trainer()
    train = tf.function(train)

    def step(_: int) -> None:
        rows = tf.random.uniform((64,), maxval=len(array), dtype=tf.int32)
        train(tf.gather(array, rows)[:, :64], tf.ones((64, 1)))

    _loop(directory, step)


def many_calls(directory: str) -> None:
    """A small function forty times a step."""
    import tensorflow as tf

    weights = [tf.Variable(tf.random.normal((32, 32))) for _ in range(40)]
    first = tf.constant(_numbers(32, 32))

    @tf.function
    def layer(x: Any, weight: Any) -> Any:
        return tf.tanh(x @ weight)

    def step(_: int) -> None:
        x = first
        for one in weights:
            x = layer(x, one)

    _loop(directory, step)


def eager_ops(directory: str) -> None:
    """Metrics updated beside the function."""
    import keras
    import tensorflow as tf

    _, train = _trainer()
    train = tf.function(train)
    metrics = [keras.metrics.MeanSquaredError(), keras.metrics.MeanAbsoluteError(), keras.metrics.CosineSimilarity()]
    x, y = tf.constant(_numbers(64, 64)), tf.constant(_numbers(64, 1))

    def step(_: int) -> None:
        train(x, y)
        for metric in metrics:
            metric.update_state(y, y)

    _loop(directory, step)


def step_overhead(directory: str) -> None:
    """A model too small for the call of its step."""
    _fit(directory, _net(8, depth=1), _numbers(32 * 60, 64), _numbers(32 * 60, 1), 32)


def compiled_shapes(directory: str) -> None:
    """XLA, and another length in each step."""
    import tensorflow as tf

    _, train = _trainer()
    train = tf.function(train, jit_compile=True)
    _loop(directory, lambda i: train(tf.ones((70 + i, 64)), tf.ones((70 + i, 1))))


def new_functions(directory: str) -> None:
    """Another function object in each step."""
    import tensorflow as tf

    _, train = _trainer()
    x, y = tf.constant(_numbers(64, 64)), tf.constant(_numbers(64, 1))
    _loop(directory, lambda _: tf.function(train)(x, y))


def function_per_loop(directory: str) -> None:
    """A function made anew for each of three short loops."""
    import tensorflow as tf

    import tfprof_widgets as tfprof

    _, train = _trainer()
    x, y = tf.constant(_numbers(64, 64)), tf.constant(_numbers(64, 1))
    with tfprof.profile(logdir=directory) as prof:
        for _ in range(3):
            step = tf.function(train)
            for i in range(N_STEPS):
                with tfprof.step(i):
                    step(x, y)
    assert len(prof.source_lines)


def run_eagerly(directory: str) -> None:
    """Functions run op by op, as somebody switched it on."""
    import tensorflow as tf

    _, train = _trainer()
    train = tf.function(train)
    x, y = tf.constant(_numbers(64, 64)), tf.constant(_numbers(64, 1))
    tf.config.run_functions_eagerly(True)
    try:
        _loop(directory, lambda _: train(x, y))
    finally:
        tf.config.run_functions_eagerly(False)


def eager_fit(directory: str) -> None:
    """`fit` with `run_eagerly`."""
    _fit(directory, _net(32), _numbers(64 * N_STEPS, 64), _numbers(64 * N_STEPS, 1), 64, run_eagerly=True)


def half_precision(directory: str) -> None:
    """A policy for GPUs on a CPU."""
    import keras

    keras.mixed_precision.set_global_policy("mixed_float16")
    convolutions = [keras.layers.Conv2D(16, 3, activation="relu") for _ in range(2)]
    model = keras.Sequential([keras.layers.Input((24, 24, 3)), *convolutions, keras.layers.GlobalAveragePooling2D()])
    keras.mixed_precision.set_global_policy("float32")
    _fit(directory, model, _numbers(160, 24, 24, 3), _numbers(160, 16), 16)


def frozen_layers(directory: str) -> None:
    """Only what is behind a base of convolutions is trained."""
    import keras

    convolutions = [keras.layers.Conv2D(24, 3, activation="relu") for _ in range(3)]
    base = keras.Sequential([*convolutions, keras.layers.GlobalMaxPooling2D()], name="base")
    base.trainable = False
    inputs = keras.Input((32, 32, 3))
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Dropout(0.2)(base(inputs, training=False))))
    _fit(directory, model, _numbers(320, 32, 32, 3), _numbers(320, 1), 32)


FAULTS: dict[str, Callable[[str], None]] = {
    fault.__name__: fault
    for fault in (
        *(one_hot_product, dense_update, many_variables, graph_loop, turned_images, double_precision, number_checks),
        *(argument_conversion, many_calls, eager_ops, step_overhead, compiled_shapes, new_functions),
        *(function_per_loop, run_eagerly, eager_fit, half_precision, frozen_layers),
    )
}
