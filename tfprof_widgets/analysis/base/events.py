"""Trace -> one DataFrame row per event."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.trace import Float64, Int64, SmallInt, Trace
from .units import PS_PER_NS

EVENTS_COLUMNS = ("plane", "line", "name", "start_ns", "duration_ns", "self_ns", "depth", "step")


def compute_events(trace: Trace, event_step: SmallInt | None = None) -> pd.DataFrame:
    """All events in the order of the trace: by plane, line, start, longest first.

    Args:
        trace: the trace.
        event_step: `Steps.event_step`; without it `step` is -1 throughout.

    Returns:
        Categorical `plane` (with the host in front where there are several), `line` and `name`; `start_ns` (after the trace
        origin), `duration_ns` and `self_ns` as float64, with the picoseconds behind the point (of times beyond the first
        hour, those that a double still holds); `depth`, how many events of the line enclose it; `step`, the row of the
        steps table, -1 for none.
    """
    several_hosts = len({plane.host for plane in trace.planes}) > 1
    planes = [f"{plane.host}{plane.name}" if several_hosts else plane.name for plane in trace.planes]
    lines = [line.display_name or line.name or str(line.id) for line in trace.lines]
    step = np.full(trace.n_events, -1, np.int32) if event_step is None else event_step
    return pd.DataFrame(
        {
            "plane": _categorical(trace.plane_id, planes),
            "line": _categorical(trace.line_id, lines),
            "name": _names(trace),
            "start_ns": _ns(trace.start_ps),
            "duration_ns": _ns(trace.duration_ps),
            "self_ns": _ns(trace.nesting.self_ps),
            "depth": trace.depth.astype(np.int32),
            "step": step.astype(np.int32),
        },
        copy=False,
    )


def _ns(ps: Int64) -> Float64:
    return ps / PS_PER_NS


def _categorical(codes: npt.NDArray[np.integer], labels: list[str]) -> pd.Categorical:
    """Codes into labels that may repeat -> a categorical, whose labels may not."""
    unique = dict.fromkeys(labels)
    place = {label: i for i, label in enumerate(unique)}
    recode = np.array([place[label] for label in labels], np.int32)
    new = recode[codes] if len(labels) else np.empty(0, np.int32)
    return pd.Categorical.from_codes(new, categories=pd.Index(list(unique), dtype=object))


def _names(trace: Trace) -> pd.Categorical:
    used = trace.used_names
    place = np.zeros(max(len(trace.strings), 1), np.int32)
    place[used] = np.arange(len(used))
    names = pd.Index([trace.strings[i] for i in used.tolist()], dtype=object)
    return pd.Categorical.from_codes(place[trace.name_id], categories=names)
