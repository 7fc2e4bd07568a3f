"""A `fit` of minutes with a fault from step 2,000 on: the screen says so within 20 steps, a window shows it; a page reloaded."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import Open
from tests.browser.harness import Notebook, Server, poll
from tests.browser.test_live_training import N_STEPS, check_it_moves, end, is_training, n_steps, shoot, training

pytestmark = pytest.mark.tensorflow

FROM = 2000
WITHIN = 20
SET_UP = f"""
import os, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf
import tfprof_widgets as tfprof
%load_ext tfprof_widgets

# Memory is read forty times a second: of steps that are no shorter, each is seen.
n = 576 if FAULT == "leak" else 192
images, labels = np.ones((n, 28, 28, 1), "f4"), np.ones(n, "i8")

def read():
    for step in range(100_000):
        if FAULT == "input" and step >= {FROM}:
            time.sleep(0.15)
        yield images, labels

held = []

class Report(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.model.stop_training = os.path.exists("end")
        if FAULT == "callback" and batch >= {FROM} and batch % 40 == 0:
            time.sleep(0.5)
        if FAULT == "leak" and batch >= {FROM} and len(held) < 200:
            held.append(np.ones(2**22))

model = keras.Sequential(
    [
        keras.Input((28, 28, 1)),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(10),
    ]
)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
types = (tf.TensorSpec(images.shape), tf.TensorSpec(labels.shape, tf.int64))
dataset = tf.data.Dataset.from_generator(read, output_signature=types).prefetch(2)
"""
CELL = "%%tfprofile --live -o run --logdir kept\nmodel.fit(dataset, verbose=0, callbacks=[Report()])"
NOTE_CARDS = f"""() => {{
    const steps = {N_STEPS};
    globalThis.tfprofTold = {{}};
    const note = () => {{
        for (const card of document.querySelectorAll('[data-tfprof="live"] .odd *')) {{
            const text = card.innerText;
            if (text && !(text in globalThis.tfprofTold)) globalThis.tfprofTold[text] = steps();
        }}
    }};
    new MutationObserver(note).observe(document.querySelector('[data-tfprof="live"]'), {{
        childList: true, subtree: true, characterData: true,
    }});
}}"""
FAULTS = {
    "input": (r"since step 2,00\d.* wait for data", "wait for data", r"data|generator"),
    # On a busy machine other steps are slow, too: they are told together.
    "callback": (r"[Ss]tep 2,000 (took|\()|step 2,000:", "Every 40 steps", r"on_train_batch_end"),
    "leak": (
        r"memory of this process grows by 3\d(\.\d)? MiB a step since about step (1,99\d|2,00\d)",
        "memory of this process",
        r" ms",
    ),
}
"""What the screen says of each, why a window opened, and what its dashboard says."""


def told_at(notebook: Notebook, words: str) -> int | None:
    """How many steps the screen showed when it first said it; None: not yet."""
    told = notebook.page.evaluate("globalThis.tfprofTold")
    return min((n for text, n in told.items() if re.search(words, text)), default=None)


def check(notebook: Notebook, fault: str) -> None:
    words, why, cause = FAULTS[fault]
    live = notebook.view("live")
    check_it_moves(notebook)
    notebook.page.evaluate(NOTE_CARDS)
    poll(lambda: told_at(notebook, words), lambda: live.locator("section.odd").inner_text(), timeout_s=300)
    n = told_at(notebook, words)
    print(f"{fault}: told at step {n:,}")
    chip = live.locator("button.chip:not([disabled])")

    poll(lambda: chip.filter(has_text=why).count(), lambda: live.locator(".windows").inner_text(), timeout_s=120)
    chip.filter(has_text=why).last.click()
    dashboard = live.locator('[data-tfprof="dashboard"]')
    poll(lambda: re.search(cause, dashboard.inner_text()), lambda: dashboard.inner_text(), timeout_s=90)
    assert is_training(notebook)
    shoot(notebook, f"live-minutes-{fault}")
    end(notebook)
    assert n is not None
    assert n <= FROM + WITHIN


@pytest.mark.parametrize("fault", list(FAULTS))
def test_in_jupyterlab(open_lab: Open, lab_server: Server, fault: str) -> None:
    with training(open_lab, lab_server, CELL, set_up=f"FAULT = {fault!r}\n{SET_UP}") as notebook:
        check(notebook, fault)


@pytest.mark.parametrize("fault", list(FAULTS))
def test_in_notebook_7(open_notebook: Open, notebook_server: Server, fault: str) -> None:
    with training(open_notebook, notebook_server, CELL, set_up=f"FAULT = {fault!r}\n{SET_UP}") as notebook:
        check(notebook, fault)


def test_a_page_that_is_reloaded_says_before_that_it_shows_the_training_when_the_cell_has_ended(
    open_lab: Open, lab_server: Server
) -> None:
    with training(open_lab, lab_server, CELL, set_up=f"FAULT = ''\n{SET_UP}") as notebook:
        page = notebook.page
        assert "a page that is reloaded shows this again when the cell has ended" in notebook.view("live").inner_text()
        page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
        page.wait_for_timeout(2_000)
        page.on("dialog", lambda dialog: dialog.accept())
        page.reload()
        page.get_by_text("Loading widget").wait_for(timeout=60_000)
        (lab_server.root / "end").touch()
        poll(lambda: n_steps(notebook) > 20, "no step is shown", timeout_s=60)
        assert "Ended" in notebook.view("live").inner_text()
