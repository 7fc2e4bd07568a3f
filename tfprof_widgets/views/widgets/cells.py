"""Which cell shows which widgets -> the end of those that no cell shows any more.

ipywidgets keeps every widget until it is closed, so a cell that is run again would leave the views of its last run, and the
trace that they show, in the kernel and in the page. When a cell shows a profile again, the widgets of what it showed
before are closed, unless another cell or another widget still shows them. Front ends that do not say which cell runs keep
everything, as with any widget. A profile whose widgets were closed opens them again when it is asked for a view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from weakref import WeakKeyDictionary, WeakSet

import ipywidgets

from .kept_once import refers_to
from .library import Library
from .open_widgets import open_widgets
from .shell import kernel_shell

if TYPE_CHECKING:
    from .base import View
    from .data import TraceData
    from .diff_data import DiffData

Data: TypeAlias = "TraceData | DiffData | ipywidgets.Widget"
"""What the views of one profile, or that of a comparison, draw from; a dialog stands for itself."""


class Shown(Protocol):
    """A widget that a cell shows."""

    def shown_data(self) -> tuple[Any, ...]:
        """What a reader sees with it."""
        ...


_LARGE = 500
"""Letters or items beyond which a trait is emptied before its widget is closed."""


@dataclass
class _Run:
    """What one execution of a cell shows."""

    message_id: str
    shown: list[Data] = field(default_factory=list)


_runs: dict[str, _Run] = {}
"""The last execution of each cell that showed a view, by cell id."""
_views: WeakKeyDictionary[Data, WeakSet[View]] = WeakKeyDictionary()
"""All views of one profile, by what they draw from."""


def after_the_cell(action: Callable[[], None]) -> None:
    """Run once when the cell that runs now has ended; not at all outside a kernel."""
    found = kernel_shell()
    if found is None:
        return

    def run(*_: object) -> None:
        found.events.unregister("post_run_cell", run)
        action()

    found.events.register("post_run_cell", run)


def add_view(view: View) -> None:
    """Note a view that was made."""
    _views.setdefault(view.data, WeakSet()).add(view)


def note_shown(view: Shown) -> None:
    """Note that the running cell shows a view; what only its last execution showed is closed when it has ended."""
    cell, message_id = _running()
    if not cell:
        return
    run = _runs.get(cell)
    if run is None or run.message_id != message_id:
        before = run.shown if run is not None else []
        run = _runs[cell] = _Run(message_id)
        if before:
            after_the_cell(lambda: close_unseen(before))
    run.shown += [data for data in view.shown_data() if data not in run.shown]


def _running() -> tuple[str, str]:
    """Id of the running cell, "" when the front end does not say, and of the message that runs it."""
    found = kernel_shell()
    if found is None:
        return "", ""
    parent = found.kernel.get_parent()
    cell = parent.get("metadata", {}).get("cellId") or ""
    return str(cell), str(parent.get("header", {}).get("msg_id", ""))


def close_unseen(candidates: Iterable[Data]) -> None:
    """Close the widgets of those profiles that no cell and no other widget shows."""
    for data in candidates:
        is_seen = any(data in run.shown for run in _runs.values())
        if not is_seen and not _is_held(data):
            for widget in reversed(family(data)):
                _close(widget)


def _close(widget: ipywidgets.Widget) -> None:
    """Close a widget whose copy in the page is small by then.

    JupyterLab 4.6 keeps the last state of closed widgets as long as the kernel lives: the handler of each comm stays
    connected to a signal of the kernel connection.
    """
    large = {
        name: value
        for name in widget.keys
        if isinstance(value := getattr(widget, name), (str, list, tuple)) and len(value) > _LARGE
    }
    for name, value in large.items():
        setattr(widget, name, type(value)())
    widget.close()
    for name, value in large.items():
        setattr(widget, name, value)


def open_again(data: Data) -> None:
    """Open the widgets of a profile where they were closed."""
    for widget in family(data):
        if widget.comm is None:
            widget.__dict__.pop("_repr_mimebundle_", None)  # `close` hides the method behind None
            widget.open()


def family(data: Data) -> list[ipywidgets.Widget]:
    """All widgets of one profile but the shared libraries, each behind those that it refers to.

    A comparison is a family of its own: the views of the compared profiles, which it shows, are not part of it.
    """
    found: dict[int, ipywidgets.Widget] = {}

    def visit(widget: ipywidgets.Widget) -> None:
        if id(widget) in found or isinstance(widget, Library) or getattr(widget, "data", data) is not data:
            return
        for other in refers_to(widget):
            if other is not widget:  # what draws from its own state refers to itself
                visit(other)
        found[id(widget)] = widget

    visit(data)
    for view in sorted(_views.get(data, ()), key=lambda view: view.entry):
        visit(view)
    return list(found.values())


def _is_held(data: Data) -> bool:
    """Whether a widget outside the family, such as a box, refers to one of it."""
    own = {id(widget) for widget in family(data)}
    others = (widget for widget in open_widgets() if id(widget) not in own)
    return any(id(referred) in own for widget in others for referred in refers_to(widget))
