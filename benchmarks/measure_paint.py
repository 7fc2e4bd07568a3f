"""A notebook in a real JupyterLab -> seconds until the verdict of a profile is on the screen, as JSON on stdout.

Run as `python measure_paint.py quickstart` or `python measure_paint.py NAME`, a capture of `tests/data`, with `--rounds N`.
Each round has a kernel of its own, in which nothing was displayed before.

Of the quickstart the clock starts at the end of `fit`. Its training is captured by `tf.profiler` alone, too, by turns with
ours: what that takes to stop is TensorFlow's share. Of a capture in `tests/data` the clock starts before `tfprof.load`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from page_session import SCRIPT
from playwright.sync_api import sync_playwright

from tests.browser.harness import CHROMIUM_ARGUMENTS, ROOT, Notebook, Server, opened_in, page_of, write_notebook
from tests.captures import committed
from tools import chromium

CELL_S = 300
PAINT_S = 120
MARKS = {"verdict": ".tfp-verdict", "steps": ".tfp-bokeh", "timeline": ".tl-about", "advice": ".tfp-top li"}
"""What is waited for, by what shows it."""
QUICKSTART = ROOT / "notebooks" / "quickstart.ipynb"
N_SET_UP = 4
"""Its first cells of code, which make the data and the model."""
FIT = "model.fit(train, epochs=1, shuffle=False, verbose=0, callbacks=[Watch()])"
WATCH = """
import tempfile, time
class Watch(keras.callbacks.Callback):
    def on_train_end(self, logs=None):
        Watch.ended = time.time()
with tempfile.TemporaryDirectory() as logdir:  # compiles, and has the profiler of TensorFlow loaded
    tf.profiler.experimental.start(logdir)
    {fit}
    tf.profiler.experimental.stop()
"""
BARE = """
with tempfile.TemporaryDirectory() as logdir:
    tf.profiler.experimental.start(logdir)
    {fit}
    tf.profiler.experimental.stop()
    bare = time.time() - Watch.ended
"""
OURS = "%%tfprofile -o prof\n{fit}"
LOAD = "%load_ext tfprof_widgets\nimport time\nimport tfprof_widgets as tfprof"
SHOW = "class Watch:\n    ended = time.time()\nprof = tfprof.load('capture')\nprof"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what")
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    is_quickstart = arguments.what == "quickstart"
    with tempfile.TemporaryDirectory(prefix="tfprof_bench_") as scratch:
        root, home = Path(scratch, "root"), Path(scratch, "home")
        root.mkdir(), home.mkdir()
        if not is_quickstart:
            committed.unpack(arguments.what, root / "capture")
        write_notebook(root / "paint.ipynb", *(_quickstart() if is_quickstart else (LOAD, SHOW)))
        with Server("lab", root=root, home=home) as server, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=str(chromium.find()), args=CHROMIUM_ARGUMENTS)
            with page_of(browser, at_start=SCRIPT.read_text()) as page:
                rounds = []
                for _ in range(arguments.rounds):
                    with opened_in(page, server, "paint.ipynb") as notebook:
                        rounds.append(_measured(notebook, is_quickstart=is_quickstart))
            browser.close()
    print(json.dumps({"rounds": rounds}))


def _quickstart() -> tuple[str, ...]:
    code = [cell.source for cell in nbformat.read(QUICKSTART, as_version=4).cells if cell.cell_type == "code"]
    return (*code[:N_SET_UP], *(cell.format(fit=FIT) for cell in (WATCH, BARE, OURS)))


def _measured(notebook: Notebook, *, is_quickstart: bool) -> dict[str, Any]:
    n_cells = N_SET_UP + 3 if is_quickstart else 2
    for cell in range(n_cells - 1):
        notebook.run_cell(cell, timeout_s=CELL_S)
    page = notebook.page
    page.evaluate(f"tfprofBench.watchShown({json.dumps(MARKS)})")
    notebook.start_cell(n_cells - 1)
    page.wait_for_function(f"Object.keys(tfprofBench.shown).length === {len(MARKS)}", timeout=PAINT_S * 1000)
    notebook.wait_for_kernel("idle", timeout_s=CELL_S)
    ended = notebook.value("Watch.ended")
    found = {f"{name}_s": at / 1000 - ended for name, at in page.evaluate("tfprofBench.shown").items()}
    found["n_events"] = notebook.value("prof.trace.n_events")
    if is_quickstart:
        found["bare_stop_s"] = notebook.value("bare")
        found["stop_s"] = notebook.value("prof.cost.stop_s")
    return found


if __name__ == "__main__":
    main()
