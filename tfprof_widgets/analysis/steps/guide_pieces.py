"""Events -> the composition of steps in the nine categories of TensorFlow's guide, as XProf charges them.

Source: semantics 3.1, 3.4.
"""

from __future__ import annotations

import numpy as np

from ...trace.trace import Trace, UInt8
from .composition import Spans
from .launch_pieces import launch_pieces
from .member_spans import device_events, outermost_spans, spans_by_time
from .step_pieces import Pieces, resolve
from .step_spans import SpanType, on_stream, sessions_with_device
from .step_table import StepTable


def guide_pieces(trace: Trace, types: UInt8, table: StepTable, *, tpu: Spans, waits: Spans) -> Pieces:
    """Break steps down; arguments as of `compose_steps`.

    A step inferred from the host ends where the next begins, while its kernels may still be queued: the device is then busy
    during the next step, and is shown so.
    """
    rows = outermost_spans(trace, types, table.member)
    rows = rows[types[rows] != SpanType.KERNEL_LAUNCH]
    rows = rows[(types[rows] != SpanType.COLLECTIVES) | on_stream(trace)[rows]]
    step = table.member[rows]
    if table.is_tiling.any() and sessions_with_device(trace).any():
        by_time_rows, by_time = spans_by_time(trace, device_events(trace, types), table, table.is_tiling)
        kept = ~(table.is_tiling[step] & on_stream(trace)[rows])
        rows, step = np.concatenate([rows[kept], by_time_rows]), np.concatenate([step[kept], by_time])
    launch, launch_start, launch_end = launch_pieces(trace, types, table.member)
    return resolve(
        np.concatenate([step, table.member[launch], tpu[0], waits[0]]).astype(np.int64),
        np.concatenate([trace.start_ps[rows], launch_start, tpu[1], waits[1]]),
        np.concatenate([trace.ends(rows), launch_end, tpu[2], waits[2]]),
        np.concatenate([types[rows], types[launch], tpu[3], waits[3]]),
        step_start_ps=table.start_ps,
        step_end_ps=table.end_ps,
    )
