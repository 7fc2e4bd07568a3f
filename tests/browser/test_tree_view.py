"""The cost by structure in a page without a kernel and in a dashboard: drawn, selected, sought, opened, said to be empty."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page

from tests.browser.harness import poll
from tests.browser.linked_views import LinkedViews
from tests.browser.pages import THEMES, audit, opened_page, show_in
from tests.structure_drawings import KINDS, drawn_graph, profile_of

N_LAYERS = 6
N_OPS = N_LAYERS * len(KINDS)
PRODUCT = "model/layer_5/block_0/MatMul"
"""The op that takes longest."""


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The exported page of a drawn graph: no kernel, no network."""
    path = profile_of(drawn_graph(N_LAYERS)).to_html(tmp_path_factory.mktemp("tree") / "page.html")
    with opened_page(browser, path) as page:
        yield page


@pytest.fixture
def views(page: Page) -> LinkedViews:
    """Its dashboard with the tab open, by scope and in time, nothing sought or selected."""
    views = LinkedViews(page, page)
    views.open_tab("tree_view")
    view = views.view("tree_view")
    view.get_by_role("searchbox").fill("")
    view.locator("select").select_option("micros")
    choose(view, "Scope")
    view.locator(".tfp-crumbs button").first.click()
    poll(lambda: view.locator('[aria-selected="true"]').count() == 0, "something stays selected")
    return views


def choose(view: Locator, kind: str) -> None:
    view.get_by_role("button", name=kind, exact=True).click()


def row(view: Locator, node: str) -> Locator:
    return view.locator(f'.tfp-tree-grid .row[data-node="{node}"]')


def test_the_most_costly_layer_is_first_and_the_figure_is_named(views: LinkedViews) -> None:
    view = views.view("tree_view")
    assert f"{N_OPS} ops" in view.inner_text()
    assert "average of " in view.inner_text()
    shown = [node.get_attribute("data-node") for node in view.locator(".tfp-tree-grid .row").all()]
    assert shown[:2] == ["model", "model/layer_5/block_0"]


def test_a_click_selects_the_ops_below_in_the_op_table_and_a_selection_there_is_shown_here(views: LinkedViews) -> None:
    view = views.view("tree_view")
    row(view, "model/layer_5/block_0").locator(".nm").click()
    assert row(view, "model/layer_5/block_0").get_attribute("aria-selected") == "true"
    views.open_tab("op_table")
    poll(lambda: views.is_marked(PRODUCT), "the ops of the clicked scope are not marked in the op table")
    assert not views.is_marked("model/layer_4/block_0/MatMul")
    other = "model/layer_4/block_0/MatMul"
    views.view("op_table").locator(f'[data-op-name="{other}"]').first.click(position={"x": 60, "y": 8})
    views.open_tab("tree_view")
    poll(lambda: row(view, other).count() == 1, "the selected op is not brought into sight")
    assert row(view, other).get_attribute("aria-selected") == "true"
    assert row(view, "model/layer_5/block_0").get_attribute("aria-selected") == "false"


def test_the_graph_is_drawn_hot_where_the_cost_is_and_opens_to_its_ops(views: LinkedViews) -> None:
    view = views.view("tree_view")
    choose(view, "Graph")
    boxes = view.locator(".box:not(.open)")
    assert boxes.count() == N_LAYERS
    assert view.locator(".edge").count() == N_LAYERS - 1
    heat = [float(box.evaluate("box => parseFloat(box.style.getPropertyValue('--heat'))")) for box in boxes.all()]
    hottest = boxes.nth(heat.index(max(heat)))
    assert hottest.get_attribute("data-node") == "model/layer_5/block_0"
    assert max(heat) == 100
    assert min(heat) < 80
    view.get_by_role("button", name="Fit").click()
    hottest.click()
    assert hottest.get_attribute("aria-pressed") == "true"
    hottest.focus()
    views.page.keyboard.press("Enter")
    poll(lambda: view.locator(f'.box.op[data-node="{PRODUCT}"]').count() == 1, "the scope did not open")
    views.open_tab("op_table")
    poll(lambda: views.is_marked(PRODUCT), "the box did not select its ops")


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_serious_in_any_of_the_views(views: LinkedViews, theme: str) -> None:
    show_in(theme, views.view("dashboard"))
    view = views.view("tree_view")
    for kind in ("Graph", "Op type", "Code", "Scope"):
        choose(view, kind)
        views.page.wait_for_timeout(100)
        assert audit(views.page, '[data-tfprof="tree_view"]') == [], kind


@pytest.mark.nightly
def test_twenty_thousand_ops_are_shown_within_limits(browser: Browser, tmp_path: Path) -> None:
    path = profile_of(drawn_graph(50, 50)).to_html(tmp_path / "large.html")
    with opened_page(browser, path, size_px=(900, 1000)) as page:
        views = LinkedViews(page, page)
        views.open_tab("tree_view")
        view = views.view("tree_view")
        assert "20,000 ops" in view.inner_text()
        choose(view, "Op type")
        view.locator(".tfp-tree-grid .tw").first.click()
        assert view.locator(".tfp-tree-grid .row").count() < 100
        choose(view, "Graph")
        assert 1 < view.locator(".box").count() < 130
        assert " of 20,000 ops merged" in view.inner_text()
