"""The profiled cell with its time beside it, the scopes of its ops and the host it ran on, in a real notebook."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator

from tests.browser.conftest import Open
from tests.browser.drawings import MARKUP
from tests.browser.harness import Notebook, Server, poll, write_notebook

FIT = f"""%%tfprofile -o prof --view none
model = keras.Sequential([
    keras.layers.Conv2D(16, 3, activation="relu"),  # {MARKUP}
    keras.layers.Flatten(),
    keras.layers.Dense(10),
])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True))
history = model.fit(data, epochs=2, verbose=0)"""
CONV_LINE, DENSE_LINE = 3, 5
CELLS = (
    "%load_ext tfprof_widgets\nimport keras, numpy as np, tensorflow as tf",
    "x, y = np.random.rand(320, 16, 16, 1), np.random.randint(0, 10, 320)\n"
    "data = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (a * 2, b)).batch(32)",
    FIT,
    "prof.source_view()",
    "prof.scope_icicle()",
    "prof.worker_chart()",
)


@pytest.fixture(scope="module")
def notebook(open_lab: Open, lab_server: Server) -> Iterator[Notebook]:
    write_notebook(lab_server.root / "lines.ipynb", *CELLS)
    with open_lab("lines.ipynb") as notebook:
        notebook.run_all()
        notebook.view("worker_chart").wait_for()
        yield notebook


def line(notebook: Notebook, number: int) -> Locator:
    return notebook.view("source_view").locator(f'.ln[data-line="{number}"]')


def figures(row: Locator) -> list[float]:
    """Ms and per cent of a line."""
    return [float(text.lstrip("<") or 0) for text in row.locator(".tfp-gut .v:not(.smp)").all_inner_texts()]


@pytest.mark.tensorflow
def test_the_profiled_cell_is_shown_with_the_time_of_its_lines(notebook: Notebook) -> None:
    view = notebook.view("source_view")
    assert view.locator("select option").first.inner_text().startswith("Cell [3] · ")
    shown = view.locator(".tfp-code .tx").all_inner_texts()
    assert shown[1:] == FIT.split("\n")[1:]
    frame = "prof.source_lines.groupby(['line', 'bucket'])['self_time_us'].sum()"
    assert "ms a step" in view.locator(".tfp-code-head").inner_text()
    notebook.value("setattr(prof.link, 'whole_capture', True)")
    poll(lambda: "a step" not in view.locator(".tfp-code-head").inner_text(), "the view does not follow the kernel")
    for number in (CONV_LINE, DENSE_LINE):
        expected_ms = notebook.value(f"float({frame}[{number}, ''])") / 1000
        assert figures(line(notebook, number))[0] == pytest.approx(expected_ms, abs=0.006, rel=0.01)
    shares = [figures(row)[1] for row in view.locator(".ln.hot").all()]
    assert sum(shares) == pytest.approx(100, abs=0.1 * len(shares))


@pytest.mark.tensorflow
def test_a_click_on_a_line_selects_its_ops_and_a_selection_marks_its_line(notebook: Notebook) -> None:
    line(notebook, CONV_LINE).click()
    poll(lambda: len(notebook.value("list(prof.link.selection)")) > 1, "the click did not reach the kernel")
    names = notebook.value("list(prof.link.selection)")
    assert all("conv2d" in name for name in names)
    dense = notebook.value("next(name for name in prof.ops['name'] if 'dense' in name and 'gradient' in name)")
    notebook.value(f"prof.select(ops=({dense!r},)) and None")
    poll(lambda: line(notebook, DENSE_LINE).get_attribute("aria-pressed") == "true", "the line is not marked")
    assert line(notebook, CONV_LINE).get_attribute("aria-pressed") == "false"


@pytest.mark.tensorflow
def test_a_scope_opens_by_key_and_closes_by_escape(notebook: Notebook) -> None:
    icicle = notebook.view("scope_icicle")
    top = icicle.locator(".cell").first
    top.focus()
    notebook.page.keyboard.press("ArrowDown")
    notebook.page.keyboard.press("Enter")
    crumbs = icicle.locator(".tfp-crumbs button")
    poll(lambda: crumbs.count() == 2, "the scope did not open")
    poll(lambda: len(notebook.value("list(prof.link.selection)")) > 0, "the ops of the scope are not selected")
    notebook.page.keyboard.press("Escape")
    poll(lambda: crumbs.count() == 1, "Esc did not go back")
    notebook.wait_for_value("list(prof.link.selection)", [])


@pytest.mark.tensorflow
def test_the_views_are_drawn_in_both_themes_and_nothing_failed(notebook: Notebook) -> None:
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        notebook.use_theme(theme)
        for name in ("source_view", "scope_icicle", "worker_chart"):
            view = notebook.view(name)
            view.scroll_into_view_if_needed()
            poll(lambda view=view, theme=theme: view.get_attribute("data-theme") == theme.split()[1].lower(), "theme")
            notebook.screenshot(f"{name}-{theme.split()[1].lower()}", view)
    assert "One host in this capture" in notebook.view("worker_chart").inner_text()
    assert notebook.page.evaluate("window.tfprofHacked") is None
    assert notebook.page.locator('[role="alert"]').all_inner_texts() == []
    assert notebook.refused == []
    assert notebook.errors == []
