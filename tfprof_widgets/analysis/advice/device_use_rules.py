"""How much of the steps devices compute -> advice where that is little and no other rule says why, or uneven."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..base.stretches import Stretches
from ..base.units import PS_PER_MS
from ..base.wording import number, percent, plural
from ..steps.averaged_steps import MIN_STEPS
from ..steps.step_spans import SpanType
from ..xla.command_buffers import graphs_switched_off
from .advice import MEDIUM_GAIN, Advice, advise
from .call_fixes import LARGER_BATCH, compiled
from .fix import Fix

if TYPE_CHECKING:
    from ...trace.trace import Float64
    from .run import Run

LOW = 0.5
"""Below this share of the step the utilisation of a device is low. Source: AcceleratorUtilizationChecker in
tensorflow/core/profiler/internal/advisor/accelerator_utilization_checker.h."""
UNEVEN = 0.5
"""A device that computes for less than this part of what the busiest of its kind does has not its part of the work."""
_COMPUTE = (SpanType.COMPUTE_16, SpanType.COMPUTE_32)


def low_utilisation(run: Run) -> Iterator[Advice]:
    """The devices compute for less than half of the step, and no other rule says why; nor does a profiler that had XLA launch
    kernels one by one.

    Gain: the share of the step time in which no device computes nor waits for data, which no other batch changes.
    """
    steps = run.steps
    busy = steps.ratio("device_compute")
    if not steps.device_computes or busy >= LOW or uneven(run) is not None or graphs_switched_off(run.trace).n_graphs:
        return
    gain = 1 - busy - (run.wait.ratio if run.wait.is_long else 0.0)
    if gain < MEDIUM_GAIN:
        return
    busy_ms = steps.ms("device_compute")
    yield advise(
        "low_utilisation",
        f"The {steps.device} computes for {number(busy_ms)} of {number(steps.mean_ms)} ms a step: its utilisation is "
        f"{percent(busy)}.",
        evidence={
            "busy_ms": busy_ms,
            "step_time_ms": steps.mean_ms,
            "utilisation_ratio": busy,
            "estimate": "all of the time in which it neither computes nor waits for data",
        },
        fix=compiled(run).also(LARGER_BATCH) if run.can_be_compiled else Fix(LARGER_BATCH),
        selection=steps.usual(steps.category_ms("device_compute"), view="timeline"),
        gain_ratio=gain,
    )


def uneven_devices(run: Run) -> Iterator[Advice]:
    """Some devices of a host compute far less than the busiest.

    Gain: of the share of the step in which the busiest computes, what an even distribution would take off it.
    """
    found = uneven(run)
    if found is None:
        return
    names, busy_ms = found
    steps = run.steps
    top, least = int(busy_ms.argmax()), int(busy_ms.argmin())
    gain = (float(busy_ms[top]) - float(busy_ms.mean())) / steps.mean_ms
    yield advise(
        "uneven_devices",
        f"{names[top]} computes for {number(float(busy_ms[top]))} ms a step, {names[least]} for "
        f"{number(float(busy_ms[least]))} ms: {plural(len(names), 'device')} share the work unevenly.",
        evidence={
            "busy_ms": float(busy_ms[top]),
            "least_busy_ms": float(busy_ms[least]),
            "step_time_ms": steps.mean_ms,
            "n_devices": len(names),
            "device": names[least],
        },
        fix=Fix(
            "Make and compile the model in the scope() of a tf.distribute.MirroredStrategy: each device gets its "
            "part of every batch."
        ),
        selection=steps.usual(steps.category_ms("device_compute"), view="timeline"),
        gain_ratio=gain,
    )


def uneven(run: Run) -> tuple[list[str], Float64] | None:
    """Names of devices and what each computes a step in ms, where that differs much; None where it does not."""
    steps, trace = run.steps, run.trace
    if not steps.has_device or len(steps) < MIN_STEPS or len(set(steps.frame["host"])) > 1:
        return None
    of_line = np.array([line.plane for line in trace.lines], np.int64)
    is_compute = np.isin(run.facts.steps.span_type, _COMPUTE) & (run.entry >= 0)
    rows = np.flatnonzero(is_compute)
    plane = of_line[trace.line_id[rows]]
    devices = [i for i, one in enumerate(trace.planes) if one.is_device and (plane == i).any()]
    busy = np.array([_busy_ms(run, rows[plane == i]) for i in devices])
    if len(devices) < 2 or busy.min() >= UNEVEN * busy.max():
        return None
    if busy.max() - busy.mean() < MEDIUM_GAIN * steps.mean_ms:
        return None
    return [trace.planes[i].name.removeprefix("/device:") for i in devices], busy


def _busy_ms(run: Run, rows: np.ndarray) -> float:
    """How long any of some events runs in a step."""
    computing = Stretches.of(run.trace.start_ps[rows], run.trace.ends(rows))
    inside = computing.within(run.steps.start_ps, run.steps.end_ps)
    return float(inside.mean()) / PS_PER_MS
