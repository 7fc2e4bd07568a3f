"""A notebook -> the executed notebook, a self-contained page and a text summary of its profile."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LOG = BUILD / "quickstart.log"
"""What TensorFlow says at its start, which would hide the summary."""
QUICKSTART = ROOT / "notebooks" / "quickstart.ipynb"


def execute(page: Path, path: Path = QUICKSTART, told: str = "prof.text()") -> nbformat.NotebookNode:
    """Run a notebook in a fresh kernel, with one more cell that writes the page of a profile and prints what it tells.

    Args:
        page: the file to write.
        path: the notebook.
        told: an expression that begins with the notebook's name for the profile.
    """
    notebook = nbformat.read(path, as_version=4)
    name = told.partition(".")[0]
    export = nbformat.v4.new_code_cell(f"_ = {name}.to_html({str(page)!r})\nprint({told})")
    notebook.cells.append(export)
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    client = NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(BUILD)}})
    with LOG.open("w") as log:
        client.execute(stderr=log)
    return notebook


def printed(cell: nbformat.NotebookNode) -> str:
    """What a cell wrote to standard output."""
    return "".join(output.text for output in cell.outputs if output.get("name") == "stdout")


def main() -> None:
    """Run the demonstration and say where to look."""
    BUILD.mkdir(exist_ok=True)
    page = BUILD / "quickstart.html"
    page.unlink(missing_ok=True)
    start = time.monotonic()
    print("Executing notebooks/quickstart.ipynb: a real training run, some seconds ...", flush=True)
    try:
        notebook = execute(page)
    except (CellExecutionError, DeadKernelError) as error:
        sys.exit(f"notebooks/quickstart.ipynb failed; what the kernel said is in {LOG.relative_to(ROOT)}:\n{error}")
    summary = printed(notebook.cells.pop())
    executed = BUILD / "quickstart.ipynb"
    nbformat.write(notebook, executed)
    print(f"\n{summary.rstrip()}\n\nDone in {time.monotonic() - start:.0f} s. Look at:")
    print(f"  {page.relative_to(ROOT)}   the linked views, in any browser, no network")
    print(f"  {executed.relative_to(ROOT)}  the executed notebook")
    print("  make lab                the same, live in JupyterLab")


if __name__ == "__main__":
    main()
