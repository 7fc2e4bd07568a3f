"""A process that has steps and serves them: `python -m tests.unit.capture.remote.stepping KIND [PORT [TOKEN]]`.

Prints its address when it trains, and trains until its input is closed: `fit` with 10 ms steps, `loop` of `trace_steps` with
10 ms steps, the first of each ten of them 50 ms, `burst` of 70,000 steps at once, or `none`.
"""

from __future__ import annotations

import sys
import time

from tests.unit.capture.remote.training import is_wanted


def main(kind: str, port: str = "0", token: str | None = None) -> None:
    """Train until nobody wants it any more."""
    import numpy as np

    import tfprof_widgets as tfprof

    print(tfprof.serve(int(port), token=token).address, flush=True)
    if kind == "fit":
        import keras

        class Slow(keras.callbacks.Callback):  # type: ignore[misc]
            def on_train_batch_begin(self, batch: int, logs: object = None) -> None:
                time.sleep(0.01)

            def on_train_batch_end(self, batch: int, logs: object = None) -> None:
                self.model.stop_training = not is_wanted()

        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        while is_wanted():
            model.fit(np.ones((80, 4), "f4"), np.ones((80, 1), "f4"), batch_size=8, verbose=0, callbacks=[Slow()])
    if kind == "burst":
        for _ in tfprof.trace_steps(range(70_000)):
            pass
    while is_wanted():
        for i in tfprof.trace_steps(range(10)) if kind == "loop" else ():
            time.sleep(0.01 if i else 0.05)
        if kind != "loop":
            time.sleep(0.05)


if __name__ == "__main__":
    main(*sys.argv[1:])
