"""Exported pages of synchronous trainings on several hosts, stragglers planted, and what a reader finds in them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from filelock import FileLock
from playwright.sync_api import Browser, Locator, Page

import tfprof_widgets as tfprof
from tests.browser.harness import poll
from tests.browser.tabs import go_to
from tests.cluster import Cluster

N_STEPS = 8
SIZE = {"width": 1300, "height": 1000}
SLOWEST, SLOW = 7, 2
"""The hosts planted to come late: with their input, with their compute."""


def write_page(folder: Path, n_hosts: int, *, is_even: bool = False) -> Path:
    """The page of a run of so many hosts, as a path; written once in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f"hosts_{n_hosts}.lock"):
        page = folder / f"hosts_{n_hosts}.html"
        return page if page.exists() else _written(page, n_hosts, is_even=is_even)


def _written(page: Path, n_hosts: int, *, is_even: bool) -> Path:
    late = {} if is_even else {"slow_input": {SLOWEST: 8.0}, "slow_compute": {SLOW: 1.5}}
    run = Cluster(n_hosts, n_steps=N_STEPS, **late).draw(page.with_suffix(""))  # type: ignore[arg-type]
    with ThreadPoolExecutor(1) as pool:  # to start processes takes longer than to read these files
        prof = tfprof.load(run, executor=pool if n_hosts > 16 else None)
    return prof.to_html(page)


@contextlib.contextmanager
def opened_page(browser: Browser, path: Path) -> Iterator[Page]:
    """The page with its workers in sight; no error may be left in it."""
    context = browser.new_context(viewport=SIZE)  # type: ignore[arg-type]
    errors: list[str] = []
    try:
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path.as_uri())
        page.locator('[data-tfprof="timeline"] canvas').first.wait_for()
        go_to(page.locator('[data-tfprof="dashboard"]'), "worker_chart")
        page.locator(".tfp-worker-say").wait_for()
        yield page
        assert errors == []
        assert page.locator('[role="alert"]').all_inner_texts() == []
    finally:
        context.close()


def clear(page: Page) -> None:
    """All hosts and the whole capture again, the pointer away."""
    page.mouse.move(2, 2)
    if page.get_by_role("button", name="All hosts", exact=True).count():
        page.get_by_role("button", name="All hosts", exact=True).first.click()
    if page.get_by_role("button", name="Clear the range").is_visible():
        page.get_by_role("button", name="Clear the range").click()


def eventually(is_true: object, message: str) -> None:
    poll(is_true, message, timeout_s=10)


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
