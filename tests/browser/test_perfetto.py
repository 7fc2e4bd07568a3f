"""Open in Perfetto: a click hands the trace to the page at ui.perfetto.dev, here one that speaks its messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Frame, Page, expect

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.browser.widget_host import KernelSide, WidgetHost, widget_host
from tfprof_widgets.export import chrome

PERFETTO = "https://ui.perfetto.dev/"
FAKE = Path(__file__).with_name("perfetto.html")


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.nightly)], ids=["binary", "buffers dropped"])
def host(request: pytest.FixtureRequest, browser: Browser, kernel: KernelSide) -> Iterator[WidgetHost]:
    with widget_host(browser, kernel, drops_buffers=request.param) as host:
        yield host


@pytest.fixture
def plain_host(browser: Browser, kernel: KernelSide) -> Iterator[WidgetHost]:
    with widget_host(browser, kernel) as host:
        yield host


@pytest.fixture(scope="module")
def prof(kernel: KernelSide, tmp_path_factory: pytest.TempPathFactory) -> tfprof.Profile:
    return tfprof.load(write_run(tmp_path_factory.mktemp("perfetto") / "full_run", PLAIN))


def panel(frame: Frame) -> None:
    frame.get_by_role("button", name="More", exact=True).click()


def show(host: WidgetHost, prof: tfprof.Profile) -> Frame:
    frame = host.show(prof.timeline())
    more = frame.get_by_role("button", name="More", exact=True)
    host.serve(lambda: more.is_visible(), "no timeline")
    panel(frame)
    return frame


def opened(host: WidgetHost, frame: Frame) -> Page:
    with host.context.expect_page() as page:
        frame.get_by_role("button", name="Open in Perfetto").click()
    return page.value


def status(frame: Frame) -> str:
    return frame.locator(".tl-perfetto-status").inner_text()


def test_a_click_hands_over_the_whole_trace(host: WidgetHost, prof: tfprof.Profile) -> None:
    host.context.route(f"{PERFETTO}**", lambda route: route.fulfill(path=FAKE, content_type="text/html"))
    frame = show(host, prof)
    assert "stays in your browser" in frame.locator(".tl-perfetto").inner_text()
    assert len(host.context.pages) == 1
    page = opened(host, frame)
    host.serve(lambda: page.evaluate("window.got !== undefined"), lambda: f"nothing arrived: {status(frame)}")
    got = page.evaluate("window.got")
    assert (got["title"], got["fileName"], got["isBuffer"]) == (prof.title, "trace.json.gz", True)
    events = [one for one in json.loads(got["text"])["traceEvents"] if one["ph"] in "Xi" and one.get("cat") != "step"]
    assert len(events) == prof.trace.n_events
    expect(frame.locator(".tl-perfetto-status")).to_have_text("The trace is in the other tab.")
    assert host.refused == []
    assert host.errors == []


def test_whatever_goes_wrong_says_how_to_do_it_by_hand(
    plain_host: WidgetHost, prof: tfprof.Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = show(plain_host, prof)
    frame.evaluate("window.real_open = window.open; window.open = () => null")
    frame.get_by_role("button", name="Open in Perfetto").click()
    assert "pop-ups are blocked" in status(frame)
    assert "prof.to_chrome_trace" in status(frame)
    frame.evaluate("window.open = window.real_open")

    plain_host.context.route(f"{PERFETTO}**", lambda route: route.abort())
    frame.evaluate("window.real = setTimeout; window.setTimeout = (f, ms) => real(f, ms === 30_000 ? 500 : ms)")
    opened(plain_host, frame)
    plain_host.serve(lambda: "cannot be reached" in status(frame), lambda: f"it says {status(frame)!r}")
    assert 'prof.to_chrome_trace("trace.json.gz")' in status(frame)
    expect(frame.get_by_role("button", name="Open in Perfetto")).to_be_enabled()

    frame.evaluate("window.setTimeout = window.real")
    monkeypatch.setattr(chrome, "MOST_SENT", 3)
    plain_host.context.route(f"{PERFETTO}**", lambda route: route.fulfill(path=FAKE, content_type="text/html"))
    page = opened(plain_host, frame)
    plain_host.serve(lambda: "the limit is 3" in status(frame), lambda: f"it says {status(frame)!r}")
    plain_host.serve(page.is_closed, "the window that gets nothing stays open")
