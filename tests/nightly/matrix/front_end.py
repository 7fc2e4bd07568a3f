"""An environment and a notebook that it ran -> whether its widget manager and its anywidget draw the dashboard in Chromium."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.widget_host import KernelSide, widget_host
from tools import chromium

VIEW = "application/vnd.jupyter.widget-view+json"
WAIT_MS = 30_000


def failure(venv: Path, notebook: Path) -> str:
    """Open what the notebook saved, without a kernel; why not all of it is there, or nothing."""
    try:
        _draw(venv, notebook)
    except Exception as error:  # a browser that does not start, a page that has nothing
        return f"{type(error).__name__}: {error}"
    return ""


def _draw(venv: Path, notebook: Path) -> None:
    saved = json.loads(notebook.read_text(encoding="utf-8"))
    outputs = [output for cell in saved["cells"] for output in cell["outputs"]]
    (view,) = (output["data"][VIEW]["model_id"] for output in outputs if VIEW in output.get("data", {}))
    (packages,) = venv.glob("lib/python3.*/site-packages")
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=str(chromium.get())) as browser,
        pytest.MonkeyPatch.context() as patch,
        widget_host(browser, KernelSide(patch), packages=packages) as host,
    ):
        frame = host.new_output(saved=saved["metadata"]["widgets"])
        frame.evaluate("id => void window.showWidget(id)", view)
        for part in (
            ".tfp-overview_panel",
            ".tfp-timeline canvas",
            ".tfp-step_chart .bk-Figure",
            ".tfp-op_table [role=row]",
        ):
            frame.locator(part).first.wait_for(timeout=WAIT_MS)
        alerts = frame.locator('[role="alert"]').all_inner_texts()
        assert not (alerts or host.errors or host.refused), (alerts, host.errors, host.refused)
