"""A notebook that Voila, which trusts whatever it serves, runs for each visitor.

The state is what the page gets of the kernel, and missing where it does not reach it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page

from tests.browser.harness import PYTHON_PATH, serving
from tests.browser.reopening import Reopened, executed, in_state

VOILA = Path(sys.executable).parent / "voila"


@contextlib.contextmanager
def voila_of(folder: Path) -> Iterator[str]:
    """The address of a Voila that shows the notebooks of a folder."""
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    folders = {name: str(folder / "home" / name.lower()) for name in names}
    options = ("--no-browser", "--port={port}", "--Voila.ip=127.0.0.1", "--token=", "--enable_nbextensions=False")
    env = {**os.environ, **folders, "PYTHONPATH": PYTHON_PATH}
    with serving(folder, str(VOILA), ".", *options, env=env) as address:
        yield f"{address}voila/render/"


@pytest.fixture(scope="module")
def voila(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the notebook, which nobody signed, in a Voila."""
    if not VOILA.exists():
        pytest.skip('Voila is not installed: pip install -e ".[dev]"')
    folder = tmp_path_factory.mktemp("voila")
    nbformat.write(in_state(executed(folder), "not trusted"), folder / "shown.ipynb")
    with voila_of(folder) as address:
        yield f"{address}shown.ipynb"


def test_by_voila_it_is_run_for_whoever_sees_it(offline: Page, voila: str) -> None:
    offline.goto(voila, timeout=60_000)
    Reopened(offline).check("trusted")
    # Voila's own page asks for its icons; nothing of ours asks for anything.
    assert [url for url in offline.refused if "fontawesome" not in url] == []  # type: ignore[attr-defined]


def test_by_voila_without_its_kernel_the_page_draws_what_the_output_holds(offline: Page, voila: str) -> None:
    offline.context.route_web_socket("**/*", lambda socket: socket.close())
    offline.goto(voila, timeout=60_000)
    Reopened(offline).check("without state")
