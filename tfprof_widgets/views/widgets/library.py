"""Library: JavaScript as the state of one shared model, so that a page and a saved notebook hold it once.

State, so that a view appears while the kernel is busy and in a reopened notebook; a model of its own, because the state of
each widget is in a notebook as often as there are widgets. Outside a Jupyter kernel a process may serve several pages (as
marimo, Shiny and Panel do), which know no model of each other: there each profile has its own.
"""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

import traitlets

from ..payload.wire import as_text
from .kept_once import KeptOnce
from .shell import kernel_shell

STATIC = Path(__file__).parents[2] / "static"


class Library(KeptOnce):
    """The text of one script; `js/src/data/widget.ts` runs it once a page."""

    large = ("source", "styles")

    name = traitlets.Unicode().tag(sync=True)
    """With `version`, names it in the page."""
    version = traitlets.Unicode().tag(sync=True)
    source = traitlets.Unicode().tag(sync=True)
    """Base64 of the zlib-compressed script."""
    styles = traitlets.Unicode().tag(sync=True)
    """The same of its style sheet; empty for none."""


_models: WeakKeyDictionary[object, dict[str, Library]] = WeakKeyDictionary()
"""By what shares them: the kernel's shell, or the owner that a view named."""


class Script(NamedTuple):
    """What a `Library` holds."""

    version: str
    source: str
    styles: str = ""


def bokeh_script() -> Script:
    """BokehJS of the installed wheel: figures made in Python need the version of Python."""
    import bokeh

    script = Path(bokeh.__file__).parent / "server" / "static" / "js" / "bokeh.min.js"
    return _script(bokeh.__version__, script)


def views_script() -> Script:
    """All views, and the style sheet that they share; the licences of what they contain go wherever they go."""
    version = built("source.sha256").strip()
    return _script(version, STATIC / "views.js", styles=STATIC / "views.css", notices=STATIC / "licenses.txt")


def bokeh_js(owner: object) -> Library:
    """The model that holds `bokeh_script`, of this kernel or else of the owner."""
    return _library(owner, "bokeh", bokeh_script())


def views_js(owner: object) -> Library:
    """The model that holds `views_script`, of this kernel or else of the owner."""
    return _library(owner, "tfprof_widgets", views_script())


def built(file_name: str) -> str:
    """The text of a built file.

    Raises:
        FileNotFoundError: it was not built.
    """
    path = STATIC / file_name
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} is missing, so no view can be drawn: run `make js`, or install again"
        ) from None


def _library(owner: object, name: str, script: Script) -> Library:
    """The shared model; a new one when the last was closed (as by `Widget.close_all()`) or is of another version."""
    models = _models.setdefault(kernel_shell() or owner, {})
    model = models.get(name)
    if model is None or model.comm is None or model.version != script.version:
        model = models[name] = Library(name=name, **script._asdict())
    return model


@cache
def _script(version: str, script: Path, *, styles: Path | None = None, notices: Path | None = None) -> Script:
    head = b"" if notices is None else b"/*!\n%s*/\n" % notices.read_bytes()
    return Script(version, _packed(head + script.read_bytes()), "" if styles is None else _packed(styles.read_bytes()))


def _packed(text: bytes) -> str:
    return as_text(zlib.compress(text, 6))
