"""A dashboard in a page -> every text that a reader can see or hear there, each with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Frame, Locator, Page

from tests.browser.tabs import TABS

Texts = dict[str, str]
"""From the place of a text, as a path of elements, to the text."""
ABOVE = ("overview_panel", "step_chart", "timeline")
"""Views above the tabs."""
PANES = ("flame", "slices")
"""What the timeline shows in place of its tracks, in the order of its key."""
RULER_PX = 35
"""Of the timeline's canvas, from its top."""

AT_START = Path(__file__).with_name("screen.js").read_text(encoding="utf-8")
"""What a page must have from its start."""


@dataclass
class Screen:
    """A dashboard as one form of a profile shows it.

    Args:
        place: the page or frame that holds the dashboard.
        page: its page, whose mouse is used.
        serve: lets a kernel answer, where there is one; whether it had nothing to answer.
    """

    place: Page | Frame
    page: Page
    serve: Callable[[], bool] = field(default=lambda: True)

    def view(self, name: str) -> Locator:
        """The view of this name."""
        return self.place.locator(f'[data-tfprof="{name}"]').last

    def start(self, call: str, *given: Any) -> None:
        """Have the page begin something that `screen.js` does; other pages may do so at the same time."""
        self.place.evaluate(f"given => {{ globalThis.tfprofDoing = tfprof.{call}(...given); }}", list(given))

    def end(self) -> Any:
        """What that gave."""
        return self.place.evaluate("tfprofDoing")

    def press(self, *keys: str) -> None:
        """Press keys in the timeline."""
        self.place.evaluate("keys => tfprof.press(...keys)", list(keys))

    def choose(self, begin: float, end: float) -> None:
        """Drag over the ruler between two shares of its width."""
        box = self.view("timeline").locator("canvas").first.bounding_box()
        assert box is not None
        at = [(box["x"] + box["width"] * share, box["y"] + RULER_PX) for share in (begin, end)]
        self.page.mouse.move(*at[0])
        self.page.mouse.down()
        self.page.mouse.move(*at[1], steps=2)
        self.page.mouse.up()
        self.page.mouse.move(
            0, 0
        )  # else it may lie over the chart of a tab that is opened, which says what is under it

    def flip_overview(self) -> None:
        """Show the details of the overview, which lie over what is below."""
        self.view("overview_panel").locator(".tfp-more > summary").first.evaluate("summary => summary.click()")

    def read_view(self, name: str) -> Texts:
        """What a view shows now."""
        return self.place.evaluate("name => tfprof.readView(name)", name)

    def read_choices(self, name: str, wanted: Sequence[str]) -> dict[str, Texts]:
        """What a view shows under each of some choices in its bar, as `view: choice`; what it does not offer is left out."""
        self.start("choices", name, TABS[name], list(wanted))
        return {f"{name}: {choice}": texts for choice, texts in self.end().items()}

    def read_limits(self) -> Texts:
        """What the dashboard says of what its capture lacks."""
        self.start("limits")
        return self.end()

    def select_first_op(self) -> None:
        """Click the first row of the op table, where it is open and has one."""
        row = self.view("op_table").locator("[aria-rowindex='2']")
        if row.count() and row.is_visible():
            row.click()


def settle(screens: Iterable[Screen]) -> None:
    """Wait until nothing is written any more and no kernel is asked for anything."""
    waiting = list(screens)
    while waiting:
        for screen in waiting:
            screen.start("quiet", 60)
        for screen in waiting:
            screen.end()
        waiting = [screen for screen in waiting if not screen.serve()]


def open_tabs(screens: Sequence[Screen]) -> None:
    """Have all tabs made, the first of them open."""
    for screen in screens:
        screen.start("openAll", dict(reversed(TABS.items())))
    for screen in screens:
        screen.end()
    settle(screens)


def read(screens: Sequence[Screen], panes: Sequence[str] = PANES) -> list[dict[str, Texts]]:
    """By view what each screen shows above the tabs, in each of them and in panes of the timeline."""
    settle(screens)
    for screen in screens:
        screen.start("read", ABOVE, TABS, panes)
    return [screen.end() for screen in screens]


def read_tips(screens: Sequence[Screen], share: float) -> list[Texts]:
    """What each timeline says of what lies at a share of its width, by height."""
    for screen in screens:
        screen.start("tips", share)
    return [screen.end() for screen in screens]
