"""The quickstart notebook in JupyterLab 4: four views with real data, and no network."""

from __future__ import annotations

import shutil

import pytest

from tests.browser.conftest import Open
from tests.browser.harness import ROOT, Notebook, Server, poll
from tests.browser.tabs import open_tab

QUICKSTART = ROOT / "notebooks" / "quickstart.ipynb"
N_STEPS = 40


@pytest.mark.tensorflow
def test_quickstart_in_jupyterlab(open_lab: Open, lab_server: Server) -> None:
    shutil.copy(QUICKSTART, lab_server.root)
    with open_lab(QUICKSTART.name) as notebook:
        check(notebook)
        notebook.screenshot("quickstart-lab", notebook.view("dashboard"))
        check_exported_page(notebook)


def check(notebook: Notebook) -> None:
    notebook.run_all()
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
    assert notebook.refused == []
    assert notebook.errors == []


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
    assert notebook.refused == []
    page.close()
