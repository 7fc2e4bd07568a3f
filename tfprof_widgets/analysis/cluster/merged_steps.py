"""Steps of each host -> the steps of all, as one trace of all would have them.

merge_steps(every) -> MergedSteps
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Int64
from ..base.units import PS_PER_MS
from .columns import OWNER


@dataclass(frozen=True, eq=False, repr=False)
class MergedSteps:
    """The steps of all hosts, by start, then host, and where those of each are among them."""

    frame: pd.DataFrame
    """As `Steps.frame`."""
    row: Int64
    """Of each step in the order of the stack the row of `frame`."""
    kinds: pd.DataFrame
    """Of each row of `frame` its `owner` and its `kind`, see `step_kinds`."""

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
        step=np.arange(len(steps)),
        start_ms=steps["start_ps"] / PS_PER_MS,
        session=steps["session"].astype(np.int32),
    )
    return MergedSteps(frame, row, steps[[OWNER, "kind"]])
