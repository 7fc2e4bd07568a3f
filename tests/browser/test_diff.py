"""The comparison of two runs: tabs, rows that select in both timelines, one window for both, themes, an offline page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Frame, Locator, Page

import tfprof_widgets as tfprof
from tests.browser.drawings import CLOSING, MARKUP
from tests.browser.harness import poll
from tests.browser.pages import THEMES, audit, opened_page, show_in
from tests.browser.widget_host import WidgetHost
from tests.unit.analysis.comparison.drawn_runs import Run, with_times

OP, TYPE = "model/dense/MatMul", "MatMul"
IN_B = "model_1/dense/MatMul"
"""The same op as the second run calls it."""
HOSTILE_KERNEL = f"{MARKUP}{CLOSING}"
SLICES = "[data-tfprof=timeline]"


def runs(folder: Path) -> tuple[tfprof.Profile, tfprof.Profile]:
    """Two runs of one model whose names got a number in the second, where one layer is slower and one op new."""
    slower = with_times({"dense": 1.5}) | {"model/new/Exp": 80.0}
    renamed = {name.replace("model/", "model_1/"): us for name, us in slower.items()}
    first = Run(seed=1, n_steps=20, kernels={"gemm": 50.0}, input_us=100.0).profile(folder)
    second = Run(seed=2, n_steps=20, kernels={"gemm": 50.0, HOSTILE_KERNEL: 40.0}, input_us=300.0, ops=renamed).profile(
        folder
    )
    first.title, second.title = "before", f"after {MARKUP}{CLOSING}"
    return first, second


class Comparison:
    """What is shown of a comparison in a page or in one frame of it."""

    def __init__(self, place: Page | Frame, page: Page) -> None:
        self.place, self.page = place, page

    @property
    def root(self) -> Locator:
        return self.place.locator('[data-tfprof="diff_panel"]')

    def timeline(self, run: int) -> Locator:
        return self.place.locator(SLICES).nth(run)

    def wait(self) -> Comparison:
        """Until both timelines and the rows of a table are drawn."""
        for run in (0, 1):
            self.timeline(run).locator("canvas").first.wait_for()
        self.tab("Ops")
        self.root.locator("[data-diff-name]").first.wait_for()
        poll(lambda: self.window(0) is not None and self.window(1) is not None, "no window")
        return self

    def tab(self, name: str) -> None:
        self.root.get_by_role("tab", name=name).click()

    def rows(self) -> list[str]:
        rows = self.root.locator(".tfp-panel:not([hidden]) [data-diff-name]")
        return [str(name) for name in rows.evaluate_all("rows => rows.map((row) => row.dataset.diffName)")]

    def row(self, name: str) -> Locator:
        return self.root.locator(f".tfp-panel:not([hidden]) [data-diff-name='{name}']").first

    def pick(self, name: str) -> None:
        self.row(name).click(position={"x": 110, "y": 8})

    def details(self, run: int) -> str:
        return self.timeline(run).locator("aside.det").inner_text()

    def window(self, run: int) -> tuple[float, float] | None:
        """Where the first two slices of the op are in its picture, px; None until they are drawn."""
        places = self.timeline(run).evaluate(
            """(root, name) => {
                const [first, second] = [0, 1].map((nth) => root.tfprofLocate?.(name, nth));
                return first && second ? [first.x, second.x] : null;
            }""",
            f"{(OP, IN_B)[run]}:{TYPE}",
        )
        return None if places is None else (places[0], places[1])

    def span_text(self, run: int) -> str:
        return self.timeline(run).locator(".tl-about").inner_text()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[tfprof.Profile, tfprof.Profile]:
    return runs(tmp_path_factory.mktemp("pair"))


@pytest.fixture(scope="module")
def exported(pair: tuple[tfprof.Profile, tfprof.Profile], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tfprof.diff(*pair).to_html(tmp_path_factory.mktemp("page") / "diff.html")


@pytest.fixture(scope="module")
def page(browser: Browser, exported: Path) -> Iterator[Page]:
    with opened_page(browser, exported, size_px=(1100, 1400)) as page:
        yield page


@pytest.fixture
def shown(page: Page) -> Comparison:
    """The same with nothing selected and both timelines aligned."""
    found = Comparison(page, page).wait()
    clear = page.get_by_role("button", name="Clear the selection")
    if clear.is_visible():
        clear.click()
    page.get_by_role("button", name="Align again").click()
    return found


# ---- the page -------------------------------------------------------------------------------------------------------


def test_the_head_says_what_changed_and_how_sure_that_is(shown: Comparison) -> None:
    head = shown.root.locator(".tfp-diff-head").inner_text()
    assert "slower" in head
    assert "beyond noise" in head
    assert "before" in head
    assert "95 % interval" in str(shown.root.locator(".tfp-interval .axis").get_attribute("aria-label"))
    assert "Host compute" in shown.root.locator(".tfp-diff-parts").inner_text()


def test_a_row_selects_the_op_in_both_timelines_and_a_second_click_lets_go(shown: Comparison) -> None:
    shown.pick(IN_B)
    poll(lambda: OP in shown.details(0), lambda: shown.details(0))
    poll(lambda: IN_B in shown.details(1), lambda: shown.details(1))
    assert shown.row(IN_B).get_attribute("aria-selected") == "true"
    shown.pick(IN_B)
    poll(lambda: "Nothing selected" in shown.details(0) + shown.details(1), "still selected")


def test_a_slice_selects_its_partner_in_the_other_timeline_and_its_row(shown: Comparison) -> None:
    timeline = shown.timeline(0)
    timeline.scroll_into_view_if_needed()
    place = timeline.evaluate("(root, name) => root.tfprofLocate(name)", f"{OP}:{TYPE}")
    shown.page.mouse.click(place["x"], place["y"])
    poll(lambda: IN_B in shown.details(1), lambda: shown.details(1))
    poll(lambda: shown.row(IN_B).get_attribute("aria-selected") == "true", "its row is not marked")


def test_both_timelines_begin_at_a_step_on_one_scale(shown: Comparison) -> None:
    first, second = shown.window(0), shown.window(1)
    assert first is not None
    assert second is not None
    # Ops before it differ by little; steps of b are longer, so the second one is farther.
    assert second[1] - second[0] > first[1] - first[0]


def test_panning_and_zooming_one_moves_the_other_by_the_same(shown: Comparison) -> None:
    before = [shown.window(run) for run in (0, 1)]
    canvas = shown.timeline(1).locator("canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    mouse = shown.page.mouse
    mouse.move(box["x"] + 400, box["y"] + 200)
    mouse.down()
    mouse.move(box["x"] + 330, box["y"] + 200, steps=4)
    mouse.up()

    def moved() -> list[float]:
        now = [shown.window(run) for run in (0, 1)]
        return [a[0] - b[0] for a, b in zip(now, before, strict=True) if a and b]

    poll(lambda: moved() == pytest.approx([-70, -70], abs=3), lambda: str(moved()))
    texts = [shown.span_text(run) for run in (0, 1)]
    shown.timeline(1).locator("section.tl").focus()
    shown.page.keyboard.press("w")
    poll(lambda: all(shown.span_text(run) != text for run, text in enumerate(texts)), "zoomed in one only")


def test_trace_text_stays_text(shown: Comparison) -> None:
    assert shown.page.evaluate("""() => document.querySelectorAll('img[src="x"], [onerror]').length""") == 0
    assert MARKUP in shown.root.locator(".tfp-diff-head").inner_text()
    shown.tab("Kernels")
    poll(lambda: HOSTILE_KERNEL in shown.rows(), lambda: str(shown.rows()))
    assert shown.page.evaluate("() => window.tfprofHacked") is None


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_serious(shown: Comparison, theme: str) -> None:
    show_in(theme, shown.root)
    shown.pick(IN_B)
    for tab in ("Ops", "Layers", "Iterators"):
        shown.tab(tab)
        shown.page.wait_for_timeout(100)
        assert audit(shown.page, '[data-tfprof="diff_panel"]') == [], tab


# ---- in a notebook --------------------------------------------------------------------------------------------------


def sent(host: WidgetHost) -> list[dict[str, Any]]:
    """Messages of the page that wait for the kernel or that it has taken."""
    return [*host.asked, *({"text": text} for text in host._waiting)]


def test_panning_asks_nothing_of_the_kernel_and_a_selection_reaches_it(host: WidgetHost, tmp_path: Path) -> None:
    a, b = runs(tmp_path)
    frame = host.show(tfprof.diff(a, b).dashboard())
    shown = Comparison(frame, host.page)
    host.serve(lambda: frame.locator(SLICES).count() == 2 and shown.rows(), "not drawn")
    host.serve(lambda: shown.window(0) and shown.window(1), "no windows")
    host.serve(lambda: all("events" in shown.span_text(run) for run in (0, 1)), "no events")
    host.page.wait_for_timeout(2500)  # what views ask for after their first picture
    host.serve(lambda: not host._waiting, "the page does not stop asking")
    n_sent, before = len(sent(host)), shown.window(0)
    shown.timeline(1).locator("section.tl").focus()
    host.page.keyboard.press("d")
    host.serve(lambda: shown.window(0) != before, "the other timeline stays")
    assert len(sent(host)) == n_sent
    shown.pick(IN_B)
    host.serve(lambda: (a.link.selection, b.link.selection) == ((OP,), (IN_B,)), lambda: str(b.link.selection))


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(Run(n_steps=0), marks=pytest.mark.nightly),
        pytest.param(Run(seed=1, n_steps=2), marks=pytest.mark.nightly),
        pytest.param(Run(seed=1, has_steps=False), marks=pytest.mark.nightly),
    ],
)
def test_what_cannot_be_compared_is_shown_with_the_reason(host: WidgetHost, tmp_path: Path, other: Run) -> None:
    found = tfprof.diff(Run(seed=1, n_steps=20).profile(tmp_path), other.profile(tmp_path))
    frame = host.show(found.dashboard())
    shown = Comparison(frame, host.page)
    host.serve(lambda: frame.locator(f"{SLICES} canvas").count() > 0, "no timeline")
    host.serve(lambda: found.verdict.split(":")[0] in shown.root.inner_text(), lambda: shown.root.inner_text())
    assert frame.locator('[role="alert"]').count() == 0
    if other.n_steps == 0:
        assert "recorded no event" in shown.root.inner_text()
