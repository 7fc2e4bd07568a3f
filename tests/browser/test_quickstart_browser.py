"""The quickstart notebook in JupyterLab 4: views with real data and no network, and a small file when it is saved."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import nbformat
import pytest

from tests.browser.conftest import Open
from tests.browser.harness import ROOT, Notebook, Server, poll
from tests.browser.tabs import open_tab
from tests.notebook.committed import displayed

pytestmark = [pytest.mark.tensorflow, pytest.mark.nightly]

QUICKSTART = ROOT / "notebooks" / "quickstart.ipynb"
MOST_BYTES = 1_520_000
"""Of which the scripts are 0.3 MB in the state of the widgets, and as much in the page of the output."""
STATE = "application/vnd.jupyter.widget-state+json"


@pytest.fixture(scope="module")
def notebook(open_lab: Open, lab_server: Server) -> Iterator[Notebook]:
    shutil.copy(QUICKSTART, lab_server.root)
    with open_lab(QUICKSTART.name) as notebook:
        notebook.run_all()
        yield notebook


@pytest.fixture(scope="module")
def saved(notebook: Notebook) -> nbformat.NotebookNode:
    """The file that JupyterLab writes, with the state of its widgets."""
    notebook.save_with_widgets()
    return nbformat.read(notebook.server.root / notebook.name, as_version=4)


def test_the_views_have_the_data_of_the_training(notebook: Notebook) -> None:
    check(notebook)
    notebook.screenshot("quickstart-lab", notebook.view("dashboard"))


def test_it_is_small_saved_with_the_state_of_its_widgets_and_without(saved: nbformat.NotebookNode) -> None:
    assert len(nbformat.writes(saved)) <= MOST_BYTES
    (data,) = displayed(next(cell for cell in saved.cells if cell.cell_type == "code" and "%%tfprofile" in cell.source))
    page = data["text/html"]
    # The page alone holds the profile and the scripts: without state nothing is lost, with it nothing is there twice.
    assert len(json.dumps(saved.metadata.widgets[STATE])) < len(page) / 10 < MOST_BYTES / 10


def test_the_exported_page_shows_the_same_from_the_disk(notebook: Notebook) -> None:
    check_exported_page(notebook)


def check(notebook: Notebook) -> None:
    """Views of a notebook that ran have the data of its `prof`, and nothing failed."""
    dashboard = notebook.view("dashboard")
    dashboard.scroll_into_view_if_needed()
    # The panel says the mean step time that Python computed, in words a person reads.
    verdict = notebook.value("prof.overview.verdict")
    poll(lambda: verdict in dashboard.inner_text(), lambda: f"{verdict!r} is not in {dashboard.inner_text()!r}")
    check_timeline(notebook)
    check_ops(notebook)
    check_memory(notebook)
    check_input_graph(notebook)
    assert notebook.page.locator('[role="alert"]').all_inner_texts() == []


def check_timeline(notebook: Notebook) -> None:
    timeline = notebook.view("timeline")
    assert timeline.locator("canvas").first.bounding_box()["width"] > 300
    name = notebook.value("next(name for name in prof.events['name'] if 'conv2d' in name and ':' in name)")
    notebook.reveal(name)
    notebook.locate("timeline", name)


def check_ops(notebook: Notebook) -> None:
    open_tab(notebook, "op_table")
    table = notebook.view("op_table")
    table.get_by_role("button", name="by op").click()  # of so many ops their types are shown first
    waits = table.get_by_role("button", name="Waiting")  # what waits for other threads is shown when it is asked for
    if waits.count():
        waits.click()
    top = notebook.value("prof.ops['name'].iloc[0]")
    poll(lambda: table.locator(f'[data-op-name="{top}"]').count() == 1, f"no row for {top}")


def check_memory(notebook: Notebook) -> None:
    open_tab(notebook, "memory_timeline")
    memory = notebook.view("memory_timeline")
    # Bokeh's canvas sits in nested shadow roots, which Playwright's selectors enter.
    memory.locator("canvas").first.wait_for()
    allocator = notebook.value("prof.memory.summary['allocator'].iloc[0]")
    poll(lambda: allocator in memory.inner_text(), f"no word of the allocator {allocator}")


def check_input_graph(notebook: Notebook) -> None:
    open_tab(notebook, "input_graph")
    graph = notebook.view("input_graph")
    names = [name.rsplit("::", 1)[-1] for name in notebook.value("prof.input_pipeline.iterators['long_name'].tolist()")]
    poll(lambda: all(name in graph.inner_text() for name in names), f"the graph does not show all of {names}")
    assert any(name.startswith("Map") for name in names)


def check_exported_page(notebook: Notebook) -> None:
    """`prof.to_html` gives a page that shows the same from the disk, with nothing beside it."""
    path = notebook.server.root / notebook.value("str(prof.to_html('quickstart.html'))")
    page = notebook.page.context.new_page()
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.goto(path.as_uri())
    page.locator('[data-tfprof="timeline"] canvas').first.wait_for()
    verdict = notebook.value("prof.overview.verdict")
    text = page.locator('[data-tfprof="dashboard"]')
    poll(lambda: verdict in text.inner_text(), lambda: f"{verdict!r} is not in {text.inner_text()!r}")
    assert page.locator('[role="alert"]').all_inner_texts() == []
    assert failures == []
    page.close()
