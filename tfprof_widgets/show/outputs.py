"""A widget that is heard while a cell runs, its plain-HTML fallback, and the panel of a comparison."""

from __future__ import annotations

import contextvars
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets
import traitlets
from ipywidgets import Widget

from .front_end import is_cell_running, is_in_output_widget, kernel_shell
from .library import Reference, put_back_held, shared_by
from .pack import deflated, json_text
from .widgets import View, after_the_cell

_running_cell: dict[str, Any] = {}
"""The message that runs the running cell; empty between cells."""
_watched_shells: set[int] = set()


def hear_beside_cells(widget: Widget) -> None:
    """Handle messages where the front end sends them, as ipykernel 7.4 hands them to another shell; needs subshells."""
    shell, comm = kernel_shell(), widget.comm
    if shell is None or comm is None or getattr(shell.kernel, "shell_channel_thread", None) is None:
        return
    _watch_cells(shell)
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = lambda _data, subshell_id: subshell_id
    handle = comm.handle_msg

    def hear(message: dict[str, Any]) -> None:
        # `handle_msg` tells IPython that a cell has ended, upon which figures are shown that are still drawn.
        if is_beside_cells():
            widget._handle_msg(message)
        else:
            handle(message)

    comm.handle_msg = hear


def is_beside_cells() -> bool:
    """Whether this thread is another than the one that runs the cells."""
    return threading.current_thread() is not threading.main_thread()


def _watch_cells(shell: Any) -> None:
    """Follow which cell runs, and leave it its threads' output, not a message beside it (ipython/ipykernel issue 1564)."""
    if id(shell) in _watched_shells:
        return
    _watched_shells.add(id(shell))
    set_parent = shell.set_parent

    def keep_parent(parent: dict[str, Any]) -> None:
        if not (_running_cell and is_beside_cells()):
            set_parent(parent)
        elif hasattr(shell, "set_thread_parent"):
            shell.set_thread_parent(parent)
        else:  # ipykernel before 7.4
            set_parent(parent)
            contextvars.copy_context().run(set_parent, dict(_running_cell))

    def begin(*_: object) -> None:
        if not is_beside_cells():
            _running_cell.clear()
            _running_cell.update(shell.get_parent())
            set_parent(dict(_running_cell))

    def end(*_: object) -> None:
        if not is_beside_cells():
            _running_cell.clear()

    shell.set_parent = keep_parent
    if is_cell_running():
        begin()
    shell.events.register("pre_run_cell", begin)
    shell.events.register("post_run_cell", end)


logger = logging.getLogger(__name__)


def publish_fallback(root: ipywidgets.Widget, make: Callable[[], dict[str, Any]]) -> None:
    """Have what `make` gives, by MIME type, published when the cell ends that a kernel runs; `root` need not keep it then."""
    shell = kernel_shell()
    # Where the view goes: under `%%capture` not where things go when the cell has ended.
    publisher = shell.display_pub
    is_in_widget = is_in_output_widget()

    def publish() -> None:
        try:
            publisher.publish(make())
        except Exception:  # the cell and its views are there without it
            logger.exception("what stands for a view where it is missing could not be made")
            return
        if is_in_widget or publisher is not shell.display_pub:
            return  # any cell may show the view, and this one the page
        for model in shared_by(root):
            model.note_page()
        put_back_held()
        shell.events.register("post_execute", put_back_held)

    after_the_cell(publish)


class DiffPanel(View):
    """Verdict, step times, tables of what changed, and both timelines, linked: what `ProfileDiff.dashboard()` gives."""

    timeline_a = Reference()
    """None where it recorded nothing."""
    timeline_b = Reference()
    """None where it recorded nothing."""

    packed = traitlets.Unicode().tag(sync=True)
    """Base64 of the zlib-compressed JSON that `js/src/views/diff_panel/comparison.ts` reads."""

    def __init__(self, content: Mapping[str, Any], timeline_a: Any, timeline_b: Any) -> None:
        packed = deflated(json_text(content))
        super().__init__(link=None, data=None, packed=packed, timeline_a=timeline_a, timeline_b=timeline_b)

    def shown_data(self) -> tuple[Any, ...]:
        """The comparison, and what both timelines draw from."""
        return (self, *(one.data for one in (self.timeline_b, self.timeline_a) if one is not None))
