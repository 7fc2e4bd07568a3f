"""Exported pages -> shown in a fresh browser profile, in either theme, read by axe-core, their pixels compared."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page

from tests.browser.harness import ROOT, SCREENSHOTS, poll

TIMELINE = '[data-tfprof="timeline"] canvas'
AXE = ROOT / "js" / "node_modules" / "axe-core" / "axe.min.js"
THEMES = ("light", pytest.param("dark", marks=pytest.mark.nightly))
AUDIT = """async (part) => {
    const { violations } = await axe.run(part, { resultTypes: ["violations"] });
    return violations.filter(({ impact }) => impact === "serious" || impact === "critical").flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}: ${failureSummary}`));
}"""


@contextlib.contextmanager
def opened_page(
    browser: Browser,
    path: Path | None = None,
    *,
    size_px: tuple[int, int] = (1300, 1000),
    until: str = TIMELINE,
    **more: Any,
) -> Iterator[Page]:
    """A page, with what is written at a path; nothing may fail in it, open a dialog or ask the network."""
    faults: list[str] = []
    with browser.new_context(viewport={"width": size_px[0], "height": size_px[1]}, offline=True, **more) as context:
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: faults.append(said.text) if _is_fault(said) else None)
        page.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda asked: faults.append(asked.url) if asked.url.startswith("http") else None)
        if path is not None:
            page.goto(path.as_uri())
            page.locator(until).first.wait_for(state="attached")
        yield page
        assert faults == []
        assert page.locator('[role="alert"]').all_inner_texts() == []


def _is_fault(said: ConsoleMessage) -> bool:
    return said.type in ("error", "warning") and "willReadFrequently" not in said.text  # that is about our own looks


def audit(page: Page, part: str = "[data-tfprof]") -> list[str]:
    """What axe-core finds serious in a part of a page."""
    if not AXE.exists():
        sentence = f"{AXE.relative_to(ROOT)} is missing: `make test` installs it with the other npm packages."
        pytest.fail(sentence) if os.environ.get("CI") else pytest.skip(sentence)
    if not page.evaluate("() => 'axe' in window"):
        page.add_script_tag(path=AXE)
    found: list[str] = page.evaluate(AUDIT, part)
    return found


def show_in(theme: str, view: Locator) -> None:
    """Switch the page of a view to a theme."""
    if view.get_attribute("data-theme") != theme:
        view.page.locator(".tfp-theme-switch").first.click()
        poll(lambda: view.get_attribute("data-theme") == theme, "the theme stays")
        view.page.wait_for_timeout(400)  # the second look at the colours, after the styles of the new theme are there


def picture(place: Page | Locator, name: str) -> None:
    """Keep a picture for who looks at it."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    place.screenshot(path=SCREENSHOTS / f"{name}.png")


def eventually(is_true: Any, message: Any) -> None:
    """Wait until something of a page without a kernel is true."""
    poll(is_true, message, timeout_s=15)


def pixel(canvas: Locator, x_px: float, y_px: float) -> tuple[int, int, int]:
    """The colour at a point of a canvas, in px of the page from its left upper corner."""
    red, green, blue = canvas.evaluate(
        """(el, [x, y]) => {
            const ratio = el.width / el.getBoundingClientRect().width;
            return [...el.getContext("2d").getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data].slice(0, 3);
        }""",
        [x_px, y_px],
    )
    return red, green, blue


def distance(a: tuple[int, int, int], b: tuple[int, int, int]) -> int:
    """How different two colours are, 0 to 765."""
    return sum(abs(x - y) for x, y in zip(a, b, strict=True))
