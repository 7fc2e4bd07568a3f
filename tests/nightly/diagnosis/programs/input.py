"""Faults of input pipelines."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

import tfprof_widgets as tfprof
from tests.nightly.diagnosis.kit import Run, binary, fault, images, sentences, table, tokens, write_images


@fault(
    "JPEG files are decoded and resized again in each epoch, though they fit in memory.", r"\bcache", needs_line=False
)
def pictures_from_directory(fixed: bool) -> Run:
    folder = write_images(Path(tempfile.mkdtemp()), 192, 384)
    pictures = keras.utils.image_dataset_from_directory(folder, image_size=(48, 48), batch_size=16, verbose=0)  # fault
    if fixed:
        pictures = pictures.cache()
    model = keras.Sequential(
        [
            keras.layers.Rescaling(1 / 255),
            keras.layers.Conv2D(8, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(2),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    pictures = pictures.prefetch(tf.data.AUTOTUNE)
    return lambda: model.fit(pictures, epochs=3, verbose=0)


@fault(
    "Texts are vectorized one by one before batch, not whole batches at once.",
    r"whole batches|batch\b.*\bbefore|vectori[sz]e|after batch|per (element|example)",
)
def reviews_vectorized_one_by_one(fixed: bool) -> Run:
    texts, labels = sentences(3000, 50), binary(3000)
    vectorize = keras.layers.TextVectorization(max_tokens=3000, output_sequence_length=64)
    vectorize.adapt(texts[:500])
    reviews = tf.data.Dataset.from_tensor_slices((texts, labels)).shuffle(3000)
    if fixed:
        reviews = reviews.batch(50).map(lambda x, y: (vectorize(x), y), num_parallel_calls=tf.data.AUTOTUNE)
    else:
        reviews = reviews.map(lambda x, y: (vectorize(x), y), num_parallel_calls=tf.data.AUTOTUNE)  # fault
        reviews = reviews.batch(50)
    model = keras.Sequential(
        [keras.layers.Embedding(3000, 16), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)]
    )
    model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
    return lambda: model.fit(reviews.prefetch(tf.data.AUTOTUNE), epochs=2, verbose=0)


@fault(
    "A Python generator parses JSON line by line, each line again in each epoch.",
    r"generator|from_generator|\bPython\b",
)
def events_from_json_lines(fixed: bool) -> Run:
    x, y = table(3000, 16)
    lines = [json.dumps({"x": a.tolist(), "y": b.tolist()}) for a, b in zip(x, y, strict=True)]

    def rows():
        for line in lines:
            event = json.loads(line)  # fault
            yield np.array(event["x"], "float32"), np.array(event["y"], "float32")  # fault

    shape = (tf.TensorSpec((16,)), tf.TensorSpec((1,)))
    if fixed:
        events = tf.data.Dataset.from_tensor_slices(tuple(np.stack(column) for column in zip(*rows(), strict=True)))
    else:
        events = tf.data.Dataset.from_generator(rows, output_signature=shape)  # fault
    events = events.batch(64).prefetch(tf.data.AUTOTUNE)
    model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    return lambda: model.fit(events, epochs=2, verbose=0)


@fault(
    "NumPy makes the spectrograms in a py_function, under Python's lock.", r"py_function|numpy_function|\bPython\b|GIL"
)
def spectrograms_in_py_function(fixed: bool) -> Run:
    clips = np.random.default_rng(1).standard_normal((480, 8000), dtype="float32")
    window = np.hanning(256).astype("float32")

    def spectrogram(clip):
        clip = clip.numpy()
        frames = [np.abs(np.fft.rfft(clip[i : i + 256] * window)) for i in range(0, 8000 - 255, 64)]  # fault
        return np.log1p(np.array(frames, "float32"))

    def load(clip, label):
        if fixed:
            picture = tf.math.log1p(tf.abs(tf.signal.stft(clip, 256, 64, 256)))
        else:
            picture = tf.py_function(spectrogram, [clip], tf.float32)  # fault
        return tf.ensure_shape(picture, (122, 129))[..., None], label

    sounds = tf.data.Dataset.from_tensor_slices((clips, binary(480)))
    sounds = sounds.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(16).prefetch(tf.data.AUTOTUNE)  # fault
    model = keras.Sequential([keras.layers.Conv2D(4, 5, strides=4), keras.layers.Flatten(), keras.layers.Dense(1)])
    model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
    return lambda: model.fit(sounds, verbose=0)


@fault(
    "__getitem__ of a PyDataset scales window by window and column by column.",
    r"PyDataset|Sequence|__getitem__|generator|\bPython\b",
)
def windows_of_a_pydataset(fixed: bool) -> Run:
    series = np.random.default_rng(2).standard_normal((5000, 12), dtype="float32")

    class Windows(keras.utils.PyDataset):
        def __len__(self):
            return 30

        def __getitem__(self, index):
            starts = (np.arange(64) + 64 * index) % 4000
            if fixed:
                x = series[starts[:, None] + np.arange(48)]
                return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True), series[starts + 48, :1]
            windows = []
            for start in starts:
                window = series[start : start + 48]
                scaled = [(column - column.mean()) / column.std() for column in window.T]  # fault
                windows.append(np.stack(scaled, 1))  # fault
            return np.array(windows), series[starts + 48, :1]

    windows = Windows()
    model = keras.Sequential(
        [keras.layers.Conv1D(16, 5, activation="relu"), keras.layers.Flatten(), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse")
    return lambda: model.fit(windows, epochs=2, verbose=0)


@fault(
    "Each picture is augmented before the filter drops four of five.",
    r"(before|first|earlier|ahead)\b.*\bfilter|filter.*\b(before|first|earlier|ahead)",
    needs_line=False,
)
def filter_behind_the_work(fixed: bool) -> Run:
    x, y = images(3000, 40)

    def augment(image, label):
        image = tf.image.resize(image, (96, 96), "bicubic")
        return tf.image.random_crop(tf.image.random_hue(image, 0.1), (80, 80, 3)), label

    pairs = tf.data.Dataset.from_tensor_slices((x, y))
    if fixed:
        pairs = pairs.filter(lambda _, label: label < 2).map(augment, num_parallel_calls=tf.data.AUTOTUNE)
    else:
        pairs = pairs.map(augment, num_parallel_calls=tf.data.AUTOTUNE)
        pairs = pairs.filter(lambda _, label: label < 2)  # fault
    pairs = pairs.batch(32).prefetch(tf.data.AUTOTUNE)
    model = keras.Sequential(
        [keras.layers.Conv2D(8, 3, strides=2), keras.layers.GlobalMaxPooling2D(), keras.layers.Dense(2)]
    )
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return lambda: model.fit(pairs, verbose=0)


@fault("Windows are data sets of their own, flattened one by one.", r"window|flat_map|FlatMap", needs_line=False)
def series_by_window_and_flat_map(fixed: bool) -> Run:
    series = np.cumsum(np.random.default_rng(3).standard_normal(4000)).astype("float32")
    if fixed:
        rows = np.lib.stride_tricks.sliding_window_view(series, 31)
        windows = tf.data.Dataset.from_tensor_slices((rows[:, :-1], rows[:, -1])).shuffle(1000).batch(64)
    else:
        windows = tf.data.Dataset.from_tensor_slices(series).window(31, shift=1, drop_remainder=True)  # fault
        windows = windows.flat_map(lambda window: window.batch(31, drop_remainder=True))  # fault
        windows = windows.shuffle(1000).map(lambda window: (window[:-1], window[-1])).batch(64)
    windows = windows.prefetch(tf.data.AUTOTUNE)
    model = keras.Sequential([keras.Input((30,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mae")
    return lambda: model.fit(windows, epochs=2, verbose=0)


@fault("All texts are padded to the longest, ten times the usual length.", r"\bpad|bucket|length", needs_line=False)
def padded_to_the_longest(fixed: bool) -> Run:
    x, y = tokens(320, 240, 5000), binary(320)
    x[np.arange(240)[None] >= np.where(np.arange(320) % 40 == 0, 240, 24)[:, None]] = 0
    order = np.argsort((x > 0).sum(1))
    texts = tf.data.Dataset.from_tensor_slices((x[order], y[order]))
    if fixed:
        texts = texts.map(lambda x, y: (x[: tf.math.count_nonzero(x, dtype=tf.int32)], y))
        texts = texts.bucket_by_sequence_length(
            lambda x, _: tf.size(x), [32, 128], [32, 32, 16], pad_to_bucket_boundary=False
        )
    else:
        texts = texts.padded_batch(32, ((240,), (1,)))  # fault
    model = keras.Sequential(
        [keras.layers.Embedding(5000, 32, mask_zero=True), keras.layers.GRU(48), keras.layers.Dense(1)]
    )
    model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
    texts = texts.cache().shuffle(40).prefetch(tf.data.AUTOTUNE)
    return lambda: model.fit(texts, verbose=0)


@fault(
    "Shards of a remote store are read one after the other: interleave has no num_parallel_calls.",
    r"interleave|num_parallel_calls|in parallel|one at a time",
    needs_line=False,
)
def remote_shards_in_turn(fixed: bool) -> Run:
    x, y = table(64, 32)

    def read(shard):
        time.sleep(0.008)  # stands for a request to a store
        return x + np.float32(shard), y

    def shard(number):
        ask = tf.data.Dataset.range(6).map(lambda _: tf.numpy_function(read, [number], (tf.float32, tf.float32)))
        return ask.map(lambda x, y: (tf.ensure_shape(x, (64, 32)), tf.ensure_shape(y, (64, 1))))

    parallel = 8 if fixed else None
    batches = tf.data.Dataset.range(16).interleave(shard, cycle_length=8, num_parallel_calls=parallel)  # fault
    model = keras.Sequential([keras.layers.Dense(256, activation="relu"), keras.layers.Dense(1)])
    optimizer = keras.optimizers.Adam()

    @tf.function
    def train(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        optimizer.apply(tape.gradient(loss, model.trainable_weights), model.trainable_weights)

    def run():
        for x, y in tfprof.trace_steps(batches.prefetch(2)):
            train(x, y)

    return run


@fault("One private thread runs all parallel calls of the pipeline.", r"thread|private", needs_line=False)
def private_pool_of_one(fixed: bool) -> Run:
    folder = write_images(Path(tempfile.mkdtemp()), 128, 128)
    files = 4 * [str(path) for path in folder.rglob("*.jpg")]

    def read(path):
        time.sleep(0.003)  # stands for a network disk
        return Path(path.decode()).read_bytes()

    def load(path):
        jpeg = tf.ensure_shape(tf.numpy_function(read, [path], tf.string), ())
        return tf.image.resize(tf.io.decode_jpeg(jpeg, channels=3), (64, 64)) / 255

    pictures = tf.data.Dataset.from_tensor_slices(files).map(load, num_parallel_calls=8)
    options = tf.data.Options()
    options.threading.private_threadpool_size = 8 if fixed else 1  # fault
    pictures = pictures.batch(16).prefetch(2).with_options(options)
    model = keras.Sequential(
        [keras.layers.Conv2D(4, 3, strides=4), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(8)]
    )
    return lambda: model.predict(pictures, verbose=0)
