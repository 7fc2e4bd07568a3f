"""A notebook reopened with and without the state of its widgets, trusted or not, in each front end.

What does not trust a notebook runs nothing that is in it: JupyterLab and Notebook 7 by its signature, nbconvert with
`sanitize_html`. Voila trusts whatever it serves: it shows no saved output but runs the notebook for each visitor. There the
state is what the page gets of the kernel, and missing where it does not reach it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import Page

from tests.browser.conftest import Open
from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import Server
from tests.browser.reopening import STATES, VOILA, Reopened, State, executed, in_state, voila_of, write_in_state

EVERY_STATE = pytest.mark.parametrize("state", STATES)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    return executed(tmp_path_factory.mktemp("executed"))


@EVERY_STATE
def test_in_jupyterlab(open_lab: Open, lab_server: Server, notebook: nbformat.NotebookNode, state: State) -> None:
    name = write_in_state(notebook, state, lab_server.root, jupyter_data=lab_server.home / "data")
    with open_lab(name) as opened:
        Reopened(opened.page).check(state)
        assert opened.refused == []


@EVERY_STATE
def test_in_notebook_7(
    open_notebook: Open, notebook_server: Server, notebook: nbformat.NotebookNode, state: State
) -> None:
    name = write_in_state(notebook, state, notebook_server.root, jupyter_data=notebook_server.home / "data")
    with open_notebook(name) as opened:
        Reopened(opened.page).check(state)
        assert opened.refused == []


@EVERY_STATE
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


@pytest.fixture(scope="module")
def voila(notebook: nbformat.NotebookNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the notebook, which nobody signed, in a Voila."""
    if not VOILA.exists():
        pytest.skip('Voila is not installed: pip install -e ".[dev]"')
    folder = tmp_path_factory.mktemp("voila")
    write_run(folder / "saved_run", PLAIN)
    nbformat.write(in_state(notebook, "not trusted"), folder / "shown.ipynb")
    with voila_of(folder) as address:
        yield f"{address}shown.ipynb"


def test_by_voila_it_is_run_for_whoever_sees_it(offline: Page, voila: str) -> None:
    offline.goto(voila, timeout=60_000)
    Reopened(offline).check("trusted")
    # Voila's own page asks for its icons; nothing of ours asks for anything.
    assert [url for url in offline.refused if "fontawesome" not in url] == []  # type: ignore[attr-defined]


def test_by_voila_without_its_kernel_the_page_draws_what_the_output_holds(offline: Page, voila: str) -> None:
    offline.context.route_web_socket("**/*", lambda socket: socket.close())
    offline.goto(voila, timeout=60_000)
    Reopened(offline).check("without state")
