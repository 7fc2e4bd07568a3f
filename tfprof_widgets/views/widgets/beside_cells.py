"""A widget -> one that is heard while a cell runs, where the front end sends its messages beside the cells.

JupyterLab and Notebook send them to a subshell, a thread of ipykernel 7 that is free while the main one runs a cell. Whether one
comes that way is known when one has come.
"""

from __future__ import annotations

import contextvars
import threading
from typing import Any

from ipywidgets import Widget

from .shell import is_cell_running, kernel_shell

_running_cell: dict[str, Any] = {}
"""The message that runs the running cell; empty between cells."""
_watched_shells: set[int] = set()


def hear_beside_cells(widget: Widget) -> None:
    """Have its messages handled where the front end sends them; does nothing outside a kernel with subshells.

    ipykernel 7.4 hands them to the shell that has sent last on the same comm, so that an asynchronous cell gets the answer to
    what it sent: what was opened in a cell would be answered after that.
    """
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
    """Know from now on which cell runs, and leave it what its threads print.

    ipykernel takes a message beside a cell for what *all* threads print for from then on (ipython/ipykernel issue 1564).
    """
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
