"""Programs that run sessions of TensorFlow 1 under the hook, each in a process of its own."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from tests.warm_process import run_python

PRELUDE = """
import gc, json, os, pathlib, signal, weakref
import numpy as np
import tensorflow as tf
import tfprof_widgets as tfprof
v1 = tf.compat.v1
v1.disable_eager_execution()
signal.signal(signal.SIGINT, signal.default_int_handler)
out = {}

def built(has_step=True, batch=16):
    graph = tf.Graph()
    with graph.as_default():
        v1.set_random_seed(0)
        n = tf.cast(tf.round(v1.random_uniform((), batch, batch + 0.4)), tf.int32)  # known when it runs, and not before
        x = v1.random_normal((n, 8), name="x")
        w, b = v1.get_variable("w", (8, 4)), v1.get_variable("b", (4,))
        # Apart, so that the runtime does not fuse them: it tells no shape of what it fused away.
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w, name="product"))) + tf.reduce_sum(tf.square(b))
        step = v1.train.get_or_create_global_step() if has_step else None
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    return graph, train

def session(hook, **options):
    return v1.train.MonitoredSession(v1.train.ChiefSessionCreator(**options), hooks=[hook])

def trained(hook, n=12, **options):
    graph, train = built(**options)
    with graph.as_default(), session(hook) as running:
        for _ in range(n):
            running.run(train)
    return hook

def steps(profile):
    return profile.run.results.op_graph.steps

def same(a, b):
    names = ("ops", "inputs", "shapes", "frames", "runs", "times", "memory")
    return [name for name in names if not getattr(a, name).equals(getattr(b, name))]
"""


def run(body: str, *, may_fail: bool = False) -> dict[str, Any]:
    """What `body` put into `out`, in a process of its own."""
    program = PRELUDE + textwrap.dedent(body) + "\nprint('\\n@@' + json.dumps(out))\n"
    done = run_python(program)
    if may_fail:
        return {"returncode": done.returncode}
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    assert "incomplete shapes" not in done.stderr
    found: dict[str, Any] = json.loads(done.stdout.rpartition("@@")[2])
    return found
