"""The front end of the running cell -> its kernel's shell and what it can show; needs neither IPython nor ipywidgets."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar
from weakref import WeakKeyDictionary

Value = TypeVar("Value")

if TYPE_CHECKING:
    import ipywidgets


def kernel_shell() -> Any:
    """IPython's shell where it runs in a kernel, whose front end may have widgets; None elsewhere."""
    ipython = sys.modules.get("IPython")
    found = ipython.get_ipython() if ipython is not None else None
    return found if getattr(found, "kernel", None) is not None else None


def replaceable() -> Literal["nothing", "text", "all"]:
    """What of the running cell's output can be replaced: JupyterLab and Notebook take anything, VS Code and Colab text."""
    found = kernel_shell()
    if found is None or not hasattr(found.display_pub, "register_hook") or is_in_output_widget():
        return "nothing"
    metadata = found.kernel.get_parent().get("metadata", {})
    if {"cellId", "deletedCells"} <= metadata.keys():
        return "all"
    return "text" if metadata.get("cellId") or "google.colab" in sys.modules else "nothing"


def is_in_output_widget() -> bool:
    """Whether an `Output` widget takes what the running cell displays."""
    if "ipywidgets" not in sys.modules:
        return False
    from ipywidgets import Output

    return any(isinstance(widget, Output) and widget.msg_id for widget in open_widgets())


def is_cell_running() -> bool:
    """Whether a cell of a kernel runs, not a message of its front end or nothing."""
    found = kernel_shell()
    parent = found.kernel.get_parent() if found is not None else {}
    return bool(parent.get("header", {}).get("msg_type") == "execute_request")


def open_widgets() -> list[ipywidgets.Widget]:
    """List them; ipywidgets has no public list: version 8 keeps it in its module, version 7 (as of Colab) in the class."""
    import ipywidgets
    from ipywidgets.widgets import widget as module

    kept = module._instances if hasattr(module, "_instances") else ipywidgets.Widget.widgets
    return list(kept.values())


_SERVERS = (
    ("marimo._runtime.context", "safe_get_context", "stream"),
    ("bokeh.io", "curdoc", "session_context"),
)
"""Servers with several visitors in one process: the module, what gives the current visit, and its attribute that lasts."""


def session() -> object:
    """Who sees the widgets that are made now: a kernel, a visit of a server; None where there is one alone."""
    shell = kernel_shell()
    for module, function, attribute in _SERVERS if shell is None else ():
        find = getattr(sys.modules.get(module), function, None)
        found = getattr(find(), attribute, None) if find is not None else None
        if found is not None:
            return found
    return getattr(shell, "kernel", None)  # Solara has one for each visit, and a new shell whenever it is asked for one


class EachSession(Generic[Value]):
    """One of something for each session, made when it is first asked for there: nobody moves the views of another visitor."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make, self._made = make, WeakKeyDictionary[object, Value]()
        self._session, self._cell = _session_name(), getattr(_marimo(), "cell_id", None)

    def __call__(self) -> Value:
        owner = session() or self
        if owner not in self._made:
            self._made[owner] = self._make()
        return self._made[owner]

    def widgets(self) -> AbstractContextManager[None]:
        """Widgets made within it are of the cell that made this: marimo closes those of a cell when it runs again."""
        context, is_own = _marimo(), _session_name() == self._session and self._cell is not None
        return nullcontext() if context is None else context.with_cell_id(self._cell if is_own else "tfprof_widgets")


def _marimo() -> Any:
    """What marimo knows of the running cell; None elsewhere."""
    find = getattr(sys.modules.get("marimo._runtime.context"), "safe_get_context", None)
    return find() if find is not None else None


def _session_name() -> int:
    return id(session())
