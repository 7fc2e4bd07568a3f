"""A profile that outlives its kernel: a notebook saved by JupyterLab and reopened, and the page of `to_html`."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import tfprof_widgets as tfprof
from tests.browser.conftest import Open
from tests.browser.drawings import N_LARGE, large_space
from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import Server, opened, poll, write_notebook
from tests.browser.linked_views import LinkedViews

CELLS = ("import tfprof_widgets as tfprof\nprof = tfprof.load('saved_run')", "prof")
LOADED = "[name for name in __import__('sys').modules if name.startswith('tfprof')]"


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


def test_an_exported_page_works_from_the_disk_and_asks_for_nothing(offline: Page, tmp_path: Path) -> None:
    prof = tfprof.load(write_run(tmp_path / "run", PLAIN))
    failures: list[str] = []
    offline.on("pageerror", lambda error: failures.append(str(error)))
    offline.goto(prof.to_html(tmp_path / "page.html").as_uri())
    LinkedViews(offline, offline).check()
    assert offline.refused == []
    assert failures == []


def test_a_capped_page_says_what_it_lacks_and_how_to_keep_all(offline: Page, tmp_path: Path) -> None:
    (tmp_path / "large.xplane.pb").write_bytes(large_space())
    page = tfprof.load(tmp_path / "large.xplane.pb").to_html(tmp_path / "page.html", embed=300_000)
    assert page.stat().st_size < 4 * 2**20
    offline.goto(page.as_uri())
    about = offline.locator(".tl-about")
    about.wait_for()
    poll(lambda: f" of {N_LARGE:,} events" in about.inner_text(), lambda: about.inner_text())
    limits = offline.locator("details.note")
    assert "in Timeline" in limits.inner_text()
    limits.locator("summary").click()
    assert 'embed="full"' in limits.inner_text()
    assert offline.locator('[role="alert"]').all_inner_texts() == []
