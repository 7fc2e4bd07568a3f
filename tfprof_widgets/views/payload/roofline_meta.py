"""The work on GPUs and their peaks -> their part of the meta object of a pack; `js/src/views/roofline_chart` draws it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...analysis.base.compute_units import N_UNITS, UNIT_TEXTS, ComputeUnit
from ...analysis.base.units import PS_PER_US
from ...analysis.results import Results
from ...trace.trace import Float64
from .plain import plain

_MOST_OPS = 5000
"""Those with most time: a chart of more shows nothing more."""
_KINDS = [UNIT_TEXTS[kind] for kind in range(N_UNITS)]
_COLUMNS = ["name", "layer", "time_us", "time_ratio", "occurrences", "flops", "bytes"]


def roofline_list(results: Results) -> list[dict[str, Any]]:
    """One object: peaks, what each step computed, and columns of ops, those with most time first.

    None where no compiled program ran: of other ops nobody knows the bytes, so that they have no place in the chart.
    """
    if results.op_shares.is_identity:
        return []
    roofline = results.roofline
    frame, units = roofline.frame.iloc[:_MOST_OPS], roofline.units[:_MOST_OPS]
    n_units = int(units.max(initial=-1)) + 1
    op, work_ps = roofline.work["op"].to_numpy(np.int64), roofline.work["ps"].to_numpy(np.float64)
    inside = np.append(results.is_averaged, False)[results.steps.event_step[roofline.work["event"]]]
    n_parts = np.bincount(op, minlength=n_units)[units]
    ops = {
        **{name: frame[name].tolist() for name in _COLUMNS},
        "kind": [_KINDS.index(text) if text else -1 for text in frame["unit"].tolist()],
        "unit": units.tolist(),
        "op": roofline.shares.dominant[units].tolist(),
        "parts": n_parts.tolist(),
        "step_time_us": (np.bincount(op[inside], work_ps[inside], n_units)[units] / PS_PER_US).tolist(),
        "step_parts": np.bincount(op[inside], minlength=n_units)[units].tolist(),
        "peak": (frame["flop_rate_tflops"] / frame["mfu_ratio"] * 1e12).tolist(),
    }
    steps = roofline.by("step")
    found = {
        "kinds": [
            {
                "text": text,
                "peak": _most(roofline.peaks[:, kind])
                if kind != ComputeUnit.VECTOR_64 or kind in ops["kind"]
                else None,
            }
            for kind, text in enumerate(_KINDS)  # hardly any program computes in float64: its roof would be in the way
        ],
        "bytes_per_s": _most(roofline.peaks[:, -1]),
        "ops": ops,
        "n_ops": len(roofline.units),
        "step_flops": steps["flops"].tolist(),
        "step_mfu": steps["mfu_ratio"].tolist(),
    }
    return [plain(found)]


def _most(peaks: Float64) -> float:
    """Of the devices: a chart of several kinds has the roofs of the fastest."""
    return float(np.fmax.reduce(peaks, initial=np.nan))
