"""A net of TensorFlow 1, and what tfprof writes of it in a folder.

`profile.context`, `step-N.pb` (RunMetadata), `graph.pb`, `op_log.pb`, `FIGURE.pb.gz` (tfprof's own pprof files of the code
view) and `advice.json` (what its `advise` says).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FIGURES = ("micros", "accelerator_micros", "bytes")
N_STEPS = 3


def write_tfprof(folder: Path) -> None:
    """Write all that."""
    import tensorflow as tf
    from tensorflow.python.profiler import model_analyzer, option_builder, tfprof_logger
    from tensorflow.python.util import _pywrap_tfprof

    v1 = tf.compat.v1
    loss, feeds = _net(v1, tf)
    train = v1.train.GradientDescentOptimizer(0.01).minimize(loss)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        profiler = v1.profiler.Profiler(session.graph)
        for step in range(N_STEPS):
            ran = v1.RunMetadata()
            full = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
            session.run(train, feeds, options=full, run_metadata=ran)
            as_on_a_gpu(ran)
            profiler.add_step(step, ran)
            (folder / f"step-{step}.pb").write_bytes(ran.SerializeToString())
        log = tfprof_logger.merge_default_with_oplog(session.graph)
        (folder / "op_log.pb").write_bytes(log.SerializeToString())
        (folder / "graph.pb").write_bytes(session.graph.as_graph_def(add_shapes=True).SerializeToString())
    (folder / "profile.context").write_bytes(profiler.serialize_to_string())
    for figure in FIGURES:
        builder = option_builder.ProfileOptionBuilder().with_max_depth(100_000).select([figure])
        options = builder.with_pprof_output(str(folder / f"{figure}.pb.gz")).build()
        _pywrap_tfprof.Profile(b"code", model_analyzer._build_options(options).SerializeToString())
    advice = profiler.advise(model_analyzer.ALL_ADVICE)
    reports = {name: list(checker.reports) for name, checker in advice.checkers.items()}
    (folder / "advice.json").write_text(json.dumps(reports))


def _net(v1: Any, tf: Any) -> tuple[Any, dict[Any, Any]]:
    import numpy as np

    x = v1.placeholder(tf.float32, [64, 32, 32, 3], name="x")
    with v1.variable_scope("images"):
        hidden = tf.nn.relu(tf.nn.conv2d(x, v1.get_variable("kernel", [3, 3, 3, 8]), 1, "SAME", data_format="NHWC"))
    with v1.variable_scope("BatchNorm"):
        mean, variance = tf.nn.moments(hidden, [0, 1, 2])
        hidden = tf.nn.batch_normalization(hidden, mean, variance, None, None, 1e-3)
    with v1.variable_scope("head"):
        out = tf.matmul(tf.reshape(hidden, [64, -1]), v1.get_variable("weight", [32 * 32 * 8, 10]))
    return tf.reduce_mean(tf.square(out), name="loss"), {x: np.ones([64, 32, 32, 3], np.float32)}


def as_on_a_gpu(ran: Any) -> None:
    """Make it look as if all ran on a GPU that computes in a quarter of the time, in TensorFlow's form for it."""
    devices = ran.step_stats.dev_stats
    (host,) = [device for device in devices if device.device.endswith("CPU:0")]
    name = host.device.replace("CPU", "GPU")
    gpu, streams = devices.add(device=name), devices.add(device=f"{name}/stream:all")
    moved = list(host.node_stats)
    gpu.node_stats.extend(moved)
    for node in moved:
        for memory in node.memory:
            memory.allocator_name = "GPU_0_bfc"
        kernel = streams.node_stats.add()
        kernel.CopyFrom(node)
        del kernel.output[:], kernel.memory[:]  # as TensorFlow has it: these are with what is scheduled
        kernel.node_name = f"{node.node_name}:{node.timeline_label.partition(' = ')[2].partition('(')[0]}"
        kernel.op_end_rel_micros = max(1, node.op_end_rel_micros // 4)
        kernel.op_end_rel_nanos = 1000 * kernel.op_end_rel_micros
    devices.remove(host)
