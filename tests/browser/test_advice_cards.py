"""Few and many cards of advice, in a narrow and a wide page -> whole titles, the code that matters, a panel of one height."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

import tfprof_widgets as tfprof
from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import SCREENSHOTS
from tfprof_widgets.analysis.advice import engine
from tfprof_widgets.analysis.advice.advice import Advice, Highlight, advise
from tfprof_widgets.analysis.advice.run import Run

TITLE = "The model waits 36.6 of 48.9 ms a step for data (75 %) in Generator: Python makes one element after another."
ESSENTIAL = "dataset = dataset.map(load_one, num_parallel_calls=16)"
FIX = f"# why\nimport os\ndataset = slices(names)\n{ESSENTIAL}\ndataset = dataset.batch(8)"
SHOWN = """panel => {
    const all = (selector) => [...panel.querySelectorAll(`.tfp-card:not([hidden]) ${selector}`)];
    const cut = (element) => element.scrollHeight > element.clientHeight;
    return {
        heights: [".tfp-top", ".tfp-breakdown"].map((one) => panel.querySelector(one).clientHeight),
        cut: all(".title span").filter(cut).length,
        code: all("code").map((code) => code.textContent),
    };
}"""


@pytest.fixture
def page_of(tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """`page_of(n_cards, width_px)`: what the panel of an exported page shows once it has been laid out."""
    contexts = []

    def rule(run: Run, number: int) -> Iterator[Advice]:
        yield advise(f"rule_{number}", TITLE, evidence={"a_ms": 1.0}, fix=FIX, selection=Highlight(), gain_ratio=0.75)

    def shown(n_cards: int, width_px: int) -> Any:
        rules = tuple(lambda run, number=number: rule(run, number) for number in range(n_cards))
        monkeypatch.setattr(engine, "RULES", rules)
        write_run(tmp_path / "run", PLAIN)
        path = tfprof.load(tmp_path / "run").to_html(tmp_path / "page.html")
        context = browser.new_context(viewport={"width": width_px, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.goto(path.as_uri())
        page.locator('[data-tfprof="timeline"] canvas').first.wait_for()
        panel = page.locator(".tfp-ov").first
        panel.locator(".tfp-card").first.wait_for()
        page.wait_for_timeout(300)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(SCREENSHOTS / f"advice-cards-{n_cards}-{width_px}.png"))
        return panel.evaluate(SHOWN)

    yield shown
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width_px", [900, 1600])
@pytest.mark.parametrize(("n_cards", "n_lines"), [(1, 5), (2, 1), (3, 0), (5, 0)])
def test_titles_are_whole_and_the_panel_has_one_height(
    page_of: Callable[..., Any], n_cards: int, n_lines: int, width_px: int
) -> None:
    shown = page_of(n_cards, width_px)
    assert shown["heights"][0] == shown["heights"][1]
    assert shown["cut"] == 0
    for code in shown["code"]:
        assert len(code.split("\n")) >= n_lines
        assert ESSENTIAL in code or code == ""
    if width_px == 1600 or n_cards < 3:
        assert all(shown["code"])
