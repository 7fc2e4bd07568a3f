"""Faults of callbacks and validation."""

from __future__ import annotations

import gc
import tempfile
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from tests.nightly.diagnosis.kit import Run, binary, fault, images, table, tokens

CLASSES = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@fault("ModelCheckpoint saves the whole model every 5 batches.", r"checkpoint|saving|save_freq", needs_line=False)
def checkpoint_every_five_batches(fixed: bool) -> Run:
    x, y = table(2560, 64)
    layers = [keras.layers.Dense(256, activation="relu") for _ in range(3)]
    model = keras.Sequential([keras.Input((64,)), *layers, keras.layers.Dense(1)])
    model.compile("adam", "mse")
    path = str(Path(tempfile.mkdtemp()) / "last.keras")
    saving = keras.callbacks.ModelCheckpoint(path, save_freq="epoch" if fixed else 5)  # fault
    return lambda: model.fit(x, y, batch_size=64, callbacks=[saving], verbose=0)


@fault(
    "A callback draws and saves generated digits after each batch.",
    r"callback|on_train_batch_end|Monitor",
    needs_line=False,
)
def digits_saved_each_batch(fixed: bool) -> Run:
    from PIL import Image

    folder = Path(tempfile.mkdtemp())

    class Monitor(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch % (10 if fixed else 1) == 0:  # fault
                digits = self.model.predict(np.random.normal(size=(8, 16)), verbose=0)  # fault
                for i, digit in enumerate(digits):
                    Image.fromarray((255 * digit).astype("uint8")).resize((224, 224)).save(folder / f"{i}.png")  # fault

    x, _ = images(320, 28, 1)
    layers = [keras.layers.Dense(128, activation="relu"), keras.layers.Dense(784, activation="sigmoid")]
    generator = keras.Sequential([keras.Input((16,)), *layers, keras.layers.Reshape((28, 28))])
    generator.compile("adam", "mse")
    noise = np.random.normal(size=(320, 16))
    return lambda: generator.fit(noise, x[..., 0], batch_size=32, callbacks=[Monitor()], verbose=0)  # fault


@fault(
    "A callback averages all weights in NumPy after each batch.",
    r"callback|on_train_batch_end|get_weights|Average",
    needs_line=False,
)
def weights_averaged_in_numpy(fixed: bool) -> Run:
    class Average(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            self.average = self.model.get_weights()

        def on_train_batch_end(self, batch, logs=None):
            if batch % (20 if fixed else 1) == 0:  # fault
                pairs = zip(self.average, self.model.get_weights(), strict=True)  # fault
                self.average = [0.99 * average + 0.01 * weight for average, weight in pairs]  # fault

    x, y = table(2560, 64)
    layers = [keras.layers.Dense(512, activation="relu") for _ in range(4)]
    model = keras.Sequential([keras.Input((64,)), *layers, keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return lambda: model.fit(x, y, batch_size=64, callbacks=[Average()], verbose=0)  # fault


@fault("Validation runs in batches of 2.", r"validation", needs_line=False)
def validation_in_tiny_batches(fixed: bool) -> Run:
    x, y = tokens(1280, 30, 1000), binary(1280)
    layers = [keras.layers.Embedding(1000, 32), keras.layers.Conv1D(32, 5), keras.layers.GlobalMaxPooling1D()]
    model = keras.Sequential([*layers, keras.layers.Dense(1)])
    model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True), metrics=["accuracy"])
    held_out = x[:640], y[:640]
    size = 64 if fixed else 2
    return lambda: model.fit(x, y, 64, validation_data=held_out, validation_batch_size=size, verbose=0)  # fault


@fault("A callback collects garbage after each batch.", r"callback|garbage|gc\b|\bcollect\b", needs_line=False)
def garbage_collected_each_batch(fixed: bool) -> Run:
    class Collect(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if not fixed:
                gc.collect()  # fault

    x, y = images(384, 28, 1)
    model = keras.Sequential(
        [keras.layers.Conv2D(8, 3, activation="relu"), keras.layers.Flatten(), keras.layers.Dense(10)]
    )
    model.compile("adam", CLASSES)
    pictures = tf.data.Dataset.from_tensor_slices((x, y)).cache().shuffle(384).batch(16).prefetch(2)
    return lambda: model.fit(pictures, callbacks=[Collect()], verbose=0)  # fault


@fault(
    "A callback sends the loss to a server after each batch and waits for the answer.",
    r"callback|on_train_batch_end|Report|on_batch_end",
    needs_line=False,
)
def loss_sent_each_batch(fixed: bool) -> Run:
    class Report(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch % (20 if fixed else 1) == 0:
                time.sleep(0.015)  # stands for the request  # fault

    x, y = table(2560, 32)
    model = keras.Sequential([keras.layers.Dense(128, activation="relu"), keras.layers.Dense(1)])
    model.compile("rmsprop", "mae")
    return lambda: model.fit(x, y, batch_size=64, callbacks=[Report()], verbose=0)  # fault


@fault(
    "A callback predicts all held-out rows after each epoch of 4 batches, for a score of its own.",
    r"callback|on_epoch_end|predict|Score",
    needs_line=False,
)
def score_after_short_epochs(fixed: bool) -> Run:
    held_out, truth = table(8000, 32)

    class Score(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if not fixed or epoch % 10 == 9:
                guessed = self.model.predict(held_out, batch_size=32, verbose=0)  # fault
                print(f"score {np.corrcoef(guessed[:, 0], truth[:, 0])[0, 1]:.3f}")

    x, y = table(256, 32)
    model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    return lambda: model.fit(x, y, batch_size=64, epochs=10, callbacks=[Score()], verbose=0)  # fault
