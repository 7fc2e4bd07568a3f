"""Programs that train in a hand-written loop, under TensorFlow's own profiler."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from tests.captures.run_parts import N_LOOP_STEPS, image_batches, profiled, small_model, step_marker


def _loop(directory: str, *, is_marked: bool, is_function: bool) -> None:
    import keras
    import tensorflow as tf

    model, loss_of = small_model(), keras.losses.SparseCategoricalCrossentropy(True)
    optimizer = keras.optimizers.SGD()

    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
        return loss

    step = tf.function(train_step) if is_function else train_step
    dataset = image_batches(N_LOOP_STEPS)
    for x, y in dataset:
        step(x, y)
    with profiled(directory):
        batches = iter(dataset)
        for i in range(N_LOOP_STEPS):
            with step_marker("train", i) if is_marked else nullcontext():
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
    with profiled(directory):
        batches = iter(dataset)
        for i in range(N_LOOP_STEPS):
            with step_marker("train", i) if is_marked else nullcontext():
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

    model, loss_of = small_model(), keras.losses.SparseCategoricalCrossentropy(True)
    optimizer, dataset = keras.optimizers.SGD(), image_batches(N_LOOP_STEPS)
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
    with profiled(directory):
        epoch()
