"""The capture dialog in JupyterLab: fields filled in, a button pressed, cells run meanwhile, a dashboard below."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator

from tests.browser.conftest import Open
from tests.browser.harness import Notebook, Server, poll, write_notebook
from tests.unit.capture.remote.processes import TrainingProcess
from tests.unit.capture.remote.training import free_port

PREPARE, SHOW, OTHER = range(3)
CELLS = (
    "import threading, ipywidgets\nfrom tfprof_widgets import capture_dialog",
    "dialog = capture_dialog()\ndialog",
    "was_capturing = dialog.is_capturing",
)
N_WIDGETS = "len(ipywidgets.widgets.widget._instances)"
N_THREADS = "sum(one.name == 'tfprof-capture' for one in threading.enumerate())"


@pytest.fixture(scope="module")
def worker() -> Iterator[TrainingProcess]:
    one = TrainingProcess("own")
    yield one
    one.end()


@pytest.fixture(scope="module")
def notebook(open_lab: Open, lab_server: Server) -> Iterator[Notebook]:
    write_notebook(lab_server.root / "dialog.ipynb", *CELLS)
    with open_lab("dialog.ipynb") as notebook:
        notebook.run_cell(PREPARE)
        notebook.run_cell(SHOW)
        yield notebook


@pytest.fixture(scope="module")
def dialog(notebook: Notebook) -> Locator:
    return notebook.page.locator(".tfp-cap-form")


def press(dialog: Locator, name: str) -> None:
    dialog.get_by_role("button", name=name).click()


def test_a_field_says_what_is_wrong_with_it(notebook: Notebook, dialog: Locator) -> None:
    dialog.get_by_label("Delay (ms)").fill("soon")
    press(dialog, "Capture")
    told = dialog.get_by_role("alert")
    poll(lambda: told.count() == 2, lambda: f"{told.all_inner_texts()}")
    assert told.all_inner_texts() == [
        "There is no worker to capture; give addresses such as 127.0.0.1:6009.",
        "delay_ms='soon' is a str; give an int from 0 to 600000.",
    ]
    for theme in ("Dark", "Light"):
        notebook.use_theme(f"JupyterLab {theme}")
        notebook.screenshot(f"capture-dialog-problems-{theme.lower()}", dialog)
    dialog.get_by_label("Delay (ms)").fill("")


def test_workers_are_captured_while_other_cells_run(
    notebook: Notebook, dialog: Locator, worker: TrainingProcess
) -> None:
    dead = f"127.0.0.1:{free_port()}"
    dialog.get_by_label("Workers").fill(f"{worker.address}\n{dead}")
    dialog.get_by_label("Duration (ms)").fill("4000")
    press(dialog, "Capture")
    code, line = dialog.locator("code.tfp-cap-code"), f'["{worker.address}", "{dead}"], duration_ms=4000)'
    poll(lambda: code.inner_text() == f"tfprof.capture_remote({line}", code.inner_text)
    status = dialog.get_by_role("status")
    poll(lambda: "of 2 workers answered" in status.inner_text(), status.inner_text)
    notebook.run_cell(OTHER)
    assert notebook.value("was_capturing")
    notebook.screenshot("capture-dialog-running", dialog)
    notebook.view("dashboard").locator('[data-tfprof="timeline"] canvas').first.wait_for()
    poll(lambda: status.inner_text() == "1 of 2 workers answered, 1 failed; 4 s captured.", status.inner_text)
    assert "it cannot be reached" in dialog.locator("tr.failed").inner_text()
    assert notebook.value("len(dialog.profile.steps)") > 5


@pytest.mark.nightly
def test_the_cell_run_again_has_a_new_dialog_and_leaves_nothing_of_the_old(
    notebook: Notebook, dialog: Locator, worker: TrainingProcess
) -> None:
    dialog.get_by_label("Workers").fill(worker.address)
    dialog.get_by_label("Duration (ms)").fill("500")
    press(dialog, "Capture")
    notebook.wait_for_value("dialog.is_capturing or dialog.profile is None", False)
    notebook.value("exec('kept = dialog.profile', globals())")
    notebook.run_cell(SHOW)
    n_widgets = notebook.value(N_WIDGETS)
    dialog.get_by_label("Workers").fill(worker.address)
    dialog.get_by_label("Duration (ms)").fill("600000")
    press(dialog, "Capture")
    notebook.wait_for_value(N_THREADS, 1)
    notebook.run_cell(SHOW)
    notebook.wait_for_value(N_THREADS, 0)
    assert notebook.value(N_WIDGETS) == n_widgets
    assert notebook.value("kept.dashboard().comm is not None")
    assert dialog.get_by_label("Workers").input_value() == ""
