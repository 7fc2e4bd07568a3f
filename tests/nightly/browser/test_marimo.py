"""marimo: a profile as a cell's last value, for several visitors of one process, reloaded, and after a cell has run again."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import PYTHON_PATH, poll, serving

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("marimo") is None, reason='marimo is not installed: pip install -e ".[dev]"'
)

MODULE = """
import tfprof_widgets as tfprof

prof = tfprof.load({run!r})
"""
NOTEBOOK = """
import marimo

app = marimo.App()

@app.cell
def _():
    from of_all_visitors import prof
    return (prof,)

@app.cell
def _(prof):
    prof
    return

@app.cell
def _(prof):
    prof.op_table()
    return

if __name__ == "__main__":
    app.run()
"""
"""A notebook whose profile lives in a module, which a process imports once."""
LOADED, SHOWN, TABLE = range(3)
VIEWS = ("dashboard", "timeline", "op_table")


@contextlib.contextmanager
def marimo_of(folder: Path, mode: str) -> Iterator[str]:
    """The address of a marimo that has the notebook open to `edit`, or to `run` for visitors."""
    (folder / "of_all_visitors.py").write_text(MODULE.format(run=str(write_run(folder / "run", PLAIN))))
    (folder / "shown.py").write_text(NOTEBOOK)
    command = (sys.executable, "-m", "marimo", "-q", mode, "shown.py", "--headless", "--no-token", "--port={port}")
    path = os.pathsep.join([str(folder), PYTHON_PATH])
    env = {**os.environ, "PYTHONPATH": path, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with serving(folder, *command, env=env) as address:
        yield address


class Visit:
    """A page of the notebook, and what went wrong in it."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.errors: list[str] = []
        self.page: Page = browser.new_context(viewport={"width": 1300, "height": 1600}).new_page()
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        self.page.goto(address)

    def check(self) -> None:
        """All views are drawn, and nothing says that it cannot be."""
        for view in VIEWS:
            self.page.locator(f'[data-tfprof="{view}"]').first.wait_for(timeout=60_000)
        poll(lambda: "MatMul" in self.table(), self.table)
        assert self.page.locator('[role="alert"]').all_inner_texts() == []
        assert [error for error in self.errors if "Model not found" in error] == []

    def run(self, number: int) -> None:
        """Run a cell and wait until it has ended."""
        cell = self.page.locator("[data-cell-id]").nth(number)
        button = cell.get_by_test_id("run-button").first
        poll(lambda: cell.count() and button.is_enabled(), "the cell is not there")
        button.evaluate("button => button.click()")  # which is in sight for a pointer over the cell
        self.page.wait_for_timeout(1000)
        poll(button.is_enabled, "the cell does not end")

    def table(self) -> str:
        return str(self.page.locator('[data-tfprof="op_table"]').last.inner_text())

    @property
    def n_selected(self) -> int:
        return self.page.locator('[data-tfprof="op_table"] [aria-selected="true"]').count()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with marimo_of(tmp_path_factory.mktemp("run"), "run") as address:
        yield address


def test_each_visitor_has_views_of_their_own_and_has_them_again_after_a_reload(browser: Browser, app: str) -> None:
    first, second = Visit(browser, app), Visit(browser, app)
    first.check()
    second.check()
    first.page.locator('[data-tfprof="op_table"] [aria-selected]').last.click()
    poll(lambda: first.n_selected > 0, "nothing is selected")
    assert second.n_selected == 0
    second.page.reload()
    second.check()


def test_a_cell_that_runs_again_shows_its_views_again(browser: Browser, tmp_path: Path) -> None:
    with marimo_of(tmp_path, "edit") as address:
        visit = Visit(browser, address)
        for cell in (LOADED, SHOWN, TABLE):
            visit.run(cell)
        visit.check()
        for cell in (SHOWN, TABLE, SHOWN):
            visit.run(cell)
            visit.check()
