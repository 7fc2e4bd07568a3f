"""A committed notebook -> the same one run as it is, in an empty folder, and what its cells say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat

from tests.notebook.kernels import execute

FOLDER = Path(__file__).parent.parent.parent / "notebooks"
VIEW = "application/vnd.jupyter.widget-view+json"


def executed(name: str, facts: str, folder: Path) -> nbformat.NotebookNode:
    """The notebook with a cell more, `facts`, that tells its results; a cell that fails raises.

    Nothing may be left in `folder`, where it runs.
    """
    notebook = committed(name)
    notebook.cells.append(nbformat.v4.new_code_cell(facts))
    execute(notebook, folder)
    assert list(folder.iterdir()) == [], "nothing is written into the working directory"
    return notebook


def committed(name: str) -> nbformat.NotebookNode:
    """The notebook as it is in the repository."""
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def text_of(cell: nbformat.NotebookNode, stream: str) -> str:
    """What a cell wrote to `stdout` or `stderr`."""
    return "".join(output.text for output in cell.outputs if output.get("name") == stream)


def usage_error(cell: nbformat.NotebookNode) -> str:
    """The one line that IPython prints for a magic used wrongly; a busy kernel sends it and its end as two messages."""
    assert {output.get("name") for output in cell.outputs} == {"stderr"}, cell.outputs
    text = text_of(cell, "stderr")
    assert text.startswith("UsageError: ")
    assert text.endswith("\n")
    assert text.count("\n") == 1, text
    return text


def displayed(cell: nbformat.NotebookNode) -> list[dict[str, Any]]:
    """What a cell displays, a bundle each, without the script that draws views in a page of nbconvert.

    What stands for a view where that is missing comes in an output behind it: it is put into the bundle of the view.
    """
    found: list[dict[str, Any]] = []
    for output in cell.outputs:
        data = dict(output.get("data", {}))
        view = next((one for one in found if VIEW in one and "text/html" not in one), None)
        if view is not None and "data-page=" in data.get("text/html", ""):
            view.update({kind: data[kind] for kind in ("text/html", "text/plain")})
        elif data.get("text/plain"):
            found.append(data)
    return found


def check_no_complaint(notebook: nbformat.NotebookNode) -> None:
    """No cell warned, and nothing failed beside the cells."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert "Traceback" not in text_of(cell, "stderr"), cell.source
            assert "Warning" not in text_of(cell, "stderr"), cell.source
