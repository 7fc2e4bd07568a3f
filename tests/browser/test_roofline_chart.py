"""The roofline of a drawn GPU: pointed at, clicked, walked through, selected elsewhere, and read by axe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import tfprof_widgets as tfprof
from tests.browser.pages import audit, opened_page
from tests.browser.tabs import go_to
from tests.builders import space
from tests.unit.analysis.roofline.test_roofline import GEMM, compiled, planes

MATMUL, ADD = "net/dense/MatMul", "net/add/AddV2"


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("roofline")
    path: Path = folder / "gpu.xplane.pb"
    kernels = [compiled("gemm", 0, 9, GEMM), compiled("sum", 20, 8), compiled("flat", 40, 5), compiled("who", 60, 5)]
    path.write_bytes(space(*planes(*kernels)))
    with opened_page(browser, tfprof.load(path).to_html(folder / "page.html")) as page:
        go_to(page.locator('[data-tfprof="dashboard"]'), "roofline_chart")
        yield page


@pytest.fixture(autouse=True)
def at_first(page: Page) -> Iterator[None]:
    yield
    chart(page).locator(".tfp-plot").focus()
    page.keyboard.press("Escape")
    page.mouse.move(0, 0)


def chart(page: Page) -> Locator:
    return page.locator('[data-tfprof="roofline_chart"]')


def circle(page: Page, op: str) -> Locator:
    return chart(page).locator(f'circle[data-roofline-op="{op}"]')


def test_a_click_selects_the_op_in_the_other_views(page: Page) -> None:
    circle(page, ADD).click()
    expect(circle(page, ADD)).to_have_attribute("aria-selected", "true")
    expect(circle(page, MATMUL)).to_have_attribute("aria-selected", "false")
    go_to(page.locator('[data-tfprof="dashboard"]'), "op_table")
    row = page.locator(f'[data-tfprof="op_table"] [data-op-name="{ADD}"]')
    expect(row).to_have_attribute("aria-selected", "true")
    row.click()
    page.locator(f'[data-tfprof="op_table"] [data-op-name="{MATMUL}"]').click()
    go_to(page.locator('[data-tfprof="dashboard"]'), "roofline_chart")
    expect(circle(page, MATMUL)).to_have_attribute("aria-selected", "true")


def test_a_pointer_is_told_what_an_op_reaches(page: Page) -> None:
    circle(page, MATMUL).hover()
    tip = chart(page).locator(".tfp-tip")
    expect(tip).to_contain_text("gemm")
    expect(tip).to_contain_text("48 % of its roof, TF32 Tensor Core 495 TFLOP/s")
    box, plot = tip.bounding_box(), chart(page).locator(".tfp-plot").bounding_box()
    assert box is not None
    assert plot is not None
    assert plot["x"] <= box["x"]
    assert box["x"] + box["width"] <= plot["x"] + plot["width"]


def test_axe_finds_nothing_serious(page: Page) -> None:
    assert audit(page, '[data-tfprof="roofline_chart"]') == []
