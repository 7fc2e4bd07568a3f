"""A training that is watched in a notebook: Ctrl-C ends it, and one of another thread is shown in the cell that began it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.notebook.kernels import Kernel, messages, printed, started_kernel

pytestmark = pytest.mark.tensorflow

VIEW = "application/vnd.jupyter.widget-view+json"
SET_UP = """
import json, threading, time
import keras
import numpy as np
import tfprof_widgets as tfprof

class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.005)

def train(n, *callbacks):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x, y = np.ones((8 * n, 4), "f4"), np.ones((8 * n, 1), "f4")
    model.fit(x, y, batch_size=8, verbose=0, callbacks=[Slow(), *callbacks])

train(2)
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with started_kernel(tmp_path_factory.mktemp("live")) as started:
        printed(started[1], SET_UP)
        yield started


def head(message: dict[str, Any]) -> dict[str, Any]:
    """What the widget is told of the training by a message; empty for any other."""
    state = message["content"].get("data", {}).get("state", {}) if message["msg_type"] == "comm_msg" else {}
    found: dict[str, Any] = json.loads(state.get("head", "{}"))
    return found


def value(kernel: Kernel, code: str) -> Any:
    return json.loads(printed(kernel[1], f"print(json.dumps({code}))"))


def test_ctrl_c_ends_a_watched_training_which_says_so(kernel: Kernel) -> None:
    manager, client = kernel
    request = client.execute("with tfprof.watch(windows=False) as run:\n    train(20_000)")
    heads, errors, is_asked = [], [], False
    for message in messages(client, request):
        heads += [head(message)] if head(message) else []
        errors += [message["content"]["ename"]] if message["msg_type"] == "error" else []
        if heads and heads[-1]["n_steps"] > 20 and not is_asked:
            is_asked = True
            manager.interrupt_kernel()
    assert errors == ["KeyboardInterrupt"]
    assert heads[-1]["state"] == "interrupted"
    assert value(kernel, "[run.is_running, len(run.steps), run.log.events[-1]['outcome']]") == [
        False,
        heads[-1]["n_steps"],
        "interrupted",
    ]


def test_a_callback_of_a_model_that_trains_in_a_thread_is_shown_in_its_cell(kernel: Kernel) -> None:
    code = """
callback = tfprof.WatchCallback(windows=False)
thread = threading.Thread(target=train, args=(200, callback))
thread.start()
thread.join()
"""
    seen = list(messages(kernel[1], kernel[1].execute(code)))
    assert sum(VIEW in one["content"].get("data", ()) for one in seen if one["msg_type"] == "display_data") == 1
    heads = [one for one in map(head, seen) if one]
    assert (heads[-1]["state"], heads[-1]["n_steps"]) == ("ended", 200)
    assert len({one["n_steps"] for one in heads}) > 2
    assert value(kernel, "len(callback.watch.steps)") == 200
