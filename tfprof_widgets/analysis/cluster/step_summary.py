"""Steps of one host -> what travels of them: the steps table, and the composition of each step in few pieces.

summarize_steps(steps) -> PackedFrame
outlined_pieces(steps) -> DataFrame
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...trace.stat_shapes import ranges
from ...trace.trace import Int64
from ..base.matching import dense_codes
from ..steps.averaged_steps import choose_steps
from ..steps.categories import STEP_CATEGORIES
from ..steps.step_names import kinds_of
from ..steps.steps import Steps
from .columns import PackedFrame

MAX_STEPS = 2_000
"""Of one host; of more the first ones are kept."""
MAX_PIECES = 24
"""Of one step; a step of more is cut into so many equal parts, each of the category that takes most of it."""
MAX_HOST_PIECES = 1_000
"""Of one host, as far as each step keeps one."""


def summarize_steps(steps: Steps) -> PackedFrame:
    """The first rows of `Steps.frame`, with the kind of each step."""
    return PackedFrame.of(steps.frame.assign(kind=step_kinds(steps)).iloc[:MAX_STEPS])


def step_kinds(steps: Steps) -> Int64:
    """For each step the number of its kind: steps of one number are averaged together or not at all, as they are of one name
    and typical of it or not.

    Which steps the averages of a whole cluster are over depends on other hosts only by the kind of step that counts, so sums
    over the steps of one number are all that the cluster needs.
    """
    frame = steps.frame
    kind = pd.factorize(kinds_of(frame["name"]))[0].astype(np.int64)
    is_typical = np.zeros(len(frame), np.int64)
    for one in range(int(kind.max(initial=-1)) + 1):  # one turn per kind of step
        rows = np.flatnonzero(kind == one)
        is_typical[rows] = choose_steps(frame.iloc[rows].reset_index(drop=True))[0]
    return dense_codes(kind, is_typical)[0]


def outlined_pieces(steps: Steps) -> tuple[pd.DataFrame, dict[str, int]]:
    """The pieces of the steps that travel, in outline where a step has too many.

    Returns:
        As `Steps.pieces`, the category as its number in `STEP_CATEGORIES`; and three sums: `n_pieces`, how many these
        steps have in full, `n_outlined`, how many steps are in outline, and `n_drawn`, how many pieces there are.
    """
    bounds = steps.frame[["start_ps", "duration_ps"]].to_numpy(np.int64)[:MAX_STEPS]
    pieces = steps.pieces[steps.pieces["step"] < len(bounds)]
    pieces = pieces.assign(category=pieces["category"].cat.codes)
    n_pieces = np.bincount(pieces["step"], minlength=len(bounds))
    most = max(1, min(MAX_PIECES, MAX_HOST_PIECES // max(len(bounds), 1)))
    is_long = (n_pieces > most)[pieces["step"]]
    n_all, n_outlined = len(pieces), int((n_pieces > most).sum())
    if is_long.any():
        pieces = pd.concat([pieces[~is_long], _outlined(pieces[is_long], bounds, most)])
        pieces = pieces.sort_values(["step", "start_ps"], kind="stable")
    return pieces, {"n_pieces": n_all, "n_outlined": n_outlined, "n_drawn": len(pieces)}


def _outlined(pieces: pd.DataFrame, bounds: Int64, n_parts: int) -> pd.DataFrame:
    """The same steps in equal parts, each of the category that takes most of it; neighbours of one category are one piece."""
    step, start, duration, category = (pieces[name].to_numpy(np.int64) for name in pieces.columns)
    steps = np.unique(step)
    begin, length = bounds[steps, 0], bounds[steps, 1]
    edges = begin[:, None] + length[:, None] * np.arange(n_parts + 1) // n_parts
    # A part is cut from the running time in each category, read at its two edges.
    place = np.searchsorted(steps, step)
    taken = np.zeros((len(steps), n_parts, len(STEP_CATEGORIES)), np.int64)
    first = np.minimum(np.maximum((start - begin[place]) * n_parts // np.maximum(length[place], 1), 0), n_parts - 1)
    last = np.minimum((start + duration - begin[place]) * n_parts // np.maximum(length[place], 1), n_parts - 1)
    n = last - first + 1
    piece = np.repeat(np.arange(len(step)), n)
    part = ranges(first, n)
    low = np.maximum(start[piece], edges[place[piece], part])
    high = np.minimum(start[piece] + duration[piece], edges[place[piece], part + 1])
    np.add.at(taken, (place[piece], part, category[piece]), np.maximum(high - low, 0))
    winner = taken.argmax(axis=2)
    is_first = np.ones(winner.shape, np.bool_)
    is_first[:, 1:] = winner[:, 1:] != winner[:, :-1]
    row, column = np.nonzero(is_first)
    starts = edges[row, column]
    follows = np.append(row[1:] == row[:-1], False)
    ends = np.where(follows, np.append(starts[1:], 0), (begin + length)[row])
    columns = steps[row], starts, ends - starts, winner[row, column]
    return pd.DataFrame(dict(zip(pieces.columns, columns, strict=True)))
