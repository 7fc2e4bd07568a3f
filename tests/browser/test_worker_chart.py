"""The chart of the workers: a table of few hosts, columns of more, a heat map of many; by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page

from tests.browser.harness import ROOT
from tests.browser.many_hosts import N_STEPS, SLOW, SLOWEST, clear, distance, eventually, opened_page, pixel, write_page
from tests.browser.test_accessibility import AUDIT, AXE
from tests.cluster import host_name

FEW, SEVERAL, MANY = 4, 12, 40


@pytest.fixture(scope="module")
def few(browser: Browser, shared_directory: Path) -> Iterator[Page]:
    with opened_page(browser, write_page(shared_directory / "many_hosts", FEW, is_even=True)) as page:
        yield page


@pytest.fixture(scope="module")
def several(browser: Browser, shared_directory: Path) -> Iterator[Page]:
    with opened_page(browser, write_page(shared_directory / "many_hosts", SEVERAL)) as page:
        yield page


@pytest.fixture(scope="module")
def many(browser: Browser, shared_directory: Path) -> Iterator[Page]:
    with opened_page(browser, write_page(shared_directory / "many_hosts", MANY)) as page:
        yield page


@pytest.fixture(autouse=True)
def at_first(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    for name in {"few", "several", "many"} & set(request.fixturenames):
        clear(request.getfixturevalue(name))


def chart(page: Page) -> Locator:
    return page.locator('[data-tfprof="worker_chart"]')


def chosen_hosts(page: Page) -> list[str]:
    """What the timeline says all views are about."""
    return [str(name) for name in page.locator(".tl-host.on").evaluate_all("els => els.map((el) => el.dataset.name)")]


def about(page: Page) -> str:
    return page.locator(".tfp-chip").first.inner_text()


def test_even_hosts_are_called_even_and_stand_in_a_table(few: Page) -> None:
    assert "The hosts are even" in chart(few).locator(".tfp-worker-say").inner_text()
    assert chart(few).locator("tbody tr").count() == FEW
    assert chart(few).locator(".tfp-stragglers").count() == 0


def test_several_hosts_are_columns_of_one_scale_with_the_stragglers_marked(several: Page) -> None:
    columns = chart(several).locator(".col")
    assert columns.count() == SEVERAL
    marked = chart(several).locator(".col.held").evaluate_all("els => els.map((el) => Number(el.dataset.host))")
    assert sorted(marked) == sorted([SLOW, SLOWEST])
    heights = columns.evaluate_all(
        "els => els.map((el) => [...el.querySelectorAll('i')].reduce((sum, i) => sum + i.offsetHeight, 0))"
    )
    assert max(heights) - min(heights) <= 3  # synchronous: all steps take equally long


def test_a_column_is_walked_to_read_and_chosen_by_keys(several: Page) -> None:
    chart(several).get_by_role("listbox").focus()
    for _ in range(3):
        several.keyboard.press("ArrowRight")
    tip = chart(several).locator(".tfp-tip")
    eventually(lambda: host_name(3) in tip.inner_text(), "no details of the column with the cursor")
    assert "its own work" in tip.inner_text()
    several.keyboard.press("Enter")
    eventually(lambda: chosen_hosts(several) == [host_name(3)], "Enter does not choose the host")
    several.keyboard.press("Escape")
    eventually(lambda: chosen_hosts(several) == [], "Esc does not let the host go")


def test_the_hosts_are_sorted_by_own_work_and_the_figures_stand_in_a_table(several: Page) -> None:
    chart(several).get_by_label("Hosts", exact=True).select_option("own")
    order = "els => els.map((el) => Number(el.dataset.host)).slice(0, 2)"
    eventually(lambda: chart(several).locator(".col").evaluate_all(order) == [SLOWEST, SLOW], "not the slowest first")
    chart(several).get_by_role("button", name="Table").click()
    first = chart(several).locator("tbody tr").first.inner_text()
    assert host_name(SLOWEST) in first
    assert "by input" in first
    chart(several).get_by_role("button", name="Columns").click()
    chart(several).get_by_label("Hosts", exact=True).select_option("host")


def heat(page: Page) -> Locator:
    return chart(page).locator(".tfp-host-heat .plot")


def test_many_hosts_are_a_heat_map_with_a_legend_in_ms_and_a_list_of_stragglers(many: Page) -> None:
    caption = chart(many).locator(".tfp-host-heat p")  # written with the first frame of the canvas
    eventually(lambda: f"{MANY} hosts" in caption.inner_text(), "no caption")
    assert chart(many).locator(".tfp-host-ramp").inner_text().count("ms") == 3
    listed = chart(many).locator(".tfp-stragglers tbody tr").all_inner_texts()
    assert len(listed) == 2
    assert host_name(SLOWEST) in listed[0]
    assert host_name(SLOW) in listed[1]
    chart(many).locator(".tfp-stragglers").get_by_role("button", name=host_name(SLOW)).click()
    eventually(lambda: chosen_hosts(many) == [host_name(SLOW)], "a click on a straggler does not choose it")


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_the_straggler_stands_out_of_the_heat_map(many: Page, theme: str) -> None:
    root = chart(many)
    if root.get_attribute("data-theme") != theme:
        many.locator(".tfp-theme-switch").click()
        eventually(lambda: root.get_attribute("data-theme") == theme, "the theme stays")
        many.wait_for_timeout(400)  # the second look at the colours
    chart(many).get_by_label("Colour").select_option("input")
    canvas = heat(many).locator("canvas")
    box = canvas.bounding_box()
    assert box
    row_px = (box["height"] - 16) / MANY

    def contrast() -> int:
        straggler, other = (pixel(canvas, box["width"] * 0.55, (row + 0.5) * row_px) for row in (0, MANY - 2))
        return distance(straggler, other)

    eventually(lambda: contrast() > 120, "the straggler looks like the others")


def test_a_cell_tells_its_host_and_step_and_chooses_both(many: Page) -> None:
    heat(many).hover(position={"x": 300, "y": 2})
    tip = chart(many).locator(".tfp-tip")
    eventually(lambda: host_name(SLOWEST) in tip.inner_text(), "no details of the cell")
    assert "over the median of the hosts" in tip.inner_text()
    heat(many).click(position={"x": 300, "y": 2})
    eventually(lambda: chosen_hosts(many) == [host_name(SLOWEST)], "a click does not choose the host")
    eventually(lambda: "step" in about(many), "a click does not choose the step")
    eventually(lambda: heat(many).locator(".marks .on").count() == 2, "the host and the step have no outline")


def test_the_heat_map_is_walked_and_chosen_from_by_keys(many: Page) -> None:
    heat(many).focus()
    many.keyboard.press("ArrowRight")
    many.keyboard.press("End")
    label = heat(many).get_attribute("aria-label") or ""
    assert host_name(SLOWEST) in label
    assert f"step {N_STEPS - 1}" in label
    many.keyboard.press("Enter")
    eventually(lambda: chosen_hosts(many) == [host_name(SLOWEST)], "Enter does not choose the host")
    many.keyboard.press("Escape")
    eventually(lambda: chosen_hosts(many) == [], "Esc does not let the host go")


def test_axe_finds_nothing_serious_in_any_form(several: Page, many: Page) -> None:
    if not AXE.exists():
        pytest.skip(f"{AXE.relative_to(ROOT)} is missing")
    for page, forms in ((several, ("Columns", "Table")), (many, ("Table", "Heat map"))):
        page.add_script_tag(path=AXE)
        for form in forms:
            chart(page).get_by_role("button", name=form).click()
            assert page.evaluate(AUDIT, '[data-tfprof="worker_chart"]') == []
    chart(several).get_by_role("button", name="Columns").click()
