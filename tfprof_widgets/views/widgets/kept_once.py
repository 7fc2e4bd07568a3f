"""A page in an output and the state of the widgets that it shows -> the profile and the scripts once in a saved notebook.

Both hold the same, and a notebook may be saved with the state of its widgets or without. So the page in the output has all,
and what it has is taken out of the state: front ends are told that the large traits are empty, while Python still has them.
A view whose state is saved that way finds them in the page (`js/src/host/kept.ts`), and where it does not the output draws
its page in place of the view. Nothing is taken out

- before the page is published, so that a notebook that is saved or interrupted before is whole;
- of what any cell shows without a page, which puts back what was taken out: each view has its state or a page in its own cell;
- in Python, so that a front end that asks the kernel (a page loaded again, Voila) gets everything.
"""

from __future__ import annotations

from typing import Any, ClassVar

import ipywidgets


class KeptOnce(ipywidgets.Widget):  # type: ignore[misc]
    """A model that widgets share, with traits that are too large to be in a notebook twice."""

    large: ClassVar[tuple[str, ...]]
    """Those, strings and lists."""

    def __init__(self, **traits: Any) -> None:
        self._n_without_page = 0
        self._is_left_out = False
        super().__init__(**traits)

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
            self._is_left_out = True

    def put_back(self) -> None:
        """Have the state hold everything again."""
        if self._is_left_out and self.comm is not None:
            self.send_state(list(self.large))
        self._is_left_out = False

    @property
    def is_left_out(self) -> bool:
        """Whether the state is without the large traits, which a page has."""
        return self._is_left_out


def referred(root: ipywidgets.Widget, dropped: tuple[str, ...] = ()) -> list[ipywidgets.Widget]:
    """A widget and all that its traits refer to, directly or not, but for some traits."""
    found: dict[int, ipywidgets.Widget] = {}
    waiting = [root]
    while waiting:
        widget = waiting.pop()
        if id(widget) in found:
            continue
        found[id(widget)] = widget
        values = (getattr(widget, key) for key in widget.keys if key not in dropped)
        waiting += [value for value in values if isinstance(value, ipywidgets.Widget)]
    return list(found.values())


def shared_by(root: ipywidgets.Widget) -> list[KeptOnce]:
    """The models that a widget and the views in it draw from."""
    return [widget for widget in referred(root, ("opened",)) if isinstance(widget, KeptOnce)]
