"""Steps of one host -> columns that travel: the steps table, and the composition of each step in few pieces.

summarize_steps(steps) -> StepSummary
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.stat_shapes import ranges
from ...trace.trace import Bool, Float64, Int32, Int64, UInt8
from ..base.matching import dense_codes
from ..steps.averaged_steps import choose_steps
from ..steps.steps import STEP_CATEGORIES, Steps

MAX_STEPS = 2_000
"""Of one host; of more the first ones are kept."""
MAX_PIECES = 24
"""Of one step; a step of more is cut into so many equal parts, each of the category that takes most of it."""
MAX_HOST_PIECES = 1_000
"""Of one host, as far as each step keeps one."""


@dataclass(frozen=True, eq=False, repr=False)
class StepSummary:
    """The steps of one host. Times are ps after the host's own origin, the columns named `_ms` aside."""

    n_all: int
    """How many steps the host has; the columns hold the first `MAX_STEPS`."""
    name: tuple[str, ...]
    session: Int32
    start_ps: Int64
    duration_ps: Int64
    step_time_ms: Float64
    category_ms: Float64
    """Shape (steps, `STEP_CATEGORIES`)."""
    is_inferred: Bool
    is_complete: Bool
    kind: Int32
    """Steps of one number are averaged together or not at all: they are of one kind of step, and typical of it or not."""
    compute_16bit_ps: int
    compute_32bit_ps: int

    piece_step: Int32
    """Of each piece the step, a row above; the pieces of a step follow each other without a gap."""
    piece_start_ps: Int64
    piece_duration_ps: Int64
    piece_category: UInt8
    """Index into `STEP_CATEGORIES`."""
    n_pieces: int
    """How many pieces these steps have in full."""
    n_outlined: int
    """How many of these steps are in outline, as they have more pieces than travel."""

    def __len__(self) -> int:
        return len(self.name)


def summarize_steps(steps: Steps) -> StepSummary:
    """Keep the table exactly and the pieces in outline."""
    frame = steps.frame.iloc[:MAX_STEPS]
    texts: dict[str, str] = {}
    step_of_piece = steps.pieces["step"].to_numpy(np.int64)
    n_pieces = np.bincount(step_of_piece[step_of_piece < len(frame)], minlength=len(frame))
    most = max(1, min(MAX_PIECES, MAX_HOST_PIECES // max(len(frame), 1)))
    pieces = _pieces(steps, n_pieces, most)
    return StepSummary(
        n_all=len(steps.frame),
        name=tuple(texts.setdefault(name, name) for name in frame["name"].tolist()),
        session=frame["session"].to_numpy(np.int32),
        start_ps=frame["start_ps"].to_numpy(np.int64),
        duration_ps=frame["duration_ps"].to_numpy(np.int64),
        step_time_ms=frame["step_time_ms"].to_numpy(np.float64),
        category_ms=frame[[f"{category}_ms" for category in STEP_CATEGORIES]].to_numpy(np.float64),
        is_inferred=(frame["source"] == "inferred").to_numpy(np.bool_),
        is_complete=frame["is_complete"].to_numpy(np.bool_),
        kind=step_kinds(steps).astype(np.int32)[: len(frame)],
        compute_16bit_ps=steps.compute_16bit_ps,
        compute_32bit_ps=steps.compute_32bit_ps,
        piece_step=pieces[0].astype(np.int32),
        piece_start_ps=pieces[1],
        piece_duration_ps=pieces[2],
        piece_category=pieces[3],
        n_pieces=int(n_pieces.sum()),
        n_outlined=int((n_pieces > most).sum()),
    )


def step_kinds(steps: Steps) -> Int64:
    """For each step the number of its kind, as `StepSummary.kind`.

    Which steps the averages of a whole cluster are over depends on other hosts only by the kind of step that counts, so sums
    over the steps of one number are all that the cluster needs.
    """
    frame = steps.frame
    names = [name.rstrip("0123456789").rstrip() for name in frame["name"].tolist()]
    number = {name: i for i, name in enumerate(dict.fromkeys(names))}
    kind = np.array([number[name] for name in names], np.int64)
    is_typical = np.zeros(len(frame), np.int64)
    for one in range(len(number)):  # one turn per kind of step
        rows = np.flatnonzero(kind == one)
        is_typical[rows] = choose_steps(frame.iloc[rows].reset_index(drop=True))[0]
    return dense_codes(kind, is_typical)[0]


def _pieces(steps: Steps, n_pieces: Int64, most: int) -> tuple[Int64, Int64, Int64, UInt8]:
    """Step, start, duration and category of the pieces of the first steps, at most `most` of each; `n_pieces` they have."""
    frame, n_steps = steps.pieces, len(n_pieces)
    step = frame["step"].to_numpy(np.int64)
    kept = step < n_steps
    step = step[kept]
    start, duration = (frame[name].to_numpy(np.int64)[kept] for name in ("start_ps", "duration_ps"))
    category = frame["category"].cat.codes.to_numpy()[kept].astype(np.uint8)
    is_long = n_pieces > most
    if not is_long.any():
        return step, start, duration, category
    few = ~is_long[step]
    bounds = steps.frame[["start_ps", "duration_ps"]].to_numpy(np.int64)[:n_steps]
    long = _outlined(step[~few], start[~few], duration[~few], category[~few], bounds, most)
    columns = [
        np.concatenate([own[few], other]) for own, other in zip((step, start, duration, category), long, strict=True)
    ]
    order = np.lexsort((columns[1], columns[0]))
    return columns[0][order], columns[1][order], columns[2][order], columns[3][order]


def _outlined(
    step: Int64, start: Int64, duration: Int64, category: UInt8, bounds: Int64, n_parts: int
) -> tuple[Int64, Int64, Int64, UInt8]:
    """The same steps in equal parts, each of the category that takes most of it; neighbours of one category are one piece."""
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
    return steps[row], starts, ends - starts, winner[row, column].astype(np.uint8)
