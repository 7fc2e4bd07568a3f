"""A profile that a notebook keeps in the page of an output: its views are drawn again at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.conftest import Open
from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import Notebook, Server, poll, write_notebook

LOAD = "import tfprof_widgets as tfprof\nfirst, second = (tfprof.load('kept_run') for _ in range(2))"
SHOWN = 1
LIVE = (LOAD, "first", *("print('\\n' * 60)" for _ in range(12)))
N_LEFT_OUT = "len(__import__('sys').modules['tfprof_widgets.show.library']._left_out)"
AT_ONCE_S = 6
"""Less than a view looks for what it lacks, with room for a slow machine."""
ACT = """([index, command]) => {
    const [shown] = [...window.jupyterapp.shell.widgets("main")].filter((one) => one.context);
    shown.content.deselectAll();
    shown.content.activeCellIndex = index;
    return window.jupyterapp.commands.execute(command);
}"""
SCROLL = """([mode, index]) => {
    const { content } = window.jupyterapp.shell.currentWidget;
    content.notebookConfig = { ...content.notebookConfig, windowingMode: mode };
    return content.scrollToItem(index);
}"""


@pytest.fixture(scope="module")
def live(open_lab: Open, lab_server: Server) -> Iterator[Notebook]:
    """A notebook beside its kernel whose front end has the profile in the page of an output alone."""
    write_run(lab_server.root / "kept_run", PLAIN)
    write_notebook(lab_server.root / "live.ipynb", *LIVE)
    with open_lab("live.ipynb") as notebook:
        notebook.run_all()
        notebook.view("timeline").locator("canvas").first.wait_for()
        notebook.wait_for_value(N_LEFT_OUT, 3)
        yield notebook


def is_drawn_again(notebook: Notebook) -> bool:
    drawn = notebook.page.locator('[data-tfprof="timeline"]:not([data-old]):visible canvas')
    return drawn.count() > 0


@pytest.mark.parametrize(
    ("index", "command"),
    [
        (SHOWN, "notebook:move-cell-down"),
        (SHOWN + 1, "notebook:move-cell-up"),
        (SHOWN, "notebook:create-output-view"),
    ],
)
def test_a_view_is_drawn_again_at_once(live: Notebook, index: int, command: str) -> None:
    live.page.evaluate("document.querySelectorAll('[data-tfprof]').forEach((one) => { one.dataset.old = '' })")
    live.page.evaluate(ACT, [index, command])
    poll(lambda: is_drawn_again(live), f"nothing is drawn after {command}", timeout_s=AT_ONCE_S)
    assert live.value(N_LEFT_OUT) == 3  # it needed nothing of the kernel


def test_a_cell_that_is_scrolled_out_of_a_notebook_and_back_shows_its_views(live: Notebook) -> None:
    for index in (len(LIVE) - 1, SHOWN):
        live.page.evaluate(SCROLL, ["full", index])
    poll(lambda: live.view("timeline").is_visible(), "the views did not come back", timeout_s=AT_ONCE_S)
    assert live.page.locator('[data-tfprof] [role="alert"]').all_inner_texts() == []
