"""Real profiles -> the pictures of the views in `docs/pictures`, in both themes; `make pictures`, after a view has changed."""

from __future__ import annotations

import argparse
import base64
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

import tfprof_widgets as tfprof
from tests.browser.harness import CHROMIUM_ARGUMENTS
from tests.browser.tabs import go_to
from tools import chromium, demo
from tools.site.gallery import load_capture

PICTURES = demo.ROOT / "docs" / "pictures"
THEMES = ("light", "dark")
WIDTH_PX = 1000
SCALE = 1.4
"""Pixels of a picture for one of the page: sharp enough on most screens, in few bytes."""
QUALITY_PCT = 62
SETTLED_MS = 900


@dataclass(frozen=True)
class Shot:
    """One picture: of a page, what is opened in it, and what of it is shown."""

    name: str
    page: str
    view: str = ""
    """A tab of the dashboard to open; empty for none."""
    part: str = ""
    """A selector of what is shown over the width of the page; empty for the view."""
    height_px: int = 560
    """At most."""
    clicks_px: tuple[tuple[int, int], ...] = ()
    """Where in that part to click; after the first click, and with the pointer there, `keys` are pressed."""
    keys: str = ""


def _of_view(view: str) -> str:
    return f'[data-tfprof="{view}"]'


SHOTS = (
    Shot("dashboard", "h100_cnn_input", part=_of_view("dashboard"), height_px=900),
    Shot("overview", "h100_resnet_mixed", part=_of_view("dashboard"), height_px=480),
    Shot(
        "timeline",
        "h100_transformer_loop",
        part=_of_view("timeline"),
        clicks_px=((446, 128), (684, 278)),
        keys="wwwwwwwww",
    ),
    Shot("ops", "h100_resnet_mixed", "op_table"),
    Shot("code", "h100_resnet_mixed", "source_view"),
    Shot("structure", "h100_resnet_mixed", "tree_view"),
    Shot("layers", "h100_resnet_mixed", "layer_table"),
    Shot("memory", "h100_lstm", "memory_timeline"),
    Shot("memory_map", "h100_resnet_mixed", "memory_timeline", clicks_px=((524, 14),)),
    Shot("out_of_memory", "h100_oom", part=_of_view("dashboard"), height_px=300),
    Shot("input", "h100_cnn_input", "input_graph"),
    Shot("kernels", "h100_resnet_mixed", "kernel_table"),
    Shot("copies", "h100_resnet_mixed", "copy_table"),
    Shot("roofline", "h100_resnet_xla", "roofline_chart"),
    Shot("hlo", "h100_resnet_xla", "hlo_table"),
    Shot("compare", "comparison", part=_of_view("diff_panel"), height_px=700),
    Shot("hosts", "many_workers", "worker_chart"),
    Shot("live", "live", part=_of_view("live"), height_px=640),
)
TRAINED = {"many_workers": "prof.text()", "live": "run.report()"}
"""Notebooks that are executed for their profile, and what to print of it: no committed capture shows these views."""


def write_page(name: str, folder: Path) -> Path:
    """The exported page that a picture is of."""
    path = folder / f"{name}.html"
    if path.exists():
        return path
    if name in TRAINED:
        demo.execute(path, demo.ROOT / "notebooks" / f"{name}.ipynb", TRAINED[name])
    elif name == "comparison":
        before, after = (load_capture(one, folder) for one in ("h100_resnet_mixed", "h100_resnet_xla"))
        tfprof.diff(before, after).to_html(path)
    else:
        load_capture(name, folder).to_html(path)
    return path


def take(browser: Browser, shot: Shot, page_path: Path, theme: str) -> bytes:
    """A picture as WebP."""
    size = {"width": WIDTH_PX, "height": 1400}
    context = browser.new_context(viewport=size, device_scale_factor=SCALE, color_scheme=theme, offline=True)
    page = context.new_page()
    page.goto(page_path.as_uri())
    page.locator("[data-tfprof]").first.wait_for()
    page.add_style_tag(content=".tfp-theme-switch { visibility: hidden }")
    if shot.view:
        go_to(page.locator(_of_view("dashboard")), shot.view)
    shown = page.locator(shot.part or _of_view(shot.view)).last
    for i, (x, y) in enumerate(shot.clicks_px):
        shown.click(position={"x": x, "y": y})
        for key in shot.keys if i == 0 else "":
            page.keyboard.press(key)
        page.wait_for_timeout(SETTLED_MS)
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(SETTLED_MS)
    top, height = shown.evaluate("el => [el.getBoundingClientRect().y + scrollY, el.getBoundingClientRect().height]")
    clip = {"x": 0, "y": top, "width": WIDTH_PX, "height": min(height, shot.height_px), "scale": 1}
    # Playwright itself takes only PNG and JPEG, which are two or three times as large.
    taken = context.new_cdp_session(page).send(
        "Page.captureScreenshot",
        {"format": "webp", "quality": QUALITY_PCT, "captureBeyondViewport": True, "clip": clip},
    )
    context.close()
    return base64.b64decode(taken["data"])


def write_pictures(names: list[str], folder: Path) -> Iterator[Path]:
    """Take the named pictures, all of them without a name."""
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium.get()), args=CHROMIUM_ARGUMENTS)
        for shot in SHOTS:
            if names and shot.name not in names:
                continue
            page = write_page(shot.page, folder)
            for theme in THEMES:
                path = PICTURES / f"{shot.name}-{theme}.webp"
                path.write_bytes(take(browser, shot, page, theme))
                yield path
        browser.close()


def main() -> None:
    """Take pictures and say how large they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *(shot.name for shot in SHOTS)], help="all without one")
    parser.add_argument("--pages", type=Path, help="a folder to keep the pages in, and to take those that are there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for path in write_pictures(args.names, args.pages or Path(scratch)):
            print(f"{path.relative_to(demo.ROOT)}  {path.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
