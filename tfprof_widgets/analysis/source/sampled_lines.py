"""Samples of the user's line, and calls from it -> how long the program was at each, and which runs each type of eager op."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...trace.source_map import SourceMap
from ...trace.stat_shapes import ranges
from ...trace.trace import Bool, Int64, Trace
from ..base.table_types import Types, typed_table

UNKNOWN_LINE = -1
SEVERAL_LINES = -2
MIN_SAMPLES = 2
"""Fewer samples within the executions of an op type say nothing of where it is called."""
MIN_SHARE = 0.8
"""A type is a line's when so many of its samples are; in the table it is one row, however many lines run it."""

_LINE_TYPES: Types = {
    "file": object,
    "line": int,
    "function": object,
    "n_samples": int,
    "time_ms": float,
    "time_ratio": float,
}
_EAGER = "EagerLocalExecute: "
"""The event in which the user's thread has an eager op executed; the op's type stands behind it."""


def sampled_lines(trace: Trace, source_map: SourceMap) -> pd.DataFrame:
    """For how long the user's thread was at each line.

    Returns:
        `file, line, function, n_samples, time_ms, time_ratio`, the longest first; a sample stands for the time to the next
        one of its session, so the times add up to that from the first sample to the last.
    """
    time_ps, inside = _times(trace, source_map)
    if not len(time_ps):
        return typed_table([], _LINE_TYPES)
    frame = source_map.samples["frame"].to_numpy()[inside]
    own_ps = np.append(np.diff(time_ps), 0)
    session = _session_of(trace, time_ps)
    own_ps[np.flatnonzero(np.diff(session))] = 0
    table = source_map.frames.join(source_map.files[["file"]].rename(columns={"file": "path"}), on="file")
    table["path"] = table["path"].astype(object).fillna("")
    known = frame >= 0
    rows = table.iloc[frame[known]][["path", "line", "function"]].rename(columns={"path": "file"})
    rows = rows.assign(n_samples=1, time_ms=own_ps[known] / 1e9)
    lines = rows.groupby(["file", "line"], as_index=False, sort=False).agg(
        {"function": "first", "n_samples": "sum", "time_ms": "sum"}
    )
    whole = lines["time_ms"].sum()
    lines["time_ratio"] = lines["time_ms"] / whole if whole else 0.0
    return lines.sort_values("time_ms", ascending=False, kind="stable", ignore_index=True)


def sampled_frames(trace: Trace, source_map: SourceMap) -> dict[str, int]:
    """For each type of eager op a frame of the source map, `UNKNOWN_LINE` or `SEVERAL_LINES`.

    A sample counts for the type whose execution it fell into. That is unbiased, where the nearest sample in time would
    favour lines that take long. A type that samples tell nothing of is at the line whose calls of Keras' `fit` and its kin it
    ran in, every time.
    """
    if source_map.samples.empty and source_map.calls.empty:
        return {}
    time_ps, inside = _times(trace, source_map)
    ids = [i for i, text in enumerate(trace.strings) if text.startswith(_EAGER)]
    events = np.flatnonzero(np.isin(trace.name_id, ids))
    if not len(events):
        return {}
    frame = _one_per_line(source_map)[source_map.samples["frame"].to_numpy()[inside]]
    first = np.searchsorted(time_ps, trace.start_ps[events])
    n = np.searchsorted(time_ps, trace.start_ps[events] + trace.duration_ps[events]) - first
    sample = ranges(first, n)
    found = pd.DataFrame({"name": np.repeat(trace.name_id[events], n), "frame": frame[sample]})
    counts = found[found["frame"] >= 0].value_counts(["name", "frame"]).reset_index(name="n")
    lines: dict[str, int] = {}
    for name in counts["name"].unique().tolist():  # bounded by the number of op types
        of_type = counts[counts["name"] == name]  # the most frequent line first
        best, n_best, whole = int(of_type["frame"].iloc[0]), int(of_type["n"].iloc[0]), int(of_type["n"].sum())
        if whole >= MIN_SAMPLES:
            kind = trace.strings[name].removeprefix(_EAGER).strip()
            lines[kind] = best if n_best >= MIN_SHARE * whole else SEVERAL_LINES
    return {**_called_lines(trace, source_map, events), **lines}


def _called_lines(trace: Trace, source_map: SourceMap, events: Int64) -> dict[str, int]:
    """The line of each type of eager op of which every execution was in calls from one line."""
    calls = source_map.calls.sort_values("begin_ns", kind="stable")
    if calls.empty:
        return {}
    begin_ps, end_ps = (_after_origin(trace, calls[key].to_numpy()) for key in ("begin_ns", "end_ns"))
    frame = _one_per_line(source_map)[calls["frame"].to_numpy()]
    outer = np.flatnonzero(np.maximum.accumulate(end_ps) == end_ps)  # without those within others
    begin_ps, end_ps, frame = begin_ps[outer], end_ps[outer], frame[outer]
    at = np.searchsorted(begin_ps, trace.start_ps[events], side="right") - 1
    ends = trace.start_ps[events] + trace.duration_ps[events]
    within = (at >= 0) & (begin_ps[at] >= 0) & (ends <= end_ps[at])
    found = pd.DataFrame({"name": trace.name_id[events], "frame": np.where(within, frame[at], UNKNOWN_LINE)})
    first = found.groupby("name", as_index=False)["frame"].agg(["min", "max"])
    same = first[(first["min"] == first["max"]) & (first["min"] >= 0)]
    pairs = zip(same["name"].tolist(), same["min"].tolist(), strict=True)
    return {trace.strings[name].removeprefix(_EAGER).strip(): one for name, one in pairs}


def _times(trace: Trace, source_map: SourceMap) -> tuple[Int64, Bool]:
    """When samples were taken, after the trace origin, and which of them lie in a session of the trace."""
    time_ns = source_map.samples["time_ns"].to_numpy()
    time_ps = _after_origin(trace, time_ns)
    inside = np.zeros(len(time_ps), np.bool_)
    for session in trace.sessions:  # bounded by the number of windows
        inside |= (time_ps >= session.start_ps) & (time_ps < session.stop_ps)
    inside &= bool(trace.origin_ns)
    return time_ps[inside], inside


def _after_origin(trace: Trace, time_ns: Int64) -> Int64:
    """Unix times as times of the trace, in ps; negative for those of another clock."""
    origin_ns = np.int64(min(trace.origin_ns, 2**63 - 1))  # a damaged file may say anything
    far = np.abs(time_ns - origin_ns) > 2**53  # 104 days; no overflow below
    return np.where(far, -1, time_ns - origin_ns) * 1000


def _session_of(trace: Trace, time_ps: Int64) -> Int64:
    starts = np.sort(np.array([session.start_ps for session in trace.sessions], np.int64))
    return np.searchsorted(starts, time_ps, side="right")


def _one_per_line(source_map: SourceMap) -> Int64:
    """For each frame the first one of its line: a lambda and the call that it is written in are one."""
    place = source_map.frames[["file", "line"]]
    first = place.reset_index().groupby(["file", "line"])["index"].transform("min")
    return np.append(first.to_numpy(np.int64), UNKNOWN_LINE)
