"""A capture whose source map nobody has read, in JupyterLab -> verdict, steps and timeline at once; lines and layers fill in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.conftest import Open
from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import Notebook, Server, poll, write_notebook
from tests.browser.tabs import open_tab

LOAD, SHOW = range(2)
CELLS = (
    """
import time
from pathlib import Path
import tfprof_widgets as tfprof
from tfprof_widgets.analysis import Analysis

class Unread:
    def __init__(self, known):
        self.known, self.facts = known, known.facts
    def read(self):
        while not Path("may_read").exists():
            time.sleep(0.05)
        return self.known

prof = tfprof.load("unread")
loaded = prof.run.results
prof.run.results = Analysis(loaded.trace, Unread(loaded.sources), loaded.system)
""",
    "prof",
)
LATE_VIEWS = ("source_view", "layer_table", "tree_view")


@pytest.fixture(scope="module")
def notebook(open_lab: Open, lab_server: Server) -> Iterator[Notebook]:
    write_run(lab_server.root / "unread", PLAIN)
    write_notebook(lab_server.root / "late_lines.ipynb", *CELLS)
    with open_lab("late_lines.ipynb") as notebook:
        notebook.run_cell(LOAD)
        notebook.start_cell(SHOW)
        yield notebook


def test_the_capture_is_shown_before_they_are_read_and_nothing_moves_when_they_are(notebook: Notebook) -> None:
    dashboard = notebook.view("dashboard")
    notebook.view("timeline").locator("canvas").first.wait_for()
    notebook.view("step_chart").locator("canvas").first.wait_for()
    assert dashboard.locator(".tfp-verdict").inner_text() != ""
    height = dashboard.bounding_box()["height"]
    for view in LATE_VIEWS:
        open_tab(notebook, view)
        waiting = notebook.view(view).locator(".tfp-waiting")
        waiting.wait_for()
        assert "read source lines, layers and structure" in waiting.inner_text()
        assert dashboard.bounding_box()["height"] == height
    notebook.screenshot("lines-late", dashboard)
    (notebook.server.root / "may_read").touch()
    for view in LATE_VIEWS:
        open_tab(notebook, view)
        text = notebook.view(view)
        poll(lambda: text.locator(".tfp-waiting").count() == 0, lambda: text.inner_text())  # noqa: B023
        assert dashboard.bounding_box()["height"] == height
    open_tab(notebook, "source_view")
    poll(lambda: "charged to" in notebook.view("source_view").inner_text(), "no line has a time")


def test_what_front_ends_without_widgets_show_takes_no_place(notebook: Notebook) -> None:
    outputs = notebook.page.locator(".jp-OutputArea-child")
    poll(lambda: outputs.count() == 3, lambda: f"{outputs.count()} outputs")
    assert sum(output.bounding_box()["height"] > 0 for output in outputs.all()) == 1


def test_nothing_failed(notebook: Notebook) -> None:
    assert notebook.refused == []
    assert notebook.errors == []
