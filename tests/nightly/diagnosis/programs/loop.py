"""Faults of loops of one's own: what Python does around the training."""

from __future__ import annotations

import random
from collections import deque

import keras
import numpy as np
import tensorflow as tf

import tfprof_widgets as tfprof
from tests.nightly.diagnosis.kit import Run, fault, images, table, tokens

CLASSES = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def q_network(n_inputs: int = 4, n_actions: int = 2) -> keras.Model:
    layers = [keras.layers.Dense(32, activation="relu"), keras.layers.Dense(n_actions)]
    model = keras.Sequential([keras.Input((n_inputs,)), *layers])
    model.compile(keras.optimizers.Adam(0.001), "mse")
    return model


@fault("model.predict is called for one state at a time, in each step of the environment.", r"predict")
def predict_for_one_state(fixed: bool) -> Run:
    q = q_network()
    ask = tf.function(q)

    def run():
        state, memory = np.zeros(4, "float32"), []
        for step in range(16):
            scores = ask(state[None]) if fixed else q.predict(state[None], verbose=0)  # fault
            action = int(np.argmax(scores[0]))
            state = np.clip(state + np.random.normal(action - 0.5, 0.1, 4), -2, 2).astype("float32")
            memory.append((state, action))
            if step % 8 == 7:
                states = np.stack([s for s, _ in memory[-8:]])
                q.train_on_batch(states, np.zeros((8, 2), "float32"))

    return run


@fault("model.fit is called for each small chunk of rows.", r"\bfit\b")
def fit_for_each_chunk(fixed: bool) -> Run:
    x, y = table(384, 24)
    model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")

    def run():
        for start in range(0, 384, 32):
            rows = slice(start, start + 32)
            if fixed:
                model.train_on_batch(x[rows], y[rows])
            else:
                model.fit(x[rows], y[rows], epochs=1, batch_size=32, verbose=0)  # fault

    return run


@fault("The steps of a GAN run op by op: nobody wrote @tf.function.", r"eager|tf\.function")
def gan_without_tf_function(fixed: bool) -> Run:
    batches = tf.data.Dataset.from_tensor_slices(table(320, 784)[0]).shuffle(320).batch(32, drop_remainder=True)
    dense = keras.layers.Dense
    generator = keras.Sequential([keras.Input((16,)), dense(64, "relu"), dense(784, "sigmoid")])
    critic = keras.Sequential([keras.Input((784,)), dense(64, "relu"), dense(64, "relu"), dense(1)])
    optimizers = keras.optimizers.Adam(1e-4), keras.optimizers.Adam(1e-4)
    entropy = keras.losses.BinaryCrossentropy(from_logits=True)

    def train_step(real):
        with tf.GradientTape() as g_tape, tf.GradientTape() as c_tape:
            fake = critic(generator(tf.random.normal((32, 16)), training=True), training=True)  # fault
            true = critic(real, training=True)  # fault
            g_loss = entropy(tf.ones_like(fake), fake)
            c_loss = entropy(tf.ones_like(true), true) + entropy(tf.zeros_like(fake), fake)
        tapes, losses, parts = (g_tape, c_tape), (g_loss, c_loss), (generator, critic)
        for tape, loss, part, optimizer in zip(tapes, losses, parts, optimizers, strict=True):
            gradients = tape.gradient(loss, part.trainable_variables)  # fault
            optimizer.apply(gradients, part.trainable_variables)  # fault

    step = tf.function(train_step) if fixed else train_step  # fault

    def run():
        for batch in tfprof.trace_steps(batches):
            step(batch)  # fault

    return run


@fault(
    "A search builds and compiles a model for each learning rate, so that Keras traces its functions each time.",
    r"trac|compil|build|new model",
)
def search_over_learning_rates(fixed: bool) -> Run:
    x, y = table(512, 32)

    def build():
        model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(0.001), "mse")  # fault
        return model

    kept = build()
    start = kept.get_weights()

    def run():
        losses = {}
        for rate in (0.1, 0.01):
            if fixed:
                model = kept
                model.set_weights(start)
            else:
                model = build()  # fault
            model.optimizer.learning_rate = rate
            losses[rate] = model.fit(x, y, batch_size=64, epochs=2, verbose=0).history["loss"][-1]  # fault
        return min(losses, key=losses.get)

    return run


@fault(
    "Gradients are taken weight by weight from a persistent tape: a backward pass for each.",
    r"persistent|weight by weight|backward pass|each weight",
)
def gradient_of_each_weight(fixed: bool) -> Run:
    x, y = table(1024, 32)
    rows = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1024).batch(64).prefetch(2)
    layers = [keras.layers.Dense(64, activation="tanh") for _ in range(6)]
    model = keras.Sequential([keras.Input((32,)), *layers, keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.01)

    def train_step(x, y):
        with tf.GradientTape(persistent=not fixed) as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        if fixed:
            gradients = tape.gradient(loss, model.trainable_variables)
        else:
            gradients = [tape.gradient(loss, weight) for weight in model.trainable_variables]  # fault
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    def run():
        for x, y in rows:
            train_step(x, y)

    return run


@fault(
    "A replay buffer of Python tuples is sampled and stacked for each step of training.",
    r"Python in|outside|between|sampl|stack|while no op",
)
def replay_buffer_of_tuples(fixed: bool) -> Run:
    n = 5000
    states = np.random.default_rng(1).random((n, 12, 12, 4), dtype="float32")
    actions = np.random.default_rng(2).integers(4, size=n)
    memory = deque(({"state": s.tolist(), "action": int(a)} for s, a in zip(states, actions, strict=True)), maxlen=n)
    flat = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(4)])
    optimizer = keras.optimizers.Adam(0.001)

    @tf.function
    def train(states, actions):
        with tf.GradientTape() as tape:
            chosen = tf.reduce_sum(flat(states) * tf.one_hot(actions, 4), 1)
            loss = tf.reduce_mean((chosen - 1.0) ** 2)
        optimizer.apply(tape.gradient(loss, flat.trainable_weights), flat.trainable_weights)

    def run():
        for step in range(150):
            with tfprof.step(step):
                if fixed:
                    chosen = np.random.randint(n, size=64)
                    train(states[chosen], actions[chosen])
                else:
                    batch = random.sample(memory, 64)  # fault
                    stacked = np.array([one["state"] for one in batch], "float32")  # fault
                    train(stacked, np.array([one["action"] for one in batch]))  # fault

    return run


@fault(
    "The target network follows by get_weights and set_weights, through NumPy, in each step.",
    r"(get|set)_weights|assign|target|NumPy|copy|copies",
)
def soft_update_through_numpy(fixed: bool) -> Run:
    states = np.random.default_rng(1).random((960, 48), dtype="float32")
    layers = [keras.layers.Dense(512, activation="relu") for _ in range(4)]
    online = keras.Sequential([keras.Input((48,)), *layers])
    target = keras.models.clone_model(online)
    optimizer = keras.optimizers.Adam(0.001)

    @tf.function
    def train(states):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((online(states) - tf.stop_gradient(target(states))) ** 2)
        optimizer.apply(tape.gradient(loss, online.trainable_weights), online.trainable_weights)

    @tf.function
    def follow():
        for ours, theirs in zip(target.trainable_variables, online.trainable_variables, strict=True):
            ours.assign(0.99 * ours + 0.01 * theirs)

    def run():
        for states_of_step in tfprof.trace_steps(np.split(states, 30)):
            train(states_of_step)
            if fixed:
                follow()
            else:
                pairs = zip(target.get_weights(), online.get_weights(), strict=True)  # fault
                target.set_weights([0.99 * ours + 0.01 * theirs for ours, theirs in pairs])  # fault

    return run


@fault(
    "All predictions so far are copied by np.concatenate in each step.",
    r"concatenate|Python in|outside|between|while no op",
)
def predictions_concatenated(fixed: bool) -> Run:
    x, _ = images(640, 64)
    masks = keras.Sequential([keras.layers.Conv2D(4, 3, padding="same", activation="relu"), keras.layers.Conv2D(4, 1)])
    pictures = tf.data.Dataset.from_tensor_slices(x).batch(8).prefetch(2)
    segment = tf.function(masks)

    def run():
        all_masks, parts = np.zeros((0, 64, 64, 4), "float32"), []
        for batch in tfprof.trace_steps(pictures):
            part = segment(batch).numpy()
            if fixed:
                parts.append(part)
            else:
                all_masks = np.concatenate([all_masks, part])  # fault
        return np.concatenate(parts) if fixed else all_masks

    return run


@fault("A text generator calls its model op by op for each next word.", r"eager|tf\.function")
def words_generated_eagerly(fixed: bool) -> Run:
    words = keras.Input((32,), dtype="int32")
    hidden = keras.layers.Embedding(500, 32)(words)
    for _ in range(3):
        attended = keras.layers.MultiHeadAttention(2, 16)(hidden, hidden, use_causal_mask=True)
        hidden = keras.layers.LayerNormalization()(hidden + attended)
        hidden = keras.layers.LayerNormalization()(hidden + keras.layers.Dense(32, activation="gelu")(hidden))
    model = keras.Model(words, keras.layers.Dense(500)(hidden))
    ask = tf.function(model) if fixed else model  # fault
    prompt = tokens(4, 32, 500)

    def run():
        text = prompt.copy()
        for step in range(16):
            with tfprof.step(step):
                logits = ask(tf.constant(text))  # fault
                text = np.concatenate([text[:, 1:], np.argmax(logits[:, -1:], 2)], 1).astype("int32")
        return text

    return run
