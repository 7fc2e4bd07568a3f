"""Profiled trainings in JupyterLab: a line that counts gives way to the dashboard, whose cards select their evidence.

What a kernel sends of the line, of other cells and to other front ends: `tests/notebook/test_status_line.py`.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page

from tests.browser.conftest import Open
from tests.browser.harness import Notebook, Server, poll, write_notebook
from tests.browser.linked_views import LinkedViews
from tests.browser.pages import audit, opened_page, picture, show_in

pytestmark = pytest.mark.tensorflow

MODEL, FIT, MAGIC, FAILING, IN_OUTPUT = range(5)
LONG_FIT = "small.fit(x, y, batch_size=8, epochs=1000, verbose=0, callbacks=[stop_after(1.2)])"
CELLS = (
    """
import keras, tensorflow as tf
import tfprof_widgets as tfprof
%load_ext tfprof_widgets

def slow(i):
    x = tf.random.stateless_normal((384, 384), [i, 7])
    for _ in range(4):
        x = tf.tanh(x @ x)
    return x[0, :16], i % 2

def data():
    return tf.data.Dataset.range(8 * 12).map(slow).batch(8)

keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Input((16,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(2)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(True))
dataset = data()
_ = model.fit(dataset.take(2), verbose=0)

import time, numpy as np, ipywidgets
x, y = np.ones((320, 4), "f4"), np.ones((320, 1), "f4")
small = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
small.compile("sgd", "mse")
def stop_after(seconds):
    end = time.monotonic() + seconds
    def check(epoch, logs):
        small.stop_training = time.monotonic() > end
    return keras.callbacks.LambdaCallback(on_epoch_end=check)
_ = small.fit(x, y, batch_size=8, verbose=0)
""",
    "%%tfprofile -o prof\n_ = model.fit(dataset, verbose=0)",
    f"%%tfprofile -o long\n{LONG_FIT}\nprint('written by the cell')",
    f"%%tfprofile\n{LONG_FIT}\n1 / 0",
    f"shown = ipywidgets.Output()\ndisplay(shown)\nwith shown:\n    %tfprofile {LONG_FIT};",
)
TOP = "prof.advice[0]"
CLIPPED = """panel => [...panel.querySelectorAll(".tfp-card")].filter((card) => !card.hidden)
    .filter((card) => card.scrollWidth > card.clientWidth).map((card) => card.textContent)"""


@pytest.fixture(scope="module")
def shown(open_lab: Open, lab_server: Server) -> Iterator[Notebook]:
    """A notebook in JupyterLab with the profile of the training."""
    write_notebook(lab_server.root / "advice.ipynb", *CELLS)
    with open_lab("advice.ipynb") as notebook:
        notebook.run_cell(MODEL, timeout_s=180)
        notebook.run_cell(FIT, timeout_s=180)
        notebook.view("timeline").locator("canvas").first.wait_for()
        yield notebook
        assert notebook.page.locator('[role="alert"]').all_inner_texts() == []


@pytest.fixture
def notebook(shown: Notebook) -> Notebook:
    """The same with nothing selected."""
    shown.value(
        "[setattr(prof.link, name, value) for name, value in dict(time_range=(), selection=(), step=-1).items()]"
    )
    shown.view("dashboard").scroll_into_view_if_needed()
    return shown


@pytest.fixture(scope="module")
def page(browser: Browser, shown: Notebook) -> Iterator[Page]:
    """The exported page of the profile, read from the disk."""
    path = shown.value("str(prof.to_html('advice.html').resolve())")
    with opened_page(browser, Path(path)) as page:
        yield page


@pytest.fixture
def exported(page: Page) -> Page:
    """The same with nothing selected."""
    evidence = first_card(LinkedViews(page, page)).get_by_role("button", name="Show", exact=True)
    if evidence.get_attribute("aria-pressed") == "true":
        evidence.click()
    return page


def first_card(place: Notebook | LinkedViews) -> Locator:
    return place.view("overview_panel").locator(".tfp-card").first


def views_of(notebook: Notebook) -> LinkedViews:
    return LinkedViews(notebook.page, notebook.page)


def check_evidence_is_shown(views: LinkedViews, op: str) -> None:
    """The tab of the input pipeline is in front, and timeline and op table have the op selected."""
    tab = views.view("dashboard").get_by_role("tab", selected=True)
    poll(lambda: tab.inner_text().startswith("Input"), lambda: f"in front is {tab.inner_text()}")
    poll(lambda: op in views.text("timeline"), f"{op} is not in the details of the timeline")
    views.open_tab("op_table")
    poll(lambda: views.is_marked(op), f"{op} is not selected in the op table")


def test_the_planted_cause_is_the_first_card(notebook: Notebook) -> None:
    assert notebook.value(f"{TOP}.rule") == "input_bound"
    card = first_card(notebook)
    title = notebook.value(f"{TOP}.title")
    poll(lambda: title in card.inner_text(), lambda: f"{title!r} is not in {card.inner_text()!r}")
    assert re.search(r"saves (up to|about) \d+ %\s+[\d.]+ → [\d.]+ ms on average", card.inner_text())
    notebook.screenshot("advice-lab", notebook.view("dashboard"))


def test_a_click_selects_the_evidence_in_every_view_and_a_second_takes_it_back(notebook: Notebook) -> None:
    (op,) = notebook.value(f"{TOP}.selection.op_names")
    evidence = first_card(notebook).get_by_role("button", name="Show", exact=True)
    evidence.click()
    check_evidence_is_shown(views_of(notebook), op)
    notebook.wait_for_value("list(prof.link.selection)", [op])
    notebook.wait_for_value("prof.link.step == prof.overview.typical_steps[0]", True)
    notebook.wait_for_value("len(prof.link.time_range)", 2)
    assert evidence.get_attribute("aria-pressed") == "true"
    notebook.screenshot("advice-selected", notebook.view("dashboard"))
    evidence.click()
    notebook.wait_for_value("[list(prof.link.selection), list(prof.link.time_range), prof.link.step]", [[], [], -1])
    assert evidence.get_attribute("aria-pressed") == "false"


def test_a_click_needs_no_kernel(notebook: Notebook) -> None:
    (op,) = notebook.value(f"{TOP}.selection.op_names")
    kernel = notebook.value("__import__('os').getpid()")
    # A busy kernel still answers comms, in a thread of its own: only a stopped one knows nothing of the click.
    os.kill(kernel, signal.SIGSTOP)
    try:
        first_card(notebook).get_by_role("button", name="Show", exact=True).click()
        check_evidence_is_shown(views_of(notebook), op)
    finally:
        os.kill(kernel, signal.SIGCONT)
    notebook.wait_for_value("list(prof.link.selection)", [op])


def test_enter_on_a_card_of_an_exported_page_selects_and_takes_back(notebook: Notebook, exported: Page) -> None:
    (op,) = notebook.value(f"{TOP}.selection.op_names")
    views = LinkedViews(exported, exported)
    evidence = first_card(views).get_by_role("button", name="Show", exact=True)
    evidence.focus()
    exported.keyboard.press("Enter")
    poll(lambda: evidence.get_attribute("aria-pressed") == "true", "the card is not pressed")
    tab = views.view("dashboard").get_by_role("tab", selected=True)
    assert tab.inner_text().startswith("Input")
    exported.keyboard.press("Enter")
    poll(lambda: evidence.get_attribute("aria-pressed") == "false", "the card is still pressed")
    exported.keyboard.press("Enter")
    check_evidence_is_shown(views, op)


def test_the_fix_can_be_read_selected_and_copied(notebook: Notebook, exported: Page) -> None:
    card = first_card(LinkedViews(exported, exported))
    exported.context.grant_permissions(["clipboard-read", "clipboard-write"])
    words, code = notebook.value(f"[{TOP}.fix.words, {TOP}.fix.code]")
    card.locator("summary", has_text="More").click()
    told = " ".join(card.locator(".body p, .body details").all_inner_texts()[1:])
    assert told.replace("More", "", 1).split() == words.split()
    assert "\nreturn tf.data.Dataset.range(8 * 12).map(slow" in code  # the user's own statement
    assert "".join(card.locator("pre > :not(del)").all_inner_texts()) == code
    select = """pre => {
        getSelection().selectAllChildren(pre);
        return [getSelection().toString(), getComputedStyle(pre).userSelect];
    }"""
    assert card.locator("pre").evaluate(select) == [code, "text"]
    assert card.get_by_role("button", name="Show", exact=True).get_attribute("aria-pressed") == "false"
    copy = card.get_by_role("button", name="Copy")
    copy.click()
    poll(lambda: card.get_by_role("button", name="Copied").count() == 1, "the button does not say that it copied")
    assert exported.evaluate("navigator.clipboard.readText()") == code


@pytest.mark.nightly
def test_what_an_advice_saves_is_measured_when_asked_for_and_everything_put_back(notebook: Notebook) -> None:
    weights = "[float(one.sum()) for one in model.get_weights()]"
    before = notebook.value(weights)
    card = first_card(notebook)
    card.get_by_role("button", name="Measure this").click()
    assert "Trains this model for some seconds and puts everything back." in card.inner_text()
    card.get_by_role("button", name="Train").click()
    measured = re.compile(r"Measured: [\d.]+ ms a step, [\d.]+ with one batch from memory, which saves (\d+) %")
    poll(lambda: measured.search(card.inner_text()) is not None, lambda: card.inner_text(), timeout_s=60)
    (saved,) = measured.search(card.inner_text()).groups()  # type: ignore[union-attr]
    assert int(saved) > 50  # 24 ms of each step are spent asleep
    assert f"measured {saved} %" in card.locator(".gain").inner_text()
    assert notebook.value(weights) == before
    notebook.screenshot("advice-measured", notebook.view("dashboard"))


@pytest.mark.parametrize(("theme", "width_px"), [("light", 900), pytest.param("dark", 1600, marks=pytest.mark.nightly)])
def test_cards_are_whole_and_accessible(exported: Page, width_px: int, theme: str) -> None:
    exported.set_viewport_size({"width": width_px, "height": 1000})
    views = LinkedViews(exported, exported)
    show_in(theme, views.view("dashboard"))
    panel = '[data-tfprof="overview_panel"]'
    assert audit(exported, panel) == []
    card = first_card(views)
    card.get_by_role("button", name="Show", exact=True).click()
    assert audit(exported, panel) == []
    assert views.view("overview_panel").evaluate(CLIPPED) == []
    picture(exported, f"advice-open-{theme}-{width_px}")


# ---- the line while a cell runs -------------------------------------------------------------------------------------


def cell(shown: Notebook, index: int) -> Locator:
    return shown.page.locator(".jp-Notebook .jp-Cell").nth(index)


def outputs(shown: Notebook, index: int) -> list[str]:
    """What a reader sees of each output of a cell, without those that have nothing to see."""
    texts = cell(shown, index).locator(".jp-OutputArea-output").all_inner_texts()
    return [text.strip() for text in texts if text.strip()]


def wait_for_output(shown: Notebook, index: int, begin: str) -> str:
    """Wait for an output of a cell that begins so."""

    def found() -> list[str]:
        return [text for text in outputs(shown, index) if text.startswith(begin)]

    poll(found, lambda: f"no {begin!r} in {outputs(shown, index)}")
    return found()[0]


def check_dashboard(shown: Notebook, index: int) -> None:
    """A cell shows a dashboard, and of the line nothing."""
    cell(shown, index).locator('[data-tfprof="timeline"] canvas').first.wait_for()
    assert "tfprof: " not in "\n".join(outputs(shown, index))


def test_the_line_counts_and_the_dashboard_takes_its_place(shown: Notebook) -> None:
    shown.start_cell(MAGIC)
    first = wait_for_output(shown, MAGIC, "tfprof: recording, step")
    poll(lambda: outputs(shown, MAGIC)[:1] not in ([], [first]), lambda: f"the line stays {first!r}")
    shown.screenshot("status-line", cell(shown, MAGIC))
    shown.wait_for_cell(MAGIC)
    check_dashboard(shown, MAGIC)
    _, written = outputs(shown, MAGIC)
    assert "written by the cell" in written, "the dashboard stands where the line stood"


def test_the_saved_notebook_has_the_dashboard_and_not_the_line(shown: Notebook, lab_server: Server) -> None:
    shown.save_with_widgets()
    cells = json.loads((lab_server.root / shown.name).read_text())["cells"]
    texts = [output.get("data", {}).get("text/plain", "") for output in cells[MAGIC]["outputs"]]
    assert ["".join(text)[:12] for text in texts if "".join(text)] == ["<Profile lon", "tfprof long\n"]
    written = json.dumps(cells[MAGIC]["outputs"])
    assert "tfprof: rec" not in written and "tfprof: read" not in written


@pytest.mark.nightly
def test_what_was_captured_takes_the_place_when_the_cell_fails(shown: Notebook) -> None:
    shown.run_cell(FAILING)
    check_dashboard(shown, FAILING)
    assert "Traceback" in outputs(shown, FAILING)[-1]


@pytest.mark.nightly
def test_an_output_widget_gets_the_dashboard_and_no_line(shown: Notebook) -> None:
    shown.run_cell(IN_OUTPUT)
    check_dashboard(shown, IN_OUTPUT)
