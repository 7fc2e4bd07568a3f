"""A notebook that Voila, which trusts whatever it serves, runs for each visitor.

The state is what the page gets of the kernel, and missing where it does not reach it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page

from tests.browser.harness import PYTHON_PATH, poll
from tests.browser.reopening import Reopened, executed, in_state

VOILA = Path(sys.executable).parent / "voila"


@contextlib.contextmanager
def voila_of(folder: Path) -> Iterator[str]:
    """The address of a Voila that shows the notebooks of a folder."""
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    folders = {name: str(folder / "home" / name.lower()) for name in names}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(VOILA), ".", "--no-browser", f"--port={port}", "--Voila.ip=127.0.0.1", "--token="]
    env = {**os.environ, **folders, "PYTHONPATH": PYTHON_PATH}
    with (folder / "voila.log").open("w") as log:
        server = subprocess.Popen(
            [*command, "--enable_nbextensions=False"],
            cwd=folder,
            env=env,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

        def answers() -> bool:
            assert server.poll() is None, (folder / "voila.log").read_text()[-2000:]
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=1):
                    return True
            except OSError:
                return False

        try:
            poll(answers, "Voila did not start")
            yield f"http://127.0.0.1:{port}/voila/render/"
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(20)


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
