"""Programs that are well written, each in a style of its own."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

import tfprof_widgets as tfprof
from tests.nightly.diagnosis.kit import Run, healthy, images, table, tokens

CLASSES = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def fed(*columns: np.ndarray, size: int) -> tf.data.Dataset:
    rows = tf.data.Dataset.from_tensor_slices(columns if len(columns) > 1 else columns[0]).cache()
    return rows.shuffle(2048).batch(size, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


@healthy
def pictures_by_fit() -> Run:
    x, y = images(1024, 32)
    convolutions = [keras.layers.Conv2D(32, 3, activation="relu", strides=s) for s in (1, 2, 1)]
    model = keras.Sequential([*convolutions, keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10)])
    model.compile("adam", CLASSES, metrics=["accuracy"])
    pictures = fed(x, y, size=64)
    return lambda: model.fit(pictures, epochs=2, verbose=0)


@healthy
def language_model_by_train_step() -> Run:
    class Smoothed(keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, self.trainable_weights), 1.0)
            self.optimizer.apply(gradients, self.trainable_weights)
            return {"loss": loss}

    words = keras.Input((48,), dtype="int32")
    hidden = keras.layers.Embedding(800, 128)(words)
    for _ in range(2):
        attended = keras.layers.MultiHeadAttention(4, 32)(hidden, hidden, use_causal_mask=True)
        hidden = keras.layers.LayerNormalization()(hidden + attended)
        wide = keras.layers.Dense(512, activation="gelu")(hidden)
        hidden = keras.layers.LayerNormalization()(hidden + keras.layers.Dense(128)(wide))
    model = Smoothed(words, keras.layers.Dense(800)(hidden))
    model.compile(keras.optimizers.AdamW(0.001), CLASSES)
    x = tokens(512, 49, 800)
    texts = fed(x[:, :-1], x[:, 1:], size=32)
    return lambda: model.fit(texts, verbose=0)


@healthy
def gan_in_a_loop() -> Run:
    pictures = fed(images(640, 28, 1)[0], size=64)
    up = [keras.layers.Conv2DTranspose(f, 4, 2, "same", activation=a) for f, a in ((32, "relu"), (1, "sigmoid"))]
    start = [keras.layers.Dense(49 * 32, activation="relu"), keras.layers.Reshape((7, 7, 32))]
    generator = keras.Sequential([keras.Input((32,)), *start, *up])
    down = [keras.layers.Conv2D(f, 4, 2, "same", activation="relu") for f in (32, 64)]
    critic = keras.Sequential([keras.Input((28, 28, 1)), *down, keras.layers.Flatten(), keras.layers.Dense(1)])
    entropy = keras.losses.BinaryCrossentropy(from_logits=True)
    optimizers = keras.optimizers.Adam(1e-4), keras.optimizers.Adam(1e-4)

    @tf.function
    def train(real):
        with tf.GradientTape() as g_tape, tf.GradientTape() as c_tape:
            true, fake = critic(real), critic(generator(tf.random.normal((64, 32))))
            g_loss = entropy(tf.ones_like(fake), fake)
            c_loss = entropy(tf.ones_like(true), true) + entropy(tf.zeros_like(fake), fake)
        g, c = generator.trainable_weights, critic.trainable_weights
        optimizers[0].apply_gradients(zip(g_tape.gradient(g_loss, g), g, strict=True))
        optimizers[1].apply_gradients(zip(c_tape.gradient(c_loss, c), c, strict=True))

    def run():
        for real in tfprof.trace_steps(pictures):
            train(real)

    return run


@healthy
def table_by_large_batches_and_xla() -> Run:
    x, y = table(16_384, 128)
    layers = [keras.layers.Dense(512, activation="relu") for _ in range(3)]
    model = keras.Sequential([keras.Input((128,)), *layers, keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.01, momentum=0.9), "mse", jit_compile=True)
    rows = fed(x, y, size=512)
    return lambda: model.fit(rows, verbose=0)


@healthy
def speech_with_cached_spectrograms() -> Run:
    clips = np.random.default_rng(1).standard_normal((512, 8000), dtype="float32")
    y = np.random.default_rng(2).integers(8, size=512)

    def spectrogram(clip, label):
        return tf.math.log1p(tf.abs(tf.signal.stft(clip, 256, 128)))[..., None], label

    sounds = tf.data.Dataset.from_tensor_slices((clips, y)).batch(64)
    sounds = sounds.map(spectrogram, num_parallel_calls=tf.data.AUTOTUNE).unbatch().cache()
    sounds = sounds.shuffle(512).batch(32).prefetch(tf.data.AUTOTUNE)
    convolutions = [keras.layers.Conv2D(f, 3, strides=s, activation="relu") for f, s in ((16, 1), (32, 2), (32, 2))]
    model = keras.Sequential([*convolutions, keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(8)])
    model.compile("adam", CLASSES, metrics=["accuracy"])
    return lambda: model.fit(sounds, verbose=0)


@healthy
def actor_and_critic_with_many_environments() -> Run:
    layers = [keras.layers.Dense(512, activation="tanh"), keras.layers.Dense(512, activation="tanh")]
    shared = keras.Sequential([keras.Input((16,)), *layers, keras.layers.Dense(5)])
    optimizer = keras.optimizers.Adam(3e-4)
    turn = tf.constant(np.linalg.qr(np.random.default_rng(3).standard_normal((16, 16)))[0], tf.float32)

    @tf.function
    def train(states):
        with tf.GradientTape() as tape:
            losses = []
            for _ in range(8):
                scores = shared(states)
                action = tf.random.categorical(scores[:, :4], 1)[:, 0]
                states = tf.matmul(states, turn) + 0.01 * tf.cast(action, tf.float32)[:, None]
                advantage = -tf.reduce_sum(states**2, 1) - scores[:, 4]
                chance = tf.nn.sparse_softmax_cross_entropy_with_logits(action, scores[:, :4])
                losses.append(tf.reduce_mean(chance * tf.stop_gradient(advantage) + advantage**2))
        optimizer.apply(tape.gradient(losses, shared.trainable_weights), shared.trainable_weights)
        return states

    def run():
        states = tf.random.normal((256, 16))
        for step in range(25):
            with tfprof.step(step):
                states = train(tf.math.l2_normalize(states, 1))

    return run


@healthy
def batches_of_a_series_by_train_on_batch() -> Run:
    series = np.random.default_rng(4).standard_normal((5000, 16), dtype="float32")
    recurrent = keras.layers.LSTM(128, unroll=True)
    model = keras.Sequential([keras.Input((24, 16)), recurrent, keras.layers.Dense(16)])
    model.compile("adam", "mse")
    starts = np.arange(0, 4096)

    def run():
        for chosen in np.split(np.random.permutation(starts), 16):
            model.train_on_batch(series[chosen[:, None] + np.arange(24)], series[chosen + 24])

    return run


@healthy
def masks_with_validation_and_callbacks() -> Run:
    picture = keras.Input((48, 48, 3))
    fine = keras.layers.Conv2D(24, 3, padding="same", activation="relu")(picture)
    coarse = keras.layers.Conv2D(48, 3, padding="same", activation="relu")(keras.layers.MaxPooling2D()(fine))
    joined = keras.layers.Concatenate()([keras.layers.UpSampling2D()(coarse), fine])
    masks = keras.layers.Conv2D(2, 1)(keras.layers.Conv2D(24, 3, padding="same", activation="relu")(joined))
    model = keras.Model(picture, masks)
    model.compile("adam", CLASSES, metrics=["accuracy"])
    x = images(640, 48)[0]
    y = (x.mean(3) > 0.5).astype("int32")
    training, held_out = fed(x, y, size=32), tf.data.Dataset.from_tensor_slices((x[:64], y[:64])).batch(32).cache()
    rate = keras.callbacks.ReduceLROnPlateau(patience=2)
    stop = keras.callbacks.EarlyStopping(patience=3)
    return lambda: model.fit(training, epochs=2, validation_data=held_out, callbacks=[rate, stop], verbose=0)
