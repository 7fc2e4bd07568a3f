"""Library: a JavaScript library as the state of one shared model, so that a page and a saved notebook hold it once.

State, so that a view appears while the kernel is busy and in a reopened notebook; a model of its own, because each view's
module is in the state of each of its widgets.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from pathlib import Path

import ipywidgets
import traitlets

from ..payload.wire import as_text

STATIC = Path(__file__).parents[2] / "static"


class Library(ipywidgets.Widget):  # type: ignore[misc]
    """The text of one script; `js/src/host/library.ts` runs it once a page."""

    _model_name = traitlets.Unicode("WidgetModel").tag(sync=True)
    _model_module = traitlets.Unicode("@jupyter-widgets/base").tag(sync=True)

    name = traitlets.Unicode().tag(sync=True)
    """With `version`, names it in the page."""
    version = traitlets.Unicode().tag(sync=True)
    source = traitlets.Unicode().tag(sync=True)
    """Base64 of the zlib-compressed script."""


_models: dict[str, Library] = {}


def bokeh_js() -> Library:
    """BokehJS of the installed wheel: figures made in Python need the version of Python."""
    import bokeh

    script = Path(bokeh.__file__).parent / "server" / "static" / "js" / "bokeh.min.js"
    return _library("bokeh", bokeh.__version__, script)


def tabulator_js() -> Library:
    """The table library, built from the locked npm package."""
    return _built("tabulator")


def hosts_js() -> Library:
    """What the views of a profile of several hosts need beyond their own modules."""
    return _built("hosts")


def _built(name: str) -> Library:
    script = STATIC / f"{name}.js"
    with script.open(encoding="utf-8") as lines:
        version = lines.readline().strip()
    return _library(name, version, script)


def view_js(entry: str, text: str) -> Library:
    """The module of one kind of view, which all its widgets load from here."""
    return _model(f"tfprof_widgets {entry}", hashlib.sha256(text.encode()).hexdigest()[:16], text.encode())


def _library(name: str, version: str, script: Path) -> Library:
    return _model(name, version, script.read_bytes)


def _model(name: str, version: str, script: bytes | Callable[[], bytes]) -> Library:
    """The one model of this kernel; a new one when the last was closed (as by `Widget.close_all()`) or is of another version."""
    model = _models.get(name)
    if model is None or model.comm is None or model.version != version:
        text = script if isinstance(script, bytes) else script()
        model = Library(name=name, version=version, source=as_text(zlib.compress(text, 6)))
        _models[name] = model
    return model
