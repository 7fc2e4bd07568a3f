"""Layers that are not trained -> advice to compute what they make once, not in each epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..base.wording import plural
from .advice import HIGH_GAIN, Advice
from .code_text import one_line
from .fix import Fix
from .spent_ops import SpentOps

if TYPE_CHECKING:
    from ...trace.trace import Bool
    from .run import Run
    from .traced_ops import TracedOps


def frozen_layers(run: Run) -> Iterator[Advice]:
    """Layers whose weights are not trained, behind none that are, compute the same for a picture in each epoch.

    Where anything random comes before them, such as turned pictures, they do not, and there is no advice.
    Gain: the share of the step time of their ops.
    """
    traced, layers = run.traced_ops, run.results.layers
    if traced is None or not run.has_layers or not run.steps.mean_ms or run.eager.is_hot:
        return
    trained = traced.source_map.variables.groupby("layer")["trainable"].any()
    frozen = set(trained.index[~trained.astype(bool)])
    forward_only = _forward_only(run)
    own = [name for name in layers.entries["layer"][forward_only].tolist() if name in frozen]
    is_frozen = layers.entries["layer"].isin(own).to_numpy()[layers.op_entry]
    rows = traced.row.to_numpy()
    before = traced.before(rows[is_frozen & (rows >= 0)].tolist())
    ops = SpentOps(run, "frozen", is_frozen | forward_only[layers.op_entry] & np.isin(rows, before))
    if not own or ops.part.ratio < HIGH_GAIN or _draws(run, traced, before):
        return
    base = _scope(own)
    yield ops.advise(
        "frozen_layers",
        f"{plural(len(own), 'frozen layer')}{f' of {base}' if base else ''} take{'s' if len(own) == 1 else ''} {ops.part}: the "
        "same features of the same input in each epoch.",
        fix=Fix(
            f"Compute what {one_line(base) or 'they'} give{'s' if base else ''} once, by predict of a model of the "
            "frozen layers alone, and train the layers behind them on that."
        ),
        gain_ratio=ops.part.ratio,
        n_layers=len(own),
        layer=base,
    )


def _scope(layers: list[str]) -> str:
    """The scope that all of some layers are in, "" for none."""
    parts = [layer.split("/") for layer in layers]
    shared = min(map(len, parts)) if parts else 0
    n = next((i for i in range(shared) if len({one[i] for one in parts}) > 1), shared)
    return "/".join(parts[0][:n]) if parts else ""


def _forward_only(run: Run) -> Bool:
    """For each entry of the layers whether it is one that runs, without gradients, in steps that train others."""
    layers, is_backward = run.results.layers, run.results.op_scopes.is_backward
    n = len(layers.entries)
    runs = np.bincount(layers.op_entry, minlength=n) > 0
    has_gradient = np.bincount(layers.op_entry[is_backward], minlength=n) > 0
    is_layer = (layers.entries["kind"] == "layer").to_numpy()
    found: Bool = is_layer & runs & ~has_gradient & bool((is_layer & has_gradient).any())
    return found


def _draws(run: Run, traced: TracedOps, rows: list[int]) -> bool:
    """Whether some ops, or those of the input, draw random numbers for more than an order."""
    scopes = run.results.op_scopes
    of_input = {kind for kind, is_one in zip(scopes.type, scopes.is_input.tolist(), strict=True) if is_one}
    return any("Random" in kind for kind in {*traced.type.iloc[rows], *of_input} - {"RandomShuffle"})
