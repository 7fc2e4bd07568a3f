"""Voila: a notebook served as a page, each visitor with a kernel of their own, no network."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route

from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import LOCAL, PYTHON_PATH, poll, write_notebook
from tests.browser.linked_views import LinkedViews

VOILA = Path(sys.executable).parent / "voila"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Of a served notebook that shows the dashboard of the full run."""
    if not VOILA.exists():
        pytest.skip('Voila is not installed: pip install -e ".[dev]"')
    write_run(tmp_path / "run", PLAIN)
    write_notebook(tmp_path / "shown.ipynb", "import tfprof_widgets as tfprof\ntfprof.load('run').dashboard()")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folders = {name: str(tmp_path / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")}
    env = {**os.environ, **folders, "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"), "PYTHONPATH": PYTHON_PATH}
    options = ["--no-browser", f"--port={port}", "--Voila.ip=127.0.0.1", "--token=", "--enable_nbextensions=False"]
    with (tmp_path / "voila.log").open("w") as log:
        server = subprocess.Popen(
            [str(VOILA), "shown.ipynb", *options], cwd=tmp_path, env=env, stdout=log, stderr=log, start_new_session=True
        )

        def answers() -> bool:
            assert server.poll() is None, (tmp_path / "voila.log").read_text()[-2000:]
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=1):
                    return True
            except OSError:
                return False

        try:
            poll(answers, "Voila did not start")
            yield f"http://127.0.0.1:{port}/"
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(20)


def test_a_dashboard_served_by_voila_works_without_a_network(browser: Browser, address: str) -> None:
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    refused: list[str] = []

    def answer(route: Route) -> None:
        if route.request.url.startswith(LOCAL):
            route.continue_()
        else:
            refused.append(route.request.url)
            route.abort()

    context.route("**/*", answer)
    page = context.new_page()
    page.goto(address, timeout=60_000)
    page.locator('[data-tfprof="timeline"] canvas').first.wait_for(timeout=60_000)
    LinkedViews(page, page).check()
    context.close()
    # Voila's own page asks for its icons; nothing of ours asks for anything.
    assert [url for url in refused if "fontawesome" not in url and "mathjax" not in url.lower()] == []
