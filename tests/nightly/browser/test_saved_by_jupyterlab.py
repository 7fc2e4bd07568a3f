"""A notebook that JupyterLab saved with its widgets, opened again in a fresh page, with a kernel that knows nothing of it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import Open
from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import Server, opened, poll, write_notebook
from tests.browser.linked_views import LinkedViews
from tests.browser.test_kept_once import ACT, N_LEFT_OUT

CELLS = ("import tfprof_widgets as tfprof\nprof = tfprof.load('saved_run')", "prof")
LOADED = "[name for name in __import__('sys').modules if name.startswith('tfprof')]"
TWICE = (
    "import ipywidgets\nimport tfprof_widgets as tfprof\nfirst, second = (tfprof.load('kept_run') for _ in range(2))",
    *("first", "second", "ipywidgets.VBox([first.dashboard()])", "second"),
)


@pytest.fixture(scope="module")
def saved(open_lab: Open, lab_server: Server) -> str:
    """Name of a notebook that JupyterLab saved with its widgets; its kernel is gone."""
    write_run(lab_server.root / "saved_run", PLAIN)
    write_notebook(lab_server.root / "saved.ipynb", *CELLS)
    with open_lab("saved.ipynb") as notebook:
        notebook.run_all()
        notebook.view("timeline").locator("canvas").first.wait_for()
        notebook.save_with_widgets()
    return "saved.ipynb"


def test_a_reopened_notebook_works_with_a_kernel_that_knows_nothing_of_it(
    browser: Browser, lab_server: Server, saved: str
) -> None:
    with opened(browser, lab_server, saved) as notebook:
        LinkedViews(notebook.page, notebook.page).check()
        assert notebook.value(LOADED) == []
        assert notebook.refused == []
        assert notebook.page.locator('[role="alert"]').all_inner_texts() == []


def test_nothing_is_lost_of_a_profile_that_another_cell_shows_too(
    open_lab: Open, browser: Browser, lab_server: Server
) -> None:
    """One in a box, one in two cells; the first output of each is cleared before the notebook is saved."""
    write_run(lab_server.root / "kept_run", PLAIN)
    write_notebook(lab_server.root / "kept.ipynb", *TWICE)
    with open_lab("kept.ipynb") as notebook:
        notebook.run_all()
        timelines = notebook.page.locator('[data-tfprof="timeline"]:has(canvas)')
        poll(lambda: timelines.count() == len(TWICE) - 1, "not all are shown")
        notebook.wait_for_value(N_LEFT_OUT, 1)
        for index in (1, 2):
            notebook.page.evaluate(ACT, [index, "notebook:clear-cell-output"])
        notebook.save_with_widgets()
    with opened(browser, lab_server, "kept.ipynb") as notebook:
        timelines = notebook.page.locator('[data-tfprof="timeline"]:has(canvas)')
        poll(lambda: timelines.count() == 2, lambda: notebook.page.locator('[role="alert"]').all_inner_texts())
        LinkedViews(notebook.page, notebook.page).check()
        assert notebook.page.locator('[role="alert"]').all_inner_texts() == []
