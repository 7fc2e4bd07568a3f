"""Values of rows step by step -> the typical value of each and how far it can be trusted.

Steps are no independent draws: a machine that is busy for a while slows neighbours alike, and a run drifts. So the error
does not come from the steps but from blocks of neighbours: how these differ tells how much another stretch of the same
run would.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.trace import Bool, Float64, Int64

FEWEST_CELLS = 6
"""Fewer steps tell nothing of the noise."""
_MOST_BLOCKS = 16
_FEWEST_BLOCKS = 5
_CELLS_PER_BLOCK = 5
STEADY = 0.75
"""A row that occurs in this share of the steps is typified by the middle half of its steps, a rarer one by the mean."""
_TRIMMED = 0.25


@dataclass(frozen=True, eq=False, repr=False)
class Measured:
    """What a run says of each row."""

    typical: Float64
    """Of a steady row the mean of the middle half of the steps, of any other the plain mean."""
    error: Float64
    """Standard error of `typical`; NaN where there are too few steps to tell."""
    degrees: int
    """Degrees of freedom of `error`, 0 where it is NaN."""


def measure(per_cell: Float64, *, is_steady: Bool) -> Measured:
    """Find the typical value of each row and its error.

    A step that was interrupted, which on a busy machine is one in a few, must not stand for all: the middle half of the steps
    decides, and what a step takes beyond it counts no further.

    Args:
        per_cell: shape (rows, cells), in time order, at least one cell.
        is_steady: for each row whether it occurs in (almost) every cell.

    Source: K. Yuen, The two-sample trimmed t for unequal population variances, Biometrika 61 (1974): the error of a trimmed
    mean is that of the winsorized values; here from means of blocks (batch means) in place of single values.
    """
    n_rows, n_cells = per_cell.shape
    typical, kept, share = per_cell.mean(axis=1), per_cell, np.ones(n_rows)
    if is_steady.any():
        kept = per_cell.copy()
        typical[is_steady] = middle_mean(per_cell[is_steady])
        low, high = np.quantile(per_cell[is_steady], [_TRIMMED, 1 - _TRIMMED], axis=1)
        kept[is_steady] = np.clip(per_cell[is_steady], low[:, None], high[:, None])
        share[is_steady] = 1 - 2 * _TRIMMED
    if n_cells < FEWEST_CELLS:
        return Measured(typical, np.full(n_rows, np.nan), 0)
    first = block_starts(n_cells)
    length = np.diff(np.append(first, n_cells))
    blocks = np.add.reduceat(kept, first, axis=1) / length
    error = blocks.std(axis=1, ddof=1) / np.sqrt(len(first)) / share
    return Measured(typical, np.asarray(error, np.float64), len(first) - 1)


def block_starts(n_cells: int) -> Int64:
    """Where blocks of neighbouring cells begin: 5 to 16 blocks, of about five cells or more."""
    n_blocks = min(_MOST_BLOCKS, max(_FEWEST_BLOCKS, n_cells // _CELLS_PER_BLOCK), n_cells)
    return np.linspace(0, n_cells, n_blocks, endpoint=False).round().astype(np.int64)


def middle_mean(values: Float64) -> Float64:
    """The mean of the middle half along the last axis; of the outermost values of it a part counts."""
    n = values.shape[-1]
    trimmed, place = n * _TRIMMED, np.arange(n)
    weight = np.clip(np.minimum(place + 1, n - trimmed) - np.maximum(place, trimmed), 0, 1)
    middle: Float64 = np.sort(values, axis=-1) @ weight / weight.sum()
    return middle
