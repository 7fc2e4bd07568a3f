"""Host ops -> the input ops among them, their category, and how the time of the input pipeline divides into categories.

Source: semantics 5.3.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from ...trace.trace import Trace
from ..base.op_names import parse_op_names
from ..base.units import US_PER_MS
from .iterator_calls import FILE_READERS

ENQUEUE = "Enqueue"
DEMANDED_READ = "Demanded file read"
ADVANCED_READ = "Advanced file read"
PREPROCESSING = "Preprocessing"
UNKNOWN = "Unknown"
UNCLASSIFIED = "Other"

_STAGES = {"enqueue": ENQUEUE, "read": DEMANDED_READ, "preprocessing": PREPROCESSING, "unknown": UNKNOWN}
_READERS = tuple(f"::{name}" for name in FILE_READERS)
_AHEAD = ("::MemoryReader", "::MemoryWriter", "::Interleave", "::Prefetch", "::ParallelMap")
_INFEED = "InfeedEnqueue"


def input_category(op_type: str, name: str) -> str | None:
    """The category of a host op, None where it is not an input op.

    Source: semantics 5.3. `TFRecordV2` is preprocessing there, and so it is here.
    """
    if op_type.startswith(_INFEED) or op_type == "MemcpyHToD":
        return ENQUEUE
    if op_type == "Dataset":
        if not name.endswith(_READERS):
            return PREPROCESSING
        return ADVANCED_READ if any(part in name for part in _AHEAD) else DEMANDED_READ
    return _STAGES.get(op_type.lower())


def input_ops(ops: pd.DataFrame) -> pd.DataFrame:
    """Pick the input ops out of the `ops` table.

    Args:
        ops: the columns `device, type, name, occurrences, total_time_us, total_self_time_us`.

    Returns:
        The columns of `input_pipeline.ops` but for work and waiting, largest self time first. Both ratios are of the self
        time of all input ops, so those of the total time may add up to more than 1.
    """
    sides, kinds, names = (ops[name].tolist() for name in ("device", "type", "name"))
    asked = {kind for kind in set(kinds) if input_category(kind, "") is not None}
    rows = [row for row, kind in enumerate(kinds) if kind in asked and sides[row].lower() == "host"]
    own_us = ops["total_self_time_us"].tolist()
    rows.sort(key=lambda row: (-own_us[row], names[row]))
    self_ms, total_ms = (ops[f"total_{name}time_us"].to_numpy(np.float64)[rows] / US_PER_MS for name in ("self_", ""))
    base = float(self_ms.sum())
    return pd.DataFrame(
        {
            "op": np.array([names[row] for row in rows], np.object_),
            "count": ops["occurrences"].to_numpy()[rows],
            "total_time_ms": total_ms,
            "total_time_ratio": total_ms / base if base else np.zeros(len(rows)),
            "self_time_ms": self_ms,
            "self_time_ratio": self_ms / base if base else np.zeros(len(rows)),
            "category": np.array([input_category(kinds[row], names[row]) for row in rows], np.object_),
        }
    )


def input_categories(enqueue_ps: tuple[int, int], ops: pd.DataFrame) -> pd.DataFrame:
    """Divide the input time of the host into categories.

    Args:
        enqueue_ps: what `enqueue_times` returned.
        ops: what `input_ops` returned.

    Returns:
        `category, time_ms, ratio` (of their sum), always the same five rows in the same order.

    Source: semantics 5.3. Where the host does not enqueue to a device by an op, the share of copying is taken as 0.
    """
    own_ms = list(zip(ops["category"].tolist(), ops["self_time_ms"].tolist(), strict=True))
    enqueue, *work = (
        math.fsum(ms for category, ms in own_ms if category == key)
        for key in (ENQUEUE, DEMANDED_READ, ADVANCED_READ, PREPROCESSING)
    )
    busy, period = enqueue_ps
    share, known = min(1.0, busy / period) if period > 0 else 0.0, sum(work)
    rest = enqueue * (1 - share) / share if share else known
    times = [enqueue, *(rest * part / known if known else 0.0 for part in work)]
    times.append(0.0 if known else rest)
    total = sum(times)
    return pd.DataFrame(
        {
            "category": [ENQUEUE, DEMANDED_READ, ADVANCED_READ, PREPROCESSING, UNCLASSIFIED],
            "time_ms": times,
            "ratio": [time / total if total else 0.0 for time in times],
        }
    )


def enqueue_times(trace: Trace) -> tuple[int, int]:
    """How long the infeed ops of a TPU host enqueued, and from one to the next on the same thread, in ps."""
    texts = [text for text in trace.strings if _INFEED in text]
    types = parse_op_names(texts).type
    infeeds = [text for text, kind in zip(texts, types, strict=True) if kind.startswith(_INFEED)]
    rows = np.flatnonzero(trace.names_matching(infeeds))
    same_line = trace.line_id[rows][1:] == trace.line_id[rows][:-1]
    busy = int(trace.duration_ps[rows][:-1][same_line].sum())
    period = int(np.diff(trace.start_ps[rows])[same_line].sum())
    return busy, period
