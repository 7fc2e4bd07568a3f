"""A page in an output and the state of the widgets that it shows -> the profile and the scripts once in a saved notebook.

Both hold the same, and a notebook may be saved with the state of its widgets or without. So the page in the output has all,
and what it has is taken out of the state: front ends are told that the large traits are empty, while Python still has them.
A view whose state is saved that way finds them in the page (`js/src/data/widget.ts`), and where it does not the output draws
its page in place of the view. Nothing is taken out

- before the page is published, so that a notebook that is saved or interrupted before is whole;
- of what any cell shows without a page, which puts back what was taken out: each view has its state or a page in its own cell;
- of what a widget of others shows, such as a box, which may stand in any cell;
- in Python, so that a front end that asks the kernel (a page loaded again, Voila) gets everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from weakref import WeakSet

import ipywidgets

from .open_widgets import open_widgets


class KeptOnce(ipywidgets.Widget):  # type: ignore[misc]
    """A model that widgets share, with traits that are too large to be in a notebook twice."""

    large: ClassVar[tuple[str, ...]]
    """Those, strings and lists."""

    def __init__(self, **traits: Any) -> None:
        self._n_without_page = 0
        super().__init__(**traits)
        self.on_msg(self._answer_whole)

    def _answer_whole(self, _widget: object, message: Mapping[str, Any], _buffers: object) -> None:
        if message.get("kind") == "whole?":
            self.put_back()

    def show(self) -> None:
        """Note that a cell shows the model, and no page of it yet."""
        self._n_without_page += 1
        self.put_back()

    def note_page(self) -> None:
        """Note that a page has the model, in the output of a cell that shows it: unless others do, its state need not."""
        self._n_without_page -= 1
        if self._n_without_page == 0 and self.comm is not None:
            empty = {name: type(getattr(self, name))() for name in self.large}
            self._send({"method": "update", "state": empty, "buffer_paths": []})
            _left_out.add(self)

    def put_back(self) -> None:
        """Have the state hold everything again."""
        if self in _left_out and self.comm is not None:
            self.send_state(list(self.large))
        _left_out.discard(self)


_left_out: WeakSet[KeptOnce] = WeakSet()
"""Those whose state is without the large traits, which a page has."""


def put_back_held() -> None:
    """Put back for good what widgets of others show."""
    ours = __name__.partition(".")[0]
    for widget in open_widgets() if _left_out else ():
        if not isinstance(widget, ipywidgets.Layout) and type(widget).__module__.partition(".")[0] != ours:
            for model in _left_out.intersection(shared_by(widget)):
                model.show()


def refers_to(widget: ipywidgets.Widget, dropped: tuple[str, ...] = ()) -> Iterator[ipywidgets.Widget]:
    """The widgets that traits of a widget are or hold, but for some traits."""
    for key in widget.keys:
        value = getattr(widget, key) if key not in dropped else None
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(each, ipywidgets.Widget):
                yield each


def referred(root: ipywidgets.Widget, dropped: tuple[str, ...] = ()) -> list[ipywidgets.Widget]:
    """A widget and all that its traits refer to, directly or not, but for some traits."""
    found: dict[int, ipywidgets.Widget] = {}
    waiting = [root]
    while waiting:
        widget = waiting.pop()
        if id(widget) in found:
            continue
        found[id(widget)] = widget
        waiting += refers_to(widget, dropped)
    return list(found.values())


def shared_by(root: ipywidgets.Widget) -> list[KeptOnce]:
    """The models that a widget and the views in it draw from."""
    return [widget for widget in referred(root, ("opened",)) if isinstance(widget, KeptOnce)]
