"""A trace with more events than a notebook keeps: the overview says so, the rest arrives in chunks or, if need be, as text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.harness import Notebook, Server, opened, poll, write_notebook
from tests.browser.listeners import PROBE
from tests.builders import event, line, plane, session, space

N_STEPS = 8
STEP_US = 10_000
N_PAIRS = 6250
"""Of a long event and a needle in each step."""
N_NEEDLES = N_STEPS * N_PAIRS
N_EVENTS = 2 * N_NEEDLES + N_STEPS
LOAD, PROBED, SHOW_BUSY = range(3)
CELLS = (
    "import tfprof_widgets as tfprof\nprof = tfprof.load('large.xplane.pb')\ndata = prof._data",
    PROBE,
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
    globalThis.tfprofAsked = [];
    globalThis.tfprofChunks = { binary: 0, text: 0 };
    model.send = function (content, ...rest) {
        globalThis.tfprofAsked.push(content.encoding);
        return send.call(this, content, ...rest);
    };
    model.trigger = function (name, content, buffers, ...rest) {
        if (content?.kind === "detail") globalThis.tfprofChunks[content.data ? "text" : "binary"] += 1;
        return trigger.call(this, name, content, drops ? [] : buffers, ...rest);
    };
}
"""
"""Counts what the data model asks for and gets; `drops` makes it a front end that loses binary buffers."""


def large_space() -> bytes:
    """More events than an overview holds; each needle is as short as can be, beside a long event."""
    events = []
    for i in range(N_STEPS):
        at = i * STEP_US
        events.append(event("train", at, STEP_US - 10, _r=1, step_num=i))
        for k in range(N_PAIRS):
            events += [event("hay/Relu:Relu", at + 1.5 * k, 1), event("needle/Neg:Neg", at + 1.5 * k + 1.1, 0.01)]
    return space(session(duration_us=N_STEPS * STEP_US), plane("/host:CPU", line("python", *events)))


@pytest.fixture(params=[False, True], ids=["binary", "buffers dropped"])
def shown(request: pytest.FixtureRequest, browser: Browser, lab_server: Server) -> Iterator[tuple[Notebook, bool]]:
    """The dashboard of the large trace, its kernel still busy, and whether binary buffers are lost on the way."""
    (lab_server.root / "large.xplane.pb").write_bytes(large_space())
    write_notebook(lab_server.root / "large.ipynb", *CELLS)
    with opened(browser, lab_server, "large.ipynb") as notebook:
        for cell in (LOAD, PROBED):
            notebook.run_cell(cell)
        notebook.page.wait_for_function("globalThis.tfprofManager")
        notebook.page.evaluate(WATCH, [notebook.value("data.model_id"), request.param])
        notebook.start_cell(SHOW_BUSY)
        notebook.view("timeline").locator("canvas").first.wait_for()
        yield notebook, request.param


def about(notebook: Notebook) -> str:
    return notebook.view("timeline").locator(".tl-about").inner_text()


def found(notebook: Notebook, text: str) -> int:
    """How many slices the search box finds."""
    timeline = notebook.view("timeline")
    timeline.locator(".tl-search").fill(text)
    count = timeline.locator(".tl-count")
    poll(lambda: count.is_visible() and count.inner_text() != "", "the search box says nothing", timeout_s=10)
    words = count.inner_text()
    return 0 if words == "no match" else int(words.replace(",", ""))


def test_every_event_is_there_once_the_kernel_has_answered(shown: tuple[Notebook, bool], lab_server: Server) -> None:
    notebook, drops_buffers = shown
    try:
        poll(lambda: f" of {N_EVENTS:,} events" in about(notebook), lambda: f"no n of m in {about(notebook)!r}")
        n_here = int(about(notebook).split("·")[1].split(" of ")[0].replace(",", ""))
        assert 0 < n_here < N_EVENTS / 2
        assert found(notebook, "needle") < N_NEEDLES / 2
    finally:
        (lab_server.root / "go").touch()
    poll(lambda: f"· {N_EVENTS:,} events" in about(notebook), lambda: f"still {about(notebook)!r}")
    # The search that was typed before covers what came after.
    count = notebook.view("timeline").locator(".tl-count")
    poll(lambda: count.inner_text() == f"{N_NEEDLES:,}", lambda: f"{count.inner_text()} needles, not {N_NEEDLES:,}")
    notebook.wait_for_kernel("idle")
    n_chunks = notebook.value("data.n_chunks")
    assert n_chunks > 1
    chunks = notebook.page.evaluate("globalThis.tfprofChunks")
    assert chunks["binary"] == n_chunks
    assert chunks["text"] == (n_chunks if drops_buffers else 0)
    asked = notebook.page.evaluate("globalThis.tfprofAsked")
    assert asked == (["binary", "base64"] if drops_buffers else ["binary"])
    assert notebook.errors == []
    notebook.screenshot("detail", notebook.view("dashboard"))
