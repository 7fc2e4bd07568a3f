"""LinkModel: what the person looks at now, shared by all views of one profile."""

from __future__ import annotations

import ipywidgets
import traitlets


class LinkModel(ipywidgets.Widget):  # type: ignore[misc]
    """The time range, selection, hover and step that every view of one profile follows. It has no view of its own."""

    _model_name = traitlets.Unicode("WidgetModel").tag(sync=True)
    _model_module = traitlets.Unicode("@jupyter-widgets/base").tag(sync=True)

    time_range = traitlets.Tuple(default_value=()).tag(sync=True)
    """`(t0_ns, t1_ns)` after the trace origin, or `()` for the whole capture. One trait, because two would tear."""
    selection = traitlets.Tuple(default_value=()).tag(sync=True)
    """Names of the selected ops; an iterator is selected by its long name, any other event by its own."""
    hover = traitlets.Unicode("").tag(sync=True)
    """Name of the op under the pointer, or empty. The browser does not save it to the kernel."""
    step = traitlets.Int(-1).tag(sync=True)
    """Row of the selected step in `Profile.steps`, or -1."""

    @traitlets.validate("time_range")  # type: ignore[untyped-decorator]
    def _check_time_range(self, proposal: dict[str, tuple[float, ...]]) -> tuple[int, ...]:
        value = tuple(round(t) for t in proposal["value"])
        if value and (len(value) != 2 or value[0] > value[1]):
            raise traitlets.TraitError(f"time_range is (t0_ns, t1_ns) with t0_ns <= t1_ns, or () for all; got {value}")
        return value

    @traitlets.validate("selection")  # type: ignore[untyped-decorator]
    def _check_selection(self, proposal: dict[str, tuple[object, ...]]) -> tuple[str, ...]:
        return tuple(str(name) for name in proposal["value"])
