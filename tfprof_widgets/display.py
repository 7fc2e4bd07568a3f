"""A dashboard or a comparison -> where it is shown: the output of a notebook's cell, a terminal, a page at a path."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .errors import TfProfError
from .show.front_end import is_cell_running, kernel_shell

if TYPE_CHECKING:
    from .show.payload import Amount
    from .show.widgets import View


logger = logging.getLogger(__name__)

_FRAME_PX = 1000
"""Height of the page that stands for a widget."""


MakesPage = Callable[["Amount"], str]
"""Gives the text of a page that needs no kernel, with so much of the traces."""


class Shown(Protocol):
    """What a cell shows: in a line by its `repr`."""

    def dashboard(self) -> View: ...


@dataclass(frozen=True)
class WithoutWidgets:
    """What front ends show that have no widgets, or not this one; each is made when it is needed."""

    text: Callable[[], str]
    plain: Callable[[], str]
    """HTML that needs no script, for a notebook that is not trusted."""
    page: MakesPage
    """The views as a page of their own."""

    def bundle(self, root: View) -> dict[str, Any]:
        """All of it in one output, which finds out by itself whether `root` came."""
        from .show.page import fallback_html

        page = self.page("steps")
        return {"text/plain": self.text(), "text/html": fallback_html(self.plain(), page, root, height_px=_FRAME_PX)}


def output_of(shown: Shown, instead: WithoutWidgets, *, name: str) -> dict[str, Any]:
    """Show the text, and in a notebook the widget with its page, which follows as an output when the cell ends."""
    told = ""
    try:
        if kernel_shell() is not None and is_cell_running():
            from .show.outputs import publish_fallback

            try:
                root = shown.dashboard()
                bundle = {**root._repr_mimebundle_()[0], "text/plain": repr(shown)}
            except Exception:  # then there is nothing but the text
                told = instead.text()
                raise
            publish_fallback(root, lambda: instead.bundle(root))
            return bundle
        told = instead.text()
        if kernel_shell() is None:
            return {"text/plain": told}
        root = shown.dashboard()
        return {**root._repr_mimebundle_()[0], **instead.bundle(root)}
    except TfProfError as error:
        reason = f"tfprof: {error}"
    except Exception as error:  # a display must not turn a finished training cell into a failed one
        logger.exception("the %s cannot be shown", name)
        reason = f"tfprof: the {name} cannot be shown: {type(error).__name__}: {error}"
    return {"text/plain": f"{told}\n{reason}".strip()}


def displayed(shown: Shown) -> object:
    """The widget of something, or the reason why there is none: for a front end that shows what it is given."""
    try:
        return shown.dashboard()
    except TfProfError as error:
        return f"{shown!r}\ntfprof: {error}"


def write_page(path: str | Path, page: MakesPage, *, embed: Amount) -> Path:
    """Write a page whole or not at all; returns its path."""
    from .export.files import replacing

    if embed not in ("steps", "full"):
        raise ValueError(f'embed={embed!r} is no size: give "steps", or "full" for everything')
    target = Path(path).expanduser()
    text = page(embed)
    with replacing(target, packs=False) as file:
        file.write(text.encode("utf-8", "xmlcharrefreplace"))
    return target
