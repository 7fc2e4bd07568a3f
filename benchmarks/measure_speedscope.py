"""A Chrome trace shown by speedscope's built page -> seconds until it is drawn, frame times and memory, as JSON on stdout.

Run as `python measure_speedscope.py FILE.json`; needs `npm ci` in `js/`. The seconds count from the choice of the file to
the frame in which the page shows the profile.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from page_input import debugging, free_port
from page_memory import page_bytes, renderer_bytes
from page_session import SCRIPT, WHEEL_AND_DRAG, play
from playwright.sync_api import TimeoutError, sync_playwright

from tests.browser.harness import CHROMIUM_ARGUMENTS, SIZE_PX
from tools import chromium

PAGE = Path(__file__).parent.parent / "js" / "node_modules" / "speedscope" / "dist" / "release" / "index.html"
LOAD_S = 240
FLAGS = ["--allow-file-access-from-files", "--enable-unsafe-swiftshader"]
"""It draws by WebGL, which a machine without a GPU computes on its processors."""
HAS_FAILED = """document.body.innerText.includes("Something went wrong")"""
IS_DRAWN = (
    """name => document.title.includes(name) && [...document.querySelectorAll("canvas")].some((c) => c.width > 300)"""
)


def main(file: Path) -> None:
    if not PAGE.exists():
        raise SystemExit(f"RuntimeError: {PAGE} is missing: run `npm ci` in js/")
    port = free_port()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(chromium.find()), args=[*CHROMIUM_ARGUMENTS, *FLAGS, *debugging(port)]
        )
        page = browser.new_page(viewport={"width": SIZE_PX[0], "height": SIZE_PX[1]})
        page.add_init_script(SCRIPT.read_text())
        problems: list[str] = []
        page.on("console", lambda message: problems.append(message.text[:80]) if message.type == "error" else None)
        page.goto(PAGE.as_uri())
        result: dict[str, Any] = {"page_empty": page_bytes(page)}
        began = time.monotonic()
        page.locator("input[type=file]").set_input_files(str(file))
        try:
            page.wait_for_function(f"{HAS_FAILED} || ({IS_DRAWN})({file.name!r})", timeout=LOAD_S * 1000)
        except TimeoutError:
            raise RuntimeError(f"Error: not drawn within {LOAD_S} s") from None
        if page.evaluate(HAS_FAILED):
            raise RuntimeError(f"Error: speedscope gave up: {problems[-1:]}")
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        result["seconds"] = time.monotonic() - began
        result["session"] = play(page, port, (SIZE_PX[0] / 2, 0.3 * SIZE_PX[1]), WHEEL_AND_DRAG)
        result["page"] = page_bytes(page)
        result["renderer"] = renderer_bytes(browser)
        browser.close()
    print(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
