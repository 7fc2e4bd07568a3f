"""A notebook reopened with and without the state of its widgets, trusted or not, in JupyterLab and as HTML; an exported page.

What does not trust a notebook runs nothing that is in it: JupyterLab by its signature, nbconvert with `sanitize_html`.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import Page

import tfprof_widgets as tfprof
from tests.browser.conftest import Open
from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import Server
from tests.browser.linked_views import LinkedViews
from tests.browser.reopening import Reopened, State, executed, in_state, write_in_state


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    return executed(tmp_path_factory.mktemp("executed"))


@pytest.mark.parametrize("state", ["trusted", "without state", pytest.param("not trusted", marks=pytest.mark.nightly)])
def test_in_jupyterlab(open_lab: Open, lab_server: Server, notebook: nbformat.NotebookNode, state: State) -> None:
    name = write_in_state(notebook, state, lab_server.root, jupyter_data=lab_server.home / "data")
    with open_lab(name) as opened:
        Reopened(opened.page).check(state)


@pytest.mark.parametrize(
    "state",
    ["not trusted", *(pytest.param(state, marks=pytest.mark.nightly) for state in ("trusted", "without state"))],
)
def test_as_html_by_nbconvert(offline: Page, notebook: nbformat.NotebookNode, tmp_path: Path, state: State) -> None:
    html, _ = HTMLExporter(sanitize_html=state == "not trusted").from_notebook_node(in_state(notebook, state))
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    offline.goto((tmp_path / "page.html").as_uri())
    reopened = Reopened(offline)
    if state == "not trusted":  # of inline styles it keeps none
        reopened.check_plain_html()
        assert "script" not in offline.locator("body").inner_text()
    else:
        reopened.check(state)
    # nbconvert's page asks for its own scripts; ours must not need them.
    assert not [url for url in offline.refused if "widgets" not in url and "cdnjs" not in url]  # type: ignore[attr-defined]


def test_an_exported_page_works_from_the_disk_and_asks_for_nothing(offline: Page, tmp_path: Path) -> None:
    prof = tfprof.load(write_run(tmp_path / "run", PLAIN))
    failures: list[str] = []
    offline.on("pageerror", lambda error: failures.append(str(error)))
    offline.goto(prof.to_html(tmp_path / "page.html").as_uri())
    LinkedViews(offline, offline).check()
    assert offline.get_by_role("combobox", name="Host", exact=True).count() == 0, "there is one host"
    assert offline.refused == []
    assert failures == []
