"""Every tab of a dashboard at once: one selection marks what it is in each of them, and re-running the cell leaks nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator

from tests.browser.conftest import Open
from tests.browser.full_run import OTHER, PLAIN
from tests.browser.harness import Notebook, Server, poll, write_notebook
from tests.browser.listeners import COUNT_LISTENERS, PROBE
from tests.browser.tabs import TABS, offered, open_tab
from tests.cluster import write_two_hosts

CELLS = (
    "import tfprof_widgets as tfprof\nprof = tfprof.load('full_run')",
    "prof.dashboard()",
    PROBE,
)
LOAD, SHOW, PROBED = range(3)
N_WIDGETS = "len(__import__('ipywidgets').widgets.widget._instances)"
MARKS = {
    "op_table": '[data-op-name="{op}"][aria-selected="{is_marked}"]',
    "source_view": '.ln[data-line="{line}"][aria-pressed="{is_marked}"]',
    "layer_table": '[data-layer="{layer}"][aria-selected="{is_marked}"]',
    "tree_view": '.tfp-tree-grid .row[data-node="{scope}"][aria-selected="{is_marked}"]',
    "kernel_table": '[data-kernel="{kernel}"][aria-selected="{is_marked}"]',
    "hlo_table": '[data-hlo-name="{hlo}"][aria-selected="{is_marked}"]',
}
"""By view the mark of the things that belong to an op."""
OF_OP = {
    "op": PLAIN.op,
    "line": 2,
    "layer": f"net/{PLAIN.layer}",
    "scope": f"net/{PLAIN.layer}",
    "kernel": PLAIN.kernel,
    "hlo": PLAIN.hlo,
}
OF_OTHER = {"op": OTHER, "line": 3, "layer": "net/conv", "scope": "net/conv", "kernel": "conv_kernel", "hlo": "conv.2"}


@pytest.fixture(scope="module")
def notebook(open_lab: Open, lab_server: Server) -> Iterator[Notebook]:
    write_two_hosts(lab_server.root / "full_run")
    write_notebook(lab_server.root / "full.ipynb", *CELLS)
    with open_lab("full.ipynb") as notebook:
        for cell in (LOAD, SHOW, PROBED):
            notebook.run_cell(cell)
        open_all(notebook)
        yield notebook
        assert notebook.page.locator('[role="alert"]').all_inner_texts() == []


def open_all(notebook: Notebook) -> None:
    """Draw every tab of the last dashboard."""
    notebook.view("timeline").locator("canvas").first.wait_for()
    assert offered(notebook.view("dashboard")) == [*TABS]
    for name in TABS:
        open_tab(notebook, name)
        if name in MARKS:
            marks(notebook, name, is_marked=False, **OF_OP).first.wait_for()


def marks(notebook: Notebook, view: str, *, is_marked: bool, **parts: object) -> Locator:
    return notebook.view(view).locator(MARKS[view].format(is_marked=str(is_marked).lower(), **parts))


@pytest.mark.parametrize("view", MARKS)
def test_a_selected_op_is_marked_and_the_other_is_not(notebook: Notebook, view: str) -> None:
    open_tab(notebook, view)
    for chosen, other in ((OF_OP, OF_OTHER), (OF_OTHER, OF_OP)):
        notebook.value(f"prof.select(ops=({chosen['op']!r},)) and None")
        poll(
            lambda chosen=chosen: marks(notebook, view, is_marked=True, **chosen).count() > 0,
            lambda chosen=chosen: f"{chosen['op']} is not marked in {notebook.view(view).inner_text()}",
        )
        assert marks(notebook, view, is_marked=True, **other).count() == 0
    notebook.value("prof.select() and None")
    poll(lambda: marks(notebook, view, is_marked=False, **OF_OP).count() > 0, "the mark stays")


@pytest.mark.parametrize("view", MARKS)
def test_a_click_selects_the_op(notebook: Notebook, view: str) -> None:
    open_tab(notebook, view)
    marks(notebook, view, is_marked=False, **OF_OP).first.click()
    notebook.wait_for_value("list(prof.link.selection)", [PLAIN.op])
    notebook.value("prof.select() and None")
    poll(lambda: marks(notebook, view, is_marked=False, **OF_OP).count() > 0, "the mark stays")


def test_rerunning_the_cell_with_every_tab_drawn_leaks_no_listener_and_no_widget(notebook: Notebook) -> None:
    ids = notebook.value("{'link': prof.link.model_id, 'data': prof.timeline().data.model_id}")
    notebook.run_cell(SHOW)
    open_all(notebook)
    before, n_widgets = notebook.page.evaluate(COUNT_LISTENERS, ids), notebook.value(N_WIDGETS)
    notebook.run_cell(SHOW)
    open_all(notebook)
    poll(
        lambda: notebook.page.evaluate(COUNT_LISTENERS, ids) == before,
        lambda: f"before {before}, after {notebook.page.evaluate(COUNT_LISTENERS, ids)}",
        timeout_s=10,
    )
    assert before["link"] >= len(TABS)
    assert notebook.value(N_WIDGETS) == n_widgets
    assert notebook.page.locator('[data-tfprof="dashboard"]').count() == 1
