"""tf.data iterators -> how long the input op of each worked itself, without the iterators that it takes its elements from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Float64
from ..base.matching import sum_by
from ..base.op_names import parse_op_names
from ..base.units import PS_PER_MS
from .tf_data import TfData


def work_by_op(iterators: pd.DataFrame, work_ms: Float64, total_ms: Mapping[str, float]) -> dict[str, float]:
    """The work of each iterator as that of the op of its name; of several names each has a part as large as its total time.

    Args:
        iterators: the table; of it `event_names`.
        work_ms: of each of its rows.
        total_ms: total time of ops by name.
    """
    found: dict[str, float] = defaultdict(float)
    for names, work in zip(iterators["event_names"], work_ms.tolist(), strict=True):  # one turn per iterator
        ops = parse_op_names(names).name
        whole = sum(total_ms.get(op, 0.0) for op in ops)
        for op in ops:
            found[op] += work * (total_ms.get(op, 0.0) / whole if whole else 1 / len(ops))
    return found


def with_work(ops: pd.DataFrame, iterators: pd.DataFrame) -> pd.DataFrame:
    """The table of input ops with `work_time_ms` and `waiting_time_ms`; of what is no iterator all self time is work."""
    total_ms = ops["total_time_ms"].to_numpy(np.float64)
    found = work_by_op(
        iterators, iterators["self_time_ms"].to_numpy(np.float64), dict(zip(ops["op"], total_ms, strict=True))
    )
    work_ms = ops["op"].map(found).to_numpy(np.float64)
    is_iterator = ~np.isnan(work_ms)
    return ops.assign(
        work_time_ms=np.where(is_iterator, work_ms, ops["self_time_ms"]),
        waiting_time_ms=np.where(is_iterator, np.maximum(total_ms - work_ms, 0.0), 0.0),
    )


def work_within(data: TfData, counts: Bool) -> Float64:
    """What each iterator worked in the calls that count, in ms."""
    calls = data.calls[counts]
    own = sum_by(calls["iterator"].to_numpy(np.int64), calls["self_ps"].to_numpy(np.int64), len(data.iterators))
    return own / PS_PER_MS
