"""What a screen reader and a keyboard find: axe-core has no serious complaint, whatever is open; dark in the nightly run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import ROOT, poll
from tests.browser.linked_views import FIRST_EVENT, LinkedViews

AXE = ROOT / "js" / "node_modules" / "axe-core" / "axe.min.js"
THEMES = ("light", pytest.param("dark", marks=pytest.mark.nightly))
MODES = {
    "flame": "g",
    "slices": "g",
    "help": "g?",
    "track filter": ["Escape", "t"],
    "new bookmark": ["Escape", "b"],
    "bookmarks": ["Enter", "Escape", "Shift+B"],
    "search": ["Escape", "/", "M", "a", "t"],
}
"""What to press for each mode, one after the other."""
AUDIT = """async (part) => {
    const { violations } = await axe.run(part ?? "[data-tfprof]", { resultTypes: ["violations"] });
    return violations.filter(({ impact }) => impact === "serious" || impact === "critical").flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}: ${failureSummary}`));
}"""


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The exported page of the full run, with axe-core in it."""
    if not AXE.exists():
        sentence = f"{AXE.relative_to(ROOT)} is missing: `make test` installs it with the other npm packages."
        if os.environ.get("CI"):
            pytest.fail(sentence)
        pytest.skip(sentence)
    folder: Path = tmp_path_factory.mktemp("axe")
    prof = tfprof.load(write_run(folder / "run", PLAIN))
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    page = context.new_page()
    page.goto(prof.to_html(folder / "page.html").as_uri())
    page.locator('[data-tfprof="timeline"] canvas').first.wait_for()
    page.add_script_tag(path=AXE)
    yield page
    context.close()


@pytest.fixture(params=THEMES)
def views(request: pytest.FixtureRequest, page: Page) -> LinkedViews:
    views = LinkedViews(page, page)
    if views.view("dashboard").get_attribute("data-theme") != request.param:
        page.locator(".tfp-theme-switch").click()
        poll(lambda: views.view("dashboard").get_attribute("data-theme") == request.param, "the theme stays")
        page.wait_for_timeout(400)  # the second look at the colours, after the styles of the new theme are there
    return views


def test_axe_finds_nothing_serious_in_any_tab(views: LinkedViews) -> None:
    tabs = views.tabs()
    assert len(tabs) > 8
    for tab in tabs:
        views.open_tab(tab)
        views.page.wait_for_timeout(100)
        assert views.page.evaluate(AUDIT, f'[data-tfprof="{tab}"]') == [], tab


def test_axe_finds_nothing_serious_with_a_slice_and_a_range_chosen(views: LinkedViews) -> None:
    views.open_tab("op_table")
    views.click_event(FIRST_EVENT)
    views.choose_steps(0, 3)
    assert views.page.evaluate(AUDIT) == []


def test_axe_finds_nothing_serious_in_any_mode_of_the_timeline(views: LinkedViews) -> None:
    views.click_event(FIRST_EVENT)
    views.view("timeline").locator("section.tl").focus()
    for name, keys in MODES.items():
        for key in keys:
            views.page.keyboard.press(key)
        views.page.wait_for_timeout(200)
        assert views.page.evaluate(AUDIT, '[data-tfprof="timeline"]') == [], name
    views.page.keyboard.press("Escape")


def test_colours_that_mean_something_stay_where_the_reader_forces_colours(browser: Browser, tmp_path: Path) -> None:
    prof = tfprof.load(write_run(tmp_path / "run", PLAIN))
    with browser.new_context(forced_colors="active") as context:
        page = context.new_page()
        page.goto(prof.to_html(tmp_path / "page.html").as_uri())
        page.locator('[data-tfprof="timeline"] canvas').first.wait_for()
        swatches = page.locator(".tfp-breakdown .sw")
        colors = swatches.evaluate_all("all => all.map((one) => getComputedStyle(one).backgroundColor)")
        assert len(set(colors)) == len(colors) > 3
