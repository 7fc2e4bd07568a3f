"""A kind of program that nobody tuned for, and a size -> a capture of it.

What is done in all is the same at each size: fewer pipelines are taken from more often, fewer steps hold more calls, fewer
names come again. So what a size costs beside another is what the quantity itself costs (`bench_growth.py`).

Run as `python make_foreign.py KIND SIZE TARGET`; moves the `*.xplane.pb` file to TARGET. What TensorFlow can run here is
trained here; what needs devices or programs that are not here is made of a capture, at the level of its messages.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.unit.formats.full_protobuf import space_class

SHARED = Path(__file__).parent.parent.parent / "shared"
TRACES = Path(os.environ.get("TFPROF_TRACES", SHARED / "traces"))
N_WARMED = 3
N_TAKEN = 348
"""Elements that a loop takes from all its pipelines."""
N_CALLS = 5_000
N_FRAMES = 100_000
N_OPS = 300_000
N_INSTRUCTIONS = 250_000
N_KERNEL_EVENTS = 300_000
"""What steps, stacks, unrolled loops, compiled programs and streams do in all."""
_kept: list[Any] = []
"""Iterators: TensorFlow takes minutes to stop the threads of hundreds of them."""


def pipelines(n_pipelines: int, target: Path) -> None:
    """A loop that makes an iterator for each of its first steps, then takes from all in turn: pipelines side by side."""
    import tensorflow as tf

    train, data = _training(8)
    stages = data.unbatch().repeat().shuffle(32).map(lambda x, y: (x + 1, y)).filter(lambda _, y: y < 10)
    stages = stages.batch(8).prefetch(2).take(N_TAKEN)
    for _ in range(N_WARMED):
        train(*next(iter(stages)))
    with _captured(target):
        iterators = [iter(stages) for _ in range(n_pipelines)]
        _kept.extend(iterators)
        for step in range(N_TAKEN):
            with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
                train(*next(iterators[step % n_pipelines]))


def tiny_steps(n_steps: int, target: Path) -> None:
    """Many steps of a millisecond or less; fewer make more calls each."""
    import tensorflow as tf

    train, data = _training(8)
    batches = iter(data.repeat())
    for _ in range(N_WARMED):
        train(*next(batches))
    with _captured(target):
        for step in range(n_steps):
            with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
                for _ in range(N_CALLS // n_steps):
                    train(*next(batches))


def python_stacks(n_deep: int, target: Path) -> None:
    """Calls of Python functions within each other, so many deep, and a step at the bottom of each stack.

    Each call tells of itself: TensorFlow 2.21 traces none by its own, whatever `python_tracer_level` is.
    """
    import tensorflow as tf

    sys.setrecursionlimit(3 * n_deep + 1_000)
    train, data = _training(8)
    batches = iter(data.repeat())
    for _ in range(N_WARMED):
        train(*next(batches))

    def below(depth: int) -> None:
        if depth:
            with tf.profiler.experimental.Trace("$program.py:12 below"):
                below(depth - 1)
        else:
            train(*next(batches))

    with _captured(target):
        for step in range(N_FRAMES // n_deep):
            with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
                below(n_deep)


def op_names(n_names: int, target: Path) -> None:
    """A recurrent network unrolled over time, with so many ops of names of their own in a step."""
    import tensorflow as tf

    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})  # else minutes of rewriting
    units, n_times = 4, max(1, n_names // 42)
    weights = tf.Variable(tf.random.normal((2 * units, 4 * units), stddev=0.1))

    @tf.function(autograph=False)  # type: ignore[untyped-decorator]
    def train(x: Any) -> Any:
        with tf.GradientTape() as tape:
            hidden = cell = x
            for time in range(n_times):
                with tf.name_scope(f"lstm/step_{time}"):
                    gates = tf.matmul(tf.concat([x, hidden], 1), weights)
                    i, f, g, o = tf.split(gates, 4, 1)
                    cell = tf.sigmoid(f) * cell + tf.sigmoid(i) * tf.tanh(g)
                    hidden = tf.sigmoid(o) * tf.tanh(cell)
            loss = tf.reduce_sum(hidden)
        weights.assign_sub(1e-3 * tape.gradient(loss, weights))
        return loss

    x = tf.ones((2, units))
    train(x)
    with _captured(target):
        for step in range(N_OPS // n_names):
            with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
                train(x)


def hlo_instructions(n_instructions: int, target: Path) -> None:
    """Programs compiled by XLA with so many instructions in all."""
    import tensorflow as tf

    n_programs = max(1, n_instructions // 2500)
    weights = tf.random.normal((16, 16), stddev=0.1)

    def program(k: int) -> Any:
        def run(x: Any) -> Any:
            for time in range(1250 + k):  # each compiled on its own; a product and the fusion around it each time
                with tf.name_scope(f"block_{time}"):
                    x = tf.tanh(tf.matmul(x, weights) + x)
            return x

        return tf.function(run, jit_compile=True, autograph=False)

    programs = [program(k) for k in range(n_programs)]
    x = tf.ones((16, 16))
    for one in programs:
        one(x)
    with _captured(target):
        for step in range(N_INSTRUCTIONS // n_instructions):
            with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
                for one in programs:
                    x = one(x)


def gpus(n_gpus: int, target: Path) -> None:
    """A training on one GPU, on so many side by side: threads, launches, streams and kernels of each are copies."""
    space = _shared("h100/lstm")
    host, device = _plane(space, "/host:CPU"), _plane(space, "/device:GPU:0")
    lines = list(host.lines)
    originals = space_class()()
    originals.planes.extend([host, device])
    for gpu in range(1, n_gpus):
        copy = space_class()()
        copy.CopyFrom(originals)
        for plane in copy.planes:
            _shift_stats(plane, {"correlation_id", "_p", "_c", "context_id"}, gpu << 32)
        for line in copy.planes[0].lines:
            line.id += gpu << 24
        host.lines.extend(copy.planes[0].lines)
        copy.planes[1].name = device.name.replace(b"0", str(gpu).encode())
        copy.planes[1].id += gpu
        space.planes.append(copy.planes[1])
    assert len(host.lines) == n_gpus * len(lines)
    target.write_bytes(space.SerializeToString())


def kernels(n_kernels: int, target: Path) -> None:
    """A training on a GPU whose kernels have so many names, all of them where there are as many as kernels."""
    space = _shared("h100/resnet_mixed")
    device = _plane(space, "/device:GPU:0")
    streams = [line for line in device.lines if b"#" in line.name and line.events]
    n_there = sum(len(line.events) for line in streams)
    copies = -(-N_KERNEL_EVENTS // n_there)
    length_ps = max(line.events[-1].offset_ps + line.events[-1].duration_ps for line in streams)
    first_id, n_named = max(device.event_metadata) + 1, 0
    for line in streams:
        events = list(line.events)
        for copy in range(copies):
            for event in events if not copy else [_again(line, event, copy * length_ps) for event in events]:
                named_id = first_id + n_named % n_kernels
                if n_named < n_kernels:
                    named = device.event_metadata[named_id]
                    named.CopyFrom(device.event_metadata[event.metadata_id])
                    named.id, named.name = named_id, named.name + f"_{n_named}".encode()
                event.metadata_id = named_id
                n_named += 1
    target.write_bytes(space.SerializeToString())


def _again(line: Any, event: Any, later_ps: int) -> Any:
    copy = line.events.add()
    copy.CopyFrom(event)
    copy.offset_ps += later_ps
    return copy


def lines(n_lines: int, target: Path) -> None:
    """A training on a GPU whose threads are so many: the events of each are dealt out to threads of their own."""
    space = _shared("h100/cnn_input")
    host = _plane(space, "/host:CPU")
    originals = [line for line in host.lines if line.events]
    copies = -(-n_lines // len(originals))
    for line in originals:
        events = sorted(line.events, key=lambda event: (event.offset_ps, -event.duration_ps))
        outer, ends = [], -1  # what lies within another stays on its thread
        for event in events:
            if event.offset_ps >= ends:
                outer.append([event])
                ends = event.offset_ps + event.duration_ps
            else:
                outer[-1].append(event)
        size = -(-len(outer) // copies)
        for copy in range(1, copies):
            part = [event for group in outer[copy * size : (copy + 1) * size] for event in group]
            if part:
                other = host.lines.add(id=line.id + (copy << 32), name=line.name, timestamp_ns=line.timestamp_ns)
                other.events.extend(part)
        first = [event for group in outer[:size] for event in group]
        del line.events[:]
        line.events.extend(first)
    target.write_bytes(space.SerializeToString())


KINDS: dict[str, tuple[Callable[[int, Path], None], int]] = {
    "pipelines": (pipelines, 174),
    "tiny_steps": (tiny_steps, 5_000),
    "python_stacks": (python_stacks, 500),
    "op_names": (op_names, 100_000),
    "hlo_instructions": (hlo_instructions, 50_000),
    "gpus": (gpus, 8),
    "kernels": (kernels, 300_000),
    "lines": (lines, 1_000),
}
"""How each is made, and its size in the benchmark."""


def _training(batch: int) -> tuple[Callable[..., Any], Any]:
    """A step of a small network and the data for it: each image is normalised and turned, in parallel."""
    import numpy as np
    import tensorflow as tf

    images, labels = np.ones((max(256, batch), 12, 12, 1), np.float32), np.zeros(max(256, batch), np.int64)
    data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(64)
    data = (
        data.map(lambda x, y: (tf.image.flip_left_right(x * 2 - 1), y), num_parallel_calls=2).batch(batch).prefetch(2)
    )
    weights, bias = tf.Variable(tf.random.normal((144, 10), stddev=0.1)), tf.Variable(tf.zeros(10))

    @tf.function  # type: ignore[untyped-decorator]
    def train(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = tf.matmul(tf.reshape(x, (-1, 144)), weights) + bias
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        for variable, gradient in zip((weights, bias), tape.gradient(loss, (weights, bias)), strict=True):
            variable.assign_sub(0.1 * gradient)
        return loss

    return train, data


@contextmanager
def _captured(target: Path) -> Any:
    import tensorflow as tf

    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        yield
        tf.profiler.experimental.stop()
        shutil.move(next(Path(folder).glob("plugins/profile/*/*.xplane.pb")), target)


def _shared(name: str) -> Any:
    """A capture of `shared/traces`, as messages.

    Raises:
        FileNotFoundError: it is not here.
    """
    import gzip

    folder = TRACES / name / "plugins/profile/run"
    return space_class().FromString(gzip.decompress((folder / "vm.xplane.pb.gz").read_bytes()))


def _plane(space: Any, name: str) -> Any:
    return next(plane for plane in space.planes if plane.name.decode() == name)


def _shift_stats(plane: Any, names: set[str], by: int) -> None:
    keys = {key for key, metadata in plane.stat_metadata.items() if metadata.name.decode() in names}
    for line in plane.lines:
        for event in line.events:
            for stat in event.stats:
                if stat.metadata_id in keys and stat.WhichOneof("value") in ("int64_value", "uint64_value"):
                    value = stat.WhichOneof("value")
                    setattr(stat, value, (getattr(stat, value) + by) % 2**63)


if __name__ == "__main__":
    KINDS[sys.argv[1]][0](int(sys.argv[2]), Path(sys.argv[3]))
    os._exit(0)  # with all threads that still run
