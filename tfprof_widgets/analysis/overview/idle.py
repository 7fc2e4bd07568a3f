"""Trace -> the share of time in which devices and host threads ran no op.

Source: semantics 4.1.6, 4.2, 10.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...trace.trace import Bool, Int64, Trace
from ..base.matching import dense_codes, sum_by
from ..base.stretches import Stretches
from ..hosts.environment import is_accelerator
from ..ops.op_occurrences import Occurrences
from ..steps.step_spans import on_stream
from ..steps.tpu_categories import on_core_line, on_duty


@dataclass(frozen=True)
class Idle:
    """Shares in [0, 1]; NaN where there is nothing to tell of."""

    device_idle_ratio: float
    """Share of the time between the first and the last event of a device, window by window and over all devices that ran
    anything, in which nothing ran on it: neither a kernel nor a copy on any stream, on a TPU no op of its TensorCore."""
    host_idle_ratio: float
    """Of the host threads that run ops the share of the time between first and last op in which they ran none, summed
    over threads: most of a pool of threads is idle most of the time, so this is high in a healthy program too."""
    device_duty_cycle_ratio: float
    """On a TPU the share of time in which its TensorCores did something else than waiting for the host."""


def compute_idle(trace: Trace, occurrences: Occurrences) -> Idle:
    """How idle devices and host were.

    Differs from XProf: GPUs have an idle share too, for which streams that run at once count once; the duty cycle is told
    by TensorCore, not by chip.
    """
    return idle_of(idle_times(trace, occurrences))


def idle_of(times: Mapping[str, int]) -> Idle:
    """The shares, of what `idle_times` tells of one trace or of the sums of several."""

    def ratio(kind: str) -> float:
        busy, window = times[f"{kind}_busy"], times[f"{kind}_window"]
        return busy / window if window else float("nan")

    return Idle(
        device_idle_ratio=1 - ratio("device"), host_idle_ratio=1 - ratio("host"), device_duty_cycle_ratio=ratio("duty")
    )


def idle_times(trace: Trace, occurrences: Occurrences) -> dict[str, int]:
    """For how many ps something ran on devices, on host threads and on duty, such as `device_busy`, and could have run, such as
    `device_window`; see `Idle`."""
    devices = trace.on_planes([is_accelerator(plane) for plane in trace.planes])
    stream = devices & on_stream(trace)
    ops, steps = on_core_line(trace, "XLA Ops"), on_core_line(trace, "Steps")
    modules = on_core_line(trace, "XLA Modules")
    on_tpu = trace.on_planes([plane.name.startswith("/device:TPU") for plane in trace.planes])
    kernels = stream & ~on_tpu
    found = {
        "device": _busy_and_window(trace, kernels | ops, kernels | ops | steps),
        "host": _host_busy_and_window(occurrences),
        "duty": _busy_and_window(trace, on_duty(trace), ops | modules),
    }
    parts = ("busy", "window")
    return {f"{kind}_{part}": ps for kind, both in found.items() for part, ps in zip(parts, both, strict=True)}


def _busy_and_window(trace: Trace, busy: Bool, window: Bool) -> tuple[int, int]:
    """Time covered by `busy` events, and from the first to the last `window` event, by device and session."""
    rows = np.flatnonzero(window)
    if not len(rows):
        return 0, 0
    owner, n = dense_codes(trace.plane_id[rows], trace.session_id[rows])
    first, last = np.full(n, np.iinfo(np.int64).max), np.full(n, np.iinfo(np.int64).min)
    np.minimum.at(first, owner, trace.start_ps[rows])
    np.maximum.at(last, owner, trace.ends(rows))
    inside = busy[rows]
    covered = _covered(owner[inside], trace.start_ps[rows[inside]], trace.ends(rows[inside]), first)
    return covered, int((last - first).sum())


def _covered(owner: Int64, start: Int64, end: Int64, first: Int64) -> int:
    """Length of the union of spans, owner by owner."""
    if not len(owner):
        return 0
    # Owners are laid out one after another, so that a running maximum never reaches from one into the next.
    room = int((end - first[owner]).max()) + 1
    low, high = start - first[owner] + owner * room, end - first[owner] + owner * room
    stretches = Stretches.of(low, high)
    return int((stretches.end - stretches.start).sum())


def _host_busy_and_window(occurrences: Occurrences) -> tuple[int, int]:
    chosen = ~occurrences.lane_is_device
    window = (occurrences.lane_last_ps - occurrences.lane_first_ps)[chosen]
    busy = sum_by(occurrences.lane, occurrences.self_ps, len(chosen))[chosen]
    return int(busy.sum()), int(np.maximum(window, busy).sum())
