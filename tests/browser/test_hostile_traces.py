"""Whatever a trace holds, its page runs no script of it, never freezes, shows no error and keeps the other tracks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.hostile_page import use_page, write_page
from tests.fuzz.hostile_traces import KINDS, N_TRACES, hostile_trace

IN_EVERY_RUN = (0,)
"""Hostile by text; all ways come in the long run."""
CALM = 39
"""A random trace with nothing special."""
_CHUNK = 20


def faults_of(browser: Browser, number: int, folder: Path) -> list[str]:
    trace = hostile_trace(number)
    path, faults = write_page(trace, folder)
    verdict = use_page(browser, path)
    path.unlink()
    if os.environ.get("TFPROF_TELL"):
        print(
            f"{trace.title}: longest {verdict.longest_s:.2f} s ({verdict.where}) {faults + verdict.faults}", flush=True
        )
    return [f"{trace.title}: {fault}" for fault in faults + verdict.faults]


@pytest.mark.parametrize("number", IN_EVERY_RUN, ids=lambda number: list(KINDS)[number % len(KINDS)])
def test_a_hostile_trace_neither_runs_nor_freezes_nor_hides(browser: Browser, tmp_path: Path, number: int) -> None:
    assert faults_of(browser, number, tmp_path) == []


@pytest.mark.nightly
def test_what_goes_wrong_is_noticed(browser: Browser, tmp_path: Path) -> None:
    path, faults = write_page(hostile_trace(CALM), tmp_path)
    harm = """<img src=x onerror=window.tfprofHacked=1><div role=alert>broken</div>
        <script>setTimeout(() => { const end = performance.now() + 400; while (performance.now() < end); })</script>"""
    path.write_text(path.read_text().replace("</body>", harm + "</body>"))
    verdict = use_page(browser, path)
    assert faults == []
    assert {"script 1 ran", "error box: broken"} <= set(verdict.faults)
    assert any("foreign element <img" in fault for fault in verdict.faults)
    assert verdict.longest_s > 0.3


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", list(range(0, N_TRACES, _CHUNK)))
def test_all_hostile_traces_neither_run_nor_freeze_nor_hide(browser: Browser, tmp_path: Path, first: int) -> None:
    assert [fault for number in range(first, first + _CHUNK) for fault in faults_of(browser, number, tmp_path)] == []
