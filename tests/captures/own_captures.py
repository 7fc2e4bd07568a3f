"""Programs that this package captures itself, with what it notes beside the trace."""

from __future__ import annotations

from typing import Any


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
    with tfprof.profile(logdir=directory) as prof:
        model.fit([data, data], data[:, 0, 0], batch_size=32, verbose=0)
    prof.run.write_program()


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
    with tfprof.profile(logdir=directory) as prof:
        model.fit(data, batch_size=32, verbose=0)
    prof.run.write_program()
