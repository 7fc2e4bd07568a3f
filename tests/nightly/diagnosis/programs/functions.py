"""Faults of tf.function, XLA and distribution."""

from __future__ import annotations

import itertools

import keras
import numpy as np
import tensorflow as tf

import tfprof_widgets as tfprof
from tests.nightly.diagnosis.kit import Run, binary, fault, images, table, tokens


@fault(
    "The learning rate, another Python number each step, has tf.function trace again.",
    r"retrac|traces? again|Python (number|scalar|value|float|argument)|tracing",
)
def learning_rate_as_python_number(fixed: bool) -> Run:
    x, y = table(640, 16)
    rows = tf.data.Dataset.from_tensor_slices((x, y)).cache().batch(32).prefetch(2)
    model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
    steps = itertools.count()

    @tf.function
    def train(x, y, rate):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        for weight, gradient in zip(model.trainable_weights, tape.gradient(loss, model.trainable_weights), strict=True):
            weight.assign_sub(rate * gradient)
        return loss

    def run():
        for x, y in tfprof.trace_steps(rows):
            rate = 0.01 * 0.999 ** next(steps)
            train(x, y, tf.constant(rate, tf.float32) if fixed else rate)  # fault

    return run


@fault(
    "Each epoch defines its tf.function anew, so that it is traced each time.",
    r"retrac|traces? again|tracing|defined|each epoch|tf\.function",
)
def function_defined_each_epoch(fixed: bool) -> Run:
    x, y = images(192, 24)
    pictures = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(192).batch(32).prefetch(2)
    layers = [keras.layers.Conv2D(8, 3, activation="relu") for _ in range(4)]
    model = keras.Sequential([keras.Input((24, 24, 3)), *layers, keras.layers.Flatten(), keras.layers.Dense(10)])
    optimizer, entropy = keras.optimizers.Adam(), keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def training():
        @tf.function
        def train(x, y):  # fault
            with tf.GradientTape() as tape:
                loss = entropy(y, model(x, training=True))
            optimizer.apply(tape.gradient(loss, model.trainable_weights), model.trainable_weights)

        return train

    kept = training()

    def run():
        for _epoch in range(3):
            train = kept if fixed else training()  # fault
            for x, y in tfprof.trace_steps(pictures):
                train(x, y)  # fault

    return run


@fault("Texts grow by a word each few steps, and XLA compiles the program again for each length.", r"compil")
def lengths_that_xla_compiles(fixed: bool) -> Run:
    x, y = tokens(32, 256, 400), binary(32)
    convolution = keras.layers.Conv1D(24, 5, padding="same", activation="relu")
    layers = [keras.layers.Embedding(400, 24), convolution, keras.layers.GlobalMaxPooling1D(), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    optimizer = keras.optimizers.Adam()
    lengths = itertools.count(16)

    @tf.function(jit_compile=True, reduce_retracing=True)
    def train(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(y, model(x, training=True)))
        optimizer.apply(tape.gradient(loss, model.trainable_weights), model.trainable_weights)

    def run():
        for step in range(24):
            if step % 6 == 0:
                length = next(lengths)
            with tfprof.step(step):
                train(x[:, : 32 * -(-length // 32) if fixed else length], y)  # fault

    return run


@fault(
    "Returns of episodes are summed time by time in a while loop of TensorFlow.",
    r"while|loop|TensorArray|vectori[sz]|\bscan\b",
)
def returns_in_a_while_loop(fixed: bool) -> Run:
    states = np.random.default_rng(1).random((20, 256, 8), dtype="float32")
    rewards = np.random.default_rng(2).random((20, 256), dtype="float32")
    policy = keras.Sequential([keras.Input((8,)), keras.layers.Dense(32, activation="tanh"), keras.layers.Dense(2)])
    optimizer = keras.optimizers.Adam()
    discounts = np.triu(0.98 ** np.abs(np.arange(256)[None] - np.arange(256)[:, None])).astype("float32")

    def returns(rewards):
        if fixed:
            return tf.linalg.matvec(discounts, rewards)
        sums, total = tf.TensorArray(tf.float32, 256), tf.constant(0.0)
        for i in tf.range(255, -1, -1):  # fault
            total = rewards[i] + 0.98 * total  # fault
            sums = sums.write(i, total)  # fault
        return sums.stack()

    @tf.function
    def train(states, rewards):
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(tf.nn.log_softmax(policy(states))[:, 0] * returns(rewards))
        optimizer.apply(tape.gradient(loss, policy.trainable_weights), policy.trainable_weights)

    def run():
        for episode in range(20):
            with tfprof.step(episode):
                train(states[episode], rewards[episode])

    return run


@fault(
    "Two replicas on the two cores of one machine: copies and reductions win nothing.",
    r"replica|[Mm]irrored|[Ss]trategy|distribut|all.?reduce|communicat|collective",
    needs_line=False,
    n_devices=2,
)
def replicas_on_one_cpu(fixed: bool) -> Run:
    x, y = table(1280, 32)
    strategy = tf.distribute.get_strategy() if fixed else tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])  # fault
    with strategy.scope():
        layers = [keras.layers.Dense(128, activation="relu") for _ in range(4)]
        model = keras.Sequential([keras.Input((32,)), *layers, keras.layers.Dense(1)])
        model.compile("adam", "mse")
    rows = tf.data.Dataset.from_tensor_slices((x, y)).cache().batch(64, drop_remainder=True).prefetch(2)
    return lambda: model.fit(rows, verbose=0)


@fault("tf.print writes a whole tensor in each step.", r"print")
def whole_tensors_printed(fixed: bool) -> Run:
    x, y = table(640, 64)
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(1)])
    optimizer = keras.optimizers.Adam()

    @tf.function
    def train(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_weights)
        if not fixed:
            tf.print("gradients", gradients[0], summarize=-1)  # fault
        optimizer.apply_gradients(zip(gradients, model.trainable_weights, strict=True))

    def run():
        for start in range(0, 640, 16):
            train(x[start : start + 16], y[start : start + 16])

    return run


@fault(
    "Teacher and student run in one step op by op: the teacher is called outside of the tf.function.",
    r"eager|tf\.function",
)
def teacher_outside_of_the_function(fixed: bool) -> Run:
    x, _ = images(512, 24)
    blocks = [keras.layers.SeparableConv2D(8, 3, padding="same", activation="relu") for _ in range(10)]
    teacher = keras.Sequential(
        [keras.Input((24, 24, 3)), *blocks, keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10)]
    )
    student = keras.Sequential([keras.Input((24, 24, 3)), keras.layers.Flatten(), keras.layers.Dense(10)])
    optimizer = keras.optimizers.SGD(0.01)
    compiled = tf.function(teacher)

    @tf.function
    def train(x, soft):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((student(x) - soft) ** 2)
        weights = student.trainable_weights
        optimizer.apply(tape.gradient(loss, weights), weights)

    def run():
        for x_of_step in tfprof.trace_steps(np.split(x, 64)):
            soft = compiled(x_of_step) if fixed else teacher(x_of_step)  # fault
            train(x_of_step, soft)

    return run
