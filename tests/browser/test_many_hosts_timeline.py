"""The timeline of many hosts: one line a host on one axis of time, found by name, opened and chosen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page

from tests.browser.many_hosts import SLOW, SLOWEST, clear, distance, eventually, opened_page, pixel, write_page
from tests.cluster import host_name

N_HOSTS = 40
TRACKS_TOP_PX = 71
STRIP_PX = 18


@pytest.fixture(scope="module")
def shown(browser: Browser, shared_directory: Path) -> Iterator[Page]:
    with opened_page(browser, write_page(shared_directory / "many_hosts", N_HOSTS)) as page:
        yield page


@pytest.fixture
def page(shown: Page) -> Iterator[Page]:
    """With everything as at first when a test ends."""
    yield shown
    clear(shown)
    timeline(shown).locator("section.tl").focus()
    shown.keyboard.press("t")
    shown.get_by_label("Filter tracks by name").fill("")
    if timeline(shown).get_by_role("button", name="As at first").count():
        timeline(shown).get_by_role("button", name="As at first").click()
    shown.keyboard.press("Escape")


def timeline(page: Page) -> Locator:
    return page.locator('[data-tfprof="timeline"]')


def names(page: Page) -> list[str]:
    """Of the labels in the page, from top to bottom."""
    boxes = "els => els.map((el) => [el.dataset.name, el.getBoundingClientRect().top])"
    found = timeline(page).locator("[role=treeitem]").evaluate_all(boxes)
    return [str(name) for name, _ in sorted(found, key=lambda item: item[1])]


def label(page: Page, host: int) -> Locator:
    return timeline(page).locator(f'[role=treeitem][data-name="{host_name(host)}"]')


def test_hosts_are_one_line_each_those_that_hold_the_others_up_first(page: Page) -> None:
    assert names(page)[:4] == [host_name(host) for host in (SLOWEST, SLOW, 0, 1)]
    assert timeline(page).locator(".tl-host[aria-expanded=true]").count() == 0
    assert timeline(page).locator(".bar").get_by_role("button", name=f"Filter {N_HOSTS} hosts").count() == 1
    height = timeline(page).locator(".tl-scroll").evaluate("el => el.scrollHeight")
    assert height >= N_HOSTS * STRIP_PX
    assert timeline(page).locator("[role=treeitem]").count() < N_HOSTS  # only those in sight


def test_waiting_is_seen_a_late_host_is_busy_with_input_while_the_others_wait(page: Page) -> None:
    canvas = timeline(page).locator("canvas[role=img]")
    box = canvas.bounding_box()
    assert box
    names_px = timeline(page).locator("section.tl").evaluate("el => parseFloat(el.style.getPropertyValue('--w-label'))")
    x = names_px + (box["width"] - names_px) / 8 * 0.45  # before the middle of the first of eight steps
    late, other, third = (pixel(canvas, x, TRACKS_TOP_PX + STRIP_PX * row + 12) for row in (0, 2, 3))
    assert distance(other, third) == 0
    assert distance(late, other) > 60


def test_a_host_is_opened_and_folded_by_click_and_by_keys(page: Page) -> None:
    label(page, SLOWEST).click()
    eventually(lambda: names(page)[1:4] == ["Longest events", "Steps", "Step time"], "the host is not open")
    label(page, SLOWEST).focus()
    page.keyboard.press("ArrowLeft")
    eventually(lambda: names(page)[1] == host_name(SLOW), "the host is still open")
    page.keyboard.press("Enter")
    eventually(lambda: label(page, SLOWEST).get_attribute("aria-expanded") == "true", "the host is not open")


def test_a_part_of_a_step_tells_what_it_is_and_a_click_chooses_the_step(page: Page) -> None:
    box = label(page, SLOWEST).bounding_box()
    assert box
    x, y = box["x"] + box["width"] + 300, box["y"] + 9
    page.mouse.move(x, y)
    tip = timeline(page).locator(".tl-tip")
    eventually(lambda: f"{host_name(SLOWEST)} · step" in tip.inner_text(), "nothing is told")
    assert "of a step of" in tip.inner_text()
    page.mouse.click(x, y)
    eventually(lambda: "step" in page.locator(".tfp-chip").first.inner_text(), "the step is not chosen")
    page.mouse.click(x, y)
