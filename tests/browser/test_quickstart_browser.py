"""The quickstart notebook in JupyterLab 4: views with real data and no network, tables, and a small file when it is saved."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest

from tests.browser.conftest import Open
from tests.browser.harness import ROOT, Notebook, Server, poll
from tests.browser.tabs import open_tab
from tests.notebook.committed import VIEW, displayed, text_of

pytestmark = pytest.mark.tensorflow

QUICKSTART = ROOT / "notebooks" / "quickstart.ipynb"
N_STEPS = 20
MOST_BYTES = 1_520_000
"""Of which the scripts are 0.3 MB in the state of the widgets, and as much in the page of the output."""
STATE = "application/vnd.jupyter.widget-state+json"


@pytest.fixture(scope="module")
def notebook(open_lab: Open, lab_server: Server) -> Iterator[Notebook]:
    text = QUICKSTART.read_text(encoding="utf-8")
    assert text.count("BATCH = 1280, 4, 32") == 1
    fewer = text.replace("BATCH = 1280, 4, 32", f"BATCH = {N_STEPS * 32}, 4, 32")  # half of the images show the same
    (lab_server.root / QUICKSTART.name).write_text(fewer, encoding="utf-8")
    with open_lab(QUICKSTART.name) as notebook:
        notebook.run_all()
        yield notebook


@pytest.fixture(scope="module")
def saved(notebook: Notebook) -> nbformat.NotebookNode:
    """The file that JupyterLab writes, with the state of its widgets."""
    notebook.save_with_widgets()
    return nbformat.read(notebook.server.root / notebook.name, as_version=4)


def cell_with(saved: nbformat.NotebookNode, text: str) -> nbformat.NotebookNode:
    return next(cell for cell in saved.cells if cell.cell_type == "code" and text in cell.source)


def shown_by(saved: nbformat.NotebookNode, text: str) -> dict[str, Any]:
    """What the cell with this text shows."""
    (data,) = displayed(cell_with(saved, text))
    return data


def test_the_views_have_the_data_of_the_training(notebook: Notebook) -> None:
    check(notebook)
    notebook.screenshot("quickstart-lab", notebook.view("dashboard"))


def test_every_batch_is_a_marked_step(notebook: Notebook) -> None:
    names, sources = notebook.value("[prof.steps['name'].tolist(), sorted(set(prof.steps['source']))]")
    assert len(set(names)) == len(names) == N_STEPS
    assert sources == ["marker"]
    assert 1 < notebook.value("prof.overview.step_time_avg_ms") < 1000
    assert notebook.value("list(prof.notices)") == []


def test_ops_are_those_of_the_network_and_of_the_input_pipeline(notebook: Notebook) -> None:
    types = notebook.value("sorted(set(prof.ops['type']))")
    assert {"AdjustHue", "ResizeBicubic", "Dataset"} <= set(types)
    assert any("Conv2D" in name for name in types)
    on_host = "prof.ops.loc[prof.ops['device'] == 'Host', 'self_time_ratio']"
    assert notebook.value(f"float({on_host}.sum())") == pytest.approx(1)


def test_memory_of_the_cpu_is_recorded(notebook: Notebook) -> None:
    # At least one float32 batch of augmented images was held.
    assert notebook.value("int(prof.memory.summary['peak_bytes'].max())") > 32 * 64 * 64 * 3 * 4


def test_the_sequential_map_is_the_bottleneck(notebook: Notebook, saved: nbformat.NotebookNode) -> None:
    assert "Map" in notebook.value("str(prof.input_pipeline.bottleneck)")
    assert "num_parallel_calls" in text_of(cell_with(saved, "input_pipeline.suggestion"), "stdout")


def test_a_summary_as_text_and_tables_are_saved_beside_the_widget(saved: nbformat.NotebookNode) -> None:
    data = shown_by(saved, "%%tfprofile")
    assert saved.metadata.widgets[STATE]["state"][data[VIEW]["model_id"]]["model_module"] == "anywidget"
    assert "ms" in data["text/plain"]
    assert len(data["text/plain"].splitlines()) > 5
    for text, column in (("steps", "step_time_ms"), ("ops", "total_self_time_us")):
        assert column in shown_by(saved, f"prof.{text}.head()")["text/html"]
    assert "peak_bytes" in shown_by(saved, "prof.memory.summary")["text/html"]


def test_it_is_small_saved_with_the_state_of_its_widgets_and_without(saved: nbformat.NotebookNode) -> None:
    assert len(nbformat.writes(saved)) <= MOST_BYTES
    page = shown_by(saved, "%%tfprofile")["text/html"]
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
