"""A dashboard in a page -> every text that a reader can see or hear there, each with its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from playwright.sync_api import Frame, Locator, Page

from tests.browser.tabs import TABS

Texts = dict[str, str]
"""From the place of a text, as a path of elements, to the text."""
ABOVE = ("overview_panel", "step_chart", "timeline")
"""Views above the tabs."""
RULER_PX = 35
"""Of the timeline's canvas, from its top."""

AT_START = """
globalThis.tfprofQuiet = (quietMs) => new Promise((resolve) => {
    let timer;
    const observer = new MutationObserver(() => wait());
    const end = () => { observer.disconnect(); resolve(); };
    const wait = () => { clearTimeout(timer); timer = setTimeout(end, quietMs); };
    observer.observe(document.documentElement, { subtree: true, childList: true, characterData: true, attributes: true });
    requestAnimationFrame(() => requestAnimationFrame(wait));
});
"""
"""A function of the page that resolves when nothing was written for so long."""

READ = """(root) => tfprofTexts(root)"""
AT_START += """
globalThis.tfprofTexts = (root) => {
    const found = {};
    const SAID = ["title", "aria-label", "aria-valuetext", "aria-description", "alt"];
    const own = (element) => [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE)
        .map((node) => node.data.trim()).filter(Boolean).join(" | ");
    const kind = (one) => `${one.tagName.toLowerCase()}.${String(one.getAttribute("class") ?? "").split(" ")[0]}`;
    const step = (element) => {
        const row = element.getAttribute("aria-rowindex");
        if (row !== null) return `row[${row}]`;
        const like = [...(element.parentNode?.children ?? [])].filter((one) => kind(one) === kind(element));
        return kind(element) + (like.length > 1 ? `[${like.indexOf(element)}]` : "");
    };
    const visit = (element, path) => {
        const { display, visibility } = getComputedStyle(element);
        if (display === "none" || ["STYLE", "SCRIPT"].includes(element.tagName)) return;
        if (visibility !== "hidden") {
            const text = own(element);
            if (text) found[path] = text;
            for (const name of SAID) if (element.getAttribute(name)) found[`${path}@${name}`] = element.getAttribute(name);
            if (element instanceof HTMLInputElement && element.value) found[`${path}@value`] = element.value;
        }
        for (const child of [...(element.shadowRoot?.children ?? []), ...element.children]) {
            visit(child, `${path} ${step(child)}`);
        }
    };
    visit(root, root.dataset.tfprof ?? "");
    return found;
};
"""
"""Texts below an element, and what a screen reader or a tooltip says of it, of all that is not hidden."""

START_READING = """
([above, tabs]) => { globalThis.tfprofReading = (async () => {
    const view = (name) => [...document.querySelectorAll(`[data-tfprof="${name}"]`)].at(-1);
    const found = {};
    for (const [name, title] of Object.entries(tabs)) {
        const tab = [...view("dashboard").querySelectorAll("[role=tab]")].find((one) => one.textContent.startsWith(title));
        if (!tab) continue;
        tab.click();
        // A saved notebook gives its kernel some seconds to send what it has a part of.
        const isComing = () => !view(name)?.hasChildNodes() || view(name).querySelector(".tfp-waiting");
        const giveUp = performance.now() + 4000;
        let [before, now] = [null, ""];
        while (before !== now && performance.now() < giveUp) {
            do await tfprofQuiet(40); while (isComing() && performance.now() < giveUp);
            await new Promise((resolve) => requestIdleCallback(resolve, { timeout: 500 }));
            [before, now] = [now, JSON.stringify(view(name) ? tfprofTexts(view(name)) : {})];
        }
        found[name] = JSON.parse(now);
    }
    for (const name of above) found[name] = tfprofTexts(view(name));
    return found;
})(); }
"""
"""Of each tab what is in it when it is open, and what is above the tabs."""


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

    def settle(self) -> None:
        """Wait until nothing is written any more and the kernel is asked for nothing."""
        while True:
            self.place.evaluate("tfprofQuiet(60)")
            if self.serve():
                return

    def start_reading(self) -> None:
        """Have the page open its tabs one after the other; other pages may do so at the same time."""
        self.place.evaluate(START_READING, [[*ABOVE], TABS])

    def read(self) -> dict[str, Texts]:
        """By view what is above the tabs and in each of them."""
        found: dict[str, Texts] = self.place.evaluate("tfprofReading")
        self.serve()
        return found

    def show_all_time(self) -> None:
        """Have the timeline show the whole capture."""
        self._press("0")

    def choose(self, begin: float, end: float) -> None:
        """Drag over the ruler between two shares of its width."""
        box = self.view("timeline").locator("canvas").first.bounding_box()
        assert box is not None
        at = [(box["x"] + box["width"] * share, box["y"] + RULER_PX) for share in (begin, end)]
        self.page.mouse.move(*at[0])
        self.page.mouse.down()
        self.page.mouse.move(*at[1], steps=2)
        self.page.mouse.up()
        self.settle()

    def clear(self) -> None:
        """Clear the selection and the range."""
        for _ in range(4):
            self.page.keyboard.press("Escape")
        self.settle()

    def select_first_op(self) -> None:
        """Click the first row of the op table, where it has one."""
        self.view("dashboard").get_by_role("tab", name=re.compile(f"^{TABS['op_table']}")).click()
        row = self.view("op_table").locator("[aria-rowindex='2']")
        if row.count() and row.is_visible():
            row.click()
        self.settle()

    def panes(self) -> dict[str, Texts]:
        """What the timeline shows in place of its tracks."""
        found = {}
        for pane in ("flame", "slices"):
            self._press("g")
            found[pane] = self.view("timeline").evaluate(READ)
        self._press("g")
        return found

    def _press(self, key: str) -> None:
        self.view("timeline").locator("section").first.focus()
        self.page.keyboard.press(key)
        self.settle()
        # Sums are made in parts of frames, a table of them is filled with a pause.
        self.page.wait_for_timeout(150)
        self.settle()
