"""Lists of labels and values in a real JupyterLab, whose own rules for lists would move a value to another label."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from playwright.sync_api import Locator

from tests.browser.conftest import Open
from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import ROOT, Notebook, Server, write_notebook
from tests.browser.tabs import open_tab
from tests.browser.test_diff import runs

CELLS = (
    "from pathlib import Path\nimport tfprof_widgets as tfprof\nprof = tfprof.load('labels')\n"
    "pair = [tfprof.load(path) for path in sorted(Path('label_pair').glob('*.pb'))]",
    "prof.dashboard()",
    "tfprof.diff(*pair)",
)
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
    write_run(lab_server.root / "labels", PLAIN)
    (lab_server.root / "label_pair").mkdir()
    runs(lab_server.root / "label_pair")
    write_notebook(lab_server.root / "labels.ipynb", *CELLS)
    with open_lab("labels.ipynb") as notebook:
        for cell in range(len(CELLS)):
            notebook.run_cell(cell)
        yield notebook


def show(notebook: Notebook, name: str) -> None:
    """Have the list of this class on the screen."""
    overview = notebook.view("overview_panel")
    if name == "tfp-mem-facts":
        open_tab(notebook, "memory_timeline")
        notebook.view("memory_timeline").locator(".tfp-plot").click()  # the figures of a moment as well
    elif name == "tfp-kv":
        open_tab(notebook, "input_graph")
    elif name == "tfp-fact-list":
        overview.locator(".tfp-more > button").click()
    elif name == "evidence":
        overview.get_by_role("button", name="Show evidence").first.click()


def lists() -> list[str]:
    """The classes of all lists that the source makes."""
    sources = sorted((ROOT / "js" / "src").rglob("*.ts"))
    return sorted({name for path in sources for name in MADE.findall(path.read_text(encoding="utf-8"))})


@pytest.mark.parametrize("name", lists())
def test_each_value_stands_beside_its_own_label(notebook: Notebook, name: str) -> None:
    show(notebook, name)
    found: Locator = notebook.page.locator(f".tfp-labels.{name}").locator("visible=true")
    found.first.wait_for()
    rows = found.evaluate_all(ROWS)
    assert rows
    assert [row["text"] for row in rows if not row["isBeside"]] == []
    columns = [(above, below) for above, below in pairwise(rows) if above["left"] == below["left"]]
    assert all(above["bottom"] <= below["top"] + 1 or below["bottom"] <= above["top"] for above, below in columns)
    notebook.screenshot(f"labels_{name}", found.first)
