"""A dashboard or a comparison -> where it is shown: the output of a notebook's cell, a terminal, a page at a path."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ..errors import TfProfError
from ..views.widgets.shell import is_cell_running, kernel_shell

if TYPE_CHECKING:
    from ..views.widgets.base import View

logger = logging.getLogger(__name__)


class MakesPage(Protocol):
    """Gives the text of a page that needs no kernel."""

    def __call__(self, max_bytes: int | None, *, events: bool = True) -> str:
        """A page with at most so many bytes of traces, None for all; without `events` only of what tables need."""
        ...


class Shown(Protocol):
    """What a cell shows: in a line by its `repr`."""

    def dashboard(self) -> View:
        """The widget to show."""
        ...


def output_of(shown: Shown, text: Callable[[], str], page: MakesPage, *, name: str, height_px: int) -> dict[str, Any]:
    """What a cell shows: the text, and in a notebook the widget, with a small page for front ends that have none.

    The text and the page take longer to make than the widget: while a cell runs, a line stands for them, and they come as an
    output of their own when it ends.

    Args:
        shown: gives the widget and the line.
        text: for a terminal.
        page: the same to stand alone.
        name: of the widget, where it cannot be shown.
        height_px: of the page.
    """

    def without_widgets() -> dict[str, Any]:
        from ..views.page.html import framed
        from ..views.payload.embedding import FALLBACK_BYTES

        return {"text/plain": text(), "text/html": framed(page(FALLBACK_BYTES, events=False), height_px=height_px)}

    told = ""
    try:
        if kernel_shell() is not None and is_cell_running():
            from ..views.widgets.fallback import publish_fallback

            try:
                bundle = {**shown.dashboard()._repr_mimebundle_()[0], "text/plain": repr(shown)}
            except Exception:  # then there is nothing but the text
                told = text()
                raise
            publish_fallback(without_widgets)
            return bundle
        told = text()
        if kernel_shell() is None:
            return {"text/plain": told}
        return {**shown.dashboard()._repr_mimebundle_()[0], **without_widgets()}
    except TfProfError as error:
        reason = f"tfprof: {error}"
    except Exception as error:  # a display must not turn a finished training cell into a failed one
        logger.exception("the %s cannot be shown", name)
        reason = f"tfprof: the {name} cannot be shown: {type(error).__name__}: {error}"
    return {"text/plain": f"{told}\n{reason}".strip()}


def write_page(path: str | Path, page: MakesPage, *, embed: int | Literal["full"]) -> Path:
    """Write a page whole or not at all; returns its path.

    Args:
        path: of the page.
        page: makes its text with at most so many bytes of traces, None for all.
        embed: how many bytes that are; `"full"` for all.

    Raises:
        ValueError: `embed` is neither "full" nor a positive number.
        TfProfError: it cannot be written. What was at the path before is still there, and no part of a page.
    """
    from ..export.atomic import replacing

    if embed != "full" and not (isinstance(embed, int) and embed > 0):
        raise ValueError(f'embed={embed!r} is no size: give a number of bytes, or "full" for everything')
    target = Path(path).expanduser()
    text = page(None if embed == "full" else embed)
    with replacing(target, packs=False) as file:
        file.write(text.encode("utf-8", "xmlcharrefreplace"))
    return target
