"""Tracks, counters, colours, measuring and bookmarks of the timeline, by mouse and by keyboard, while the kernel is busy."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator

from tests.browser.conftest import Open
from tests.browser.harness import Notebook, Server, poll, write_notebook
from tests.browser.pages import eventually
from tests.builders import Event, event, line, plane, session, space

N_STEPS, STEP_US, N_IDLE = 6, 1000, 20
N_MANY = 3000
CELLS = (
    "import tfprof_widgets as tfprof\nprof = tfprof.load('tracks.xplane.pb')\nmany = tfprof.load('many.xplane.pb')",
    "prof.timeline()",
    "many.timeline()",
    """
import pathlib, time
while not pathlib.Path("wake").exists():
    time.sleep(0.1)
pathlib.Path("wake").unlink()
""",
)
LOAD, SHOW, SHOW_MANY, SLEEP = range(4)
BUFFER = "Iterator::Root::Prefetch"
TRACKS_TOP_PX = 71
ALL_TRACKS = 4 + N_IDLE + 2 + 2
"""Threads, idle threads, streams, counters."""


def _allocation(at_us: float, in_use: int, size: int) -> Event:
    return event(
        "MemoryAllocation", at_us, 0, allocator_name="GPU_0_bfc", bytes_allocated=in_use, bytes_reserved=0,
        bytes_available=0, allocation_bytes=size, requested_bytes=size, addr=in_use, peak_bytes_in_use=0,
        fragmentation=0.0, id=1,
    )  # fmt: skip


def tracks_space() -> bytes:
    """Six steps on a host with many idle threads and on a device; memory grows by a MiB a step, a buffer empties."""
    starts = [k * STEP_US for k in range(N_STEPS)]
    python = line("python", *[event("train", at, 950, _r=1, step_num=k) for k, at in enumerate(starts)])
    compute = line("tf_Compute", *[event("model/dense/MatMul:MatMul", at + 300, 400) for at in starts])
    buffer = [
        event(BUFFER, at + 10, 200, id=7, parent_id=3, buffered_elements=N_STEPS - k) for k, at in enumerate(starts)
    ]
    memory = line("memory", *[_allocation(at + 100, (k + 1) * 2**20, 2**20) for k, at in enumerate(starts)])
    idle = [line(f"idle_{k:02}", event("wait", 5, 1 + k / 100)) for k in range(N_IDLE)]
    gpu = plane(
        "/device:GPU:0",
        line("Stream #13", *[event("gemm", at + 500, 300) for at in starts]),
        line("Stream #14", *[event("MemcpyH2D", at + 400, 50) for at in starts]),
    )
    host = plane("/host:CPU", python, compute, line("tf_data", *buffer), memory, *idle)
    return space(session(duration_us=N_STEPS * STEP_US), host, gpu)


def many_space() -> bytes:
    """More threads than anyone looks at."""
    return space(plane("/host:CPU", *[line(f"worker_{k:04}", event("work", k % 50, 9)) for k in range(N_MANY)]))


@pytest.fixture(scope="module")
def shown(open_lab: Open, lab_server: Server) -> Iterator[Notebook]:
    """A notebook with two timelines whose kernel sleeps."""
    (lab_server.root / "tracks.xplane.pb").write_bytes(tracks_space())
    (lab_server.root / "many.xplane.pb").write_bytes(many_space())
    write_notebook(lab_server.root / "tracks.ipynb", *CELLS)
    with open_lab("tracks.ipynb") as notebook:
        for cell in (LOAD, SHOW, SHOW_MANY):
            notebook.run_cell(cell)
        for nth in (0, 1):
            notebook.page.locator('[data-tfprof="timeline"] canvas[role="img"]').nth(nth).wait_for()
        notebook.start_cell(SLEEP)
        notebook.wait_for_kernel("busy")
        yield notebook


class Face:
    """The timeline as a reader meets it."""

    def __init__(self, notebook: Notebook) -> None:
        self.notebook, self.page = notebook, notebook.page
        self.root = notebook.page.locator('[data-tfprof="timeline"]').first
        self.section = self.root.locator("section.tl")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def focus(self) -> None:
        self.section.focus()

    def label(self, name: str) -> Locator:
        return self.root.locator(f'[role=treeitem][data-name="{name}"]')

    def names(self) -> list[str]:
        """Of the labels, from top to bottom."""
        boxes = "els => els.map((el) => [el.dataset.name, el.getBoundingClientRect().top])"
        found = self.root.locator("[role=treeitem]").evaluate_all(boxes)
        return [name for name, _ in sorted(found, key=lambda item: item[1])]

    def button(self, name: str) -> Locator:
        return self.root.get_by_role("button", name=name)

    def window(self) -> str:
        return (self.root.locator(".tl-about").inner_text()).split(" ·")[0]

    def tracks_text(self) -> str:
        return self.root.locator(".bar [title^='Filter tracks']").inner_text()

    def plot(self, x_ratio: float, y_px: float) -> tuple[float, float]:
        box = self.root.locator("canvas[role=img]").bounding_box()
        assert box
        label = float(self.section.evaluate("el => parseFloat(el.style.getPropertyValue('--w-label'))"))
        return box["x"] + label + x_ratio * (box["width"] - label), box["y"] + y_px

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, steps=3)
        self.page.mouse.move(*end, steps=3)
        self.page.mouse.up()

    def reset(self) -> None:
        """As at first: nothing selected, pinned, hidden, marked."""
        self.page.mouse.move(2, 2)
        self.focus()
        self.press("Escape", "Escape", "Escape", "Escape")
        self.focus()
        self.press("0", "t")
        for name in ("As at first",):
            if self.button(name).count():
                self.button(name).click()
        self.root.get_by_label("Filter tracks by name").fill("")
        self.press("Escape")
        self.press("Shift+B")
        while self.root.get_by_role("button", name="Delete bookmark").count():
            self.root.get_by_role("button", name="Delete bookmark").first.click()
        self.press("Escape")
        self.focus()


@pytest.fixture
def face(shown: Notebook) -> Face:
    """The first timeline, as at first."""
    face = Face(shown)
    face.root.scroll_into_view_if_needed()
    face.reset()
    return face


def test_the_wheel_scrolls_the_page_until_a_click_then_the_tracks_and_after_esc_the_page_again(face: Face) -> None:
    def turn_wheel(px: int) -> tuple[int, int]:
        """How far the timeline and its tracks move up."""
        before = offsets()
        face.page.mouse.move(*face.plot(0.5, TRACKS_TOP_PX + 60))
        face.page.mouse.wheel(0, px)
        face.page.wait_for_timeout(400)
        return before[0] - offsets()[0], offsets()[1] - before[1]

    def offsets() -> tuple[int, int]:
        place = "el => [el.getBoundingClientRect().top, el.querySelector('.tl-scroll').scrollTop].map(Math.round)"
        top, scrolled = face.section.evaluate(place)
        return top, scrolled

    edge = face.root.get_by_role("separator", name="Height of the timeline")
    edge.focus()
    face.press("Home")  # so low that not all tracks fit
    face.section.evaluate("el => el.ownerDocument.activeElement.blur()")
    assert turn_wheel(40) == (40, 0)
    face.page.mouse.click(*face.plot(0.5, 35))
    assert turn_wheel(40) == (0, 40)
    face.press("Escape", "Escape", "Escape")
    assert turn_wheel(-40) == (-40, 0)
    edge.dblclick()


def test_a_track_is_pinned_by_its_menu_and_stays_on_top_while_the_others_scroll(face: Face) -> None:
    face.label("Stream #13").hover()
    face.label("Stream #13").get_by_role("button", name="Menu of Stream #13").click()
    face.root.get_by_role("menuitem", name="Pin above the tracks").click()
    eventually(lambda: face.names()[0] == "Stream #13", "the pinned track is not on top")
    face.root.locator(".tl-scroll").evaluate("el => el.scrollTo(0, 500)")
    eventually(lambda: face.names()[0] == "Stream #13", "the pinned track scrolled away")
    face.label("Stream #13").focus()
    face.press("p")
    eventually(lambda: face.names()[0] != "Stream #13", "the track is still pinned")


def test_a_hidden_track_is_counted_listed_and_shown_again(face: Face) -> None:
    face.label("tf_Compute").focus()
    face.press("h")
    eventually(lambda: face.tracks_text() == f"{ALL_TRACKS - 1} of {ALL_TRACKS} tracks", "the hidden track is not told")
    assert "1 hidden" in face.label("Host").inner_text()
    face.focus()
    face.press("t")
    assert "tf_Compute" in face.root.locator(".tl-hidden").inner_text()
    face.root.locator(".tl-hidden").get_by_role("button", name="Show", exact=True).click()
    eventually(lambda: face.label("tf_Compute").count() == 1, "the track did not come back")


def test_where_everything_is_hidden_the_way_back_is_told(face: Face) -> None:
    face.focus()
    for name in ("Host", "Device", "Counters"):
        face.label(name).focus()
        face.press("h")
    none = face.root.locator(".tl-none")
    eventually(none.is_visible, "nothing says why there is no track")
    none.get_by_role("button", name="Show all tracks").click()
    eventually(lambda: face.label("python").count() == 1, "the tracks did not come back")


def test_labels_are_walked_and_folded_with_arrows(face: Face) -> None:
    name = "document.activeElement.dataset.name"
    face.press("l", "Home")
    assert face.page.evaluate(name) == "Device"
    face.press("ArrowDown")
    stream = face.page.evaluate(name)
    assert stream.startswith("Stream #")
    face.press("Home", "ArrowLeft")
    eventually(lambda: face.label(stream).count() == 0, "the device did not fold")
    face.press("ArrowRight")
    eventually(lambda: face.label(stream).count() == 1, "the device did not unfold")
    assert face.root.locator('[role=treeitem][tabindex="0"]').count() == 1
    face.press("End", "Escape")
    assert face.page.evaluate("document.activeElement.className") == "tl"


def test_of_thousands_of_tracks_only_those_in_sight_have_labels(shown: Notebook) -> None:
    root = shown.page.locator('[data-tfprof="timeline"]').nth(1)
    root.scroll_into_view_if_needed()
    root.locator(".tl-fold").click()
    scroller = root.locator(".tl-scroll")
    poll(lambda: scroller.evaluate("el => el.scrollHeight") > 10 * N_MANY, "the tracks did not unfold", timeout_s=10)
    scroller.evaluate("el => el.scrollTo(0, el.scrollHeight)")
    last = root.locator(f'[data-name="worker_{N_MANY - 1:04}"]')
    poll(lambda: root.locator("[role=treeitem]").count() < 80, "labels out of sight are made", timeout_s=10)
    poll(lambda: last.count() == 1 or root.locator(".tl-line").count() > 5, "no labels at the end", timeout_s=10)
    root.locator("section.tl").focus()
    shown.page.keyboard.press("t")
    shown.page.keyboard.type("2999")
    poll(lambda: last.count() == 1, "a track is not found by its name", timeout_s=10)
    shown.page.keyboard.press("Escape")


def test_a_counter_tells_its_value_at_the_pointer(face: Face) -> None:
    label = face.label("GPU_0_bfc")
    eventually(lambda: "up to 6.00 MiB in use" in label.text_content(), "the axis of the counter is not told")
    face.page.mouse.move(*face.plot(2.5 / N_STEPS, TRACKS_TOP_PX + 30))
    eventually(lambda: "3.00 MiB of 6.00 MiB" in label.text_content(), "the value at the pointer is not told")
    face.page.mouse.move(2, 2)
    eventually(lambda: "up to 6.00 MiB in use" in label.text_content(), "the value stays without a pointer")


def test_colours_are_switched_and_the_legend_names_those_on_the_screen(face: Face) -> None:
    colors = face.root.locator(".tl-colors")
    choice = face.root.get_by_label("What the colours of the slices mean")
    eventually(lambda: "Device compute" in colors.inner_text(), "the parts of a step are not named")
    choice.select_option("family")
    eventually(lambda: "conv, matmul" in colors.inner_text(), "the kinds of ops are not named")
    choice.select_option("category")
    eventually(lambda: "conv, matmul" not in colors.inner_text(), "the kinds of ops are still named")
    face.focus()
    face.press("c")
    eventually(lambda: "steps 0, 4" in colors.inner_text(), "the steps are not named")


def test_an_area_is_measured_with_shift_and_drag_from_edge_to_edge(face: Face) -> None:
    face.page.keyboard.down("Shift")
    y = TRACKS_TOP_PX + 25
    face.drag(face.plot(1.004 / N_STEPS, y), face.plot(2.954 / N_STEPS, y))
    face.page.keyboard.up("Shift")
    face.focus()
    face.press("b")
    # One step begins at 1 ms; the other ends at 2.95 ms.
    value = face.root.locator(".tl-note").first.inner_text()
    assert "1.000 ms · 1.95 ms long" in value


def test_a_range_is_measured_by_keys_alone_and_not_after_escape(face: Face) -> None:
    face.press(".", "r", ".", ".", "Escape", "b")
    assert "long" not in face.root.locator(".tl-note").first.inner_text()
    face.reset()
    face.press(".", "r", ".", ".", "r")
    face.press("b")
    assert "long" in face.root.locator(".tl-note").first.inner_text()


def test_a_bookmark_is_set_written_edited_gone_to_and_deleted_by_keys(face: Face) -> None:
    face.page.mouse.move(*face.plot(0.5, TRACKS_TOP_PX + 150))
    face.press("b")
    face.page.keyboard.type("here it waits")
    face.press("Enter")
    flag = face.root.locator(".tl-flag")
    eventually(lambda: flag.get_attribute("title").startswith("here it waits"), "the flag has no note")
    assert face.root.locator(".bar").get_by_role("button", name="Marks 1").count() == 1
    face.page.mouse.move(2, 2)
    face.focus()
    face.press("w", "w", "w", "d", "d", "d", "d", "d", "d", "d", "d", "d", "d", "d", "d")
    eventually(lambda: flag.count() == 0, "the bookmark is still in view")
    face.press("n")
    eventually(lambda: flag.count() == 1, "N does not go to the bookmark")
    flag.click()
    face.page.keyboard.type("edited")
    face.press("Enter")
    eventually(lambda: flag.get_attribute("title").startswith("edited"), "the note was not edited")
    face.focus()
    face.press("Shift+B")
    face.root.get_by_role("button", name="Delete bookmark 1").click()
    eventually(lambda: flag.count() == 0, "the bookmark was not deleted")


def test_what_was_set_up_in_the_page_arrives_in_python_and_what_python_sets_in_the_page(face: Face) -> None:
    """Last in this file: it wakes the kernel."""
    face.root.get_by_label("What the colours of the slices mean").select_option("step")
    face.label("Stream #14").focus()
    face.press("h")
    face.page.mouse.move(*face.plot(0.5, TRACKS_TOP_PX + 150))
    face.focus()
    face.press("b")
    face.page.keyboard.type("from the page")
    face.press("Enter")
    (face.notebook.server.root / "wake").touch()
    face.notebook.wait_for_kernel("idle")
    face.notebook.wait_for_value("[b.text for b in prof.timeline().bookmarks]", ["from the page"])
    arrangement = json.loads(face.notebook.value("prof.timeline().arrangement"))
    assert arrangement["color"] == "step"
    assert len(arrangement["hidden"]) == 1
    face.notebook.value("setattr(prof.timeline(), 'bookmarks', [])")
    eventually(lambda: face.root.locator(".tl-flag").count() == 0, "the page kept what Python deleted")
