"""The compact form of a profile: step time, one step to scale and one card in some 450 pixels, and all views at a click."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import tfprof_widgets as tfprof
from tests.browser.pages import opened_page, picture
from tfprof_widgets.show import dashboard_page


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, capture_of: Callable[[str], Path]) -> Path:
    """A page of the compact form of a run on a GPU that has several cards."""
    prof = tfprof.load(capture_of("h100_resnet_xla"))
    assert len(prof.advice) > 1
    path = tmp_path_factory.mktemp("compact") / "page.html"
    path.write_text(dashboard_page(prof.dashboard(compact=True), "steps", title="compact"))
    return path


@pytest.fixture
def page(request: pytest.FixtureRequest, browser: Browser, written: Path) -> Iterator[Page]:
    size_px = (getattr(request, "param", 900), 900)
    with opened_page(browser, written, size_px=size_px, until=".tfp-scale svg") as page:
        page.locator(".tfp-card").first.wait_for()
        yield page


def timeline(page: Page) -> Locator:
    return page.locator('[data-tfprof="timeline"]')


@pytest.mark.parametrize("page", [900, pytest.param(1600, marks=pytest.mark.nightly)], indirect=True)
def test_it_shows_step_time_a_step_and_the_first_card_until_a_button_opens_all_views(page: Page) -> None:
    body = page.locator(".tfp-body")
    height = body.evaluate("body => body.offsetHeight")
    picture(page, f"compact-{page.viewport_size['width']}")
    assert height < 480
    expect(page.locator(".tfp-figs .tfp-fig").first).to_contain_text("ms a step")
    expect(page.locator(".tfp-card:visible")).to_have_count(1)
    expect(page.get_by_role("tab")).to_have_count(0)
    assert timeline(page).count() == 0
    page.get_by_role("button", name="Show all views").click()
    timeline(page).locator("canvas").first.wait_for()
    expect(page.get_by_role("tab", selected=True)).to_contain_text("Ops")
    expect(page.get_by_role("button", name="Show all views")).to_have_count(0)
    assert page.locator(".tfp-card:visible").count() > 1


def test_evidence_opens_the_views_that_show_it(page: Page) -> None:
    page.get_by_role("button", name="Show", exact=True).click()
    timeline(page).locator("canvas").first.wait_for()
    expect(page.get_by_role("button", name="Show", exact=True).first).to_have_attribute("aria-pressed", "true")
