"""Gaps of devices -> the table `idle`: each with its causes, and with the kernel that it comes before.

compute_idle(trace, steps, op_shares, event_op, layers) -> DataFrame

Source: semantics 3.8.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ...trace.trace import Float64, Int32, Int64, Trace
from ..base.table_types import text_column, typed_table
from ..base.units import PS_PER_MS, PS_PER_US
from ..columns.registry import TABLES
from ..layers.layers import PHASES, Layers
from ..ops.op_shares import OpShares
from ..steps.categories import STEP_CATEGORIES
from ..steps.composition import host_work
from ..steps.exchange_pieces import exchange_pieces
from ..steps.steps import TracedSteps, table_of
from .gaps import POSITIONS, Gaps, find_gaps
from .launch_queue import launch_calls

IDLE_TYPES = TABLES["idle"].types


def compute_idle(
    trace: Trace, steps: TracedSteps, op_shares: OpShares, event_op: Int32, layers: Layers
) -> pd.DataFrame:
    """The gaps of each device, by device, then time; empty where nothing ran on one.

    Args:
        trace: the trace.
        steps: its steps.
        op_shares: the framework ops.
        event_op: for each event the op that it executes most of, -1 for none.
        layers: which layer and phase each op is of.
    """
    table, types = table_of(steps), steps.span_type
    gaps = find_gaps(trace, types, table, host_work(trace, types, table, exchange_pieces(trace, types, table)))
    if not len(gaps):
        return typed_table([], IDLE_TYPES)
    op = np.append(event_op, -1)[gaps.kernel]
    launch_us, depth = _launch(trace, gaps.kernel)
    several_hosts = len({plane.host for plane in trace.planes}) > 1
    devices = [f"{plane.host}{plane.name}" if several_hosts else plane.name for plane in trace.planes]
    return pd.DataFrame(
        {
            "gap": gaps.gap,
            "device": _texts(devices, gaps.plane),
            "step": gaps.step,
            "position": _texts(POSITIONS, gaps.position),
            "start_ms": gaps.start_ps / PS_PER_MS,
            "duration_us": gaps.duration_ps / PS_PER_US,
            "cause": _texts(STEP_CATEGORIES, gaps.cause),
            "gap_us": gaps.gap_ps / PS_PER_US,
            "kernel": _texts(trace.strings, np.append(trace.name_id, -1)[gaps.kernel]),
            "op": _texts(op_shares.name, op),
            "layer": _texts(layers.entries["layer"].tolist(), np.append(layers.op_entry, -1)[op]),
            "phase": _texts(*_phases(gaps, layers, op)),
            "launch_us": launch_us,
            "queue_depth": depth,
        }
    )


def _phases(gaps: Gaps, layers: Layers, op: Int64) -> tuple[tuple[str, ...], Int64]:
    """What the kernel after each gap works for, as names and numbers of them; a gap at the edge of a step is at its border."""
    names = (*PHASES, "input", "border")
    phase = np.append(layers.op_phase, PHASES.index("other"))[op].astype(np.int64)
    is_input = np.append(layers.entries["kind"].eq("input").to_numpy()[layers.op_entry], False)
    phase[is_input[op]] = names.index("input")
    phase[gaps.position != POSITIONS.index("between")] = names.index("border")
    return names, phase


def _launch(trace: Trace, kernel: Int64) -> tuple[Float64, Float64]:
    """How long the calls took that launched some kernels, and their queue depth; NaN unknown."""
    call_ps, queued = launch_calls(trace, np.maximum(kernel, 0))
    is_known = (kernel >= 0) & (call_ps >= 0)
    return np.where(is_known, call_ps / PS_PER_US, np.nan), np.where(is_known & (queued >= 0), queued, np.nan)


def _texts(labels: Sequence[str], codes: Int64) -> pd.Series:
    """A column of some labels, "" for the code -1."""
    used, place = np.unique(codes, return_inverse=True)
    texts = np.array([labels[code] if code >= 0 else "" for code in used.tolist()], dtype=object)
    return text_column(texts[place])
