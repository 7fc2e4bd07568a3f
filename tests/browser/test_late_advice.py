"""A long capture in JupyterLab -> the overview is shown before the advice is found; cards come into the place kept for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import Notebook, Server, poll, write_notebook

LOAD, SHOW = range(2)
CELLS = (
    """
import time
import tfprof_widgets as tfprof
from tfprof_widgets.analysis import rules as engine
from tfprof_widgets.analysis import Highlight, advise
from tfprof_widgets.analysis import Fix
from tfprof_widgets.show import payload as first_pack

first_pack._MOST_EVENTS = 0  # any capture is a long one

def slow_rule(run):
    time.sleep(1.5)
    for i in range(4):
        step = dict(evidence={"idle_ms": 1.0}, fix=Fix("Train it."), selection=Highlight(view="timeline"))
        title = f"Rule {i} found what is slow in this training and says it in one sentence."
        yield advise(f"rule_{i}", title, gain_ratio=0.9, **step)

engine.RULES = {"slow_rule": engine.Rule(slow_rule, "")}
prof = tfprof.load("late")
""",
    "prof.overview_panel()",
)
WATCH = """() => {
window.tfprofSizes = [];
const watch = () => {
    for (const panel of document.querySelectorAll(".tfp-ov")) {
        if (panel.clientWidth === 0) continue;
        const [waits, cards] = [".tfp-top [role=status]", ".tfp-card"].map((one) => panel.querySelectorAll(one).length);
        window.tfprofSizes.push({ width: panel.clientWidth, height: panel.clientHeight, waits, cards });
    }
};
window.tfprofObserver = new MutationObserver(watch);
window.tfprofObserver.observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


@pytest.fixture(scope="module")
def notebook(open_lab: Open, lab_server: Server) -> Iterator[Notebook]:
    write_run(lab_server.root / "late", PLAIN)
    write_notebook(lab_server.root / "late_advice.ipynb", *CELLS)
    with open_lab("late_advice.ipynb") as notebook:
        notebook.run_cell(LOAD)
        notebook.page.evaluate(WATCH)
        notebook.run_cell(SHOW)
        yield notebook
        notebook.page.evaluate("window.tfprofObserver.disconnect()")


def test_the_cards_come_after_the_overview_and_move_nothing(notebook: Notebook) -> None:
    cards = notebook.view("overview_panel").locator(".tfp-card")
    poll(lambda: cards.count() == 4, lambda: f"there are {cards.count()} cards")
    assert "Rule 0 found what is slow" in cards.first.inner_text()
    notebook.screenshot("advice-late", notebook.view("overview_panel"))
    sizes: list[dict[str, Any]] = notebook.page.evaluate("window.tfprofSizes")
    waiting = [one for one in sizes if one["waits"]]
    assert waiting, "the overview came together with the advice"
    last = sizes[-1]
    assert (last["cards"], last["waits"]) == (4, 0)
    assert {one["height"] for one in waiting if one["width"] == last["width"]} == {last["height"]}


def test_the_saved_notebook_has_them(notebook: Notebook) -> None:
    def keys() -> set[str]:
        return set(notebook.value("[key for key, _ in prof.timeline().data.parts]"))

    poll(lambda: {"advice:0", "advice_notices:0"} <= keys(), lambda: f"{keys()}")
