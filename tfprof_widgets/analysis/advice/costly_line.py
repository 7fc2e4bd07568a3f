"""The lines of the user's -> the one that most of the step is spent for, where no cause is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .advice import Advice
from .fix import Fix
from .spent_ops import SpentOps

if TYPE_CHECKING:
    from .run import Run

MOST = 0.5
"""Of a step."""


def costly_line(run: Run) -> Iterator[Advice]:
    """One kind of op of one line takes most of the step, which may be as it must be: where to look first.

    Gain: none that is known.
    """
    lines, types = run.results.source_lines, run.results.op_shares.type
    if not run.steps.mean_ms or run.eager.is_hot or not len(lines.entries):
        return
    side = run.side
    kind = np.unique(np.array(types, np.str_), return_inverse=True)[1]
    group = lines.op_entry.astype(np.int64) * (int(kind.max(initial=0)) + 1) + kind
    groups, of_group = np.unique(group, return_inverse=True)
    own_us = np.bincount(of_group, np.where(side.side, side.us, 0.0), len(groups))
    if not len(groups):
        return
    ops = SpentOps(run, "line", of_group == int(own_us.argmax()))
    if not ops.place or ops.part.ratio < MOST:
        return
    traced = run.traced_ops
    row = int(traced.row[ops.top]) if traced is not None else -1
    sizes = [shape for shape in traced.input_shapes(row) if shape] if traced is not None and row >= 0 else []
    read = " and ".join("x".join("?" if size < 0 else str(size) for size in shape) for shape in sizes[:2])
    yield ops.advise(
        "costly_line",
        f"{ops.type} at {ops.place} takes {ops.part}{f', on {read}' if read else ''}. No cause is known: look there first.",
        fix=Fix(
            f"See whether {ops.type} can work on less, run less often, or take another form; it may be as it must be."
        ),
        gain_ratio=0.0,
        op_type=ops.type,
    )
