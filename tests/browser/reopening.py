"""An executed notebook -> the same with and without the state of its widgets, trusted or not, and what a reader sees of it."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Literal

import nbformat
from nbformat.sign import NotebookNotary
from playwright.sync_api import Frame, Locator, Page
from pytest import MonkeyPatch

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import PYTHON_PATH, poll, write_notebook
from tests.browser.linked_views import LinkedViews
from tests.notebook.kernels import execute

CELLS = ("import tfprof_widgets as tfprof\nprof = tfprof.load('saved_run')", "prof")
State = Literal["trusted", "not trusted", "without state"]
STATES: tuple[State, ...] = ("trusted", "not trusted", "without state")
"""With the state of its widgets and trusted; with it and not trusted; trusted without it."""


def executed(folder: Path) -> nbformat.NotebookNode:
    """A notebook executed as `jupyter nbconvert --execute` does it: with the state of its widgets. The run is beside it."""
    write_run(folder / "saved_run", PLAIN)
    write_notebook(folder / "executed.ipynb", *CELLS)
    notebook = nbformat.read(folder / "executed.ipynb", as_version=4)
    with MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([PYTHON_PATH, os.environ.get("PYTHONPATH", "")]))
        execute(notebook, folder)
    return notebook


def in_state(notebook: nbformat.NotebookNode, state: State) -> nbformat.NotebookNode:
    """The notebook as it was saved; without state as JupyterLab saves it unless it is told otherwise."""
    copy = nbformat.from_dict(notebook)
    copy.metadata["state"] = state  # a signature is of all content: each has its own
    if state == "without state":
        del copy.metadata["widgets"]
    return copy


def write_in_state(notebook: nbformat.NotebookNode, state: State, folder: Path, *, jupyter_data: Path) -> str:
    """Write it where a server has its notebooks, whose signatures are in `jupyter_data`; its name."""
    name = f"{state.replace(' ', '_')}.ipynb"
    nbformat.write(in_state(notebook, state), folder / name)
    if state != "not trusted":
        NotebookNotary(data_dir=str(jupyter_data)).sign(nbformat.read(folder / name, as_version=4))
    return name


@cache
def verdict() -> str:
    """What a profile of the run says first."""
    with tempfile.TemporaryDirectory() as folder:
        return tfprof.load(write_run(Path(folder), PLAIN)).overview.verdict


class Reopened:
    """A page with the reopened notebook."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def check(self, state: State) -> None:
        """What is there in a state, and nothing else."""
        if state == "trusted":
            self.check_views(self.page)
            self.has_no_plain_html()
        else:
            self.check_plain_html()
            self.check_bar()
            if state == "without state":
                self.check_framed_views()
            else:
                assert self.page.locator("iframe, [data-tfprof]").count() == 0

    def check_views(self, place: Page | Frame) -> None:
        """All views are there and linked."""
        views = LinkedViews(place, self.page)
        views.check_selection()
        assert place.locator('[role="alert"]').all_inner_texts() == []

    def check_framed_views(self) -> None:
        """They are drawn from what the output holds, and nothing says any more how to get them or that they are missing."""
        frame = self.page.wait_for_selector("iframe", timeout=60_000).content_frame()  # type: ignore[union-attr]
        assert frame is not None
        self.check_views(frame)
        assert self.page.get_by_text("trust this notebook").count() == 0
        assert [one for one in self.page.get_by_text("model not found").all() if one.is_visible()] == []

    def has_no_plain_html(self) -> None:
        """Where the widget is, nothing stands for it."""
        poll(lambda: self._plain.count() == 0, "the verdict is there twice")
        assert self.page.locator("iframe").count() == 0

    def check_plain_html(self) -> None:
        """Verdict, breakdown and the top of the tables."""
        self._plain.wait_for(timeout=60_000)
        rows = [row.all_inner_texts() for row in (one.locator("td") for one in self.page.locator("tr").all())]
        rows = [[cell.replace("\xa0", " ").strip() for cell in row] for row in rows if row]
        assert ["■ Python, dispatch", "5.50", "57.9"] in [row[:3] for row in rows]
        assert [PLAIN.op, "device", "0.800"] in [row[:3] for row in rows]
        assert [PLAIN.kernel, "6.40"] in [row[:2] for row in rows]
        assert "data-page" not in self.page.locator("body").inner_text()

    def check_bar(self) -> None:
        """The bar of the step has its colours and widths."""
        boxes = self._plain.locator("xpath=..").evaluate(
            """sheet => {
                const bar = [...sheet.children].find((one) => getComputedStyle(one).display === "flex");
                const width = (one) => one.getBoundingClientRect().width;
                return [...bar.children].map((one) => [width(one) / width(bar), getComputedStyle(one).backgroundColor]);
            }"""
        )
        assert [round(width, 2) for width, _ in boxes] == [0.58, 0.24, 0.17, 0.01]
        assert len({color for _, color in boxes}) == 4

    @property
    def _plain(self) -> Locator:
        return self.page.get_by_text(verdict(), exact=True).and_(self.page.locator(":not([data-tfprof] *)"))
