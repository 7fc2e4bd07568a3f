"""One task of a distributed training with a profiler server, as a program: its arguments are KIND INDEX DELAY PORTS.

KIND is `loop` or `keras` (a worker of `MultiWorkerMirroredStrategy`), or a job of parameter servers: `chief`, `ps`, `worker`.
PORTS are those of all tasks, with commas; of parameter servers first the chief's, then the server's, then the workers'. DELAY
are the seconds by which the input of this task is slow. Prints the address of its profiler server when it trains, and trains
until it is killed: a task that ended by itself would leave the others waiting.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

SIZE = 128
SERVER_JOBS = ("chief", "ps", "worker")


def main(kind: str, index: int, delay_s: float, ports: list[int]) -> None:
    """Be that task."""
    addresses = [f"127.0.0.1:{port}" for port in ports]
    if kind in SERVER_JOBS:
        cluster = {"chief": addresses[:1], "ps": addresses[1:2], "worker": addresses[2:]}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})
        _parameter_servers(kind, delay_s)
    else:
        os.environ["TF_CONFIG"] = json.dumps(
            {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        )
        (_keras if kind == "keras" else _loop)(delay_s)


def _tell_address() -> None:
    import tfprof_widgets as tfprof

    print(tfprof.serve().address, flush=True)


def _batches(delay_s: float) -> Any:
    """Batches without end, each of which takes so long to read."""
    import tensorflow as tf

    def read(_: tf.Tensor) -> tf.Tensor:
        time.sleep(delay_s)
        return tf.ones((32, SIZE))

    def load(i: tf.Tensor) -> tf.Tensor:
        return tf.ensure_shape(tf.py_function(read, [i], tf.float32), (32, SIZE))

    return tf.data.Dataset.range(10**6).map(load)


def _loop(delay_s: float) -> None:
    """A loop of its own, the batch fetched inside the step."""
    import tensorflow as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weights = tf.Variable(tf.ones((SIZE, SIZE)))
    batches = iter(_batches(delay_s))

    def gradient(batch: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(batch, weights)))
        total = tf.distribute.get_replica_context().all_reduce("sum", tape.gradient(loss, weights))
        weights.assign_sub(1e-6 * total)

    @tf.function  # type: ignore[untyped-decorator]
    def one_step() -> None:
        strategy.run(gradient, args=(next(batches),))

    one_step()
    _tell_address()
    step = 0
    while True:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            one_step()
        step += 1


def _keras(delay_s: float) -> None:
    """A Keras model in a loop of its own: `fit` of Keras 3 knows no strategy of several workers."""
    import keras
    import tensorflow as tf

    import tfprof_widgets as tfprof

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = keras.Sequential([keras.layers.Input((SIZE,)), keras.layers.Dense(SIZE), keras.layers.Dense(1)])

    def gradient(batch: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(batch, training=True)))
        gradients = tape.gradient(loss, [one.value for one in model.trainable_variables])
        totals = tf.distribute.get_replica_context().all_reduce("sum", gradients)
        for variable, total in zip(model.trainable_variables, totals, strict=True):
            variable.value.assign_sub(1e-6 * total)

    @tf.function  # type: ignore[untyped-decorator]
    def one_step(batch: tf.Tensor) -> None:
        strategy.run(gradient, args=(batch,))

    is_told = False
    for batch in tfprof.trace_steps(_batches(delay_s)):
        one_step(batch)
        if not is_told:
            _tell_address()
            is_told = True


def _parameter_servers(job: str, delay_s: float) -> None:
    """The chief schedules steps; the others run what they are sent."""
    import tensorflow as tf

    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if job != "chief":
        server = tf.distribute.Server(
            resolver.cluster_spec(), job_name=job, task_index=resolver.task_id, protocol="grpc", start=True
        )
        _tell_address()
        server.join()
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        weights = tf.Variable(tf.ones((SIZE, SIZE)))

    @tf.function  # type: ignore[untyped-decorator]
    def one_step() -> None:
        batch = tf.random.normal((32, SIZE))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(batch, weights)))
        weights.assign_sub(1e-6 * tape.gradient(loss, weights))

    coordinator.schedule(one_step)
    coordinator.join()
    _tell_address()
    step = 0
    while True:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            for _ in range(2):
                coordinator.schedule(one_step)
            coordinator.join()
        step += 1
        time.sleep(delay_s)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), [int(port) for port in sys.argv[4].split(",")])
