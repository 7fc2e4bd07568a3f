"""`RunDiff` -> the summary: the few figures of both runs that a reader compares first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...trace.trace import Bool, Float64
from ..columns.registry import TABLES
from .quantities import Quantities
from .row_changes import UNCHANGED, Scale, row_changes
from .rows import PEAK

if TYPE_CHECKING:
    from .op_sums import OpSums
    from .run_diff import RunDiff

COLUMNS = TABLES["diff(a, b).summary"].names


def summarize(diff: RunDiff, scale: Scale) -> pd.DataFrame:
    """Compare the runs as wholes.

    Args:
        diff: the two runs.
        scale: what rows in ms are judged by.

    Returns:
        `n_steps` (averaged ones), `step_time` (median), `host_op_time`, `device_op_time`, `input_time` (typical, per step;
        of the whole captures where a run has no steps), `op_executions` and `peak_memory` (of the allocator with the
        highest peak); what neither run has is left out. Where both have steps also `batch_size` (samples a step),
        `samples_per_second` and `time_per_sample_us` (by the mean step time: a step that stalls costs samples, too), NaN
        where tf.data does not tell the size of a batch. `noise` is NaN where it is not known or has no meaning.
    """
    steps = diff.step_times
    rows: list[tuple[object, ...]] = [_row("n_steps", "steps", steps.n_a, steps.n_b, np.nan, is_beyond=False)]
    if diff.is_per_step:
        rows.append(_row("step_time", "ms", steps.a_ms, steps.b_ms, steps.noise_ms, is_beyond=steps.is_beyond_noise))
        rows += _samples(diff)
    per_step = " a step" if diff.is_per_step else ""
    sums_a, sums_b = diff.op_sums
    for metric, is_device in (("host_op_time", False), ("device_op_time", True)):
        rows += _whole(diff, metric, f"ms{per_step}", is_device, scale)
    rows += _input(diff.categories)
    n_a, n_b = float(sums_a.count.sum()), float(sums_b.count.sum())
    rows.append(_row("op_executions", f"executions{per_step}", n_a, n_b, np.nan, is_beyond=False))
    rows += _peak(diff.memory)
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"a": np.float64, "b": np.float64, "noise": np.float64})


def _row(metric: str, unit: str, a: float, b: float, noise: float, *, is_beyond: bool) -> tuple[object, ...]:
    return metric, unit, a, b, b - a, b / a if a else np.nan, noise, is_beyond


def _samples(diff: RunDiff) -> list[tuple[object, ...]]:
    samples = diff.samples
    a_us, b_us = samples.us
    a_hz, b_hz = (1e6 / us if us else np.nan for us in (a_us, b_us))
    us_noise, hz_noise = samples.noise_parts
    is_beyond = samples.is_beyond_noise
    return [
        _row("batch_size", "samples a step", samples.a, samples.b, np.nan, is_beyond=False),
        _row("samples_per_second", "samples/s", a_hz, b_hz, a_hz * hz_noise, is_beyond=is_beyond),
        _row("time_per_sample_us", "us", a_us, b_us, a_us * us_noise, is_beyond=is_beyond),
    ]


def _whole(diff: RunDiff, metric: str, unit: str, is_device: bool, scale: Scale) -> list[tuple[object, ...]]:
    """The own time of all ops of one side; as they ran beside one another it may be longer than the step."""
    one, other = (
        _sum_of(sums, np.asarray(facts.op_shares.is_device) == is_device, is_device)
        for sums, facts in zip(diff.op_sums, (diff.a, diff.b), strict=True)
    )
    if not (one.per_cell.any() or other.per_cell.any()):
        return []
    return _rows(row_changes(one, other, np.zeros(1, np.int64), scale), metric, unit)


def _sum_of(sums: OpSums, chosen: Bool, is_device: bool) -> Quantities:
    total: Float64 = sums.self_ms[chosen].sum(axis=0, keepdims=True)
    return Quantities.of(
        pd.DataFrame({"metric": ["sum"]}, dtype=object),
        [("sum",)],
        total,
        seen=np.ones(1),
        is_device=np.array([is_device]),
    )


def _rows(frame: pd.DataFrame, metric: str, unit: str) -> list[tuple[object, ...]]:
    return [
        _row(metric, unit, a, b, noise, is_beyond=state not in UNCHANGED)
        for a, b, noise, state in zip(*(frame[key].tolist() for key in ("a", "b", "noise", "state")), strict=True)
    ]


def _input(categories: pd.DataFrame) -> list[tuple[object, ...]]:
    frame = categories[categories["category"] == "input"]
    frame = frame.rename(columns={"a_ms": "a", "b_ms": "b", "noise_ms": "noise"})
    return _rows(frame, "input_time", "ms a step")


def _peak(memory: pd.DataFrame) -> list[tuple[object, ...]]:
    peaks = memory[memory["metric"] == PEAK]
    if peaks.empty:
        return []
    highest = peaks.iloc[[int(peaks[["a", "b"]].max(axis=1).to_numpy().argmax())]]
    return _rows(highest, "peak_memory", "bytes")
