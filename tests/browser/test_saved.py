"""A profile that outlives its kernel: a notebook saved and reopened, its HTML by nbconvert, and the page of `to_html`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from playwright.sync_api import Browser, Page, Route

import tfprof_widgets as tfprof
from tests.browser.conftest import Open
from tests.browser.drawings import N_LARGE, large_space
from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import ROOT, Server, opened, poll, write_notebook
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


@pytest.fixture
def offline(browser: Browser) -> Iterator[Page]:
    """A page that reaches nothing but the disk; `refused` of it has what it asked for."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.refused = []  # type: ignore[attr-defined]

    def answer(route: Route) -> None:
        if route.request.url.startswith(("file:", "data:", "blob:")):
            route.continue_()
        else:
            page.refused.append(route.request.url)  # type: ignore[attr-defined]
            route.abort()

    context.route("**/*", answer)
    yield page
    context.close()


def test_a_reopened_notebook_works_with_a_kernel_that_knows_nothing_of_it(
    browser: Browser, lab_server: Server, saved: str
) -> None:
    with opened(browser, lab_server, saved) as notebook:
        LinkedViews(notebook.page, notebook.page).check()
        assert notebook.value(LOADED) == []
        assert notebook.refused == []
        assert notebook.page.locator('[role="alert"]').all_inner_texts() == []


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A notebook executed as `jupyter nbconvert --execute` does it: with the state of its widgets."""
    folder = tmp_path_factory.mktemp("executed")
    write_run(folder / "saved_run", PLAIN)
    write_notebook(folder / "executed.ipynb", *CELLS)
    notebook = nbformat.read(folder / "executed.ipynb", as_version=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]))
        NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


@pytest.mark.parametrize("has_widget_state", [True, False], ids=["with widget state", "without"])
def test_html_by_nbconvert_works_without_a_network(
    offline: Page, executed: Any, tmp_path: Path, has_widget_state: bool
) -> None:
    notebook = nbformat.from_dict(executed)
    if not has_widget_state:  # as JupyterLab saves it by default
        notebook.metadata.pop("widgets")
    html, _ = HTMLExporter().from_notebook_node(notebook)
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    offline.goto((tmp_path / "page.html").as_uri())
    if not has_widget_state:
        poll(lambda: len(offline.frames) == 2, "no frame with the page of the profile")
    LinkedViews(offline.frames[-1], offline).check()
    # nbconvert's page asks for its own scripts; ours must not need them.
    assert not [address for address in offline.refused if "widgets" not in address and "cdnjs" not in address]


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
    assert 'embed="full"' in offline.locator('[data-tfprof="dashboard"]').inner_text()
    assert offline.locator('[role="alert"]').all_inner_texts() == []
