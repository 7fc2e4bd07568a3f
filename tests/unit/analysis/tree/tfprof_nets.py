"""Nets of TensorFlow 1, run with full traces, and what tfprof makes of them: `python -m ...tfprof_nets NET FOLDER`.

Leaves `profile.context`, `graph.pb`, `op_log.pb`, `step-N-I.pb` (RunMetadata I of step N), and `VIEW/CASE.pb` and
`VIEW/CASE.txt`, what tfprof returned and wrote for a case of `option_cases.py`. `once/VIEW.pb` is what the function
`tf.compat.v1.profiler.profile` returned for the first run alone.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

STEPS = (("train", 0), ("loss", 3), ("train", 7), ("both", 7), ("loss", 12))
"""What runs, and the number of the step it belongs to: some ops only in some steps, one step of two runs."""


def dense_net(tf: Any) -> tuple[Any, dict[Any, Any]]:
    v1, np = tf.compat.v1, _numpy()
    x = v1.placeholder(tf.float32, [None, 20], name="x")
    hidden = x
    for i, width in enumerate((32, 16), 1):
        with v1.variable_scope(f"layer_{i}"):
            weight = v1.get_variable("weight", [hidden.shape[1], width], use_resource=i == 1)
            hidden = tf.nn.relu(tf.matmul(hidden, weight) + v1.get_variable("bias", [width]))
    halves = tf.split(hidden, 2, axis=1, name="halves")
    return tf.reduce_mean(tf.square(halves[0] * halves[1] + halves[1]), name="loss"), {x: np.ones([8, 20], np.float32)}


def conv_net(tf: Any) -> tuple[Any, dict[Any, Any]]:
    v1, np = tf.compat.v1, _numpy()
    x = v1.placeholder(tf.float32, [4, 12, 12, 3], name="x")
    with v1.variable_scope("layer_1"):
        kernel = v1.get_variable("kernel", [3, 3, 3, 8], use_resource=False)
        hidden = tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "SAME"))
    with v1.variable_scope("layer_2"):
        hidden = tf.nn.max_pool2d(hidden, 2, 2, "VALID")
        kernel = v1.get_variable("kernel", [3, 3, 8, 6])
        hidden = tf.nn.relu(tf.nn.conv2d(hidden, kernel, 1, "SAME"))
    with v1.variable_scope("head"):
        weight = v1.get_variable("weight", [6 * 36, 5])
        logits = tf.matmul(tf.reshape(hidden, [4, -1]), weight)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.constant([0, 1, 2, 3]), logits=logits)
    return tf.reduce_mean(loss, name="loss"), {x: np.ones([4, 12, 12, 3], np.float32)}


def rnn_net(tf: Any) -> tuple[Any, dict[Any, Any]]:
    v1, np = tf.compat.v1, _numpy()
    x = v1.placeholder(tf.float32, [None, 5, 8], name="x")
    with v1.variable_scope("rnn"):
        weight, bias = v1.get_variable("weight", [8, 8]), v1.get_variable("bias", [8])

        def body(i: Any, state: Any) -> tuple[Any, Any]:
            return i + 1, tf.tanh(tf.matmul(state, weight) + x[:, i] + bias)

        _, state = tf.while_loop(lambda i, _: i < 5, body, [0, tf.zeros([2, 8])])
    with v1.variable_scope("layer_1"):
        out = tf.matmul(state, v1.get_variable("weight", [8, 3]))
    return tf.reduce_mean(tf.square(out), name="loss"), {x: np.ones([2, 5, 8], np.float32)}


NETS = {"dense": dense_net, "conv": conv_net, "rnn": rnn_net}


def _numpy() -> Any:
    import numpy as np

    return np


def _run(kind: str, folder: Path) -> tuple[Any, Any]:
    """Build and run a net; tfprof's profiler of it, which must stay alive, and its graph."""
    import tensorflow as tf
    from tensorflow.core.profiler import tfprof_log_pb2

    v1 = tf.compat.v1
    v1.disable_eager_execution()
    v1.disable_control_flow_v2()
    v1.set_random_seed(0)
    loss, feeds = NETS[kind](tf)
    with tf.name_scope("train"):
        train = v1.train.AdamOptimizer(0.01).minimize(loss)
    op_log = tfprof_log_pb2.OpLogProto()
    op_log.log_entries.add(name=loss.op.name, types=["my_loss"])
    op_log.log_entries.add(name="x", types=["my_input"], float_ops=7)
    fetches = {"train": train, "loss": loss, "both": [train, loss]}
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        profiler = v1.profiler.Profiler(session.graph, op_log)
        # before the profiler completes the graph's shapes from what ran
        (folder / "graph.pb").write_bytes(session.graph.as_graph_def(add_shapes=True).SerializeToString())
        for i, (fetch, step) in enumerate(STEPS):
            ran = v1.RunMetadata()
            options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
            session.run(fetches[fetch], feeds, options=options, run_metadata=ran)
            if kind == "conv":
                _as_on_a_gpu(ran)
            profiler.add_step(step, ran)
            (folder / f"step-{step}-{i}.pb").write_bytes(ran.SerializeToString())
        graph = session.graph
    return profiler, (graph, op_log)


def _as_on_a_gpu(ran: Any) -> None:
    """Make convolutions and products look as if they had run on a GPU, as TensorFlow notes it: scheduled, then on streams."""
    devices = ran.step_stats.dev_stats
    (host,) = [device for device in devices if device.device.endswith("CPU:0")]
    name = host.device.replace("CPU", "GPU")
    moved = [node for node in host.node_stats if "Conv2D" in node.node_name or "MatMul" in node.node_name]
    kept = [node for node in host.node_stats if node not in moved]
    gpu, all_streams, stream = (devices.add(device=name + end) for end in ("", "/stream:all", "/stream:13"))
    gpu.node_stats.extend(moved)
    for node in moved:
        for memory in node.memory:
            memory.allocator_name = "GPU_0_bfc"
        for device in (all_streams, stream):
            device.node_stats.add(
                node_name=f"{node.node_name}:Kernel",
                all_start_micros=node.all_start_micros,
                op_end_rel_micros=node.op_end_rel_micros // 2 + 3,
            )
    del host.node_stats[:]
    host.node_stats.extend(kept)


def main(kind: str, folder: Path) -> None:
    from tensorflow.python.profiler import model_analyzer, tfprof_logger
    from tensorflow.python.util import _pywrap_tfprof

    from tests.unit.analysis.tree.option_cases import CASES, COUNTED_TWICE, WHOLE, file_name

    profiler, (graph, op_log) = _run(kind, folder)
    (folder / "profile.context").write_bytes(profiler.serialize_to_string())
    merged = tfprof_logger.merge_default_with_oplog(graph, op_log)
    (folder / "op_log.pb").write_bytes(merged.SerializeToString())
    for view, cases in CASES.items():
        (folder / view).mkdir()
        for name, options in (cases | {"counted twice": COUNTED_TWICE}).items():
            text = folder / view / f"{file_name(name)}.txt"
            given = WHOLE | options | {"output": f"file:outfile={text}"}
            asked = model_analyzer._build_options(given).SerializeToString()
            text.with_suffix(".pb").write_bytes(_pywrap_tfprof.Profile(view.encode(), asked))
    _profile_once(folder, graph, op_log, WHOLE)


def _profile_once(folder: Path, graph: Any, op_log: Any, options: dict[str, Any]) -> None:
    import tensorflow as tf

    v1 = tf.compat.v1
    step, i = STEPS[0][1], 0
    ran = v1.RunMetadata.FromString((folder / f"step-{step}-{i}.pb").read_bytes())
    (folder / "once").mkdir()
    for view in ("scope", "graph", "op", "code"):
        asked = options | {"output": f"file:outfile={folder / 'once' / view}.txt"}
        found = v1.profiler.profile(graph, run_meta=ran, op_log=op_log, cmd=view, options=asked)
        (folder / "once" / f"{view}.pb").write_bytes(found.SerializeToString())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
