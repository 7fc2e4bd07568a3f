"""Several hosts -> one is chosen in any view, and every view is about it; of a reduced profile it opens in full."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Frame, Locator, Page, expect

import tfprof_widgets as tfprof
from tests.browser.full_run import OTHER, PLAIN
from tests.browser.pages import opened_page, picture
from tests.browser.tabs import go_to, offered
from tests.browser.widget_host import KernelSide, WidgetHost, saved_state
from tests.cluster import BARE, BARE_OP, FULL, Cluster, host_name, write_two_hosts

NOTHING = {
    "memory_timeline": "recorded no memory",
    "input_graph": "ran no tf.data pipeline",
    "kernel_table": "ran no kernel",
    "hlo_table": "has no HLO ops",
}
SLOW, GONE = host_name(3), host_name(5)
WIDTHS = pytest.mark.parametrize("page", [900, pytest.param(1600, marks=pytest.mark.nightly)], indirect=True)
"""For what depends on how much room there is; all else is asked in a narrow page."""


@pytest.fixture(scope="module")
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_two_hosts(tmp_path_factory.mktemp("host_selector_two") / "run")


@pytest.fixture(scope="module")
def many_hosts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cluster = Cluster(18, n_steps=4, slow_compute={3: 1.5})
    return cluster.draw(tmp_path_factory.mktemp("host_selector_many"))


@pytest.fixture(scope="module")
def reduced(many_hosts: Path, kernel: KernelSide) -> tfprof.Profile:
    """Read in this process: to start others takes longer than to read so little."""
    with ThreadPoolExecutor(1) as executor:
        prof = tfprof.load(many_hosts, executor=executor)
        assert not prof.has_events
        return prof


@pytest.fixture(scope="module")
def two_page(two_hosts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tfprof.load(two_hosts).to_html(tmp_path_factory.mktemp("host_selector_page") / "page.html")


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """One for all exported pages: to load one anew takes half as long as in a fresh browser profile."""
    with opened_page(browser) as page:
        yield page


def open_page(page: Page, path: Path, width_px: int) -> Page:
    page.set_viewport_size({"width": width_px, "height": 1000})
    page.goto(path.as_uri())
    page.mouse.move(0, 0)
    box(page).wait_for()
    opened(page, "op_table").locator("[data-op-name]").first.wait_for()
    return page


@pytest.fixture
def page(tab: Page, two_page: Path, request: pytest.FixtureRequest) -> Page:
    return open_page(tab, two_page, getattr(request, "param", 900))


def box(place: Page | Frame) -> Locator:
    return place.get_by_role("combobox", name="Host", exact=True)


def choose(place: Page | Frame, host: str) -> None:
    """By keys alone: find it by some letters, take the first."""
    box(place).focus()
    box(place).fill(host)
    box(place).press("Enter")
    expect(place.get_by_role("listbox", name="Hosts")).to_be_hidden()


def opened(place: Page | Frame, view: str) -> Locator:
    """The place of a view in its tab, which is then open."""
    go_to(place.locator('[data-tfprof="dashboard"]'), view)
    return place.locator(f'.place:has(> [data-tfprof="{view}"])')


def ops(place: Page | Frame) -> Locator:
    return place.locator('[data-tfprof="op_table"] .tfp-grid .row')


@WIDTHS
def test_every_view_of_a_page_is_about_the_chosen_host(page: Page) -> None:
    choose(page, "00042")
    expect(box(page)).to_have_attribute("title", BARE)
    chart = page.locator('[data-tfprof="step_chart"] .tfp-plot')
    expect(chart).to_have_attribute("aria-valuemax", "7")
    header = page.locator(".tfp-ov-header")
    expect(header).to_contain_text("worker-00042.c.internal a step takes 9.70 ms")
    expect(header).to_contain_text("All hosts: ")
    chip = page.locator(".tfp-chip")
    expect(chip).to_contain_text("8 steps")
    views = offered(page.locator('[data-tfprof="dashboard"]'))
    assert set(NOTHING) < set(views)
    for view in views:
        panel = opened(page, view)
        if view in NOTHING:
            expect(panel).to_contain_text(NOTHING[view])
        else:
            expect(panel).not_to_contain_text("undefined")
            assert panel.evaluate("panel => panel.scrollWidth <= panel.clientWidth")
    opened(page, "op_table")
    expect(ops(page)).to_have_count(2)
    assert {row.get_attribute("data-op-name") for row in ops(page).all()} == {PLAIN.op, BARE_OP}
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    picture(page, f"host_selector_{page.viewport_size['width']}")
    page.get_by_role("button", name="Show all hosts").click()
    expect(box(page)).to_have_value("All 2 hosts")
    expect(ops(page)).to_have_count(6)  # of averaged steps, which that of the bare host is in none of
    expect(header).not_to_contain_text("All hosts: ")


def test_a_step_of_the_chosen_host_is_that_step_in_every_view(page: Page) -> None:
    choose(page, FULL)
    page.locator('[data-tfprof="step_chart"] .tfp-plot').focus()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".tfp-chip")).to_contain_text("step 5")
    names = [row.get_attribute("data-op-name") for row in ops(page).all()]
    assert BARE_OP not in names
    assert OTHER in names
    expect(opened(page, "memory_timeline")).to_contain_text("at the peak of this range (step 5)")
    opened(page, "kernel_table")
    expect(page.locator('[data-tfprof="kernel_table"] .tfp-grid .row')).to_have_count(2)


def test_keys_walk_over_the_steps_of_all_hosts_which_overlap(page: Page) -> None:
    plot = page.locator('[data-tfprof="step_chart"] .tfp-plot')
    plot.focus()
    for step in (0, 0, 1, 1, 2):
        page.keyboard.press("ArrowRight")
        expect(plot).to_have_attribute("aria-valuetext", re.compile(f"step {step},"))
    assert plot.get_attribute("aria-valuenow") == "4"


def test_what_the_reader_chose_in_a_view_stays_with_another_host(page: Page) -> None:
    memory = opened(page, "memory_timeline")
    memory.get_by_role("button", name="By step").click()
    choose(page, FULL)
    expect(memory.get_by_role("button", name="By step")).to_have_attribute("aria-pressed", "true")
    table = opened(page, "op_table")
    table.get_by_role("searchbox").fill("MatMul")
    expect(ops(page)).to_have_count(2)
    choose(page, "00042")
    expect(ops(page)).to_have_count(1)
    expect(table.get_by_role("searchbox")).to_have_value("MatMul")


def test_the_list_is_told_to_a_screen_reader_and_worked_by_keys(page: Page) -> None:
    combobox = box(page)
    combobox.focus()
    options = page.get_by_role("listbox", name="Hosts").get_by_role("option")
    expect(options).to_have_count(3)
    expect(combobox).to_have_attribute("aria-expanded", "true")
    expect(options.nth(0)).to_have_attribute("aria-selected", "true")
    combobox.press("ArrowDown")
    expect(combobox).to_have_attribute("aria-activedescendant", options.nth(1).get_attribute("id") or "")
    combobox.press("Escape")
    expect(combobox).to_have_attribute("aria-expanded", "false")
    expect(combobox).to_have_value("All 2 hosts")
    combobox.press("ArrowDown")
    combobox.press("ArrowDown")
    combobox.press("ArrowDown")
    combobox.press("Enter")
    expect(combobox).to_have_attribute("title", BARE)
    combobox.press("ArrowDown")
    combobox.fill("no such host")
    expect(page.locator(".tfp-host-list")).to_contain_text("0 of 2 hosts")
    expect(options).to_have_count(0)
    combobox.press("Enter")
    expect(combobox).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Tab")
    expect(combobox).to_have_attribute("aria-expanded", "false")
    expect(combobox).to_have_attribute("title", BARE)


# ---- with a kernel --------------------------------------------------------------------------------------------------


def test_a_single_view_has_the_box_and_follows_while_the_kernel_is_busy(host: WidgetHost, two_hosts: Path) -> None:
    prof = tfprof.load(two_hosts)
    frame = host.show(prof.op_table())
    host.serve(lambda: ops(frame).count() == 6, "no ops")
    choose(frame, "00042")
    expect(ops(frame)).to_have_count(2)
    expect(frame.locator(".tfp-about")).to_contain_text("worker-00042")
    assert prof.link.host == ""
    host.serve(lambda: prof.link.host == BARE, lambda: f"Python has {prof.link.host!r}")
    prof.select(host=FULL)
    host.serve(lambda: ops(frame).count() == 6, "the view does not follow Python")


@pytest.mark.nightly
def test_each_view_alone_has_the_box(host: WidgetHost, two_hosts: Path) -> None:
    prof = tfprof.load(two_hosts)
    for view in ("step_chart", "memory_timeline", "input_graph", "overview_panel", "kernel_table"):
        frame = host.show(getattr(prof, view)())
        drawn = frame.locator(f'[data-tfprof="{view}"] > *')
        host.serve(lambda frame=frame, drawn=drawn: box(frame).count() == 1 and drawn.count(), f"{view} is not drawn")
        host.serve(lambda frame=frame: frame.locator(".tfp-waiting").count() == 0, f"{view} still waits")
        choose(frame, FULL)
        expect(frame.locator(f'[data-tfprof="{view}"]')).not_to_contain_text("ran no")
        assert frame.get_by_role("alert").count() == 0, view
        prof.select(host="")


def test_a_saved_dashboard_keeps_the_host_and_lets_another_be_chosen(host: WidgetHost, two_hosts: Path) -> None:
    prof = tfprof.load(two_hosts)
    prof.select(host=BARE)
    dashboard = prof.dashboard()
    frame = host.new_output(saved=saved_state(dashboard))
    frame.evaluate("id => void window.showWidget(id)", dashboard.model_id)
    expect(ops(frame)).to_have_count(2)
    expect(box(frame)).to_have_attribute("title", BARE)
    choose(frame, FULL)
    expect(ops(frame)).to_have_count(6)
    assert host.asked == []


def test_a_host_of_a_reduced_profile_opens_in_full_and_back_and_one_that_cannot_be_read_says_so(
    host: WidgetHost, reduced: tfprof.Profile, many_hosts: Path
) -> None:
    prof = reduced
    frame = host.show(prof.dashboard())
    host.serve(lambda: frame.locator(".tfp-top .tfp-card, .tfp-healthy").count(), "no advice")
    opened(frame, "op_table")
    host.serve(lambda: ops(frame).count() == 4, "no ops")
    box(frame).fill("000")
    expect(frame.locator(".tfp-host-list")).to_contain_text("10 of 18 hosts")
    box(frame).press("Escape")
    choose(frame, SLOW)
    expect(frame.locator(".tfp-host-bar")).to_contain_text("4 of 72 steps")
    frame.locator('[data-tfprof="step_chart"] .tfp-plot').focus()
    host.page.keyboard.press("ArrowRight")
    expect(frame.locator('[data-tfprof="op_table"]').last).to_contain_text("no op times of a range")
    expect(ops(frame).first).to_contain_text("dense/MatMul")
    frame.get_by_role("button", name=f"Open {SLOW} in full").click()
    expect(frame.get_by_text(f"Reading {SLOW}")).to_be_visible()
    back = frame.get_by_role("button", name="Back to all hosts")
    host.serve(lambda: back.is_visible(), "not opened")
    assert prof.dashboard().opened is prof.host(SLOW).dashboard()
    expect(frame.get_by_role("region", name="Opened host")).to_contain_text(SLOW)
    host.serve(lambda: ops(frame).filter(visible=True).count() == 4, "the host's ops are not drawn")
    assert frame.get_by_role("alert").count() == 0
    back.click()
    expect(box(frame)).to_be_visible()
    host.serve(lambda: prof.dashboard().opened is None, "Python still shows the host")
    expect(box(frame)).to_have_attribute("title", SLOW)
    choose(frame, GONE)
    (many_hosts / f"{GONE}.xplane.pb").unlink()
    frame.get_by_role("button", name=f"Open {GONE} in full").click()
    told = frame.get_by_role("alert")
    host.serve(lambda: told.count() == 1, "nothing is said")
    expect(told).to_contain_text(f"{GONE} could not be opened")
    expect(frame.locator(".tfp-opening code")).to_have_text(f'prof.host("{GONE}")')
    expect(ops(frame)).to_have_count(4)
    prof.select(host="")


def test_an_exported_page_of_a_reduced_profile_says_how_to_open_a_host(
    tab: Page, reduced: tfprof.Profile, tmp_path: Path
) -> None:
    path = reduced.to_html(tmp_path / "page.html")
    page = open_page(tab, path, 1200)
    choose(page, SLOW)
    expect(page.locator(".tfp-host-full code")).to_have_text(f'prof.host("{SLOW}")')
    assert page.get_by_role("button", name="in full").count() == 0
