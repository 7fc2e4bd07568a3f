"""A training while it runs: state that comes while the kernel is busy, details, windows that open in place, silence, themes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Browser, Frame, Locator, Page, expect

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.browser.pages import audit, opened_page, picture, show_in
from tests.browser.widget_host import KernelSide, WidgetHost, saved_state
from tfprof_widgets.show import LiveView, live_page

Columns = dict[str, NDArray[np.float64]]


def bins(step_ms: NDArray[np.float64], wait_ms: float = 0.1) -> Columns:
    """A bin a step, of which all are known."""
    n = len(step_ms)
    starts = np.concatenate([[0.0], np.cumsum(step_ms)[:-1]]) / 1e3
    each = {"n": np.ones(n), "wait_ms": np.full(n, wait_ms), "outside_ms": np.full(n, 0.2), "profiled": np.zeros(n)}
    times = dict.fromkeys(("mean_ms", "min_ms", "max_ms", "p95_ms"), step_ms)
    numbers = np.arange(float(n))
    return {
        "first_ordinal": numbers,
        "first_number": numbers + 1,
        "start_s": starts,
        "loss": 1 / (1 + numbers),
        **each,
        **times,
    }


def samples(seconds: float) -> Columns:
    """CPU and memory at every tenth of the time."""
    time = np.linspace(0, seconds, 11)
    return {"time_s": time, "cpu_pct": np.full(11, 40.0), "rss_bytes": 1e9 + 1e8 * time}


@dataclass
class Training:
    """A training whose steps take 4 ms, and 8 ms from the 200th on; its windows are what `opened` has the dashboards of."""

    n_steps: int = 300
    title: str = "fit"
    state: str = "running"
    opened: list[Any] = field(default_factory=list)
    more: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the head that are to be others."""

    def push(self, view: LiveView) -> None:
        """Have a view show it."""
        step_ms = np.where(np.arange(self.n_steps) < 200, 4.0, 8.0) + 0.1 * np.sin(np.arange(self.n_steps))
        seconds = float(step_ms.sum() / 1e3)
        view.push(self.head(seconds), bins=bins(step_ms), samples=samples(seconds), opened=self.opened)

    def head(self, seconds: float) -> dict[str, Any]:
        """Figures and words."""
        is_slow = self.n_steps > 200
        windows = [_window(i + 1) for i in range(len(self.opened))]
        marks = [
            {"kind": "epoch", "at": at, "to": None, "words": f"epoch {at // 100 + 1}", "index": at // 100}
            for at in range(0, self.n_steps, 100)
        ]
        marks += [
            {"kind": "window", "at": w["first_step"] - 1, "to": w["last_step"] - 1, "words": "", "index": w["index"]}
            for w in windows
        ]
        anomalies = []
        if is_slow:
            title = "Steps take 8.0 ms since step 201, 4.0 ms before: they wait for data 4.0 ms of it"
            place = {"first_step": 201, "last_step": None, "window": 1 if windows else None, "goes_on": True}
            anomalies.append({"title": title, "evidence": "median of 20 steps", "severity": "high", **place})
            marks.append({"kind": "anomaly", "at": 200, "to": None, "words": title, "index": 0})
        return {
            "title": self.title,
            "state": self.state,
            "n_steps": self.n_steps,
            "step_ms": 8.0 if is_slow else 4.0,
            "steps_per_s": 125.0 if is_slow else 250.0,
            "wait_ratio": 0.5 if is_slow else 0.025,
            "outside_ratio": 0.05,
            "loss": 1 / self.n_steps,
            "epoch": 1 + self.n_steps // 100,
            "elapsed_s": seconds,
            "quiet_s": None,
            "now_ns": 1_764_143_400_000_000_000,
            "file": "/tmp/tfprof-watch",
            "trigger_file": "/tmp/tfprof-watch/capture",
            "budget": f"{len(windows)} of 8 windows",
            "marks": marks,
            "anomalies": anomalies,
            "windows": windows,
            **self.more,
        }


def _window(index: int) -> dict[str, Any]:
    first = 110 + 100 * (index - 1)
    steps = {"first_step": first, "last_step": first + 4}
    return {"index": index, **steps, "why": "slow steps", "state": "ready", "words": ""}


COUNT_PAINTS = """
const { clearRect } = CanvasRenderingContext2D.prototype;
globalThis.tfprofPaints = 0;
CanvasRenderingContext2D.prototype.clearRect = function (...box) {
    globalThis.tfprofPaints += 1;
    return clearRect.call(this, ...box);
};
"""
OVERLAPS = """(root) => {
    const boxes = [...root.querySelectorAll(".tfp-label")].map((label) => [label.textContent, label.getBoundingClientRect()]);
    return boxes.flatMap(([text, a], i) => boxes.slice(i + 1)
        .filter(([, b]) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
        .map(([other]) => `${text} | ${other}`));
}"""


@pytest.fixture
def view(kernel: KernelSide) -> LiveView:
    return LiveView()


@pytest.fixture(scope="module")
def dashboards(kernel: KernelSide, tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """Of two windows."""
    folder = tmp_path_factory.mktemp("windows")
    return [tfprof.load(write_run(folder / f"window{i}", PLAIN)).dashboard() for i in (1, 2)]


def root(place: Page | Frame) -> Locator:
    return place.locator('[data-tfprof="live"]')


def plot(place: Page | Frame) -> Locator:
    return root(place).get_by_role("application")


def tip(place: Page | Frame) -> Locator:
    return root(place).locator(".tfp-tip")


def at_share(place: Page | Frame, share: float) -> dict[str, float]:
    """A point of the step times, as far to the right as a share of all steps."""
    box = plot(place).bounding_box()
    assert box is not None
    left, right = 128, 10
    return {"x": left + share * (box["width"] - left - right), "y": 100}


def shown(host: WidgetHost, view: LiveView, training: Training) -> Frame:
    training.push(view)
    frame = host.show(view)
    host.hear(lambda: root(frame).locator("canvas").count() == 1, "no chart")
    return frame


# ---- while the kernel is busy -----------------------------------------------------------------------------------------


def test_steps_appear_while_the_kernel_answers_nothing(host: WidgetHost, view: LiveView) -> None:
    frame = host.show(view)
    host.hear(lambda: "Waiting for the first step" in root(frame).inner_text(), lambda: root(frame).inner_text())
    for n_steps, words in ((150, "No anomaly so far."), (230, "Steps take 8.0 ms since step 201")):
        Training(n_steps).push(view)
        host.hear(lambda words=words: words in root(frame).inner_text(), lambda: root(frame).inner_text())
        expect(root(frame).locator(".figures")).to_contain_text(f"{n_steps}steps", use_inner_text=False)
    assert root(frame).get_by_text("Waiting for the first step").is_hidden()
    assert host.asked == []
    assert [text for text in host._waiting if '"custom"' in text] == []


def test_the_chart_is_painted_on_new_state_only(host: WidgetHost, view: LiveView) -> None:
    host.context.add_init_script(COUNT_PAINTS)
    frame = shown(host, view, Training())
    picture = "() => document.querySelector('[data-tfprof=live] canvas').toDataURL()"
    host.page.wait_for_timeout(1500)
    before, first = frame.evaluate("tfprofPaints"), frame.evaluate(picture)
    host.page.wait_for_timeout(2500)
    assert frame.evaluate("tfprofPaints") == before
    Training(290).push(view)
    host.hear(lambda: frame.evaluate("tfprofPaints") > before, "not painted again")
    assert frame.evaluate("tfprofPaints") <= before + 2
    assert frame.evaluate(picture) != first


# ---- windows ----------------------------------------------------------------------------------------------------------


def test_a_flag_opens_its_window_in_place_while_steps_come_in(
    host: WidgetHost, view: LiveView, dashboards: list[object]
) -> None:
    frame = shown(host, view, Training())
    assert frame.locator("button.flag").count() == 0
    training = Training(320, opened=dashboards)
    training.push(view)
    host.hear(lambda: frame.locator("button.flag").count() == 2, "no flags")
    frame.locator("button.flag").first.click()
    dashboard = root(frame).locator('[data-tfprof="dashboard"]')
    host.serve(lambda: dashboard.locator('[data-tfprof="timeline"] canvas').count() > 0, "no dashboard")
    expect(root(frame).get_by_role("region", name="Opened window")).to_contain_text("Window 1: steps 110–114")
    replace(training, n_steps=340).push(view)
    host.hear(lambda: "340" in root(frame).locator(".figures").inner_text(), "the training does not go on")
    assert dashboard.count() == 1
    root(frame).get_by_role("button", name="Window 2").first.click()
    host.serve(
        lambda: "Window 2" in root(frame).get_by_role("region", name="Opened window").inner_text(), "not the second"
    )
    root(frame).get_by_role("button", name="Close", exact=True).click()
    assert dashboard.count() == 0


def test_a_saved_notebook_shows_steps_and_windows_without_a_kernel(
    host: WidgetHost, view: LiveView, dashboards: list[object]
) -> None:
    Training(opened=dashboards, state="ended").push(view)
    frame = host.new_output(saved=saved_state(view))
    frame.evaluate("id => void window.showWidget(id)", view.model_id)
    expect(root(frame).locator(".state")).to_have_text("■ Ended")
    assert "Steps take 8.0 ms since step 201" in root(frame).inner_text()
    root(frame).get_by_role("button", name="Window 2").first.click()
    root(frame).locator('[data-tfprof="timeline"] canvas').first.wait_for()
    assert root(frame).locator('[role="alert"]').count() == 0
    assert host.asked == []


# ---- details ----------------------------------------------------------------------------------------------------------


def test_a_step_tells_its_details_and_a_click_keeps_them(host: WidgetHost, view: LiveView) -> None:
    frame = shown(host, view, Training())
    # Not `wait_for_function`: it asks by `eval`, which the page refuses.
    frame.locator(".tfp-live .tfp-label").first.wait_for(state="attached")
    assert tip(frame).is_hidden()
    plot(frame).hover(position=at_share(frame, 0.9))
    expect(tip(frame)).to_contain_text("step 271")
    plot(frame).click(position=at_share(frame, 0.5))
    for words in ("step 151", "waits for data 100 µs of it", "outside computing 200 µs", "CPU 40 %"):
        expect(tip(frame)).to_contain_text(words)
    plot(frame).hover(position=at_share(frame, 0.9))
    expect(tip(frame)).to_contain_text("step 151")
    Training(600).push(view)
    host.hear(lambda: "600" in root(frame).locator(".figures").inner_text(), "not heard")
    expect(tip(frame)).to_contain_text("step 151")
    plot(frame).click(position=at_share(frame, 0.9))
    plot(frame).hover(position=at_share(frame, 0.95))
    expect(tip(frame)).to_contain_text("step 571")
    expect(tip(frame)).to_contain_text("since step 201")
    root(frame).locator(".figures").hover()
    expect(tip(frame)).to_be_hidden()


def test_keys_walk_over_windows_and_anomalies_and_open_one(
    host: WidgetHost, view: LiveView, dashboards: list[object]
) -> None:
    frame = shown(host, view, Training(opened=dashboards))
    # Not `wait_for_function`: it asks by `eval`, which the page refuses.
    frame.locator(".tfp-live .tfp-label").first.wait_for(state="attached")
    said = root(frame).locator(".chart [role=status]")
    plot(frame).focus()
    for key, words in {
        "Home": "step 110",
        "ArrowRight": "step 201",
        "End": "step 210",
        "Shift+ArrowLeft": "step 209",
    }.items():
        host.page.keyboard.press(key)
        expect(tip(frame)).to_contain_text(words)
        expect(said).to_contain_text(words)
    host.page.keyboard.press("ArrowLeft")
    expect(tip(frame)).to_contain_text("Steps take 8.0 ms since step 201")
    host.page.keyboard.press("Escape")
    expect(tip(frame)).to_be_hidden()
    host.page.keyboard.press("Home")
    host.page.keyboard.press("Enter")
    host.serve(lambda: root(frame).locator('[data-tfprof="dashboard"]').count() == 1, "not opened")
    expect(root(frame).get_by_role("region", name="Opened window")).to_contain_text("Window 1")


# ---- a page that stands alone -----------------------------------------------------------------------------------------


@pytest.fixture
def page(browser: Browser, view: LiveView, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    window = {"index": 1, "first_step": 110, "last_step": 114, "why": "slow steps", "state": "ready", "words": ""}
    mark = {"kind": "window", "at": 109, "to": 113, "words": "", "index": 1}
    anomaly = {
        "title": "Step 3 is slow",
        "evidence": "",
        "severity": "low",
        "first_step": 3,
        "last_step": 3,
        "window": 1,
        "goes_on": False,
    }
    training = Training(more={"windows": [window], "anomalies": [anomaly] * 6, "state": "ended"})
    training.more = {**training.more, "marks": [*training.head(1.0)["marks"], mark]}
    training.push(view)
    path = tmp_path / "live.html"
    path.write_text(live_page(view, title="live"), encoding="utf-8")
    with opened_page(browser, path, size_px=(request.param, 900), until=".tfp-live .tfp-label") as page:
        yield page


@pytest.mark.parametrize(
    ("page", "theme"),
    [(900, "light"), pytest.param(1600, "dark", marks=pytest.mark.nightly)],
    indirect=["page"],
)
def test_a_page_alone_fits_and_axe_finds_nothing_serious(page: Page, theme: str) -> None:
    show_in(theme, root(page))
    plot(page).click(position=at_share(page, 0.5))
    expect(tip(page)).to_contain_text("step 151")
    root(page).get_by_role("button", name="Window 1").first.click()
    expect(root(page)).to_contain_text("Its dashboard is not here")
    picture(page, f"live-{page.viewport_size['width']}-{theme}")
    assert audit(page, '[data-tfprof="live"]') == []
    assert root(page).evaluate(OVERLAPS) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
