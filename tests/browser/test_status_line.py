"""The line under a cell that is being profiled, in JupyterLab: it counts, gives way to the dashboard, and is not saved.

What a kernel sends of it, of other cells and to other front ends: `tests/notebook/test_status_line.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator

from tests.browser.conftest import Open
from tests.browser.harness import Notebook, Server, poll, write_notebook

pytestmark = pytest.mark.tensorflow

PREPARE, MAGIC, FAILING, IN_OUTPUT = range(4)
FIT = "model.fit(x, y, batch_size=8, epochs=1000, verbose=0, callbacks=[stop_after(seconds)])"
CELLS = (
    """import time, numpy as np, keras, ipywidgets, tfprof_widgets as tfprof
%load_ext tfprof_widgets
x, y = np.ones((320, 4), "f4"), np.ones((320, 1), "f4")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
seconds = 1.2
def stop_after(seconds):
    end = time.monotonic() + seconds
    def check(epoch, logs):
        model.stop_training = time.monotonic() > end
    return keras.callbacks.LambdaCallback(on_epoch_end=check)
model.fit(x, y, batch_size=8, verbose=0);""",
    f"%%tfprofile -o prof\n{FIT}\nprint('written by the cell')",
    f"%%tfprofile\n{FIT}\n1 / 0",
    f"shown = ipywidgets.Output()\ndisplay(shown)\nwith shown:\n    %tfprofile {FIT};",
)


@pytest.fixture(scope="module")
def notebook(open_lab: Open, lab_server: Server) -> Iterator[Notebook]:
    write_notebook(lab_server.root / "status_line.ipynb", *CELLS)
    with open_lab("status_line.ipynb") as notebook:
        notebook.run_cell(PREPARE)
        yield notebook


def cell(notebook: Notebook, index: int) -> Locator:
    return notebook.page.locator(".jp-Notebook .jp-Cell").nth(index)


def outputs(notebook: Notebook, index: int) -> list[str]:
    """What a reader sees of each output of a cell, without those that have nothing to see."""
    texts = cell(notebook, index).locator(".jp-OutputArea-output").all_inner_texts()
    return [text.strip() for text in texts if text.strip()]


def wait_for_output(notebook: Notebook, index: int, begin: str) -> str:
    """Wait for an output of a cell that begins so."""

    def found() -> list[str]:
        return [text for text in outputs(notebook, index) if text.startswith(begin)]

    poll(found, lambda: f"no {begin!r} in {outputs(notebook, index)}")
    return found()[0]


def check_dashboard(notebook: Notebook, index: int) -> None:
    """A cell shows a dashboard, and of the line nothing."""
    cell(notebook, index).locator('[data-tfprof="timeline"] canvas').first.wait_for()
    assert "tfprof: " not in "\n".join(outputs(notebook, index))


def test_the_line_counts_and_the_dashboard_takes_its_place(notebook: Notebook) -> None:
    notebook.start_cell(MAGIC)
    first = wait_for_output(notebook, MAGIC, "tfprof: recording, step")
    poll(lambda: outputs(notebook, MAGIC)[:1] not in ([], [first]), lambda: f"the line stays {first!r}")
    notebook.screenshot("status-line-light", cell(notebook, MAGIC))
    notebook.wait_for_cell(MAGIC)
    check_dashboard(notebook, MAGIC)
    _, written = outputs(notebook, MAGIC)
    assert "written by the cell" in written, "the dashboard stands where the line stood"
    assert notebook.errors == []


def test_the_saved_notebook_has_the_dashboard_and_not_the_line(notebook: Notebook, lab_server: Server) -> None:
    notebook.save_with_widgets()
    cells = json.loads((lab_server.root / notebook.name).read_text())["cells"]
    shown = [output.get("data", {}).get("text/plain", "") for output in cells[MAGIC]["outputs"]]
    assert ["".join(text)[:12] for text in shown if "".join(text)] == ["<Profile pro", "tfprof prof\n"]
    written = json.dumps(cells[MAGIC]["outputs"])
    assert "tfprof: rec" not in written and "tfprof: read" not in written


def test_what_was_captured_takes_the_place_when_the_cell_fails(notebook: Notebook) -> None:
    notebook.run_cell(FAILING)
    check_dashboard(notebook, FAILING)
    assert "Traceback" in outputs(notebook, FAILING)[-1]


def test_an_output_widget_gets_the_dashboard_and_no_line(notebook: Notebook) -> None:
    notebook.run_cell(IN_OUTPUT)
    check_dashboard(notebook, IN_OUTPUT)
