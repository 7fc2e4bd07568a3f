"""Whatever a trace holds, its page runs no script of it, never freezes, shows no error and keeps the other tracks."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route
from playwright.sync_api import Error as PlaywrightError

import tfprof_widgets as tfprof
from tests.browser.tabs import go_to, offered
from tests.fuzz.hostile_traces import KINDS, N_TRACES, SANE_EVENT, SANE_LINE, SANE_OP, HostileTrace, hostile_trace

MAX_FREEZE_S = 2.0
MACHINE_FACTOR = 2.5
"""Tests share their processors with other work: so many times slower than a machine of its own the page may be."""
DRAWN_S = 60
TABLES = (
    *("steps", "ops", "overview", "input_pipeline", "kernels", "hlo_ops", "layers", "source_lines", "scopes"),
    *("workers", "events", "counters", "flows", "system", "advice"),
)
WATCH = """
globalThis.tfprofGaps = { longest: 0, last: performance.now(), where: "" };
globalThis.tfprofNow = "opening";
const note = (ms) => {
    if (ms <= tfprofGaps.longest) return;
    tfprofGaps.longest = ms;
    tfprofGaps.where = globalThis.tfprofNow;
};
const onFrame = () => {
    const now = performance.now();
    note(now - tfprofGaps.last);
    tfprofGaps.last = now;
    requestAnimationFrame(onFrame);
};
requestAnimationFrame(onFrame);
new PerformanceObserver((list) => { for (const entry of list.getEntries()) note(entry.duration); })
    .observe({ entryTypes: ["longtask"] });
"""
"""Notes how long the page went without a frame, from before its first script on."""
FOREIGN = """() => {
    const wrong = ["iframe", "object", "embed", "base", "math", "link[rel=stylesheet]",
        "meta[http-equiv]:not([http-equiv=Content-Security-Policy])", 'img[src="x"]', 'a[href^="javascript:" i]'];
    const isOurs = ({ type }) => /^(module|application\\/vnd\\.jupyter\\.widget-(view|state)\\+json)$/.test(type);
    const handled = [...document.querySelectorAll("*")]
        .filter((element) => [...element.attributes].some(({ name }) => name.startsWith("on")));
    const foreign = [...document.querySelectorAll(wrong), ...[...document.scripts].filter((one) => !isOurs(one))];
    return [...handled, ...foreign].map((element) => element.outerHTML.slice(0, 80));
}"""
"""Elements and handlers that none of our views makes."""
ALERTS = """() => [...document.querySelectorAll('[role="alert"]')]
    .filter((box) => box.checkVisibility()).map((box) => box.innerText)"""
LISTED = """el => [...el.querySelectorAll(".tl-labels")]
    .map((list) => list.innerText + [...list.querySelectorAll("[title]")].map((one) => one.title)).join()"""


@dataclass
class Verdict:
    """What became of one trace."""

    faults: list[str] = field(default_factory=list)
    longest_s: float = 0.0
    """The longest time without a frame."""
    where: str = ""
    """What was done then."""


def write_page(trace: HostileTrace, folder: Path) -> tuple[Path, list[str]]:
    """Ask for every table and export the dashboard; the page's path and what was wrong with the tables."""
    file = folder / f"{trace.number}.xplane.pb"
    file.write_bytes(trace.data)
    profile = tfprof.load(file)
    for table in TABLES:
        getattr(profile, table, None)
    for allocator in profile.memory.summary["allocator"][:20]:
        profile.memory.timeline(allocator), profile.memory.peak(allocator)
    profile.text()
    path = profile.to_html(folder / f"{trace.number}.html")
    faults = [] if SANE_OP in set(profile.ops["name"]) else [f"{SANE_OP} is not among the ops"]
    if path.stat().st_size > 12 * 2**20:
        faults.append(f"a page of {path.stat().st_size:,} bytes")
    file.unlink()
    return path, faults


def use_page(browser: Browser, path: Path) -> Verdict:
    """Open the page from the disk, look at everything in it and click about; tell what went wrong."""
    verdict = Verdict()
    with _opened(browser, verdict) as page:
        try:
            page.goto(path.as_uri())
            page.locator('[data-tfprof="timeline"] canvas').first.wait_for(timeout=DRAWN_S * 1000)
            _find_sane(page, verdict)
            _play(page)
            _open_tabs(page)
        except (PlaywrightError, AssertionError) as error:
            verdict.faults.append(str(error).splitlines()[0][:300])
        with contextlib.suppress(PlaywrightError):
            _judge(page, verdict)
    limit = MAX_FREEZE_S * MACHINE_FACTOR
    if verdict.longest_s > limit:
        verdict.faults.append(f"no frame for {verdict.longest_s:.1f} s ({verdict.where}); {limit:g} s are allowed")
    return verdict


@contextlib.contextmanager
def _opened(browser: Browser, verdict: Verdict) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, offline=True)
    context.add_init_script(WATCH)
    page = context.new_page()
    page.set_default_timeout(DRAWN_S * 1000)

    def on_request(route: Route) -> None:
        if route.request.url.startswith(("file:", "data:", "blob:")):
            route.continue_()
            return
        verdict.faults.append(f"asked the network for {route.request.url[:100]}")
        route.abort()

    context.route("**/*", on_request)
    page.on("dialog", lambda dialog: (verdict.faults.append("a dialog"), dialog.dismiss()))
    page.on("pageerror", lambda error: verdict.faults.append(f"uncaught: {str(error)[:300]}"))
    page.on("crash", lambda _: verdict.faults.append("the page crashed"))
    page.on("popup", lambda _: verdict.faults.append("a window opened"))
    try:
        yield page
    finally:
        context.close()


def _find_sane(page: Page, verdict: Verdict) -> None:
    """The sane track must be there, with its slices."""
    doing(page, "finding the sane track")
    timeline = page.locator('[data-tfprof="timeline"]')
    if not timeline.evaluate("(el, name) => el.tfprofReveal(name)", SANE_EVENT):
        verdict.faults.append("the sane slices are not in the timeline")
        return
    settle(page)
    place = timeline.evaluate("(el, name) => el.tfprofLocate(name)", SANE_EVENT)
    if place is None:
        verdict.faults.append("the sane slices are not drawn")
        return
    page.mouse.click(place["x"], place["y"])
    settle(page)
    if SANE_EVENT not in timeline.inner_text() and SANE_OP not in timeline.inner_text():
        verdict.faults.append("the sane slice shows no details")
    labels = timeline.evaluate(LISTED)
    if SANE_LINE not in labels:
        verdict.faults.append("the sane track is not listed")


def _play(page: Page) -> None:
    """Zoom out to everything and in again, search, point, walk, and scroll through the tracks."""
    timeline = page.locator('[data-tfprof="timeline"]')
    box = timeline.locator("canvas").first.bounding_box()
    assert box is not None, "the timeline has no place"
    x, y = box["x"] + box["width"] / 2, box["y"] + 0.6 * box["height"]
    page.mouse.click(x, y)
    for what, keys in (("fitting", "0"), ("zooming", "wwwwww"), ("panning", "dda"), ("zooming out", "ssssssss")):
        doing(page, what)
        for key in keys:
            page.keyboard.press(key)
            settle(page)
    doing(page, "pointing")
    for i in range(6):
        page.mouse.move(x - 90 + 30 * i, y - 60 + 20 * i)
    doing(page, "selecting")
    page.mouse.click(x, y)
    page.keyboard.press("]")
    doing(page, "searching")
    page.keyboard.press("/")
    page.keyboard.type("e")
    page.wait_for_timeout(200)  # longer than the search box waits for the next key
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    doing(page, "scrolling")
    timeline.locator(".tl-scroll").evaluate("el => { el.scrollTop = el.scrollHeight / 2 }")
    settle(page)


def _open_tabs(page: Page) -> None:
    """Every tab, hovered and scrolled."""
    for view in offered(page.locator('[data-tfprof="dashboard"]')):
        doing(page, f"opening {view}")
        go_to(page.locator('[data-tfprof="dashboard"]'), view)
        settle(page)
        page.locator('[role="tabpanel"]:visible').last.hover()
        page.mouse.wheel(0, 400)
        settle(page)
    doing(page, "resting")
    page.wait_for_timeout(200)


def _judge(page: Page, verdict: Verdict) -> None:
    hacked = page.evaluate("window.tfprofHacked ?? null")
    if hacked is not None:
        verdict.faults.append(f"script {hacked} ran")
    verdict.faults += [f"foreign element {one}" for one in page.evaluate(FOREIGN)[:3]]
    verdict.faults += [f"error box: {text[:200]}" for text in page.evaluate(ALERTS)[:3]]
    gaps: dict[str, Any] = page.evaluate("tfprofGaps")
    verdict.longest_s, verdict.where = gaps["longest"] / 1000, gaps["where"]


def settle(page: Page) -> None:
    """Until the page has drawn what it was told."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def doing(page: Page, what: str) -> None:
    """Say in the page what comes, so that a freeze has a name."""
    page.evaluate("what => { globalThis.tfprofNow = what }", what)


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
