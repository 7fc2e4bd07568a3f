"""Real tf.data pipelines, each driven through TensorFlow's profiler in one process -> one xplane.pb per kind.

`python tests/unit/analysis/input/tf_data_runs.py DIR [KIND ...]` writes `DIR/KIND.xplane.pb`. No protobuf is parsed here.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.warm_process import run_file

N_BATCHES = 12


def capture_all(directory: Path) -> dict[str, Path]:
    """Run every kind in one fresh process and give the path of each file. CPU memory is not recorded."""
    done = run_file(Path(__file__), str(directory), TF_CPU_ALLOCATOR_USE_BFC="false")
    if done.returncode:
        raise RuntimeError(f"the tf.data captures failed with status {done.returncode}:\n{done.stderr[-2000:]}")
    return {kind: directory / f"{kind}.xplane.pb" for kind in KINDS}


def _slow(x: Any, *, seconds: float = 0.004) -> Any:
    import tensorflow as tf

    def sleep(value: Any) -> Any:
        time.sleep(seconds)
        return value

    y = tf.py_function(sleep, [x], tf.int64)
    y.set_shape([])
    return y


def _train(dataset: Any, *, seconds: float = 0.002) -> None:
    import tensorflow as tf

    @tf.function(input_signature=[dataset.element_spec])
    def step(batch: Any) -> Any:
        return tf.reduce_sum(batch)

    step.get_concrete_function()  # else tracing it gives the pipeline time to run ahead
    for batch in dataset:
        step(batch)
        time.sleep(seconds)


def slow_map() -> None:
    import tensorflow as tf

    _train(tf.data.Dataset.range(4 * N_BATCHES).map(_slow).batch(4))


def slow_map_parallel() -> None:
    """The same with the fix: every call is ready before the training asks for it."""
    import tensorflow as tf

    dataset = tf.data.Dataset.range(4 * N_BATCHES).map(_slow, num_parallel_calls=8).batch(4)
    _train(dataset.prefetch(4), seconds=0.025)


def interleave() -> None:
    import tensorflow as tf

    inner = tf.data.Dataset.range(4)
    dataset = tf.data.Dataset.range(N_BATCHES).interleave(
        lambda i: inner.map(lambda j: _slow(i * 4 + j)), cycle_length=3
    )
    _train(dataset.batch(4))


def interleave_parallel() -> None:
    """Slow enough that threads which wait for a core on a busy machine are not what is waited for."""
    import tensorflow as tf

    inner = tf.data.Dataset.range(4)
    dataset = tf.data.Dataset.range(N_BATCHES).interleave(
        lambda i: inner.map(lambda j: _slow(i * 4 + j, seconds=0.016)), cycle_length=3, num_parallel_calls=3
    )
    _train(dataset.batch(4))


def zip_concatenate() -> None:
    import tensorflow as tf

    first = tf.data.Dataset.range(2 * N_BATCHES).map(_slow)
    second = tf.data.Dataset.range(2 * N_BATCHES)
    pairs = tf.data.Dataset.zip((first.concatenate(first), second.concatenate(second)))
    _train(pairs.map(lambda a, b: a + b).batch(4))


def flat_map() -> None:
    import tensorflow as tf

    dataset = tf.data.Dataset.range(N_BATCHES).flat_map(
        lambda i: tf.data.Dataset.range(4).map(lambda j: _slow(i * 4 + j))
    )
    _train(dataset.batch(4))


def slow_read() -> None:
    """Compressed files read one after another: inflating a record is the reader's own time."""
    import tensorflow as tf

    with tempfile.TemporaryDirectory() as scratch:
        files = [f"{scratch}/{k}.tfrecord" for k in range(2)]
        for file in files:
            with tf.io.TFRecordWriter(file, tf.io.TFRecordOptions(compression_type="GZIP")) as writer:
                for _ in range(N_BATCHES):
                    writer.write(bytes(4_000_000))
        _train(tf.data.TFRecordDataset(files, compression_type="GZIP").map(tf.strings.length).batch(2))


def slow_map_after_parallel() -> None:
    import tensorflow as tf

    dataset = tf.data.Dataset.range(4 * N_BATCHES).map(lambda i: i + 1, num_parallel_calls=2)
    _train(dataset.map(_slow).batch(4).prefetch(1))


def slow_batch() -> None:
    """Elements of some megabytes, copied into batches."""
    import tensorflow as tf

    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False  # else a busy machine may hide the copying behind it
    dataset = tf.data.Dataset.from_tensors(tf.zeros([1_000_000])).repeat(8 * N_BATCHES)
    _train(dataset.batch(8).with_options(options))


def slow_filter() -> None:
    import tensorflow as tf

    _train(tf.data.Dataset.range(4 * N_BATCHES).filter(lambda i: _slow(i) >= 0).batch(4))


def slow_shuffle_fill() -> None:
    """A buffer as large as the data set: the first batch waits for every element."""
    import tensorflow as tf

    _train(tf.data.Dataset.range(4 * N_BATCHES).map(_slow).shuffle(4 * N_BATCHES).batch(4).prefetch(1))


def slow_generator() -> None:
    import tensorflow as tf

    def numbers() -> Iterator[int]:
        for i in range(4 * N_BATCHES):
            time.sleep(0.004)
            yield i

    dataset = tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec([], tf.int64))
    _train(dataset.map(lambda i: i + 1, num_parallel_calls=2).batch(4).prefetch(1))


KINDS: dict[str, Callable[[], None]] = {
    run.__name__: run
    for run in (
        *(slow_map, slow_map_parallel, interleave, interleave_parallel, zip_concatenate, flat_map, slow_read),
        *(slow_map_after_parallel, slow_batch, slow_filter, slow_shuffle_fill, slow_generator),
    )
}


def _main(directory: Path, kinds: list[str]) -> None:
    import tensorflow as tf

    _train(tf.data.Dataset.range(4).map(_slow).batch(2))  # what happens once in a process happens outside the captures
    for kind in kinds:
        logs = directory / kind
        tf.profiler.experimental.start(str(logs))
        KINDS[kind]()
        tf.profiler.experimental.stop()
        (path,) = logs.glob("plugins/profile/*/*.xplane.pb")
        path.rename(directory / f"{kind}.xplane.pb")
        shutil.rmtree(logs)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2:] or list(KINDS))
