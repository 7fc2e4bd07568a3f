"""What a screen reader and a keyboard find: axe-core has no serious complaint, whatever is open; dark in the nightly run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.browser.linked_views import FIRST_EVENT, LinkedViews
from tests.browser.pages import THEMES, audit, opened_page, show_in

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


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The exported page of the full run."""
    folder: Path = tmp_path_factory.mktemp("axe")
    prof = tfprof.load(write_run(folder / "run", PLAIN))
    with opened_page(browser, prof.to_html(folder / "page.html")) as page:
        yield page


@pytest.fixture(params=THEMES)
def views(request: pytest.FixtureRequest, page: Page) -> LinkedViews:
    views = LinkedViews(page, page)
    show_in(request.param, views.view("dashboard"))
    return views


def test_axe_finds_nothing_serious_in_any_tab(views: LinkedViews) -> None:
    tabs = views.tabs()
    assert len(tabs) > 8
    for tab in tabs:
        views.open_tab(tab)
        views.page.wait_for_timeout(100)
        assert audit(views.page, f'[data-tfprof="{tab}"]') == [], tab


def test_axe_finds_nothing_serious_with_a_slice_and_a_range_chosen(views: LinkedViews) -> None:
    views.open_tab("op_table")
    views.click_event(FIRST_EVENT)
    views.choose_steps(0, 3)
    assert audit(views.page) == []


def test_axe_finds_nothing_serious_in_any_mode_of_the_timeline(views: LinkedViews) -> None:
    views.click_event(FIRST_EVENT)
    views.view("timeline").locator("section.tl").focus()
    for name, keys in MODES.items():
        for key in keys:
            views.page.keyboard.press(key)
        views.page.wait_for_timeout(200)
        assert audit(views.page, '[data-tfprof="timeline"]') == [], name
    views.page.keyboard.press("Escape")


def test_colours_that_mean_something_stay_where_the_reader_forces_colours(browser: Browser, tmp_path: Path) -> None:
    prof = tfprof.load(write_run(tmp_path / "run", PLAIN))
    with opened_page(browser, prof.to_html(tmp_path / "page.html"), forced_colors="active") as page:
        swatches = page.locator(".tfp-breakdown .sw")
        colors = swatches.evaluate_all("all => all.map((one) => getComputedStyle(one).backgroundColor)")
        assert len(set(colors)) == len(colors) > 3
