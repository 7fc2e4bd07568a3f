"""Ten million steps of a training that is watched, shown in Chromium -> memory of the page as they come, and its frames.

    python -m benchmarks.measure_live_page [N_STEPS]

The page is told the state 2,000 times, as in eight minutes of a training that is watched. Then a pointer moves and the chart is
zoomed while states go on to come, four a second; the time between two frames is measured, and beside it that of the page at rest.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Frame, sync_playwright

from benchmarks.page_memory import page_bytes
from tests.browser.widget_host import KernelSide, WidgetHost, widget_host
from tfprof_widgets.show import LiveView
from tfprof_widgets.trace import STEP
from tfprof_widgets.watching_state import Training
from tools import chromium

_N_PUSHES, _N_LOOKS = 2_000, 10
_PUSH_S, _SECONDS = 0.25, 8.0
_WATCH_FRAMES = """() => {
    globalThis.frames_ms = [];
    let last = performance.now();
    const mine = frames_ms;
    const frame = (now) => {
        if (mine !== frames_ms) return;
        frames_ms.push(now - last);
        last = now;
        requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
}"""


def main(n_steps: int) -> None:
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium.find()))
        with widget_host(browser, KernelSide(patch)) as host:
            _measure(host, n_steps)
        browser.close()


def _measure(host: WidgetHost, n_steps: int) -> None:
    training, view = _Training(n_steps // _N_PUSHES), LiveView()
    training.go_on(view)
    frame = host.show(view)
    chart = frame.locator('[data-tfprof="live"]').get_by_role("application")
    host.hear(chart.is_visible, "no chart")
    for i in range(1, _N_PUSHES):
        training.go_on(view)
        host._deliver()
        if (i + 1) % (_N_PUSHES // _N_LOOKS) == 0:
            host.page.wait_for_timeout(200)
            print(f"{training.training.bins.n_steps:12,} steps: {page_bytes(frame)}", flush=True)
    box = chart.bounding_box()
    assert box is not None
    for name, n_moves in (("at rest, no state", 0), ("states, pointer, zoom", 1)):
        frame.evaluate(_WATCH_FRAMES)
        end_s, next_s, i = time.monotonic() + _SECONDS, 0.0, 0
        while (now_s := time.monotonic()) < end_s:
            if n_moves:
                if now_s >= next_s:
                    training.go_on(view)
                    host._deliver()
                    next_s = now_s + _PUSH_S
                host.page.mouse.move(box["x"] + 150 + i % (box["width"] - 200), box["y"] + 60)
                if i % 40 == 0:
                    host.page.mouse.wheel(0, -100 if i % 80 else 100)
                i += 5
            host.page.wait_for_timeout(16)
        print(f"frames, {name}: {_words(frame)}", flush=True)


class _Training:
    """Steps that come, drawn once."""

    def __init__(self, n_at_once: int) -> None:
        rng = np.random.default_rng(0)
        self.training = Training(10**18)
        self._rows: Any = np.zeros(n_at_once, STEP)
        self._rows["duration_us"] = 1e3 * rng.lognormal(0, 0.2, n_at_once)
        self._rows["wait_us"], self._rows["outside_us"], self._rows["loss"] = 20, 30, 0.5

    def go_on(self, view: LiveView) -> None:
        """The next steps, and the state after them."""
        rows, at = self._rows, self.training.bins.n_steps
        rows["number"] = at + np.arange(len(rows))
        rows["start_ns"] = 10**18 + 10**6 * rows["number"].astype(np.int64)
        self.training.add_steps(rows)
        self.training.show_in(
            view, title="fit", state="running", ended_ns=None, anomalies=(), opened=(), file="", notices=[]
        )


def _words(frame: Frame) -> str:
    ms = np.array(frame.evaluate("frames_ms.splice(0)")[2:])
    middle, high, highest = np.quantile(ms, (0.5, 0.95, 1)).tolist()
    return (
        f"{len(ms)} of {1e3 * len(ms) / ms.sum():.0f} a second, p50 {middle:.1f}, p95 {high:.1f}, max {highest:.1f} ms"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
