"""Names in a trace are data: markup in them stays text in every view, in the notebook and in an exported page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.drawings import CLOSING, MARKUP, hostile_space
from tests.browser.harness import Notebook, Server, opened, poll, write_notebook
from tests.browser.test_quickstart_browser import open_tab

CELLS = (
    "import tfprof_widgets as tfprof\nprof = tfprof.load('hostile.xplane.pb')\nprof.to_html('hostile.html')",
    "prof",
)
IS_MARKUP = """() => document.querySelectorAll('img[src="x"], [onerror]').length"""


@pytest.fixture(scope="module")
def notebook(browser: Browser, lab_server: Server) -> Iterator[Notebook]:
    (lab_server.root / "hostile.xplane.pb").write_bytes(hostile_space())
    write_notebook(lab_server.root / "hostile.ipynb", *CELLS)
    with opened(browser, lab_server, "hostile.ipynb") as notebook:
        notebook.run_all()
        notebook.view("timeline").locator("canvas").first.wait_for()
        yield notebook


@pytest.fixture(scope="module")
def exported(notebook: Notebook, lab_server: Server) -> Iterator[Page]:
    """The exported page, opened from the disk; it needs no server."""
    page = notebook.page.context.new_page()
    page.goto((lab_server.root / "hostile.html").as_uri())
    page.locator('[data-tfprof="timeline"] canvas').first.wait_for()
    yield page
    page.close()


def assert_is_text(page: Page) -> None:
    assert page.evaluate("window.tfprofHacked") is None
    assert page.evaluate(IS_MARKUP) == 0
    assert page.locator('[role="alert"]').all_inner_texts() == []


def test_op_names_are_text_in_the_table(notebook: Notebook) -> None:
    open_tab(notebook, "op_table")
    table = notebook.view("op_table")
    for name in (MARKUP, CLOSING):
        row = table.locator("[data-op-name]").filter(has_text=name[:12])
        poll(lambda row=row: row.count() > 0, f"no row shows {name!r}")
    assert_is_text(notebook.page)


def test_names_are_text_in_the_timeline_and_its_details(notebook: Notebook) -> None:
    for name in (MARKUP, CLOSING):
        notebook.reveal(name)
        x, y = notebook.locate("timeline", name)
        notebook.page.mouse.move(x, y)
        notebook.page.mouse.click(x, y)
        notebook.wait_for_value("list(prof.link.selection)", [name])
        poll(lambda name=name: name in notebook.view("timeline").inner_text(), f"no details of {name!r}")
    assert_is_text(notebook.page)


def test_names_are_text_in_the_memory_view(notebook: Notebook) -> None:
    open_tab(notebook, "memory_timeline")
    memory = notebook.view("memory_timeline")
    memory.locator("canvas").first.wait_for()
    poll(lambda: MARKUP in memory.inner_text() and CLOSING in memory.inner_text(), lambda: memory.inner_text())
    assert_is_text(notebook.page)


def test_names_are_text_in_the_input_graph(notebook: Notebook) -> None:
    open_tab(notebook, "input_graph")
    graph = notebook.view("input_graph")
    poll(lambda: MARKUP[:10] in graph.inner_text(), lambda: graph.inner_text())
    assert_is_text(notebook.page)


def test_exported_page_shows_the_names_as_text(exported: Page, lab_server: Server) -> None:
    assert_is_text(exported)
    exported.get_by_role("tab", name="Ops").click()
    rows = exported.locator('[data-tfprof="op_table"] [data-op-name]')
    poll(lambda: rows.filter(has_text=MARKUP[:12]).count() > 0, "the exported table does not show the name")
    assert_is_text(exported)
    page: Path = lab_server.root / "hostile.html"
    assert "</script><script>window" not in page.read_text(encoding="utf-8")


def test_nothing_failed(notebook: Notebook) -> None:
    assert notebook.refused == []
    assert notebook.errors == []
