"""A trace file shown in a real JupyterLab -> first paint, frame times, bytes and memory, as JSON on stdout.

Run as `python measure_timeline.py FILE [--dashboard]`. First paint is counted from the date that the kernel puts on the
cell's output, the last thing the cell does (what is kept for saving is made after it, before the kernel is idle), to
the frame after the first one in which the timeline drew slices.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from page_input import debugging, free_port
from page_memory import page_bytes, process_bytes, renderer_bytes
from page_session import SCRIPT, play
from playwright.sync_api import TimeoutError, sync_playwright

from tests.browser.harness import CHROMIUM_ARGUMENTS, Notebook, Server, opened, poll, write_notebook
from tools import chromium

CANVAS = '[data-tfprof="timeline"] canvas'
CELL_S = 900
PAINT_S = 60
LOADED_S = 300
STALLED_S = 20
"""Loading that shows no progress for so long has come to its end: the browser's budget is used up."""
IMPORT, LOAD, SHOW, LOAD_AGAIN, DASHBOARD = range(5)
CELLS = (
    # What is loaded lazily is no part of what a trace costs.
    "import os, tfprof_widgets as tfprof, pandas\nfrom tfprof_widgets.show import payload\n"
    "from tfprof_widgets.show import widgets as views\nos.getpid()",
    "prof = tfprof.load('bench.xplane.pb')",
    "prof.timeline()",  # built in the cell itself, so that its output is dated when it is ready
    "other = tfprof.load('bench.xplane.pb')",
    "other.dashboard()",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--dashboard", action="store_true", help="also the first paint of the whole dashboard")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tfprof_bench_") as scratch:
        root, home = Path(scratch, "root"), Path(scratch, "home")
        root.mkdir(), home.mkdir()
        shutil.copy(arguments.file, root / "bench.xplane.pb")
        write_notebook(root / "bench.ipynb", *CELLS)
        with Server("lab", root=root, home=home) as server, sync_playwright() as playwright:
            port = free_port()
            browser = playwright.chromium.launch(
                executable_path=str(chromium.find()), args=[*CHROMIUM_ARGUMENTS, *debugging(port)]
            )
            with opened(browser, server, "bench.ipynb", at_start=SCRIPT.read_text()) as notebook:
                result = _measure(notebook, browser, port, has_dashboard=arguments.dashboard)
            browser.close()
    print(json.dumps(result))


def _measure(notebook: Notebook, browser: Any, port: int, *, has_dashboard: bool) -> dict[str, Any]:
    page = notebook.page
    result: dict[str, Any] = {}
    notebook.run_cell(IMPORT)
    assert notebook.value("views.__name__")
    kernel = int(notebook.value("os.getpid()"))
    result["kernel_empty"] = process_bytes(kernel)
    notebook.run_cell(LOAD, timeout_s=CELL_S)
    result["page_empty"] = page_bytes(page)
    n_bytes = page.evaluate("tfprofBench.n_bytes")
    result["first_paint"] = _first_paint(notebook, SHOW)
    shown_at = time.monotonic()
    at = _middle(notebook)
    if _is_loading(_about(notebook)):
        result["while_loading"] = play(page, port, at)
        result["is_loading_after"] = _is_loading(_about(notebook))
    result["loaded"] = _wait_until_loaded(notebook)
    result["loaded_s"] = time.monotonic() - shown_at
    notebook.wait_for_kernel("idle")
    result["n_streamed_bytes"] = page.evaluate("tfprofBench.n_bytes") - n_bytes
    page.mouse.move(1, 1)
    page.keyboard.press("Escape")
    result["when_loaded"] = play(page, port, at)
    time.sleep(1)
    result["kernel"] = process_bytes(kernel)
    result["page"] = page_bytes(page)
    result["renderer"] = renderer_bytes(browser)
    if has_dashboard:
        notebook.run_cell(LOAD_AGAIN, timeout_s=CELL_S)
        result["dashboard_first_paint"] = _first_paint(notebook, DASHBOARD)
    result["errors"] = notebook.errors[:5]
    return result


def _first_paint(notebook: Notebook, cell: int) -> dict[str, float]:
    """Seconds from the cell's output to the picture and to the idle kernel, and what the cell took until its output."""
    page = notebook.page
    page.evaluate(f"tfprofBench.watchPaint({CANVAS!r}); tfprofBench.watchCell()")
    began = time.time()
    notebook.start_cell(cell)
    page.wait_for_function("tfprofBench.cell.idle > 0", timeout=CELL_S * 1000)
    try:
        page.wait_for_function("tfprofBench.firstPaint > 0", timeout=PAINT_S * 1000)
    except TimeoutError:
        raise AssertionError(f"Error: no paint within {PAINT_S} s of the cell's end: {notebook.errors[:1]}") from None
    shown, idle, painted = page.evaluate("[tfprofBench.cell.shown, tfprofBench.cell.idle, tfprofBench.firstPaint]")
    return {"seconds": (painted - shown) / 1000, "until_idle_s": (idle - shown) / 1000, "cell_s": shown / 1000 - began}


def _about(notebook: Notebook) -> str:
    return notebook.view("timeline").locator(".tl-about").inner_text()


def _is_loading(text: str) -> bool:
    """Whether a timeline that says this of itself still waits for events."""
    return re.search(r"[\d,]+ of [\d,]+ events", text) is not None


def _wait_until_loaded(notebook: Notebook) -> str:
    """What the timeline says of itself once all events are there, or no more come."""
    deadline = time.monotonic() + LOADED_S
    last, since = "", time.monotonic()
    while time.monotonic() < deadline:
        text = _about(notebook).split("·")[-1].strip()
        if not _is_loading(text):
            return text
        if text != last:
            last, since = text, time.monotonic()
        if time.monotonic() - since > STALLED_S:
            break
        time.sleep(0.05)
    return last


def _middle(notebook: Notebook) -> tuple[float, float]:
    """A place among the slices, in view."""
    view = notebook.view("timeline")
    view.scroll_into_view_if_needed()
    poll(lambda: view.locator("canvas").first.bounding_box() is not None, "the timeline has no canvas")
    box = view.locator("canvas").first.bounding_box()
    assert box is not None
    return box["x"] + 0.5 * box["width"], box["y"] + 0.6 * box["height"]


if __name__ == "__main__":
    main()
