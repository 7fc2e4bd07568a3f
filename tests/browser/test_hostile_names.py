"""Names and code in a profile are data: markup in them stays text in every view, in the notebook and in an exported page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

from tests.browser.conftest import Open
from tests.browser.drawings import CLOSING, MARKUP, hostile_space
from tests.browser.full_run import HOSTILE
from tests.browser.harness import Notebook, Server, poll, write_notebook
from tests.browser.tabs import go_to, open_tab
from tests.cluster import write_two_hosts

CELLS = (
    "import tfprof_widgets as tfprof\n"
    "prof = tfprof.load('hostile.xplane.pb')\nprof.to_html('hostile.html')\n"
    "full = tfprof.load('hostile_run')\nfull.to_html('hostile_run.html')",
    "prof",
    "full.dashboard()",
    "prof.scope_icicle()",
    "prof.worker_chart()",
    "prof.source_view()",
)
IS_MARKUP = """() => document.querySelectorAll('img[src="x"], [onerror]').length"""
SHOWN = {
    "op_table": [HOSTILE.op],
    "source_view": [HOSTILE.title, HOSTILE.code],
    "layer_table": [HOSTILE.layer],
    "tree_view": [HOSTILE.layer],
    "memory_timeline": [HOSTILE.op, HOSTILE.allocator],
    "input_graph": [HOSTILE.iterator.removeprefix("Iterator::Root::")],
    "kernel_table": [HOSTILE.kernel, HOSTILE.op],
    "copy_table": [HOSTILE.iterator],
    "hlo_table": [HOSTILE.hlo, HOSTILE.op],
    "worker_chart": [HOSTILE.host],
}
"""By view what of the run must be readable in it, as text or, where that is cut, as a title or label."""
TEXTS = """root => [...root.querySelectorAll("*")].flatMap((element) =>
    ["title", "aria-label", "aria-description"].map((name) => element.getAttribute(name))).concat(root.innerText).join("\\n")"""


@pytest.fixture(scope="module")
def notebook(open_lab: Open, lab_server: Server) -> Iterator[Notebook]:
    (lab_server.root / "hostile.xplane.pb").write_bytes(hostile_space())
    write_two_hosts(lab_server.root / "hostile_run", HOSTILE)
    write_notebook(lab_server.root / "hostile.ipynb", *CELLS)
    with open_lab("hostile.ipynb") as notebook:
        for cell in (0, 1):
            notebook.run_cell(cell)
        notebook.view("timeline").locator("canvas").first.wait_for()
        yield notebook


@pytest.fixture(scope="module")
def full(notebook: Notebook) -> Notebook:
    """The same page with the dashboard of a run that fills every view; now the last one shown."""
    notebook.run_cell(2)
    poll(lambda: notebook.page.locator('[data-tfprof="dashboard"]').count() == 2, "no second dashboard")
    return notebook


def assert_is_text(page: Page) -> None:
    assert page.evaluate("window.tfprofHacked") is None
    assert page.evaluate(IS_MARKUP) == 0
    assert page.locator('[role="alert"]').all_inner_texts() == []


def assert_shows(view: Locator, texts: list[str]) -> None:
    for text in texts:
        poll(
            lambda text=text: text in view.evaluate(TEXTS),
            lambda text=text: f"no {text!r} in {view.inner_text()!r}",
            timeout_s=10,
        )


def test_names_are_text_in_the_timeline_and_its_details(notebook: Notebook) -> None:
    for name in (MARKUP, CLOSING):
        notebook.reveal(name)
        x, y = notebook.locate("timeline", name)
        notebook.page.mouse.move(x, y)
        notebook.page.mouse.click(x, y)
        notebook.wait_for_value("list(prof.link.selection)", [name])
        poll(lambda name=name: name in notebook.view("timeline").inner_text(), f"no details of {name!r}")
    assert_is_text(notebook.page)


@pytest.mark.parametrize("name", SHOWN)
def test_names_and_code_are_text_in_every_tab(full: Notebook, name: str) -> None:
    open_tab(full, name)
    view = full.view(name)
    assert_shows(view, SHOWN[name])
    # What a pointer or a selection brings up is made of the same names.
    view.hover()
    full.value(f"full.select(ops=({HOSTILE.op!r},)) and None")
    assert_is_text(full.page)


@pytest.mark.nightly
def test_exported_pages_show_the_names_as_text(full: Notebook, lab_server: Server) -> None:
    page = full.page.context.new_page()
    for name in ("hostile.html", "hostile_run.html"):
        path: Path = lab_server.root / name
        assert "</script><script>window" not in path.read_text(encoding="utf-8")
        page.goto(path.as_uri())  # from the disk; it needs no server
        page.locator('[data-tfprof="timeline"] canvas').first.wait_for()
        assert_is_text(page)
    for view, texts in SHOWN.items():
        go_to(page.locator('[data-tfprof="dashboard"]'), view)
        assert_shows(page.locator(f'[data-tfprof="{view}"]'), texts)
        assert_is_text(page)
    page.close()


@pytest.fixture(scope="module")
def alone(full: Notebook) -> Notebook:
    """The same page with views of the first run outside of a dashboard; now the last ones shown."""
    for cell in (3, 4, 5):
        full.run_cell(cell)
    return full


def test_names_of_scopes_and_hosts_are_text_in_views_alone(alone: Notebook) -> None:
    assert_shows(alone.view("worker_chart"), [MARKUP])
    cells = alone.view("tree_view").locator(".cell")
    poll(lambda: cells.count() > 3, "no cells of scopes")
    for cell in cells.all():
        cell.hover()
    assert_is_text(alone.page)
