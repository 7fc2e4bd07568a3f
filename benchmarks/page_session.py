"""A page with the marks of `page_marks.js` -> a scripted zoom-pan-search session of real input, and its frame times.

The page's own requestAnimationFrame notes when it was allowed to draw; the interval between two of those is the frame
time, so work anywhere in the browser counts, input and compositing included.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from page_input import CONTROL, Hand
from playwright.sync_api import Page

SCRIPT = Path(__file__).parent / "page_marks.js"
SEARCHED = "MatMul"
Part = Callable[[Hand], None]


def rest(hand: Hand) -> None:
    """Nothing: what the page's own frames take, the peer of all others."""
    hand.wait(60)


def zoom_in(hand: Hand) -> None:
    for _ in range(40):
        hand.wheel(-50, modifiers=CONTROL)


def zoom_out(hand: Hand) -> None:
    for _ in range(80):
        hand.wheel(60, modifiers=CONTROL)


def drag(hand: Hand) -> None:
    x, y = hand.at
    for direction in (1, -1):
        hand.press(x, y)
        for i in range(40):
            hand.move(x + direction * 6 * i, y, is_pressed=True)
        hand.release(x + direction * 240, y)


def drag_zoomed(hand: Hand) -> None:
    """Where slices are wide, and back."""
    zoom_in(hand)
    drag(hand)
    zoom_out(hand)


def point(hand: Hand) -> None:
    x, y = hand.at
    for i in range(60):
        hand.move(x - 150 + 5 * i, y - 60 + 2 * i)
    hand.move(x, y)


def keys(hand: Hand) -> None:
    for key in "w" * 10 + "d" * 10 + "s" * 20 + "a" * 10 + "w" * 10:
        hand.key(key)


def search(hand: Hand) -> None:
    """Type a name, walk to its matches, and leave."""
    hand.key("/")
    for letter in SEARCHED:
        hand.key(letter)
        hand.wait(5)
    hand.wait(15)
    for _ in range(10):
        hand.key("Enter")
        hand.wait(3)
    hand.key("Escape")
    hand.key("Escape")


TIMELINE: dict[str, Part] = {
    "rest": rest,
    "zoom in": zoom_in,
    "drag": drag,
    "zoom out": zoom_out,
    "point": point,
    "keys": keys,
    "drag zoomed": drag_zoomed,
    "search": search,
}
"""What is done in a timeline, in this order."""
WHEEL_AND_DRAG: dict[str, Part] = {"rest": rest, "zoom in": zoom_in, "drag": drag, "zoom out": zoom_out, "point": point}
"""What any viewer understands."""


def play(page: Page, port: int, at: tuple[float, float], parts: dict[str, Part] = TIMELINE) -> dict[str, Any]:
    """Frame times in ms and long tasks of all parts but `rest`, and the frame times of each.

    Args:
        page: which has the marks.
        port: of the browser's DevTools.
        at: a place in the plot, in the page.
        parts: what to do.
    """
    hand = Hand(port, page.url, at)
    told = {name: _recorded(page, hand, part) for name, part in parts.items()}
    hand.close()
    moves = [one for name, one in told.items() if name != "rest"]
    long = [task for one in moves for task in one["longTasks"]]
    return {
        "frame_ms": quantiles([interval for one in moves for interval in _intervals(one)]),
        "work_ms": quantiles([work for one in moves for work in _works(one)]),
        "n_long_tasks": len(long),
        "longest_task_ms": max(long, default=0.0),
        "rest_ms": quantiles(list(_intervals(told["rest"]))),
        "parts": {name: quantiles(list(_intervals(one))) for name, one in told.items()},
        "work_parts": {name: quantiles(list(_works(one))) for name, one in told.items()},
    }


def _recorded(page: Page, hand: Hand, part: Part) -> dict[str, Any]:
    page.evaluate("tfprofBench.record()")
    hand.start()
    part(hand)
    hand.rest()
    told: dict[str, Any] = page.evaluate("tfprofBench.stop()")
    return told


def _intervals(told: dict[str, Any]) -> Iterator[float]:
    times = [frame[0] for frame in told["frames"]]
    yield from (after - before for before, after in itertools.pairwise(times))


def _works(told: dict[str, Any]) -> Iterator[float]:
    yield from (frame[1] for frame in told["frames"] if len(frame) > 1)


def quantiles(values: list[float]) -> dict[str, float]:
    """Median, 95th percentile and maximum of some times; empty for none."""
    if not values:
        return {}
    ordered = sorted(values)

    def at(ratio: float) -> float:
        return round(ordered[min(len(ordered) - 1, int(ratio * len(ordered)))], 2)

    return {"p50": at(0.5), "p95": at(0.95), "max": at(1), "n": len(ordered)}
