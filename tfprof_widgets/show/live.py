"""A running training -> the widget that shows it, drawn from its state alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import traitlets
from numpy.typing import ArrayLike

from .library import Reference, names, referred, shared_by
from .lists import plain
from .outputs import hear_beside_cells, is_beside_cells
from .pack import as_text
from .widgets import View, close_unseen

_HEAD: dict[str, Any] = {
    **dict.fromkeys(("title", "batches", "file", "trigger_file", "budget"), ""),
    **dict.fromkeys(
        ("step_ms", "steps_per_s", "wait_ratio", "outside_ratio", "loss", "epoch", "elapsed_s", "quiet_s", "now_ns")
    ),
    **{name: [] for name in ("marks", "anomalies", "windows", "notices")},
    "state": "running",
    "n_steps": 0,
    "can_ask": False,
    "is_recorded": True,
}
"""The first `head`, described by `LiveHead` of `js/src/views/live/training.ts`."""


class LiveView(View):
    """Steps, waits, machine and anomalies of a running training, and its windows' dashboards: `Watch.dashboard()` gives it."""

    entry = "live"

    head = traitlets.Unicode(json.dumps(_HEAD)).tag(sync=True)
    """JSON of figures and words."""
    columns = traitlets.Unicode("[]").tag(sync=True)
    """JSON of the names of the columns of `bins`."""
    bins = traitlets.Unicode().tag(sync=True)
    """Base64 of those columns one after the other, float32 of little-endian order; times in ms, `start_s` after the start."""
    sample_columns = traitlets.Unicode("[]").tag(sync=True)
    """The same of `samples`."""
    samples = traitlets.Unicode().tag(sync=True)
    """Of the machine: `time_s` after the start, shares in per cent, sizes in bytes."""
    opened = traitlets.List(Reference()).tag(sync=True, to_json=names)
    """The dashboards of the windows whose state is `ready`, in the order of the windows."""

    def __init__(self) -> None:
        super().__init__(link=None, data=None)
        hear_beside_cells(self)
        self.on_msg(self._greet)

    def _greet(self, _widget: object, message: dict[str, Any], _buffers: object) -> None:
        """Answer a view that asks, while a cell runs, whether it is heard."""
        if message.get("kind") == "hello" and is_beside_cells():
            self.send({"kind": "hello", "view": str(message.get("view"))})

    def push(
        self,
        head: Mapping[str, Any],
        *,
        bins: Mapping[str, ArrayLike],
        samples: Mapping[str, ArrayLike],
        opened: Sequence[Any] = (),
    ) -> None:
        """Show another state of the training, in one message."""
        for dashboard in opened:
            if dashboard not in self.opened:
                for model in shared_by(dashboard):
                    model.show()
                for model in referred(dashboard):  # which are asked for parts while the cell runs
                    hear_beside_cells(model)
        with self.hold_sync():
            self.head = json.dumps(_HEAD | plain(head), allow_nan=False, separators=(",", ":"))
            self.columns, self.bins = _packed(bins)
            self.sample_columns, self.samples = _packed(samples)
            self.opened = list(opened)

    def close(self) -> None:
        """End the widget, and those of the windows that nothing else shows."""
        super().close()
        if sys.is_finalizing():  # as Python ends, nothing can be imported any more
            return
        close_unseen([dashboard.data for dashboard in self.opened])


def _packed(columns: Mapping[str, ArrayLike]) -> tuple[str, str]:
    """Names as JSON, and values as text."""
    return json.dumps(list(columns)), as_text(
        b"".join(np.asarray(column, "<f4").tobytes() for column in columns.values())
    )
