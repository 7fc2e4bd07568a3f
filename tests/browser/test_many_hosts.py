"""Pages of trainings on several hosts, stragglers planted: the chart of the workers and the timeline, by mouse and by keys."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page

import tfprof_widgets as tfprof
from tests.browser.pages import THEMES, audit, distance, eventually, opened_page, pixel, show_in
from tests.browser.tabs import go_to
from tests.cluster import Cluster, host_name

N_STEPS = 8
SLOWEST, SLOW = 7, 2
"""The hosts planted to come late: with their input, with their compute."""


def written(page: Path, n_hosts: int, *, is_even: bool) -> Path:
    late = {} if is_even else {"slow_input": {SLOWEST: 8.0}, "slow_compute": {SLOW: 1.5}}
    page.parent.mkdir(parents=True, exist_ok=True)
    run = Cluster(n_hosts, n_steps=N_STEPS, **late).draw(page.with_suffix(""))  # type: ignore[arg-type]
    with ThreadPoolExecutor(1) as pool:  # to start processes takes longer than to read these files
        prof = tfprof.load(run, executor=pool if n_hosts > 16 else None)
    return prof.to_html(page)


@contextlib.contextmanager
def workers_of(browser: Browser, folder: Path, n_hosts: int, *, is_even: bool = False) -> Iterator[Page]:
    """The page of a run of so many hosts with its workers in sight."""
    path = written(folder / "many_hosts" / f"hosts_{n_hosts}.html", n_hosts, is_even=is_even)
    with opened_page(browser, path) as page:
        go_to(page.locator('[data-tfprof="dashboard"]'), "worker_chart")
        page.locator(".tfp-worker-say").wait_for()
        yield page


def clear(page: Page) -> None:
    """All hosts and the whole capture again, the pointer away."""
    page.mouse.move(2, 2)
    if page.get_by_role("button", name="All hosts", exact=True).count():
        page.get_by_role("button", name="All hosts", exact=True).first.click()
    if page.get_by_role("button", name="Clear the range").is_visible():
        page.get_by_role("button", name="Clear the range").click()


FEW, SEVERAL, MANY = 4, 12, 40


@pytest.fixture(scope="module")
def few(browser: Browser, shared_directory: Path) -> Iterator[Page]:
    with workers_of(browser, shared_directory, FEW, is_even=True) as page:
        yield page


@pytest.fixture(scope="module")
def several(browser: Browser, shared_directory: Path) -> Iterator[Page]:
    with workers_of(browser, shared_directory, SEVERAL) as page:
        yield page


@pytest.fixture(scope="module")
def many(browser: Browser, shared_directory: Path) -> Iterator[Page]:
    with workers_of(browser, shared_directory, MANY) as page:
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
    assert chart(few).locator(".tfp-workers-place .row").count() == FEW
    assert chart(few).locator(".tfp-stragglers").count() == 0


def test_several_hosts_are_bars_of_one_scale_with_the_stragglers_named(several: Page) -> None:
    rows = chart(several).locator(".tfp-workers-place .row")
    assert rows.count() == SEVERAL
    named = [host for host, text in enumerate(rows.all_inner_texts()) if "a step" in text]
    assert sorted(named) == sorted([SLOW, SLOWEST])


def test_the_hosts_are_sorted_by_own_work_and_the_figures_stand_in_a_table(several: Page) -> None:
    chart(several).get_by_label("Hosts", exact=True).select_option("own")
    rows = chart(several).locator(".tfp-workers-place .row")
    order = "els => els.map((el) => Number(el.dataset.host)).slice(0, 2)"
    eventually(lambda: rows.evaluate_all(order) == [SLOWEST, SLOW], "not the slowest first")
    first = rows.first.inner_text()
    assert host_name(SLOWEST) in first
    assert "by input" in first
    chart(several).get_by_label("Hosts", exact=True).select_option("host")


def heat(page: Page) -> Locator:
    return chart(page).locator(".tfp-host-heat .plot")


def test_many_hosts_are_a_heat_map_with_a_legend_in_ms_and_a_list_of_stragglers(many: Page) -> None:
    caption = chart(many).locator(".tfp-host-heat p")  # written with the first frame of the canvas
    eventually(lambda: f"{MANY} hosts" in caption.inner_text(), "no caption")
    assert chart(many).locator(".tfp-host-ramp").inner_text().count("ms") == 3
    listed = chart(many).locator(".tfp-stragglers .row").all_inner_texts()
    assert len(listed) == 2
    assert host_name(SLOWEST) in listed[0]
    assert host_name(SLOW) in listed[1]
    chart(many).locator(".tfp-stragglers .row").filter(has_text=host_name(SLOW)).click()
    eventually(lambda: chosen_hosts(many) == [host_name(SLOW)], "a click on a straggler does not choose it")


@pytest.mark.parametrize("theme", THEMES)
def test_the_straggler_stands_out_of_the_heat_map(many: Page, theme: str) -> None:
    root = chart(many)
    show_in(theme, root)
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
    for page, forms in ((several, ("Heat map", "Table")), (many, ("Table", "Heat map"))):
        for form in forms:
            chart(page).get_by_role("button", name=form).click()
            assert audit(page, '[data-tfprof="worker_chart"]') == []


TRACKS_TOP_PX = 71
STRIP_PX = 18


@pytest.fixture
def page(many: Page) -> Iterator[Page]:
    """With everything as at first when a test ends."""
    clear(many)
    yield many
    timeline(many).locator("section.tl").focus()
    many.keyboard.press("t")
    many.get_by_label("Filter tracks by name").fill("")
    if timeline(many).get_by_role("button", name="As at first").count():
        timeline(many).get_by_role("button", name="As at first").click()
    many.keyboard.press("Escape")


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
    assert timeline(page).locator(".bar").get_by_role("button", name=f"Filter {MANY} hosts").count() == 1
    height = timeline(page).locator(".tl-scroll").evaluate("el => el.scrollHeight")
    assert height >= MANY * STRIP_PX
    assert timeline(page).locator("[role=treeitem]").count() < MANY  # only those in sight


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
    tip = timeline(page).locator(".tfp-tip")
    eventually(lambda: f"{host_name(SLOWEST)} · step" in tip.inner_text(), "nothing is told")
    assert "of a step of" in tip.inner_text()
    page.mouse.click(x, y)
    eventually(lambda: "step" in page.locator(".tfp-chip").first.inner_text(), "the step is not chosen")
    page.mouse.click(x, y)
