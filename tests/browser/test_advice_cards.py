"""Few and many cards of advice, in a narrow and a wide page: why, all of the code and what can be pressed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.browser.pages import opened_page, picture
from tfprof_widgets.analysis import Advice, Fix, Highlight, Run, advise
from tfprof_widgets.analysis import rules as engine

TITLE = "The model waits 36.6 of 48.9 ms a step for data (75 %) in Generator: Python makes one element after another."
CODE = "# why\nimport os\nds = slices(names)\nds = ds.map(load_one_image_and_its_label, num_parallel_calls=16)\nds = ds.batch(8)"
FIX = Fix("Load several at a time.", CODE, frozenset(("slices", "names", "load_one_image_and_its_label")))
SHOWN = """panel => {
    const all = (selector) =>
        [...panel.querySelectorAll(`.tfp-card:not([hidden]) ${selector}`)].filter((one) => one.checkVisibility());
    const wide = (element) => element.scrollWidth > element.clientWidth;
    return {
        height: panel.querySelector(".tfp-top").clientHeight,
        titles: all(".title").map((title) => title.textContent),
        why: all(".body p").map((why) => why.textContent),
        code: all("pre").map((code) => code.textContent),
        acts: all(".acts button").map((act) => act.textContent),
        cut: all("*").filter((one) => wide(one) && getComputedStyle(one).display !== "inline").length,
    };
}"""


@pytest.fixture
def page_of(tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`page_of(n_cards, width_px)`: what the panel of an exported page shows once it has been laid out."""

    def rule(run: Run, fix: Fix) -> Iterator[Advice]:
        yield advise(
            "input_bound",
            TITLE,
            evidence={"a_ms": 1.0},
            fix=fix,
            selection=Highlight(),
            gain_ratio=0.75,
            stage="generator",
        )

    def shown(n_cards: int, width_px: int, fix: Fix = FIX) -> Any:
        rules = {str(i): engine.Rule(lambda run: rule(run, fix), "") for i in range(n_cards)}
        monkeypatch.setattr(engine, "RULES", rules)
        write_run(tmp_path / "run", PLAIN)
        path = tfprof.load(tmp_path / "run").to_html(tmp_path / "page.html")
        with opened_page(browser, path, size_px=(width_px, 900)) as page:
            panel = page.locator(".tfp-ov").first
            panel.locator(".tfp-card").first.wait_for()
            page.wait_for_timeout(300)
            picture(page, f"advice-cards-{n_cards}-{width_px}")
            return panel.evaluate(SHOWN)

    return shown


@pytest.mark.parametrize(
    ("n_cards", "width_px"),
    [(5, 900), *(pytest.param(*one, marks=pytest.mark.nightly) for one in ((1, 900), (3, 900), (3, 1600)))],
)
def test_three_cards_have_all_of_their_code(page_of: Callable[..., Any], n_cards: int, width_px: int) -> None:
    shown = page_of(n_cards, width_px)
    assert len(shown["titles"]) == min(3, n_cards)
    n = min(3, n_cards)
    assert (shown["why"], shown["code"]) == ([TITLE, FIX.words] * n, [FIX.code] * n)
    assert shown["acts"] == ["Show", "Copy"] * n
    assert shown["cut"] == 0
    assert shown["height"] < 400


def test_a_fix_of_words_alone_has_no_box_for_code_and_nothing_to_copy(page_of: Callable[..., Any]) -> None:
    words = "Do it every hundredth batch instead of each, or in a thread of its own (train.py:3: draw(batch))."
    shown = page_of(2, 900, Fix(words))
    assert (shown["why"], shown["code"]) == ([TITLE, words] * 2, [])
    assert shown["acts"] == ["Show"] * 2
    assert shown["cut"] == 0
