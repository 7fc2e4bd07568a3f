"""A trace with more events than come at first: the timeline says so, the rest arrives in parts or, if need be, as text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.conftest import Open
from tests.browser.drawings import N_LARGE, N_NEEDLES, large_space
from tests.browser.harness import Notebook, Server, poll, write_notebook
from tests.browser.listeners import PROBE

LOAD, PROBED, LEFT_OUT, SHOW_BUSY = range(4)
CELLS = (
    "import tfprof_widgets as tfprof\nprof = tfprof.load('large.xplane.pb')\ndata = prof.timeline().data",
    PROBE,
    # As for a trace of which a notebook keeps nothing but the first pack.
    "data.parts = data.parts[: len(data.payload.first)]",
    """
import pathlib, time
from IPython.display import display
display(prof.dashboard())
while not pathlib.Path("go").exists():
    time.sleep(0.1)
pathlib.Path("go").unlink()
""",
)
WATCH = """
async ([id, drops]) => {
    const model = await globalThis.tfprofManager.get_model(id);
    const { trigger, send } = model;
    globalThis.tfprofAsked = new Set();
    globalThis.tfprofParts = { binary: 0, text: 0 };
    model.send = function (content, ...rest) {
        globalThis.tfprofAsked.add(content.encoding);
        return send.call(this, content, ...rest);
    };
    model.trigger = function (name, content, buffers, ...rest) {
        if (content?.kind === "part") globalThis.tfprofParts[content.data ? "text" : "binary"] += 1;
        return trigger.call(this, name, content, drops ? [] : buffers, ...rest);
    };
}
"""
"""Counts what the data model asks for and gets; `drops` makes it a front end that loses binary buffers."""


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.nightly)], ids=["binary", "buffers dropped"])
def shown(request: pytest.FixtureRequest, open_lab: Open, lab_server: Server) -> Iterator[tuple[Notebook, bool]]:
    """The dashboard of the large trace, its kernel still busy, and whether binary buffers are lost on the way."""
    (lab_server.root / "large.xplane.pb").write_bytes(large_space())
    write_notebook(lab_server.root / "large.ipynb", *CELLS)
    with open_lab("large.ipynb") as notebook:
        for cell in (LOAD, PROBED, LEFT_OUT):
            notebook.run_cell(cell)
        notebook.page.wait_for_function("globalThis.tfprofManager")
        notebook.page.evaluate(WATCH, [notebook.value("data.model_id"), request.param])
        notebook.start_cell(SHOW_BUSY)
        notebook.view("timeline").locator("canvas").first.wait_for()
        yield notebook, request.param


def about(notebook: Notebook) -> str:
    return notebook.view("timeline").locator(".tl-about").inner_text()


def found(notebook: Notebook, text: str) -> int:
    """How many slices the search box finds, here or not."""
    timeline = notebook.view("timeline")
    timeline.locator(".tl-search").fill(text)
    count = timeline.locator(".tl-count")
    poll(lambda: count.is_visible() and count.inner_text() != "", "the search box says nothing", timeout_s=10)
    words = count.inner_text()
    return (
        0 if words == "no match" else int(words.split(" of ")[-1].removeprefix("at least ").split()[0].replace(",", ""))
    )


def test_every_event_is_there_once_the_kernel_has_answered(shown: tuple[Notebook, bool], lab_server: Server) -> None:
    notebook, drops_buffers = shown
    try:
        poll(lambda: f" of {N_LARGE:,} events" in about(notebook), lambda: f"no n of m in {about(notebook)!r}")
        n_here = int(about(notebook).split("·")[1].split(" of ")[0].replace(",", ""))
        assert n_here < N_LARGE / 2
        # How many there are of a name is known before they are here.
        assert found(notebook, "needle") == N_NEEDLES
    finally:
        (lab_server.root / "go").touch()
    poll(lambda: f"· {N_LARGE:,} events" in about(notebook), lambda: f"still {about(notebook)!r}")
    count = notebook.view("timeline").locator(".tl-count")
    poll(
        lambda: count.inner_text() == f"{N_NEEDLES:,} slices",
        lambda: f"{count.inner_text()} needles, not {N_NEEDLES:,}",
    )
    notebook.wait_for_kernel("idle")
    n_parts = notebook.value("len(data.payload.keys)")
    assert n_parts > 1
    # The events are not the last that comes.
    encoding = "text" if drops_buffers else "binary"
    poll(lambda: notebook.page.evaluate("globalThis.tfprofParts")[encoding] >= n_parts, "not all parts came")
    parts = notebook.page.evaluate("globalThis.tfprofParts")
    asked = notebook.page.evaluate("[...globalThis.tfprofAsked]")
    if drops_buffers:
        assert asked == ["binary", "base64"]
        assert parts["text"] >= n_parts
    else:
        assert asked == ["binary"]
        assert parts == {"binary": n_parts, "text": 0}
    notebook.screenshot("detail", notebook.view("dashboard"))
