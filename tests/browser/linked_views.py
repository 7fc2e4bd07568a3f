"""The four views of the full run, wherever they are shown: whether each has its content and all follow one selection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Frame, Locator, Page

from tests.browser.full_run import OTHER, PLAIN
from tests.browser.harness import WAIT_S, poll
from tests.browser.tabs import go_to, offered

FIRST_EVENT = f"{PLAIN.op}:{PLAIN.op_type}"
"""On a host thread in steps 0 to 3."""
STEP_ROW_PX = 59
"""Middle of the row of steps below the top of the timeline's canvas."""
N_STEPS = 8
Wait = Callable[..., Any]


class LinkedViews:
    """The dashboard of `full_run` in a page or in one frame of it.

    Args:
        place: what holds the dashboard.
        page: its page, whose mouse is used.
        wait: `wait(is_true, message)`; a host whose kernel must answer meanwhile has its own.
    """

    def __init__(self, place: Page | Frame, page: Page, wait: Wait = poll) -> None:
        self.place, self.page, self.wait = place, page, wait

    def view(self, name: str) -> Locator:
        """The last shown view of this name."""
        return self.place.locator(f'[data-tfprof="{name}"]').last

    def text(self, name: str) -> str:
        """What is written in a view."""
        return self.view(name).inner_text()

    def open_tab(self, name: str) -> None:
        """Click the tab of a view."""
        go_to(self.view("dashboard"), name)
        self.view(name).wait_for()

    def tabs(self) -> list[str]:
        """The views that the tabs lead to."""
        return offered(self.view("dashboard"))

    def is_marked(self, op: str) -> bool:
        """Whether the row of an op is selected in the op table."""
        row = self.view("op_table").locator(f'[data-op-name="{op}"][aria-selected="true"]')
        return row.count() > 0

    def click_event(self, name: str) -> None:
        """Click the first slice of this name."""
        self.view("timeline").scroll_into_view_if_needed()
        self.view("timeline").locator("canvas").first.wait_for()
        self.wait(lambda: self._offset(name) is not None, f"the timeline does not draw {name!r}")
        self.view("timeline").click(position=self._offset(name))

    def _offset(self, name: str) -> dict[str, float] | None:
        find = """(el, name) => {
            const place = el.tfprofLocate?.(name), box = el.getBoundingClientRect();
            return place && { x: place.x - box.left, y: place.y - box.top };
        }"""
        return self.view("timeline").evaluate(find, name)

    def choose_steps(self, first: int, last: int) -> None:
        """Drag over the row of steps."""
        self.view("timeline").scroll_into_view_if_needed()
        box = self.view("timeline").locator("canvas").first.bounding_box()
        left = self.view("timeline").evaluate(
            "el => el.querySelector('canvas').getBoundingClientRect().left - el.getBoundingClientRect().left"
        )
        assert box is not None
        label_px = 164 if box["width"] + left > 1100 else 128
        width = box["width"] - label_px
        x0, x1 = (box["x"] + label_px + width * (step + 0.5) / N_STEPS for step in (first, last))
        mouse = self.page.mouse
        mouse.move(x0, box["y"] + STEP_ROW_PX)
        mouse.down()
        mouse.move((x0 + x1) / 2, box["y"] + STEP_ROW_PX, steps=3)
        mouse.move(x1, box["y"] + STEP_ROW_PX, steps=3)
        mouse.up()

    def check(self) -> None:
        """Timeline, op table, memory and input pipeline are there, and a selection in one is one in all."""
        self.check_selection()
        self.check_range()

    def check_selection(self) -> None:
        """An op chosen on the timeline is chosen in the table, and the other way round."""
        # In a reopened notebook it comes 10 s after the kernel where the page runs at a twelfth of its speed.
        self.view("dashboard").wait_for(timeout=WAIT_S * 1000)
        self.open_tab("op_table")
        self.click_event(FIRST_EVENT)
        self.wait(lambda: self.is_marked(PLAIN.op), "the clicked op is not marked in the op table")
        self.wait(lambda: PLAIN.op in self.text("timeline"), "no details of the clicked slice")
        # Not in the middle, where the handle may be that changes a column's width.
        self.view("op_table").locator(f'[data-op-name="{OTHER}"]').first.click(position={"x": 60, "y": 8})
        self.wait(lambda: OTHER in self.text("timeline"), "the op of the table is not in the timeline's details")
        assert not self.is_marked(PLAIN.op)

    def check_range(self) -> None:
        """Steps chosen on the timeline are what memory and input pipeline are about."""
        self.open_tab("input_graph")
        name = PLAIN.iterator.rsplit("::", 1)[-1]
        self.wait(lambda: name in self.text("input_graph"), lambda: f"no {name} in {self.text('input_graph')}")
        whole = self.text("input_graph")
        self.open_tab("memory_timeline")
        self.view("memory_timeline").locator("canvas").first.wait_for()
        self.wait(lambda: PLAIN.op in self.text("memory_timeline"), lambda: self.text("memory_timeline"))
        self.choose_steps(0, 3)
        self.wait(
            lambda: OTHER in self.text("memory_timeline") and PLAIN.op not in self.text("memory_timeline"),
            lambda: f"memory is not about steps 0 to 3: {self.text('memory_timeline')}",
        )
        self.open_tab("input_graph")
        self.wait(lambda: self.text("input_graph") != whole, lambda: f"the input view ignores the range: {whole}")
