"""Small programs whose input is random, stateful, ordered, ... -> their captures, and what they train on once a fix is pasted."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.warm_process import run_python

_HEAD = """
import keras, numpy as np, re
import tensorflow as tf

tf.random.set_seed(None)  # a program before it in the same process may have set one
digits = re.compile(r"[0-9]+")

"""
_WORK = """
    x = tf.cast(x, tf.float32)
    x = tf.reduce_mean(tf.reshape(x + tf.linalg.eigvalsh(tf.eye(24) * (1.0 + x)), (6, 4)), axis=0)
"""
_TAIL = """
keras.utils.set_random_seed(1)  # behind the data, whose numbers it would make the same in each epoch
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
model.compile(
    "sgd",  # as it was
    loss=lambda _, y: keras.ops.mean(y * y),
)

def train():
    labelled = data.map(lambda x: (x, tf.zeros(tf.shape(x)[0])))
    model.fit(labelled, verbose=0, shuffle=False)
    return [float(w.sum()) for w in model.get_weights()]
"""
PIPELINES = {
    "ordered": "data = tf.data.Dataset.range(24)\ndata = data.map(work)\ndata = data.batch(4)",
    "ordered in parallel": (
        "data = (\n    tf.data.Dataset.range(24)\n    .map(work, num_parallel_calls=2)  # two at a time\n    .batch(4)\n)"
    ),
    "ordered by a lambda": (
        "data = tf.data.Dataset.range(24).map(\n"
        "    lambda é: tf.linalg.eigvalsh(tf.eye(32) * (1.0 + tf.cast(é, tf.float32)))[..., :4]\n).batch(4)"
    ),
    "random": (
        f"def augment(x):{_WORK}    return x + tf.random.uniform((4,))\n"
        "data = tf.data.Dataset.range(24).map(augment)\ndata = data.batch(4)"
    ),
    "random by a generator": (
        "noise = tf.random.Generator.from_seed(3)\ndef augment(x):" + _WORK + "    return x + noise.normal((4,))\n"
        "data = tf.data.Dataset.range(24).map(augment)\ndata = data.batch(4)"
    ),
    "stateful": (
        "count = tf.Variable(0.0)\ndef number(x):" + _WORK + "    return x + count.assign_add(1.0)\n"
        "data = tf.data.Dataset.range(24).map(number).batch(4)"
    ),
    "stateful in Python": (
        "seen = []\ndef number(x):\n    seen.append(x)\n    return np.float32([len(seen)] * 4)\ndef load(x):\n"
        "    y = tf.numpy_function(number, [x], tf.float32)" + _WORK + "    return tf.ensure_shape(y, (4,)) + x\n"
        "data = tf.data.Dataset.range(24).map(load).batch(4)"
    ),
    "shuffled": "data = tf.data.Dataset.range(24).shuffle(24)\ndata = data.map(work).batch(4)",
    "cached": "data = tf.data.Dataset.range(24)\ndata = data.map(work).batch(4).cache().take(3)",
    "taken": "data = tf.data.Dataset.range(24)\ndata = data.map(work)\ndata = data.batch(4).take(3)",
    "rebatched": "data = tf.data.Dataset.range(24).map(work).batch(8)\ndata = data.unbatch().batch(5, drop_remainder=True)",
    "interleaved": (
        "def part(x):\n    return tf.data.Dataset.range(4 * x, 4 * x + 4)\n"
        "data = tf.data.Dataset.range(6).interleave(part, cycle_length=3)\n"
        "data = data.map(work).batch(4)"
    ),
}
"""Of the shuffled one elements come in another order each time; of random and stateful ones they differ."""


def text_of(kind: str) -> str:
    """The program."""
    return f"{_HEAD}\ndef work(x):{_WORK}    return x\n{PIPELINES[kind]}\n{_TAIL}"


def pasted(text: str, code: str) -> str:
    """A program with a fix where its first line says."""
    where = re.match(r"# (in place of|before) .+:(\d+)\n", code)
    assert where is not None, code
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt) and node.lineno == int(where[2])]
    lines, statement = text.split("\n"), found[-1]
    indent = lines[statement.lineno - 1][: statement.col_offset]
    end = statement.end_lineno if where[1] == "in place of" else statement.lineno - 1
    lines[statement.lineno - 1 : end] = textwrap.indent(code, indent).split("\n")
    return "\n".join(lines)


def capture_all(directory: Path, kinds: Sequence[str]) -> dict[str, Path]:
    """Run some of `PIPELINES`, each in a process of its own: a capture knows all functions of one. Gives their directories."""

    def captured(kind: str) -> Path:
        program, run = directory / f"{kind}.py", directory / kind
        program.write_text(text_of(kind))
        done = run_python(f"from {__name__} import _capture\n_capture({str(program)!r}, {str(run)!r})")
        assert done.returncode == 0, done.stderr[-3000:]
        return run

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(kinds, pool.map(captured, kinds), strict=True))


def _capture(path: str, directory: str) -> None:
    import runpy

    import tfprof_widgets as tfprof

    program = runpy.run_path(path)
    with tfprof.profile(logdir=directory) as prof:
        program["train"]()
    assert len(prof.source_lines)  # read while what it is about is alive


def run_all(directory: Path, programs: Sequence[str]) -> list[dict[str, Any]]:
    """What each text trains on in two epochs, and the sums of the weights after a `fit`."""
    import json

    paths = [directory / f"pasted_{k}.py" for k in range(len(programs))]
    for path, text in zip(paths, programs, strict=True):
        path.write_text(text)
    told = directory / "told.json"
    call = f"_run({[*map(str, paths)]!r}, {str(told)!r})"
    done = run_python(f"from {__name__} import _run\n{call}", timeout_s=600)
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[dict[str, Any]] = json.loads(told.read_text())
    return found


def _run(paths: Sequence[str], told: str) -> None:
    import json
    import runpy

    found = []
    for path in paths:
        program = runpy.run_path(path)
        epochs = [[batch.numpy().tolist() for batch in program["data"]] for _ in range(2)]
        found.append({"epochs": epochs, "weights": program["train"]()})
    Path(told).write_text(json.dumps(found))
