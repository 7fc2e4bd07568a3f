"""A cell that is run again and again: page and kernel hold what one run needs, not what all runs made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.browser.conftest import Open
from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import Notebook, Server, poll, write_notebook
from tests.browser.listeners import COUNT_LISTENERS, PROBE
from tests.browser.tabs import open_tab

MIB = 2**20
N_RUNS = 10
PREPARE, RERUN, KEPT = range(3)
CELLS = (
    f"import ctypes, gc, psutil, ipywidgets\nimport tfprof_widgets as tfprof\n{PROBE}",
    "prof = tfprof.load('rerun')\ndisplay(prof)",
    "kept = tfprof.load('rerun')\nkept.op_table()",
)
N_WIDGETS = "len(ipywidgets.widgets.widget._instances)"
# What glibc has free and keeps for itself is no leak: it is given back before memory is read.
RSS = "(gc.collect(), getattr(ctypes.CDLL(None), 'malloc_trim', id)(0), psutil.Process().memory_info().rss)[2]"


@dataclass(frozen=True)
class Use:
    """What page and kernel hold at one moment."""

    listeners: dict[str, object]
    heap_bytes: int
    n_widgets: int
    rss_bytes: int


@pytest.fixture(scope="module")
def notebook(open_lab: Open, lab_server: Server) -> Iterator[Notebook]:
    write_run(lab_server.root / "rerun", PLAIN)
    write_notebook(lab_server.root / "rerun.ipynb", *CELLS)
    with open_lab("rerun.ipynb") as notebook:
        notebook.run_cell(PREPARE)
        notebook.page.wait_for_function("globalThis.tfprofManager")
        yield notebook


def run_again(notebook: Notebook, times: int) -> None:
    for i in range(times):
        notebook.run_cell(RERUN)
        notebook.view("timeline").locator("canvas").first.wait_for()
        if i % 4 == 0 or i == times - 1:
            open_tab(notebook, "memory_timeline")
            notebook.view("memory_timeline").locator("canvas").first.wait_for()


def measure(notebook: Notebook) -> Use:
    session = notebook.page.context.new_cdp_session(notebook.page)
    session.send("HeapProfiler.collectGarbage")
    heap = session.send("Runtime.getHeapUsage")
    session.detach()
    listeners = notebook.page.evaluate(COUNT_LISTENERS, notebook.value("{'link': prof.link.model_id}"))
    n_bytes = int(heap["usedSize"] + heap.get("backingStorageSize", 0))
    return Use(listeners, n_bytes, notebook.value(N_WIDGETS), notebook.value(RSS))


def test_running_a_cell_again_and_again_leaves_nothing_behind(notebook: Notebook) -> None:
    run_again(notebook, 4)
    before = measure(notebook)
    run_again(notebook, N_RUNS)
    poll(lambda: measure(notebook).listeners == before.listeners, lambda: f"{before} became {measure(notebook)}")
    after = measure(notebook)
    told = f"{before} became {after}"
    assert after.n_widgets == before.n_widgets, told
    # JupyterLab itself keeps some 1 MiB a run: handlers of closed comms, its shared document, modules of its own making.
    assert after.heap_bytes < before.heap_bytes + N_RUNS * 2 * MIB, told
    assert after.rss_bytes < before.rss_bytes + 10 * MIB, told


def test_what_another_cell_shows_stays(notebook: Notebook) -> None:
    notebook.run_cell(KEPT)
    notebook.view("op_table").locator("[data-op-name]").first.wait_for()
    n_widgets = notebook.value(N_WIDGETS)
    notebook.value("exec('other = prof', globals())")
    run_again(notebook, 1)
    assert notebook.value("kept.op_table().comm is not None")
    assert notebook.value("other.dashboard().comm is not None")  # opened again, as it is asked for
    poll(lambda: notebook.view("op_table").locator("[data-op-name]").count() > 0, "the other output is gone")
    assert notebook.value(N_WIDGETS) > n_widgets
