"""A training process with a profiler server, as a program: `python -m tests.unit.capture.remote.training KIND [TOKEN]`.

Prints its address when it trains, and trains until its input is closed.
"""

from __future__ import annotations

import select
import socket
import sys
import time


def free_port() -> int:
    """A port that nothing listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def is_wanted() -> bool:
    """Whether whoever started the program still holds its input."""
    return not select.select([sys.stdin], [], [], 0)[0]


def main(kind: str, token: str | None = None) -> None:
    """Train until nobody wants it any more."""
    import tensorflow as tf

    import tfprof_widgets as tfprof

    if kind == "tensorflow":
        port = free_port()
        tf.profiler.experimental.server.start(port)
        address = f"127.0.0.1:{port}"
    else:
        address = tfprof.serve(token=token).address
    values = tf.random.normal((64, 64))

    @tf.function  # type: ignore[untyped-decorator]
    def train_step(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.matmul(x, x))

    train_step(values)
    print(address, flush=True)
    step = 0
    while is_wanted():
        if kind == "idle":
            time.sleep(0.05)
            continue
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(values)
        step += 1
        time.sleep(0.015)


if __name__ == "__main__":
    main(*sys.argv[1:])
