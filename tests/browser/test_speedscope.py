"""The exported Chrome trace in speedscope, as its npm package ships it: the same threads, names and times."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Route

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import ROOT, poll

HOME = "https://speedscope.test/"
RELEASE = ROOT / "js" / "node_modules" / "speedscope" / "dist" / "release"
TOLERANCE_US = 1e-5
"""Speedscope adds up doubles of microseconds, span by span."""


@pytest.fixture(scope="module")
def release() -> Path:
    if not (RELEASE / "index.html").is_file():
        sentence = "speedscope is not installed: `make test`, or npm ci in js/, gets it."
        if os.environ.get("CI"):
            pytest.fail(sentence)
        pytest.skip(sentence)
    return RELEASE


def speedscope_of(browser: Browser, release: Path, trace: Path) -> dict[str, Any]:
    """What speedscope made of a file, as its export says; the page may ask for nothing but its own files."""
    refused: list[str] = []
    context = browser.new_context(accept_downloads=True)
    errors: list[str] = []

    def answer(route: Route) -> None:
        name = route.request.url.removeprefix(HOME).split("#")[0]
        if name == trace.name:
            route.fulfill(path=trace, content_type="application/json")
        elif route.request.url.startswith(HOME) and (release / name).is_file():
            route.fulfill(path=release / name)
        else:
            refused.append(route.request.url)
            route.abort()

    context.route("**/*", answer)
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(dialog.message))
    page.goto(f"{HOME}index.html#profileURL={HOME}{trace.name}")
    export = page.get_by_text("Export")
    poll(lambda: export.count() > 0 or errors, f"speedscope shows nothing of {trace}", timeout_s=20)
    assert errors == []
    with page.expect_download() as download:
        export.first.click()
    document: dict[str, Any] = json.loads(Path(download.value.path()).read_bytes())
    context.close()
    assert refused == []
    return document


@pytest.fixture(params=["a run", "v100"])
def prof(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tfprof.Profile]:
    if request.param == "v100":
        yield tfprof.load(request.getfixturevalue("v100_xplane"))
    else:
        yield tfprof.load(write_run(tmp_path / "full_run", PLAIN))


def expected_spans(prof: tfprof.Profile) -> dict[str, tuple[float, int]]:
    """By label of a thread: from its first start to its last end in us, and how many spans. Instants are none."""
    trace = prof.trace
    found = {}
    for i, line in enumerate(trace.lines):
        low, high = trace.line_offsets[i : i + 2]
        rows = low + np.flatnonzero((trace.duration_ps > 0)[low:high])
        if len(rows):
            name = line.display_name or line.name or str(line.id)
            label = f"{trace.planes[line.plane].name} (pid {line.plane + 1}), {name} (tid {len(trace.planes) + 1 + i})"
            found[label] = ((trace.end_ps[rows].max() - trace.start_ps[rows].min()) / 1e6, len(rows))
    return found


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_speedscope_has_the_same_threads_and_times(
    prof: tfprof.Profile, name: str, browser: Browser, release: Path, tmp_path: Path
) -> None:
    document = speedscope_of(browser, release, prof.to_chrome_trace(tmp_path / name))
    expected = expected_spans(prof)
    profiles = {one["name"]: one for one in document["profiles"]}
    assert set(profiles) == set(expected)
    assert len(document["profiles"]) == len(expected)
    for label, (total_us, n_spans) in expected.items():
        one = profiles[label]
        assert one["unit"] == "microseconds"
        assert one["endValue"] - one["startValue"] == pytest.approx(total_us, abs=TOLERANCE_US, rel=1e-12), label
        assert sum(event["type"] == "O" for event in one["events"]) == n_spans, label
    total_us = sum(one["endValue"] - one["startValue"] for one in document["profiles"])
    assert total_us == pytest.approx(sum(total for total, _ in expected.values()), rel=1e-9)
