"""What is done in one view of a profile arrives in the others, also while the kernel is busy, and in Python."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.conftest import Open
from tests.browser.drawings import FIRST, FIRST_EVENT, FIRST_MIDDLE_US, SECOND, SECOND_EVENT, STEP_US, linked_space
from tests.browser.harness import Notebook, Server, poll, write_notebook
from tests.browser.tabs import open_tab

LOAD, SHOW, BUSY = range(3)
CELLS = (
    "import tfprof_widgets as tfprof\nprof = tfprof.load('linked.xplane.pb')",
    "prof.dashboard()",
    """
import pathlib, time
while not pathlib.Path("go").exists():
    time.sleep(0.1)
pathlib.Path("go").unlink()
""",
)
RULER_MIDDLE_PX = 37
"""Below the top of the timeline's canvas: the overview strip is 28 px high, the ruler 19."""


@pytest.fixture(scope="module")
def shown(open_lab: Open, lab_server: Server) -> Iterator[Notebook]:
    """A notebook in JupyterLab with the dashboard of the drawn trace."""
    (lab_server.root / "linked.xplane.pb").write_bytes(linked_space())
    write_notebook(lab_server.root / "linked.ipynb", *CELLS)
    with open_lab("linked.ipynb") as notebook:
        for cell in (LOAD, SHOW):
            notebook.run_cell(cell)
        notebook.view("timeline").locator("canvas").first.wait_for()
        yield notebook
        assert notebook.page.locator('[role="alert"]').all_inner_texts() == []


@pytest.fixture
def notebook(shown: Notebook) -> Notebook:
    """The same with nothing selected."""
    shown.value("[setattr(prof.link, 'time_range', ()), setattr(prof.link, 'selection', ())]")
    shown.view("dashboard").scroll_into_view_if_needed()
    return shown


def op_names(notebook: Notebook) -> set[str]:
    rows = notebook.view("op_table").locator("[data-op-name]")
    return {name for name in rows.evaluate_all("rows => rows.map((row) => row.dataset.opName)") if "model/" in name}


def drag_over_ruler(notebook: Notebook, t0_us: float, t1_us: float) -> None:
    """Drag from one time to another; where they are on the screen follows from two slices of known time."""
    early, _ = notebook.locate("timeline", FIRST_EVENT, 0)
    late, _ = notebook.locate("timeline", FIRST_EVENT, 3)
    px_per_us = (late - early) / (3 * STEP_US)
    canvas = notebook.view("timeline").locator("canvas").first.bounding_box()
    y = canvas["y"] + RULER_MIDDLE_PX
    x0, x1 = (early + (t_us - FIRST_MIDDLE_US) * px_per_us for t_us in (t0_us, t1_us))
    mouse = notebook.page.mouse
    mouse.move(x0 + 1, y)
    mouse.down()
    mouse.move((x0 + x1) / 2, y, steps=5)
    mouse.move(x1 - 1, y, steps=5)
    mouse.up()


def release_kernel(server: Server) -> None:
    (server.root / "go").touch()


def test_clicking_a_slice_selects_its_op_in_python_and_in_the_table(notebook: Notebook) -> None:
    open_tab(notebook, "op_table")
    notebook.page.mouse.click(*notebook.locate("timeline", SECOND_EVENT))
    notebook.wait_for_value("list(prof.link.selection)", [SECOND])
    row = notebook.view("op_table").locator(f'[data-op-name="{SECOND}"]')
    poll(lambda: row.get_attribute("aria-selected") == "true", "the row of the clicked op is not selected")
    assert SECOND in notebook.view("timeline").inner_text()


def test_selecting_in_python_reaches_the_views(notebook: Notebook) -> None:
    open_tab(notebook, "op_table")
    notebook.value(f"setattr(prof.link, 'selection', ({FIRST!r},))")
    row = notebook.view("op_table").locator(f'[data-op-name="{FIRST}"]')
    poll(lambda: row.get_attribute("aria-selected") == "true", "the row is not selected")


def test_a_range_dragged_while_the_kernel_is_busy_filters_table_and_memory(
    notebook: Notebook, lab_server: Server
) -> None:
    open_tab(notebook, "memory_timeline")
    open_tab(notebook, "op_table")
    poll(lambda: op_names(notebook) == {FIRST, SECOND}, lambda: f"ops of the whole capture: {op_names(notebook)}")
    notebook.start_cell(BUSY)
    notebook.wait_for_kernel("busy")
    try:
        drag_over_ruler(notebook, 0, 4 * STEP_US)
        poll(lambda: op_names(notebook) == {FIRST}, lambda: f"ops of the range: {op_names(notebook)}")
        open_tab(notebook, "memory_timeline")
        memory = notebook.view("memory_timeline")
        poll(lambda: FIRST in memory.inner_text(), lambda: f"no {FIRST} at the peak: {memory.inner_text()}")
        assert SECOND not in memory.inner_text()
        notebook.wait_for_kernel("busy")
        notebook.screenshot("linked-range", notebook.view("dashboard"))
    finally:
        release_kernel(lab_server)
    notebook.wait_for_kernel("idle")
    # Of a slow drag the page sent a part, and sends the whole when the kernel has taken that.
    dragged = pytest.approx([0, 4 * STEP_US * 1000], abs=STEP_US * 1000)
    poll(lambda: notebook.value("list(prof.link.time_range)") == dragged, "the kernel has another range", timeout_s=10)


def test_a_chart_hidden_while_the_range_changed_is_whole_when_it_is_shown(notebook: Notebook) -> None:
    open_tab(notebook, "memory_timeline")
    open_tab(notebook, "op_table")
    drag_over_ruler(notebook, 0, 4 * STEP_US)
    open_tab(notebook, "memory_timeline")
    memory = notebook.view("memory_timeline")
    poll(lambda: "step 3" in memory.inner_text(), lambda: memory.inner_text())
    poll(lambda: "of 8 events drawn" not in memory.inner_text(), "events of the range are left out", timeout_s=10)
    notebook.screenshot("linked-memory", notebook.view("dashboard"))


def test_dark_theme_reaches_every_view(notebook: Notebook) -> None:
    notebook.use_theme("JupyterLab Dark")
    try:
        for view in ("dashboard", "timeline", "overview_panel", "step_chart"):
            poll(lambda view=view: notebook.view(view).get_attribute("data-theme") == "dark", f"{view} is not dark")
        background = notebook.view("dashboard").evaluate("el => getComputedStyle(el).backgroundColor")
        red, green, blue = (int(part) for part in background.strip("rgba()").split(",")[:3])
        assert max(red, green, blue) < 80
        darkness = (
            notebook.view("timeline")
            .locator("canvas")
            .first.evaluate(
                """canvas => {
                const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
                const dark = data.filter((_, i) => i % 4 === 0).filter((red) => red < 100).length;
                return dark / (data.length / 4);
            }"""
            )
        )
        assert darkness > 0.5
        notebook.screenshot("linked-dark", notebook.view("dashboard"))
    finally:
        notebook.use_theme("JupyterLab Light")
