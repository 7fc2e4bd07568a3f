"""A drawn program that ran out of memory -> its page explains it: what happened, who held the memory, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.pages import audit, opened_page, picture
from tests.unit.analysis.failure.failure_drawings import OUTER, failed_profile, failure, oom_text, oom_trace

HOSTILE = "</script><img src=x onerror=alert(1)>"
HELD = f"{OUTER}/model/{HOSTILE}/Relu"


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    profile = failed_profile(oom_trace(held=HELD), failure(oom_text(), batch_size=1024))
    path: Path = profile.to_html(tmp_path_factory.mktemp("oom") / "page.html")
    with opened_page(browser, path, size_px=(900, 1000)) as page:
        page.get_by_role("tab", name="Memory").click()
        explanation(page).wait_for()
        yield page
        assert page.locator("img[src='x']").count() == 0, "hostile names are text"


def explanation(page: Page) -> Locator:
    return page.get_by_role("region", name="What happened")


def test_the_explanation_tells_the_request_the_holders_and_what_to_do(page: Page) -> None:
    told = explanation(page)
    expect(told).to_contain_text("Relu of layer model/wide asked for 512 MiB on GPU:0")
    expect(told.get_by_role("group", name="Held by op")).to_contain_text("3 of 3")
    expect(told.get_by_role("img")).to_have_attribute("aria-label", "400 MiB of 1,000 MiB in use, 512 MiB requested")
    expect(told).to_contain_text("What to do")
    expect(told).to_contain_text("cuda_malloc_async")
    assert page.get_by_role("status").filter(has_text="Out of memory").count() == 0, "the overview tells it, once"
    picture(told, f"memory_failure_{page.viewport_size['width']}")


@pytest.mark.parametrize("width_px", [1600, 900])
def test_nothing_is_cut_off_and_the_chart_has_room(page: Page, width_px: int) -> None:
    page.set_viewport_size({"width": width_px, "height": 1000})
    panel = page.get_by_role("tabpanel", name="Memory")
    assert explanation(page).evaluate("section => section.scrollWidth <= section.clientWidth")
    chart = panel.locator(".tfp-plot").first.bounding_box()
    whole = panel.bounding_box()
    assert chart is not None and whole is not None
    assert chart["y"] + chart["height"] <= whole["y"] + whole["height"]


def test_a_row_selects_its_ops_in_every_view_and_again_none(page: Page) -> None:
    page.get_by_role("group", name="Table").get_by_role("button", name="By op").click()
    row = explanation(page).get_by_role("group", name="Held by layer").get_by_role("button").first
    row.click()
    expect(row).to_have_attribute("aria-pressed", "true")
    same = explanation(page).get_by_role("group", name="Held by op").get_by_role("button").first
    expect(same).to_have_attribute("aria-pressed", "true")
    held = page.locator(f'[data-op-name="{HELD}"]').first
    expect(held).to_have_attribute("aria-selected", "true")
    row.click()
    expect(same).to_have_attribute("aria-pressed", "false")


def test_the_moment_is_shown_in_the_chart(page: Page) -> None:
    memory = page.get_by_role("tabpanel", name="Memory")
    expect(memory).not_to_contain_text("asked for 512 MiB")  # that is told above
    memory.get_by_role("button", name="Show the moment in the chart").click()
    expect(memory).to_contain_text("In memory at 0.01")
    memory.get_by_role("group", name="Table").get_by_role("button", name="Map").click()


def test_the_map_says_what_fits_and_draws_the_request_beside_the_largest_free_piece(page: Page) -> None:
    memory = page.get_by_role("tabpanel", name="Memory")
    chart = memory.locator('[aria-roledescription="allocator map"]')
    sentence = "largest free piece 150 of 600 MiB free (framed); the request for 512 MiB failed."
    expect(memory).to_contain_text(sentence)
    expect(chart).to_have_attribute("aria-label", re.compile(re.escape(sentence)))
    box = chart.bounding_box()
    piece, request = (chart.locator(f".{kind}").bounding_box() for kind in ("piece", "request"))
    assert box and piece and request
    assert request["height"] / piece["height"] == pytest.approx(512 / 150, rel=0.05)
    now = chart.locator(".now").bounding_box()
    assert now
    chart.hover(position={"x": now["x"] - box["x"] + 1, "y": piece["y"] - box["y"] + piece["height"] / 2})
    expect(chart.locator(".tfp-tip")).to_contain_text("150 MiB between two blocks")
    expect(chart.locator(".tfp-tip")).to_contain_text("largest free piece 150 of 600 MiB free (framed)")
    picture(memory, "allocator_map")
    assert audit(page, '[data-tfprof="memory_timeline"]') == []


def test_a_block_of_the_map_selects_its_op_and_tells_of_it_by_keys(page: Page) -> None:
    memory = page.get_by_role("tabpanel", name="Memory")
    chart = memory.locator('[aria-roledescription="allocator map"]')
    chart.focus()
    page.keyboard.press("ArrowUp")
    expect(memory.locator(".tfp-map > .sr")).to_contain_text("100 MiB · StatefulPartitionedCall/model/embed/Reshape")
    page.keyboard.press("Enter")
    expect(explanation(page).get_by_role("button", name=re.compile("Reshape")).first).to_have_attribute(
        "aria-pressed", "true"
    )
    page.keyboard.press("Enter")


def test_the_overview_says_what_happened_and_nothing_of_steps(page: Page) -> None:
    told = page.locator('[data-tfprof="overview_panel"]')
    expect(told).to_contain_text("Relu of layer model/wide asked for 512 MiB on GPU:0")
    expect(told).to_contain_text("What to do")
    for words in ("a step", "What to change", "Mark the steps"):
        expect(told).not_to_contain_text(words)
    expect(page.locator('[data-tfprof="step_chart"]')).to_be_hidden()
