"""Copies of each host -> a table that travels, and the copies of all.

summarize_copies(frame) -> PackedFrame
merge_copies(every) -> the table `copies`
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from ..ops.copies import COPY_KEY, COPY_SUMS, copy_table
from .columns import PackedFrame, with_rest

MAX_COPIES = 500
"""Rows of one host, those with the most exposed time; the others are one, `OTHERS`."""
OTHERS = "other copies"


def summarize_copies(frame: pd.DataFrame) -> PackedFrame:
    """Keep the rows with the most exposed time."""
    return PackedFrame.of(with_rest(frame[[*COPY_KEY, *COPY_SUMS]], MAX_COPIES, _others))


def _others(more: pd.DataFrame) -> Mapping[str, object]:
    return {**dict.fromkeys(COPY_KEY, ""), "op": OTHERS, **{name: more[name].sum() for name in COPY_SUMS}}


def merge_copies(every: pd.DataFrame) -> pd.DataFrame:
    """The copies of all hosts, as those of one are added up."""
    return copy_table(every)
