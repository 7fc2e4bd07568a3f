"""An invented capture -> screenshots of the views, to look at.

python js/dev/look.py OUT_DIR [view] [scene JSON, or @ and a file with the base64 of a pack] [width,...] [script]
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import zlib
from pathlib import Path

import bokeh
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tfprof_widgets.views.page.html import html_page  # noqa: E402
from tfprof_widgets.views.widgets.figures import memory_figure, step_chart_figure  # noqa: E402

STATIC = ROOT / "tfprof_widgets" / "static"
VIEWS = ("overview_panel", "step_chart", "timeline", "op_table", "memory_timeline", "input_graph")


def page(view: str, scene: str, options: dict[str, object]) -> str:
    """The HTML of one view of a scene."""
    if scene.startswith("@"):  # a file with the base64 of a real pack
        pack = Path(scene[1:]).read_text()
    else:
        node = ["node", "dev/pack.mjs", scene]
        pack = subprocess.run(node, cwd=ROOT / "js", capture_output=True, text=True, check=True).stdout
    bokeh_js = (Path(bokeh.__file__).parent / "server/static/js/bokeh.min.js").read_bytes()
    models: dict[str, dict[str, object]] = {
        "link": {"state": {"time_range": [], "selection": [], "hover": "", "step": -1}},
        "data": {"state": {"data_id": "d", "overview": pack, "is_complete": True, "n_chunks": 0}},
        "bokeh": {
            "state": {
                "source": base64.b64encode(zlib.compress(bokeh_js)).decode(),
                "name": "bokeh",
                "version": bokeh.__version__,
            }
        },
    }
    common = {
        "script": "anywidget:script",
        "link": "anywidget:link",
        "data": "anywidget:data",
        "options": json.dumps(options),
    }
    figures = {"step_chart": step_chart_figure(), "memory_timeline": memory_figure()}
    for name in VIEWS:
        extra = {"figure": figures[name], "bokeh": "anywidget:bokeh"} if name in figures else {}
        models[name] = {"state": {**common, **extra, "builder": name}}
    children = {name: f"anywidget:{name}" for name in VIEWS}
    models["dashboard"] = {"state": {**common, **children, "builder": "dashboard"}}
    script = {"name": "tfprof_widgets", "version": "look", "source": packed("views.js"), "styles": packed("views.css")}
    models["script"] = {"state": script}
    return html_page(view, view, models, script=(STATIC / "page.js").read_text(), notices="")


def packed(name: str) -> str:
    """A built file as a model has it."""
    return base64.b64encode(zlib.compress((STATIC / name).read_bytes())).decode()


def main(out: str, view: str = "dashboard", scene: str = "{}", widths: str = "1280", script: str = "") -> None:
    """Write one picture per width and theme."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{view}.html").write_text(page(view, scene, {"title": "look", "notices": []}))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        for width in (int(text) for text in widths.split(",")):
            for theme in ("light", "dark"):
                shot = browser.new_page(viewport={"width": width, "height": 930}, color_scheme=theme)
                shot.on("console", lambda message: print(message.type, message.text[:300]))  # noqa: T201
                shot.on("pageerror", lambda error: print("error", error))  # noqa: T201
                shot.goto(f"file://{folder.resolve()}/{view}.html")
                shot.wait_for_timeout(1200)
                if script:
                    exec(script, {"page": shot})  # a developer's own line
                    shot.wait_for_timeout(500)
                shot.screenshot(path=str(folder / f"{view}-{width}-{theme}.png"))
                shot.close()
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
