"""A dashboard in JupyterLab: there before its source map is read; its lists are as JupyterLab's own rules would not have them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from playwright.sync_api import Locator

from tests.browser.conftest import Open
from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import ROOT, Notebook, Server, poll, write_notebook
from tests.browser.tabs import open_tab
from tests.browser.test_diff import runs

LOAD, SHOW, COMPARE = range(3)
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
    "tfprof.diff(*[tfprof.load(path) for path in sorted(Path('label_pair').glob('*.pb'))])",
)
LATE_VIEWS = ("source_view", "layer_table", "tree_view")
MADE = re.compile(r'labelList\("([^"]*)"')
ROWS = """lists => lists.flatMap((list) => [...list.children].map((row) => {
    const [label, ...values] = [...row.children].map((cell) => cell.getBoundingClientRect());
    const middle = ({ top, bottom }) => (top + bottom) / 2;
    const holds = (box, y) => box.top < y && y < box.bottom;
    const isBeside = (box) => box.left >= label.left && (holds(box, middle(label)) || holds(label, middle(box)));
    const place = row.getBoundingClientRect();
    return { text: row.innerText, isBeside: values.every(isBeside), left: place.left, top: place.top, bottom: place.bottom };
}))"""


@pytest.fixture(scope="module")
def notebook(open_lab: Open, lab_server: Server) -> Iterator[Notebook]:
    write_run(lab_server.root / "unread", PLAIN)
    write_notebook(lab_server.root / "in_lab.ipynb", *CELLS)
    with open_lab("in_lab.ipynb") as notebook:
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


@pytest.fixture(scope="module")
def with_diff(notebook: Notebook) -> Notebook:
    """The same with the comparison of two runs below it."""
    (notebook.server.root / "label_pair").mkdir()
    runs(notebook.server.root / "label_pair")
    notebook.run_cell(COMPARE)
    return notebook


def show(notebook: Notebook, name: str) -> None:
    """Have the list of this class on the screen."""
    overview = notebook.view("overview_panel")
    if name == "tfp-mem-facts":
        open_tab(notebook, "memory_timeline")
        notebook.view("memory_timeline").locator(".tfp-plot").click()  # the figures of a moment as well
    elif name == "tfp-kv":
        open_tab(notebook, "input_graph")
    elif name == "tfp-fact-list":
        overview.locator(".tfp-more > summary").click()


def lists() -> list[str]:
    """The classes of all lists that the source makes."""
    sources = sorted((ROOT / "js" / "src").rglob("*.ts"))
    return sorted({name for path in sources for name in MADE.findall(path.read_text(encoding="utf-8"))})


def test_each_value_stands_beside_its_own_label(with_diff: Notebook) -> None:
    for name in lists():
        show(with_diff, name)
        found: Locator = with_diff.page.locator(f".tfp-labels.{name}").locator("visible=true")
        found.first.wait_for()
        rows = found.evaluate_all(ROWS)
        assert rows
        assert [row["text"] for row in rows if not row["isBeside"]] == [], name
        columns = [(above, below) for above, below in pairwise(rows) if above["left"] == below["left"]]
        assert all(above["bottom"] <= below["top"] + 1 or below["bottom"] <= above["top"] for above, below in columns)
        with_diff.screenshot(f"labels_{name}", found.first)
