"""A training in JupyterLab -> a widget that moves while the kernel is busy, names what is slow and opens it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from tests.browser.conftest import Open
from tests.browser.harness import Notebook, Server, poll, write_notebook

pytestmark = pytest.mark.tensorflow

SLOW_FROM = 400
SET_UP = f"""
import os, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf
import tfprof_widgets as tfprof
%load_ext tfprof_widgets

images, labels = np.ones((32, 28, 28, 1), "f4"), np.ones(32, "i8")

def read():
    for step in range(100_000):
        time.sleep(0.05 if step >= {SLOW_FROM} else 0.003)
        yield images, labels

class UntilTold(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.model.stop_training = os.path.exists("end")

model = keras.Sequential(
    [
        keras.Input((28, 28, 1)),
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(10),
    ]
)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
types = (tf.TensorSpec(images.shape), tf.TensorSpec(labels.shape, tf.int64))
dataset = tf.data.Dataset.from_generator(read, output_signature=types).prefetch(2)
"""
BY_MAGIC = "%%tfprofile --live -o run --logdir kept\nmodel.fit(dataset, verbose=0, callbacks=[UntilTold()])"
N_STEPS = """() => {
    const figures = [...document.querySelectorAll('[data-tfprof="live"] .tfp-fig')];
    const own = figures.find((one) => /^steps?$/.test(one.querySelector(".d").textContent));
    return own ? Number(own.querySelector(".n").textContent.replaceAll(",", "")) : 0;
}"""
NOTE_STEPS = f"""() => {{
    const steps = {N_STEPS};
    globalThis.tfprofSeen = [];
    const note = () => {{
        const last = globalThis.tfprofSeen.at(-1);
        const now = steps();
        if (last?.[1] !== now) globalThis.tfprofSeen.push([performance.now() / 1000, now]);
    }};
    new MutationObserver(note).observe(document.querySelector('[data-tfprof="live"]'), {{
        childList: true, subtree: true, characterData: true,
    }});
}}"""


@contextmanager
def training(open_notebook: Open, server: Server, cell: str, *, set_up: str = SET_UP) -> Iterator[Notebook]:
    """A notebook whose cell trains until it is told to end."""
    shutil.rmtree(server.root / "kept", ignore_errors=True)
    (server.root / "end").unlink(missing_ok=True)
    write_notebook(server.root / "live.ipynb", set_up, cell)
    with open_notebook("live.ipynb") as notebook:
        notebook.run_cell(0, timeout_s=120)
        notebook.start_cell(1)
        poll(lambda: n_steps(notebook) > 20, "no step is shown", timeout_s=120)
        yield notebook


def end(notebook: Notebook) -> None:
    (notebook.server.root / "end").touch()
    notebook.wait_for_cell(1, timeout_s=60)


def n_steps(notebook: Notebook) -> int:
    return int(notebook.page.evaluate(N_STEPS))


def is_training(notebook: Notebook) -> bool:
    """Whether the cell runs: a number stands before it when it has ended."""
    return notebook.page.locator(".jp-InputPrompt").nth(1).inner_text().strip() == "[*]:"


def check_it_moves(notebook: Notebook, seconds: float = 8.0) -> None:
    """It is there while the cell runs, and tells of more steps at least twice a second."""
    notebook.page.evaluate(NOTE_STEPS)
    notebook.page.wait_for_timeout(seconds * 1000)
    seen = notebook.page.evaluate("globalThis.tfprofSeen")
    assert is_training(notebook)
    at_s, steps = np.array(seen).T
    assert np.all(np.diff(steps) > 0)
    assert len(at_s) > 2 * (at_s[-1] - at_s[0])
    assert at_s[-1] - at_s[0] > seconds / 2


def check_slow_phase(notebook: Notebook) -> None:
    """What begins to be slow is named, with the wait, within twenty steps; a window of it opens while the training goes on."""
    live = notebook.view("live")
    poll(lambda: n_steps(notebook) > SLOW_FROM + 40, "it does not get to the slow steps", timeout_s=240)
    poll(lambda: live.locator(".odd").get_by_text("wait for data").count() > 0, lambda: live.inner_text())
    chip = live.locator("button.chip:not([disabled])")
    poll(lambda: chip.count() > 0, lambda: live.locator(".windows").inner_text())
    before = n_steps(notebook)
    chip.last.click()
    dashboard = live.locator('[data-tfprof="dashboard"]')
    dashboard.locator("canvas").first.wait_for(timeout=60_000)
    poll(lambda: " ms" in dashboard.inner_text(), "the dashboard says nothing")
    poll(lambda: n_steps(notebook) > before + 5, "no more steps")
    assert is_training(notebook)


def check_button(notebook: Notebook) -> None:
    """The kernel is heard while it trains: a click has the next steps profiled."""
    live = notebook.view("live")
    button = live.get_by_role("button", name=re.compile("Profile the next"))
    button.wait_for(timeout=20_000)
    before = live.locator("button.chip").count()
    button.click()
    poll(lambda: live.locator("button.chip").count() > before, lambda: live.locator(".windows").inner_text())
    poll(lambda: live.get_by_text("asked for").count() > 0, lambda: live.locator(".windows").inner_text())
    assert is_training(notebook)


def shoot(notebook: Notebook, name: str) -> None:
    for theme in ("Light", "Dark"):
        notebook.use_theme(f"JupyterLab {theme}")
        notebook.page.wait_for_timeout(700)
        notebook.screenshot(f"{name}-{theme.lower()}")


def check_afterwards(notebook: Notebook) -> None:
    anomalies = notebook.value("[vars(one) for one in run.anomalies]")
    slow = [one for one in anomalies if "wait for data" in one["title"]]
    # On a machine that others use, steps may be slow some time before; in less than 112 steps a stretch has no pace of its own
    # that a slower one within it would stand out from.
    assert any(SLOW_FROM - 150 < one["first_step"] <= SLOW_FROM + 20 for one in slow), anomalies
    assert notebook.value("len(run.windows)") >= 1
    assert notebook.value("len(run.steps)") == n_steps(notebook)
    assert notebook.page.locator('[role="alert"]').all_inner_texts() == []


def test_in_jupyterlab(open_lab: Open, lab_server: Server) -> None:
    with training(open_lab, lab_server, BY_MAGIC) as notebook:
        check_it_moves(notebook, seconds=4.0)
        check_button(notebook)
        check_slow_phase(notebook)
        end(notebook)
        poll(lambda: "Ended" in notebook.view("live").inner_text(), "it does not say that it ended")
        check_afterwards(notebook)
        notebook.screenshot("live-lab-ended")
