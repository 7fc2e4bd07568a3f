"""Programs of TensorFlow 1 -> the files of its first profiler: `python -m tests.unit.formats.first_profiler DIRECTORY`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

N_RUNS = 3
HOOK_STEPS = (2, 4, 6)


def write_all(directory: Path) -> None:
    """Write `hook/timeline-N.json`, `runs/run_N.pb`, `graph.pb` and `tfprof_log`, `profile/profile.context`, `tasks/run_5.*`.

    And `tfprof/`, see `write_tfprof`.
    """
    import tensorflow as tf

    from tests.unit.export.first_profiler_run import write_tfprof

    v1 = tf.compat.v1
    v1.disable_eager_execution()
    for name in ("hook", "runs", "profile", "tasks", "tfprof"):
        (directory / name).mkdir(parents=True)
    graph = tf.Graph()
    with graph.as_default():
        x, train = _network(v1)
        _train_with_hook(v1, x, train, directory / "hook")
        _run_with_metadata(v1, x, train, directory)
    with tf.Graph().as_default():
        write_tfprof(directory / "tfprof")
    _run_two_tasks(tf, directory / "tasks")


def _network(v1: Any) -> tuple[Any, Any]:
    """A small net with branches, a split into parts of several sizes, and both kinds of variables."""
    x = v1.placeholder("float32", [None, 32], name="x")
    left, right = v1.split(x, [8, 24], axis=1)
    with v1.variable_scope("layer"):
        weight = v1.get_variable("weight", [24, 16], use_resource=False)
        hidden = v1.nn.relu(v1.matmul(right, weight))
        other = v1.get_variable("other", [8, 16], use_resource=True)
        hidden = hidden + v1.matmul(left, other)
    loss = v1.reduce_mean(hidden * hidden, name="loss")
    step = v1.train.get_or_create_global_step()
    return x, v1.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)


def _train_with_hook(v1: Any, x: Any, train: Any, directory: Path) -> None:
    import numpy as np

    hook = v1.train.ProfilerHook(save_steps=2, output_dir=str(directory), show_memory=True, show_dataflow=True)
    with v1.train.MonitoredTrainingSession(hooks=[hook]) as session:
        for _ in range(max(HOOK_STEPS)):
            session.run(train, {x: np.ones((16, 32), np.float32)})


def _run_with_metadata(v1: Any, x: Any, train: Any, directory: Path) -> None:
    import numpy as np
    from tensorflow.python.profiler import tfprof_logger

    graph = v1.get_default_graph()
    profiler = v1.profiler.Profiler(graph)
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for number in range(N_RUNS):
            run = v1.RunMetadata()
            session.run(train, {x: np.ones((16, 32), np.float32)}, options=options, run_metadata=run)
            (directory / "runs" / f"run_{number}.pb").write_bytes(run.SerializeToString())
            profiler.add_step(number, run)
    log = tfprof_logger.merge_default_with_oplog(graph, None, run, add_trace=True)
    (directory / "runs" / "tfprof_log").write_bytes(log.SerializeToString())
    (directory / "runs" / "graph.pb").write_bytes(graph.as_graph_def(add_shapes=True).SerializeToString())
    (directory / "profile" / "profile.context").write_bytes(profiler.serialize_to_string())
    text = str(graph.as_graph_def(add_shapes=True))
    (directory / "profile" / "as_text.pbtxt").write_text(text)


def _run_two_tasks(tf: Any, directory: Path) -> None:
    """A parameter server and a worker in this process, which send each other tensors."""
    from tensorflow.python.client import timeline

    v1 = tf.compat.v1
    cluster = tf.train.ClusterSpec({"ps": [f"127.0.0.1:{_free_port()}"], "worker": [f"127.0.0.1:{_free_port()}"]})
    servers = [tf.distribute.Server(cluster, job_name=job, task_index=0) for job in ("ps", "worker")]
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            weight = v1.get_variable("weight", [256, 256], use_resource=False)
        with tf.device("/job:worker/task:0"):
            total = v1.reduce_sum(v1.matmul(v1.random.normal([64, 256]), weight))
        with tf.device("/job:ps/task:0"):
            update = weight.assign_sub(v1.ones([256, 256]) * total)
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        with v1.Session(servers[1].target) as session:
            session.run(v1.global_variables_initializer())
            run = _run_with_transfers(v1, session, update.op, options)
    (directory / "run_5.pb").write_bytes(run.SerializeToString())
    (directory / "run_5.stats").write_bytes(run.step_stats.SerializeToString())
    drawn = timeline.Timeline(run.step_stats).generate_chrome_trace_format(show_memory=True)
    (directory / "timeline-5.json").write_text(drawn)


def _run_with_transfers(v1: Any, session: Any, update: Any, options: Any) -> Any:
    """A run in which both tasks noted what they received.

    A task that asks for a tensor before it was told to note transfers leaves that one out; which of the
    two comes first differs from run to run.
    """
    for _ in range(100):
        run = v1.RunMetadata()
        session.run(update, options=options, run_metadata=run)
        noted = {
            device.device
            for device in run.step_stats.dev_stats
            for node in device.node_stats
            if node.node_name == "RecvTensor"
        }
        if len(noted) == 2:
            return run
    raise RuntimeError("TensorFlow noted the transfers of one task only, in 100 runs")


def _free_port() -> int:
    import socket

    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
    sys.stdout.flush()
    os._exit(0)  # servers of TensorFlow never stop by themselves
