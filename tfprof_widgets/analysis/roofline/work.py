"""Kernels of GPUs, and copies within their memory -> what each computes and moves, and how long that takes at least.

Source: semantics 19.1-19.3.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...trace.trace import Float64, Int32, Trace, UInt8
from ..base.compute_units import N_UNITS, ComputeUnit, on_tensor_cores
from ..ops.op_occurrences import Occurrences
from ..steps.step_spans import SpanType
from .peaks import peak_table
from .widths import of_other_width

_PS_PER_S = 1e12
UNIT_PS = [f"unit_{unit}_ps" for unit in range(N_UNITS)]
"""Columns: the time on each `ComputeUnit`."""


def work_of(trace: Trace, occurrences: Occurrences, flops: Float64, n_bytes: Float64, span_type: UInt8) -> pd.DataFrame:
    """The work of each kernel, and of each copy within a device's memory, that ran for an op.

    Args:
        trace: the trace.
        occurrences: the executions.
        flops: for each unit of `occurrences` the float operations of one execution, NaN where not known.
        n_bytes: the bytes, likewise.
        span_type: for each event its `SpanType`: copies from and to a host, and what devices exchange, are bound by neither
            roof, and left out.

    Returns:
        `op` (row of the table of units) and `event`, and sums that are 0 where nothing is known: `ps`; `runs`, the part of
        an execution that it is; as parts of those of its execution `flops`, `bytes`, `peak_ps` (the time that its fastest
        units need for `flops` at their peak), `least_ps` (the time that the device needs for both) and `computing_ps`
        (`least_ps` where that is for computing); kernels on other units, which lay out or add up, do none of it. `flops_ps`,
        `bytes_ps`, `known_ps`, `peaked_ps`, `judged_ps` are the `ps` of what flops, bytes, both, `peak_ps` and `least_ps`
        are known of; `cached_ps` of what moved more bytes than the memory could have, of which `least_ps` is not told;
        `UNIT_PS` by `ComputeUnit`.
    """
    is_gpu = trace.on_planes([plane.name.startswith("/device:GPU:") for plane in trace.planes])
    is_work = is_gpu & ~np.isin(span_type, (SpanType.HOST_TO_DEVICE, SpanType.DEVICE_TO_HOST, SpanType.COLLECTIVES))
    rows = np.flatnonzero(is_work[occurrences.event])
    op, execution = occurrences.op[rows].astype(np.int64), occurrences.execution[rows]
    ps = occurrences.duration_ps[rows].astype(np.float64)
    plane = trace.plane_id[occurrences.event[rows]]
    unit = occurrences.kernel_unit[rows]
    table = peak_table(trace)
    told = np.where(unit < N_UNITS, table[plane, np.minimum(unit, N_UNITS - 1)], np.nan)
    is_narrow, is_other = of_other_width(trace, occurrences, rows)
    is_other &= unit != ComputeUnit.VECTOR_64
    told[is_narrow | is_other] = np.nan
    best = np.full(len(occurrences.name), np.nan)
    np.fmax.at(best, op, told)
    best[op[is_other | (on_tensor_cores(unit) & np.isnan(told))]] = np.nan  # the rest of such an op does no work
    best = best[op]
    part = _parts(execution, np.where(np.isnan(best) | (told == best), ps, 0.0))
    own_flops, own_bytes = flops[op] * part, n_bytes[op] * part
    peak_ps, moving_ps = own_flops / best * _PS_PER_S, own_bytes / table[plane, -1] * _PS_PER_S
    peak_ps[own_flops == 0] = 0.0
    # An op is judged by its mean: single executions of one that its memory just suffices for may be faster.
    taken, computing, moving = (np.bincount(op, values)[op] for values in (ps, peak_ps, moving_ps))
    is_cached, is_beyond = moving > taken, computing > taken
    own_flops[is_beyond] = peak_ps[is_beyond] = np.nan
    least_ps = np.where(is_cached | is_beyond, np.nan, np.maximum(peak_ps, moving_ps))
    columns = {
        "ps": ps,
        "runs": 1.0 / np.bincount(execution)[execution],
        "flops": own_flops,
        "bytes": own_bytes,
        "peak_ps": peak_ps,
        "least_ps": least_ps,
        "computing_ps": np.where(peak_ps > moving_ps, least_ps, np.nan),
        "flops_ps": np.where(np.isnan(own_flops), np.nan, ps),
        "bytes_ps": np.where(np.isnan(own_bytes), np.nan, ps),
        "known_ps": np.where(np.isnan(own_flops + own_bytes), np.nan, ps),
        "peaked_ps": np.where(np.isnan(peak_ps), np.nan, ps),
        "judged_ps": np.where(np.isnan(least_ps), np.nan, ps),
        "cached_ps": np.where(is_cached & ~is_beyond, ps, np.nan),
        **{name: np.where(unit == number, ps, 0.0) for number, name in enumerate(UNIT_PS)},
    }
    return pd.DataFrame({"op": op, "event": occurrences.event[rows], **columns}).fillna(0.0)


def _parts(execution: Int32, weight: Float64) -> Float64:
    """For each row its part of its execution by weight; even ones where none has any."""
    whole = np.bincount(execution, weight)[execution]
    with np.errstate(invalid="ignore"):
        return np.where(whole > 0, weight / whole, 1.0 / np.bincount(execution)[execution])
