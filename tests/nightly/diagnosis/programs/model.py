"""Faults of models: layers and ops that cost more than what they do is worth."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

import tfprof_widgets as tfprof
from tests.nightly.diagnosis.kit import Run, binary, fault, images, table, tokens

CLASSES = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@fault(
    "Words become one-hot vectors that a Dense layer multiplies, where an Embedding would look rows up.",
    r"one.?hot|[Ee]mbedding|sparse|gather",
)
def one_hot_words(fixed: bool) -> Run:
    x, y = tokens(2560, 20, 4000), binary(2560)
    words = keras.Input((20,), dtype="int32")
    if fixed:
        vectors = keras.layers.Embedding(4000, 32)(words)
    else:
        hot = keras.layers.Lambda(lambda w: tf.one_hot(w, 4000), output_shape=(20, 4000))(words)  # fault
        vectors = keras.layers.Dense(32, use_bias=False)(hot)  # fault
    model = keras.Model(words, keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(vectors)))
    model.compile("sgd", keras.losses.BinaryCrossentropy(from_logits=True))
    return lambda: model.fit(x, y, batch_size=64, verbose=0)


@fault(
    "A Dense layer behind Flatten has 12 million weights, which Adam updates each step.",
    r"flatten|dense|optimizer|Adam|parameters|weights",
    needs_line=False,
)
def dense_behind_flatten(fixed: bool) -> Run:
    x, y = images(256, 48)
    convolution = keras.layers.Conv2D(24, 3, padding="same", activation="relu")
    pool = keras.layers.GlobalAveragePooling2D() if fixed else keras.layers.Flatten()  # fault
    features = keras.layers.Dense(224, activation="relu", name="features")  # fault
    model = keras.Sequential([convolution, pool, features, keras.layers.Dense(10)])
    model.compile("adam", CLASSES, metrics=["accuracy"])
    pictures = tf.data.Dataset.from_tensor_slices((x, y)).cache().shuffle(256).batch(32).prefetch(2)
    return lambda: model.fit(pictures, epochs=2, verbose=0)


@fault(
    "map_fn walks the graphs of a batch one by one, where one batched matmul would do.",
    r"map_fn|while|loop|vectori[sz]|one by one",
)
def graphs_in_map_fn(fixed: bool) -> Run:
    adjacency = (np.random.default_rng(1).random((2560, 30, 30)) < 0.1).astype("float32")
    nodes, y = np.random.default_rng(2).random((2560, 30, 16), dtype="float32"), binary(2560)

    class Neighbours(keras.layers.Layer):
        def call(self, adjacency, nodes):
            if fixed:
                return tf.matmul(adjacency, nodes)
            pairs = (adjacency, nodes)
            return tf.map_fn(lambda one: tf.matmul(*one), pairs, fn_output_signature=tf.float32)  # fault

    edges, features = keras.Input((30, 30)), keras.Input((30, 16))
    hidden = keras.layers.Dense(32, activation="relu")(Neighbours()(edges, features))
    hidden = keras.layers.Dense(32, activation="relu")(Neighbours()(edges, hidden))
    model = keras.Model([edges, features], keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(hidden)))
    model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
    return lambda: model.fit([adjacency, nodes], y, batch_size=64, verbose=0)


@fault(
    "Adam's moments of a large embedding are updated as a whole, though a batch has few of its rows.",
    r"optimizer|Adam|sparse",
    needs_line=False,
)
def adam_on_a_large_embedding(fixed: bool) -> Run:
    users, items, y = tokens(640, 1, 150_000), tokens(640, 1, 50_000), binary(640)
    user, item = keras.Input((1,), dtype="int32"), keras.Input((1,), dtype="int32")
    a = keras.layers.Flatten()(keras.layers.Embedding(150_000, 32, name="users")(user))  # fault
    b = keras.layers.Flatten()(keras.layers.Embedding(50_000, 32, name="items")(item))
    model = keras.Model([user, item], keras.layers.Dot(1)([a, b]))
    optimizer = keras.optimizers.SGD(0.1) if fixed else keras.optimizers.Adam(0.001)  # fault
    model.compile(optimizer, keras.losses.BinaryCrossentropy(from_logits=True))  # fault
    return lambda: model.fit([users, items], y, batch_size=32, verbose=0)


@fault("The model computes in float64, as NumPy's data came.", r"float64|double|64.?bit", needs_line=False)
def double_precision(fixed: bool) -> Run:
    dtype = "float32" if fixed else "float64"
    x, y = table(4096, 128)
    keras.config.set_dtype_policy(dtype)  # fault
    layers = [keras.layers.Dense(768, activation="relu") for _ in range(3)]
    model = keras.Sequential([keras.Input((128,)), *layers, keras.layers.Dense(1)])
    model.compile("adam", "mse")
    keras.config.set_dtype_policy("float32")
    rows = tf.data.Dataset.from_tensor_slices((x.astype(dtype), y.astype(dtype)))
    rows = rows.cache().batch(256).prefetch(tf.data.AUTOTUNE)
    return lambda: model.fit(rows, verbose=0)


@fault(
    "mixed_float16, meant for GPUs, has a CPU convert each layer's numbers.",
    r"float16|half|mixed|16.?bit",
    needs_line=False,
)
def half_precision_on_a_cpu(fixed: bool) -> Run:
    x, y = images(320, 32)
    keras.mixed_precision.set_global_policy("float32" if fixed else "mixed_float16")  # fault
    model = keras.Sequential(
        [
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10, dtype="float32"),
        ]
    )
    model.compile("adam", CLASSES)
    model.build((None, 32, 32, 3))
    keras.mixed_precision.set_global_policy("float32")
    pictures = tf.data.Dataset.from_tensor_slices((x, y)).cache().batch(32).prefetch(2)
    return lambda: model.fit(pictures, verbose=0)


@fault(
    "Forty columns have an embedding each: hundreds of tiny ops and variables where one table would do.",
    r"small|tiny|overhead|many|launch|dispatch|variables|fuse|one (table|op)",
)
def an_embedding_per_column(fixed: bool) -> Run:
    x, y = tokens(6144, 40, 50), binary(6144)
    columns = keras.Input((40,), dtype="int32")
    if fixed:
        shifted = keras.layers.Lambda(lambda c: c + 50 * tf.range(40), output_shape=(40,))(columns)
        joined = keras.layers.Flatten()(keras.layers.Embedding(2000, 8)(shifted))
    else:
        ones = [keras.layers.Lambda(lambda c, i=i: c[:, i], output_shape=())(columns) for i in range(40)]
        joined = keras.layers.Concatenate()([keras.layers.Embedding(50, 8)(one) for one in ones])  # fault
    hidden = keras.layers.Dense(32, activation="relu")(joined)
    model = keras.Model(columns, keras.layers.Dense(1)(hidden))
    model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
    return lambda: model.fit(x, y, batch_size=64, verbose=0)


@fault(
    "A frozen base computes the same features of the same pictures in each epoch.",
    r"frozen|not trainable|trainable|precompute|features? (once|again)|predict.*once",
)
def frozen_base_each_epoch(fixed: bool) -> Run:
    x, y = images(192, 64)
    base = keras.applications.MobileNetV2((64, 64, 3), alpha=0.35, include_top=False, weights=None, pooling="avg")
    base.trainable = False
    if fixed:
        head = keras.Sequential([keras.layers.Dropout(0.2), keras.layers.Dense(10)])
        head.compile("adam", CLASSES)
        return lambda: head.fit(base.predict(x, verbose=0), y, epochs=5, verbose=0)
    picture = keras.Input((64, 64, 3))
    features = base(picture, training=False)  # fault
    model = keras.Model(picture, keras.layers.Dense(10)(keras.layers.Dropout(0.2)(features)))
    model.compile("adam", CLASSES)
    return lambda: model.fit(x, y, epochs=5, verbose=0)


@fault(
    "tf.recompute_grad computes all activations twice, though memory is not short.",
    r"remat|recomput|twice|again",
)
def recomputed_without_need(fixed: bool) -> Run:
    pictures = tf.data.Dataset.from_tensor_slices(images(160, 40)).cache().batch(32).prefetch(2)
    stages = [keras.layers.Conv2D(24, 5, padding="same", activation="relu") for _ in range(4)]
    head = keras.Sequential([keras.layers.GlobalMaxPooling2D(), keras.layers.Dense(10)])
    optimizer = keras.optimizers.SGD(0.01)

    @tf.function
    def train(x, y):
        with tf.GradientTape() as tape:
            for stage in stages:
                x = stage(x) if fixed else tf.recompute_grad(stage)(x)  # fault
            loss = CLASSES(y, head(x))
        weights = [weight for part in (*stages, head) for weight in part.trainable_weights]
        optimizer.apply(tape.gradient(loss, weights), weights)

    for stage, channels in zip(stages, (3, 24, 24, 24), strict=True):
        stage.build((None, 40, 40, channels))

    def run():
        for x, y in tfprof.trace_steps(pictures):
            train(x, y)

    return run


@fault(
    "All pairs of vectors are subtracted by broadcasting, 256 x 256 x 128 numbers, where one matmul gives the distances.",
    r"broadcast|pair|matmul|elementwise|element-wise|Sub\b|Square",
)
def triplets_by_broadcasting(fixed: bool) -> Run:
    x, y = table(4096, 64)[0], np.random.default_rng(4).integers(20, size=4096)
    model = keras.Sequential([keras.layers.Dense(256, activation="relu"), keras.layers.Dense(128)])

    def loss(labels, vectors):
        if fixed:
            norms = tf.reduce_sum(vectors**2, 1)
            distances = norms[:, None] - 2 * tf.matmul(vectors, vectors, transpose_b=True) + norms[None]
        else:
            distances = tf.reduce_sum((vectors[:, None] - vectors[None]) ** 2, 2)  # fault
        same = tf.cast(tf.equal(labels, tf.transpose(labels)), tf.float32)
        farthest = tf.reduce_max(distances * same, 1)
        nearest = tf.reduce_min(distances + 1e6 * same, 1)
        return tf.reduce_mean(tf.nn.relu(farthest - nearest + 1.0))

    model.compile("adam", loss)
    rows = tf.data.Dataset.from_tensor_slices((x, y[:, None])).cache().shuffle(4096).batch(256).prefetch(2)
    return lambda: model.fit(rows, verbose=0)


@fault("A graph's adjacency, 0.2 % full, is multiplied as a dense matrix.", r"sparse|adjacency|zeros")
def dense_adjacency(fixed: bool) -> Run:
    n = 3000
    edges = np.unique(np.random.default_rng(5).integers(n, size=(5 * n, 2)), axis=0)
    nodes, y = table(n, 64)
    adjacency = tf.scatter_nd(edges, tf.ones(len(edges)), (n, n))
    model, optimizer = [keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)], keras.optimizers.Adam(0.01)

    def neighbours(values):
        if fixed:
            return tf.math.unsorted_segment_sum(tf.gather(values, edges[:, 1]), edges[:, 0], n)
        return tf.matmul(adjacency, values)  # fault

    @tf.function
    def train(nodes, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model[1](neighbours(model[0](neighbours(nodes)))) - y) ** 2)
        weights = model[0].trainable_weights + model[1].trainable_weights
        optimizer.apply(tape.gradient(loss, weights), weights)

    def run():
        for epoch in range(20):
            with tfprof.step(epoch):
                train(nodes, y)

    return run


@fault("Each step takes the full svd of a weight for its spectral norm, where a power iteration would do.", r"svd")
def spectral_norm_by_svd(fixed: bool) -> Run:
    x, _ = images(1536, 16, 1)

    class Critic(keras.layers.Layer):
        def build(self, shape):
            self.kernel = self.add_weight(shape=(shape[-1], 256))
            self.u = self.add_weight(shape=(256, 1), initializer="random_normal", trainable=False)

        def call(self, x):
            if fixed:
                v = tf.math.l2_normalize(tf.matmul(self.kernel, self.u))
                self.u.assign(tf.math.l2_normalize(tf.matmul(self.kernel, v, transpose_a=True)))
                norm = tf.reduce_sum(v * tf.matmul(self.kernel, self.u))
            else:
                norm = tf.linalg.svd(self.kernel, compute_uv=False)[0]  # fault
            return tf.nn.leaky_relu(tf.matmul(x, self.kernel / tf.stop_gradient(norm)))

    critic = keras.Sequential([keras.layers.Flatten(), Critic(), Critic(), keras.layers.Dense(1)])
    critic.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
    return lambda: critic.fit(x, binary(1536), batch_size=64, verbose=0)
