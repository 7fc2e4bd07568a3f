"""Exported files in speedscope, as its npm package ships it: the same threads, names, stacks and times."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from playwright.sync_api import Browser, Route

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import ROOT, poll
from tests.unit.export.pprof_reader import read_pprof
from tests.unit.export.test_pprof import graph_of, results_of
from tfprof_widgets.analysis import TreeView
from tfprof_widgets.export import write_pprof

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


@pytest.fixture(params=["a run", pytest.param("v100", marks=pytest.mark.nightly)])
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


@pytest.mark.parametrize("name", [pytest.param("trace.json", marks=pytest.mark.nightly), "trace.json.gz"])
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


def weight_by_stack(document: dict[str, Any]) -> Counter[tuple[str, ...]]:
    """Names of frames, the outermost first -> what all samples of that stack weigh."""
    (one,) = document["profiles"]
    names = [frame["name"] for frame in document["shared"]["frames"]]
    found: Counter[tuple[str, ...]] = Counter()
    stack: list[str] = []
    reached = one["startValue"]
    for event in one["events"]:
        found[tuple(stack)] += event["at"] - reached
        reached = event["at"]
        if event["type"] == "O":
            stack.append(names[event["frame"]])
        else:
            assert stack.pop() == names[event["frame"]]
    return found


@pytest.mark.parametrize(
    ("view", "figure"),
    [
        ("code", "micros"),
        *(pytest.param(view, "micros", marks=pytest.mark.nightly) for view in get_args(TreeView) if view != "code"),
        pytest.param("code", "accelerator_micros", marks=pytest.mark.nightly),
        pytest.param("code", "bytes", marks=pytest.mark.nightly),
    ],
)
def test_speedscope_has_the_same_stacks_and_totals_of_a_pprof_file(
    view: TreeView, figure: str, browser: Browser, release: Path, tmp_path: Path
) -> None:
    path = write_pprof(results_of(graph_of()), tmp_path / "costs.pb.gz", view, {"select": figure})
    document = speedscope_of(browser, release, path)
    expected: Counter[tuple[str, ...]] = Counter()
    for stack, values in read_pprof(path).samples:
        expected[stack] += values[figure]
    assert +weight_by_stack(document) == +expected
    assert sum(weight_by_stack(document).values()) == sum(expected.values()) > 0
    assert document["profiles"][0]["unit"] == ("bytes" if figure == "bytes" else "microseconds")


@pytest.mark.nightly
@pytest.mark.tensorflow
def test_speedscope_has_the_total_of_a_real_keras_capture(
    capture_of: Callable[[str], Path], browser: Browser, release: Path, tmp_path: Path
) -> None:
    prof = tfprof.load(capture_of("nested_fit"))
    document = speedscope_of(browser, release, prof.to_pprof(tmp_path / "keras.pb.gz"))
    total_us = sum(weight_by_stack(document).values())
    assert total_us == round(prof.ops["total_self_time_us"].sum()) == round(prof.tree("code")["total_micros"].iloc[0])
    assert any(Path(frame.get("file", "")).name == "own_captures.py" for frame in document["shared"]["frames"])


@pytest.mark.nightly
def test_speedscope_shows_files_and_lines_of_a_pprof_file(browser: Browser, release: Path, tmp_path: Path) -> None:
    path = write_pprof(results_of(graph_of(is_capture=False)), tmp_path / "costs.pb.gz", "code", {})
    frames = speedscope_of(browser, release, path)["shared"]["frames"]
    assert {"name": "<module>", "file": "train.py", "line": 30} in frames
    assert {"name": "dense_layer_with_a_long_name (gradient)", "file": "lib/layers.py", "line": 7} in frames
