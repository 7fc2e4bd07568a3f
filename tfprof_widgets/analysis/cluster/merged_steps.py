"""Steps of each host -> the steps of all, as one trace of all would have them.

merge_steps(summaries, shift_ps) -> MergedSteps
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.trace import Int64, UInt8
from ..steps.steps import STEP_CATEGORIES, step_columns
from .columns import joined
from .host_summary import HostSummary


@dataclass(frozen=True, eq=False, repr=False)
class MergedSteps:
    """The steps of all hosts, and where those of each are among them."""

    frame: pd.DataFrame
    """As `Steps.frame`."""
    pieces: pd.DataFrame
    """As `Steps.pieces`."""
    offsets: Int64
    """The steps of host `i` are numbers `offsets[i]:offsets[i + 1]` of what follows."""
    row: Int64
    """Of each such step the row of `frame`."""
    kind: Int64
    """Of each row of `frame` the number of its host and kind of step, ascending from host to host."""
    kind_offsets: Int64
    """The kinds of host `i` are numbers `kind_offsets[i]:kind_offsets[i + 1]`, the last one that of no step."""


def merge_steps(summaries: Sequence[HostSummary], shift_ps: Sequence[int]) -> MergedSteps:
    """Put the steps of all hosts together, by start, then host."""
    steps = [one.steps for one in summaries]
    n = np.array([len(one) for one in steps], np.int64)
    offsets = np.append(0, np.cumsum(n))
    shift = np.repeat(np.array(shift_ps, np.int64), n)
    first_session = np.append(0, np.cumsum([len(one.sessions) for one in summaries]))
    hosts = [session.host for one in summaries for session in one.sessions] or [""]
    start = joined([one.start_ps for one in steps], np.int64) + shift
    session = joined([one.session for one in steps], np.int64) + np.repeat(first_session[:-1], n)
    order = np.lexsort((session, start))
    row = np.empty(len(order), np.int64)
    row[order] = np.arange(len(order))
    n_kinds = np.array([one.kind.max(initial=-1) + 2 for one in steps], np.int64)
    kind_offsets = np.append(0, np.cumsum(n_kinds))
    kind = joined([one.kind for one in steps], np.int64) + np.repeat(kind_offsets[:-1], n)
    names = [name for one in steps for name in one.name]
    category_ms = joined([one.category_ms.reshape(-1) for one in steps], np.float64).reshape(-1, len(STEP_CATEGORIES))
    frame = step_columns(
        name=[names[i] for i in order.tolist()],
        host=[hosts[i] for i in session[order].tolist()],
        start_ps=start[order],
        duration_ps=joined([one.duration_ps for one in steps], np.int64)[order],
        category_ms=category_ms[order],
        is_inferred=joined([one.is_inferred for one in steps], np.bool_)[order],
        is_complete=joined([one.is_complete for one in steps], np.bool_)[order],
        session=session[order],
    )
    return MergedSteps(frame, _pieces(summaries, shift_ps, offsets, row), offsets, row, kind[order], kind_offsets)


def _pieces(summaries: Sequence[HostSummary], shift_ps: Sequence[int], offsets: Int64, row: Int64) -> pd.DataFrame:
    """The pieces of all, step by step."""
    steps = [one.steps for one in summaries]
    n = [len(one.piece_step) for one in steps]
    own = joined([one.piece_step for one in steps], np.int64) + np.repeat(offsets[:-1], n)
    step = row[own]
    start = joined([one.piece_start_ps for one in steps], np.int64) + np.repeat(np.array(shift_ps, np.int64), n)
    order = np.argsort(step, kind="stable")
    category: UInt8 = joined([one.piece_category for one in steps], np.uint8)
    return pd.DataFrame(
        {
            "step": step[order].astype(np.int32),
            "start_ps": start[order],
            "duration_ps": joined([one.piece_duration_ps for one in steps], np.int64)[order],
            "category": pd.Categorical.from_codes(
                category[order].astype(np.int8), categories=pd.Index(STEP_CATEGORIES, dtype=object)
            ),
        }
    )
