"""Faults of what compile, train_step and metrics ask for."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from tests.nightly.diagnosis.kit import Run, binary, fault, table, tokens

CLASSES = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@fault("run_eagerly=True stayed in compile after debugging.", r"eager", needs_line=False)
def left_eager_after_debugging(fixed: bool) -> Run:
    x, y = table(768, 32)
    layers = [keras.layers.Dense(64, activation="relu") for _ in range(4)]
    model = keras.Sequential([*layers, keras.layers.Dense(1)])
    model.compile("adam", "mse", run_eagerly=not fixed)  # fault
    return lambda: model.fit(x, y, batch_size=32, verbose=0)


@fault(
    "Batches of 4 rows: a step is all overhead.",
    r"batch.?size|larger batch|small batch|batch of|batches of|\bbatch\b.*\b4\b",
    needs_line=False,
)
def batches_of_four(fixed: bool) -> Run:
    x, y = table(2400, 20)
    model = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse", metrics=["mae"])
    size = 64 if fixed else 4
    return lambda: model.fit(x, y, batch_size=size, verbose=0)  # fault


@fault("A metric of labels by 200 thresholds costs more than the model.", r"AUC|metric")
def area_under_many_curves(fixed: bool) -> Run:
    x, y = table(4096, 64)[0], binary(4096, 120)
    model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(120, activation="sigmoid")])
    metric = "binary_accuracy" if fixed else keras.metrics.AUC(multi_label=True, num_labels=120)  # fault
    model.compile("adam", "binary_crossentropy", metrics=[metric])  # fault
    return lambda: model.fit(x, y, batch_size=128, verbose=0)


@fault("A metric in NumPy runs in a numpy_function each step.", r"numpy_function|py_function|PyFunc|\bPython\b")
def metric_in_numpy(fixed: bool) -> Run:
    x, y = table(4096, 32)[0], binary(4096)

    def concordance(truth, score):
        pairs = [(a, b) for a in score[truth > 0.5] for b in score[truth < 0.5]]  # fault
        return np.float32(np.mean([a > b for a, b in pairs]))

    def auc(truth, score):
        if fixed:
            truth, score = tf.reshape(truth, [-1]), tf.reshape(score, [-1])
            higher = tf.cast(score[truth > 0.5][:, None] > score[truth < 0.5][None], tf.float32)
            return tf.reduce_mean(higher)
        return tf.ensure_shape(tf.numpy_function(concordance, [truth, score], tf.float32), ())  # fault

    model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
    model.compile("adam", "binary_crossentropy", metrics=[auc])
    return lambda: model.fit(x, y, batch_size=512, epochs=3, verbose=0)


@fault(
    "Label smoothing by a map_fn over the rows of a batch in the loss.",
    r"map_fn|while|loop|vectori[sz]|row by row|one by one",
)
def loss_row_by_row(fixed: bool) -> Run:
    x, y = table(8192, 32)[0], np.random.default_rng(1).integers(8, size=8192)

    def row_loss(pair):
        label, scores = pair
        target = tf.one_hot(label, 8) * 0.9 + 0.1 / 8
        return -tf.reduce_sum(target * tf.nn.log_softmax(scores))

    def loss(labels, scores):
        labels = tf.cast(tf.reshape(labels, [-1]), tf.int32)
        if fixed:
            return -tf.reduce_sum((tf.one_hot(labels, 8) * 0.9 + 0.1 / 8) * tf.nn.log_softmax(scores), 1)
        return tf.map_fn(row_loss, (labels, scores), fn_output_signature=tf.float32)  # fault

    model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(8)])
    model.compile("adam", loss)
    return lambda: model.fit(x, y, batch_size=128, verbose=0)


@fault(
    "Logits of 12,000 words at all 48 positions, though only the last position is trained.",
    r"logits|vocabulary|positions?|last|words",
)
def logits_of_all_positions(fixed: bool) -> Run:
    x = tokens(160, 48, 12_000)
    words = keras.Input((48,), dtype="int32")
    hidden = keras.layers.Embedding(12_000, 48)(words)
    hidden = keras.layers.Conv1D(48, 3, padding="causal", activation="relu")(hidden)
    if fixed:
        hidden = keras.layers.Lambda(lambda h: h[:, -1], output_shape=(48,))(hidden)
    logits = keras.layers.Dense(12_000, name="words")(hidden)  # fault
    if not fixed:
        logits = keras.layers.Lambda(lambda h: h[:, -1], output_shape=(12_000,))(logits)
    model = keras.Model(words, logits)
    model.compile("sgd", CLASSES)
    return lambda: model.fit(x, x[:, 0], batch_size=16, verbose=0)
