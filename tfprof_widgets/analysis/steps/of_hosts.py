"""Steps of one host -> the rows and pieces that travel; those of all hosts -> the steps of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.arrays import Bool, Int64, SmallInt
from ...trace.stats import ranges
from ...trace.trace import Trace, small_int
from ..common import PS_PER_MS, dense_codes
from ..summaries import MOST, OWNER, HostSums, PackedFrame
from .categories import CATEGORY_LABELS, GUIDE_CATEGORIES, STEP_CATEGORIES
from .spans import choose_steps, kinds_of
from .steps import Steps

_GUIDE_OF = {"copy_to_device": "input", "dispatch": "other", "sync": "other", "checkpoint": "host_compute"}
"""Categories that the guide has not, as it would most often charge their time."""
STEP_TIME = "Step time"
"""The line of a trace in low detail that shows pieces of steps."""


def summarize_steps(steps: Steps) -> PackedFrame:
    """The first rows of `Steps.frame`, with the kind of each step."""
    return PackedFrame.of(steps.frame.assign(kind=step_kinds(steps)).iloc[: MOST.steps])


def step_kinds(steps: Steps) -> Int64:
    """For each step the number of its kind: steps of one number have one name and typicality, so the same averages."""
    frame = steps.frame
    kind = pd.factorize(kinds_of(frame["name"]))[0].astype(np.int64)
    is_typical = np.zeros(len(frame), np.int64)
    for one in range(int(kind.max(initial=-1)) + 1):  # one turn per kind of step
        rows = np.flatnonzero(kind == one)
        is_typical[rows] = choose_steps(frame.iloc[rows].reset_index(drop=True))[0]
    return dense_codes(kind, is_typical)[0]


def outlined_pieces(steps: Steps) -> tuple[pd.DataFrame, dict[str, int]]:
    """The pieces of the steps that travel, in outline where a step has too many."""
    bounds = steps.frame[["start_ps", "duration_ps"]].to_numpy(np.int64)[: MOST.steps]
    pieces = steps.pieces[steps.pieces["step"] < len(bounds)]
    pieces = pieces.assign(category=pieces["category"].cat.codes)
    n_pieces = np.bincount(pieces["step"], minlength=len(bounds))
    most = max(1, min(MOST.pieces, MOST.host_pieces // max(len(bounds), 1)))
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


@dataclass(frozen=True, eq=False, repr=False)
class MergedSteps:
    """The steps of all hosts, by start, then host, and where those of each are among them."""

    frame: pd.DataFrame
    """As `Steps.frame`."""
    row: Int64
    """Of each step in the order of the stack the row of `frame`."""
    kinds: pd.DataFrame
    """Of each row of `frame` its `owner` and its `kind`, see `step_kinds`."""

    def steps(self, trace: Trace, hosts: HostSums) -> Steps:
        """The steps; their pieces are in outline, the categories of each step are exact."""
        event_step: SmallInt = np.append(self.row, -1)[hosts.low_step].astype(small_int(len(self.frame)))
        return Steps(
            frame=self.frame,
            pieces=(pieces := pieces_of(trace, event_step)),
            guide_pieces=as_guide(pieces),
            event_step=event_step,
            compute_16bit_ps=hosts.sums["compute_16bit_ps"],
            compute_32bit_ps=hosts.sums["compute_32bit_ps"],
        )

    def of_their_kinds(self, steps: Bool, owned: pd.DataFrame) -> Bool:
        """Which rows with an `owner` and a `kind` are of the kinds of some of the steps."""
        width = int(self.kinds["kind"].to_numpy().max(initial=-1)) + 2
        found, wanted = (one[OWNER] * width + one["kind"] for one in (owned, self.kinds[steps]))
        return np.isin(found, wanted)


def merge_steps(steps: pd.DataFrame) -> MergedSteps:
    """Put the steps of the stack together."""
    order = np.lexsort((steps["session"], steps["start_ps"]))
    row = np.empty(len(order), np.int64)
    row[order] = np.arange(len(order))
    steps = steps.iloc[order].reset_index(drop=True)
    frame = steps.drop(columns=[OWNER, "kind"]).assign(
        step=np.arange(len(steps)), start_ms=steps["start_ps"] / PS_PER_MS, session=steps["session"].astype(np.int32)
    )
    return MergedSteps(frame, row, steps[[OWNER, "kind"]])


def pieces_of(trace: Trace, event_step: SmallInt) -> pd.DataFrame:
    """The table `Steps.pieces` of what a merged trace has of them."""
    events = np.flatnonzero(trace.on_lines([line.is_derived and line.name == STEP_TIME for line in trace.lines]))
    events = events[np.argsort(event_step[events], kind="stable")]
    number = np.zeros(len(trace.strings), np.int8)
    number[[trace.string_ids[label] for label in CATEGORY_LABELS]] = np.arange(len(CATEGORY_LABELS))
    categories = pd.Index(STEP_CATEGORIES, dtype=object)
    return pd.DataFrame(
        {
            "step": event_step[events].astype(np.int32),
            "start_ps": trace.start_ps[events],
            "duration_ps": trace.duration_ps[events],
            "category": pd.Categorical.from_codes(number[trace.name_id[events]], categories=categories),
        }
    )


def as_guide(pieces: pd.DataFrame) -> pd.DataFrame:
    """The same in the categories of the guide, as far as ours tell."""
    guide = pd.Index(GUIDE_CATEGORIES, dtype=object)
    code = np.array([GUIDE_CATEGORIES.index(_GUIDE_OF.get(name, name)) for name in STEP_CATEGORIES], np.int8)
    codes = code[pieces["category"].cat.codes.to_numpy()]
    return pieces.assign(category=pd.Categorical.from_codes(codes, categories=guide))
