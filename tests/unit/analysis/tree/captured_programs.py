"""Keras programs that this package captures, each run in a process of its own -> the `Analysis` of their captures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.warm_process import run_file
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.read import open_traces

HEAD = """\
import json, sys
import numpy as np, tensorflow as tf, keras
import tfprof_widgets as tfprof
from keras import layers as L
def fitted(model, x, y, **options):
    model.compile("adam", options.pop("loss", "mse"), **options)
    model.fit(x, y, batch_size=8, verbose=0)
    with tfprof.profile(logdir=sys.argv[1], system=False):
        model.fit(x, y, batch_size=8, verbose=0)
    n_trainable = sum(int(np.prod(v.shape)) for v in model.trainable_variables)
    print(json.dumps({"n_params": model.count_params(), "n_trainable": n_trainable}))
rows = np.random.default_rng(0).random((8 * 5 + 3, 16), np.float32)
images = np.random.default_rng(0).random((8 * 5, 12, 12, 1), np.float32)
"""
PROGRAMS = {
    "dense": """
model = keras.Sequential([L.Input((16,)), L.Dense(8, activation="relu", name="hidden"), L.Dense(1, name="out")], name="net")
fitted(model, rows, rows[:, :1])
""",
    "conv": """
model = keras.Sequential([
    L.Input((12, 12, 1)),
    L.Conv2D(4, 3, activation="relu", name="conv"),
    L.BatchNormalization(name="norm"),
    L.Flatten(),
    L.Dropout(0.5),
    L.Dense(3, name="out"),
], name="net")
fitted(model, images, np.zeros(len(images)), loss=keras.losses.SparseCategoricalCrossentropy(True))
""",
    "loop": """
w = tf.Variable(tf.ones((16, 4)), name="weight")
scale = tf.Variable(2.0, trainable=False, name="scale")
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.matmul(x, w)) * scale
    w.assign_sub(0.01 * tape.gradient(loss, w))
    return loss
step(tf.constant(rows[:8]))
with tfprof.profile(logdir=sys.argv[1], system=False):
    for i in range(5):
        with tfprof.step(i):
            step(tf.constant(rows[:8]))
print(json.dumps({"n_params": 65, "n_trainable": 64}))
""",
}


def run_program(name: str, directory: Path) -> tuple[Analysis, dict[str, Any]]:
    """The capture of a program, and what it printed of itself."""
    script = directory / f"{name}.py"
    script.write_text(HEAD + PROGRAMS[name])
    done = run_file(script, str(directory / "logdir"), TF_CPU_ALLOCATOR_USE_BFC="true")
    assert done.returncode == 0, f"{done.stdout[-1000:]}\n{done.stderr[-3000:]}"
    assert "deprecat" not in done.stderr
    opened = open_traces(directory / "logdir")
    return Analysis(opened.trace, opened.source_map), json.loads(done.stdout.splitlines()[-1])
