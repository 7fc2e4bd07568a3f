"""The ops of the side that computes -> the layer, optimizer, op or line that over a third of a step is spent in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...trace.trace import Bool
from ..base.wording import percent
from ..layers.scope_words import VENDOR
from ..steps.categories import GUIDE_CATEGORIES
from .advice import Advice, advise
from .code_places import noted_place
from .fix import Fix
from .spent_ops import SpentOps, costliest

if TYPE_CHECKING:
    from .run import Run

MOST = 1 / 3
"""Of a step."""
NO_COMPUTE = ("Dataset", "_Send", "_Recv", "_HostSend", "_HostRecv", "_Arg", "_Retval", "XLA_Args", "XLA_Retvals")
"""Types of ops that compute nothing: they wait for data, or copy it."""
_NAMED = {"layer": "The layer", "optimizer": "The optimizer", "loss": "The loss"}
_WHOLE = 0.95
"""A line with so much of what its layers take is where all of them are made or called, which tells nothing."""


def largest_part(run: Run) -> Iterator[Advice]:
    """A layer with its gradient, the optimizer, ops of one type at one line, or a line takes over a third of a step, on the side
    that computes for longer than a step loses to anything else. It may be as it must be: there is neither fix nor gain.
    """
    steps = run.steps
    if run.traced_ops is None:  # nothing tells what it is of
        return
    side = "device_compute" if steps.device_computes else "host_compute"
    if not steps.mean_ms or run.eager.is_hot or side != max(GUIDE_CATEGORIES, key=steps.ratio):
        return
    # Once: at a line it is the first that says enough.
    for what, ops in _parts(run):
        if ops.part.ratio >= MOST:
            yield _told(run, what, ops)
            return


def _parts(run: Run) -> Iterator[tuple[str, SpentOps]]:
    """The costliest of each kind, with the kinds that say most first."""
    layers, lines, types = run.results.layers, run.results.source_lines, run.results.op_shares.type
    works = run.side.side & ~np.isin(np.array(types, np.str_), NO_COMPUTE)
    kinds = layers.entries["kind"].isin(_NAMED).to_numpy()
    of_layer = np.append(kinds, False)[layers.op_entry]
    if (works & of_layer).any():
        yield "layer", _costliest(run, layers.op_entry, works & of_layer)
    if not len(lines.entries):
        return
    is_line = (lines.entries["bucket"] == "").to_numpy()[lines.op_entry]
    kind = np.unique(np.array(types, np.str_), return_inverse=True)[1]
    group = lines.op_entry.astype(np.int64) * (int(kind.max(initial=0)) + 1) + kind
    yield "op", _costliest(run, group, works & is_line)
    yield "op", _costliest(run, np.arange(len(types)), works)
    line = _costliest(run, lines.op_entry, works & is_line)
    touched = np.isin(layers.op_entry, layers.op_entry[line.own & of_layer])
    if not (touched & of_layer).any() or run.side.ratio(line.chosen) < _WHOLE * run.side.ratio(touched & works):
        yield "line", line


def _costliest(run: Run, group: npt.NDArray[np.integer], counted: Bool) -> SpentOps:
    """The ops of the group that most time is spent in."""
    _, number = np.unique(group, return_inverse=True)
    us = np.bincount(number, np.where(counted, run.side.us, 0.0))
    return SpentOps(run, "op", counted & (number == int(us.argmax())) if len(us) else counted)


def _told(run: Run, what: str, ops: SpentOps) -> Advice:
    steps, entry = run.steps, run.results.layers.entries.iloc[int(run.results.layers.op_entry[ops.top])]
    layer = str(entry["layer"]) if what == "layer" else ""
    place = ops.place or noted_place(run.results.source_map, "layers", "layer", layer)
    name = f"{_NAMED[str(entry['kind'])]} {layer}" if layer else ops.type if what == "op" else f"Line {place}"
    at = (f" ({place})" if layer else f" at {place}") if place and what != "line" else ""
    of_type = ops.chosen & np.array([VENDOR.sub("", one) == ops.type for one in run.results.op_shares.type], np.bool_)
    share = run.side.ratio(of_type) / run.side.ratio(ops.chosen)
    much = "all" if share > 0.995 else percent(share)
    more = f", {much} of that in {ops.type}" if what != "op" and share >= MOST else ""
    sizes = _sizes(run, ops.top) if what == "op" else ""
    return advise(
        "largest_part",
        f"{name}{at} takes {ops.part}{f' of the {steps.device}' if steps.device_computes else ''}"
        f"{f', on {sizes}' if sizes else ''}{more}. That is a large part of a step, and need not be a fault.",
        evidence=ops.part.evidence
        | {"op_type": ops.type}
        | ({"layer": layer} if layer else {})
        | ({"line": place} if place else {}),
        fix=Fix(),
        selection=steps.usual(steps.time_ms, view="op_table", op_names=costliest(run, ops.own)),
    )


def _sizes(run: Run, op: int) -> str:
    """What an op reads, but for what is no more than a list of numbers."""
    traced = run.traced_ops
    row = int(traced.row[op]) if traced is not None else -1
    sizes = [shape for shape in traced.input_shapes(row) if shape] if traced is not None and row >= 0 else []
    known = ["x".join("?" if size < 0 else str(size) for size in shape) for shape in sizes[:2] if len(shape) > 1]
    return " and ".join(known)
