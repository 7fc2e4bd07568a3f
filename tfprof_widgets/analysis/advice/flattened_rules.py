"""Dense layers behind flattened images -> advice where their weights are most of the model and of the step."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ...trace.source_map import parse_shapes
from ..base.wording import number
from .advice import Advice
from .fix import Fix
from .spent_ops import SpentOps

if TYPE_CHECKING:
    from .run import Run
    from .traced_ops import TracedOps

MOST = 0.5
"""Of all weights, and of a step."""
IMAGES = 4
"""Dimensions of a batch of images, and more: their layers have a weight a channel, a flattened one has one a point, too."""


def flattened_features(run: Run) -> Iterator[Advice]:
    """One product of flattened images with weights, and updating these weights, is most of the step.

    Gain: of the share of the step time of ops on tensors of the weights' shape all that is for more than one point a channel.
    """
    traced = run.traced_ops
    if traced is None or not run.steps.mean_ms or run.eager.is_hot:
        return
    variables = traced.source_map.variables
    shapes = [parse_shapes(text)[0] or () for text in variables["shape"].tolist()]
    n_all = sum(prod(shape) for shape, is_one in zip(shapes, variables["trainable"].tolist(), strict=True) if is_one)
    for product, image, weights in _products(traced):
        n_weights, n_points = prod(shapes[weights]), prod(image[1:-1])
        if n_weights < MOST * n_all or n_points < 2:
            continue
        own = traced.row.to_numpy()
        rows = np.unique(own[(own >= 0) & run.side.matter])
        of_weights = [row for row in rows.tolist() if traced.has_shape(row, shapes[weights])]
        ops = SpentOps(run, "features", traced.runs([product]) | np.isin(own, of_weights))
        if ops.part.ratio < MOST:
            continue
        name, size = variables["name"].iloc[weights], "x".join(map(str, image[1:]))
        yield ops.advise(
            "flattened_features",
            f"{name} has {number(n_weights / 1e6)} of the {number(n_all / 1e6)} million weights, as it reads flattened images "
            f"({size}): its product and its update take {ops.part}.",
            fix=Fix(
                "Put keras.layers.GlobalAveragePooling2D in place of Flatten, one number a channel in place of one "
                "a point, or pool before Flatten (MaxPooling2D): another model, which trains differently."
            ),
            gain_ratio=ops.part.ratio * (1 - 1 / n_points),
            n_weights=n_weights,
            n_points=n_points,
            estimate="with one weight a channel in place of one a point",
        )


def _products(traced: TracedOps) -> Iterator[tuple[int, tuple[int, ...], int]]:
    """Products of flattened images with weights that are trained: the op, the shape of the images, and the variable. Images that
    are the input of the model itself have no layer before them that could pool."""
    of_row = np.unique(traced.of_row[traced.of_row >= 0])
    for row in of_row[(traced.type.iloc[of_row] == "MatMul").to_numpy()].tolist():
        flat = traced.source(row, 0)
        weights = traced.variable(traced.behind(row, 1))
        if flat < 0 or weights < 0 or traced.type[flat] != "Reshape" or traced.source(traced.behind(row, 0), 0) < 0:
            continue
        image = next(iter(traced.input_shapes(flat)), None) or ()
        if len(image) >= IMAGES and min(image[1:]) > 0 and traced.source_map.variables["trainable"].iloc[weights]:
            yield row, image, weights
