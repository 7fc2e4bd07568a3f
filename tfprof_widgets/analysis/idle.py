"""Steps -> the stretches in which a device runs no kernel, each charged to its cause: the `idle` table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..trace.arrays import Bool, Float64, Int32, Int64, UInt8
from ..trace.trace import Trace
from .common import PS_PER_MS, PS_PER_US, Stretches, dense_codes, label_column, sum_by, typed_table
from .events import compute_launches, plane_labels
from .hosts.hosts import is_accelerator
from .layers.layers import PHASES, Layers
from .ops.executions import Occurrences
from .ops.kernels import Kernels
from .ops.shares import OpShares
from .steps.categories import (
    CATEGORY_CODE,
    PART_OF_TYPE,
    STEP_CATEGORIES,
    DeviceWork,
    HostWork,
    Part,
    charge,
    exchange_pieces,
    on_core_line,
    on_duty,
    overlaps,
    waits_of,
)
from .steps.spans import Pieces, StepTable, device_events, on_stream, resolve
from .steps.steps import TracedSteps, host_work, table_of
from .table import Table, table

IDLE: Table = table(
    """
    idle: a gap in the work of a device, in a row for each thing that it waited for, by device, then time
        gap          int    its number
        device       text   with the host in front where there are several
        step         int    row of the steps table, -1 between steps
        position     text   `before`, `between` or `after` the kernels of the step; `outside` of steps
        start_ms     float  after the trace origin, when the device began to wait for that
        duration_us  float  how long it waited for that
        cause        text   what it waited for, as the columns of the steps table are called
        gap_us       float  how long the whole gap is
        kernel       text   what the device runs next
        op           text   that it is part of, "" where the trace does not tell
        layer        text   of the op
        phase        text   of it: `forward`, `backward`, `optimizer`, `input`, `other`; `border` at the edges of a step
        launch_us    float  how long the call took that launched it, NaN where the trace does not tell
        queue_depth  float  kernels that the device had left when that call began, NaN where the trace does not tell

    Within a step the causes add up to what `steps` has of them, for each device. Empty where nothing ran on a
    device, and in a reduced profile (not `has_events`): `prof.host(name).idle` has that of one host.
    """,
    of_facts=lambda facts: compute_idle(facts.trace, facts.steps, facts.op_shares, facts.event_op, facts.layers),
    of_hosts=lambda _: typed_table([], IDLE.types),
    file="idle",
)

KERNEL_LAUNCHES: Table = table(
    """
    kernel_launches: a kernel as in the kernels table, in its order
        rank           int    the row there, from 1
        name           text   its C++ signature
        op_name        text   the framework op that launched it, empty where the trace names none
        occurrences    int    how often it was executed
        calls          int    how often the trace holds the call that launched it
        launch_us      float  mean time of these calls, NaN without
        queue_depth    float  kernels that the device had left when such a call began, on average
        starved_ratio  float  part of the calls that found the device without any

    Launching a kernel takes the host some microseconds. Where `starved_ratio` is high the device waits for that:
    kernels are too small, or too many. Empty where nothing ran on a GPU, and in a reduced profile.
    """,
    of_facts=lambda facts: compute_kernel_launches(facts.trace, facts.kernels),
    of_hosts=lambda _: typed_table([], KERNEL_LAUNCHES.types),
    file="kernel_launches",
)


def kernel_events(trace: Trace) -> Int64:
    """The kernels, and CUDA graphs, that ran on streams of devices, without copies and what fills memory; rows of the trace."""
    details = trace.string_stat("kernel_details")
    says_nothing = details == trace.string_ids.get("", -2)
    is_kernel = ((details >= 0) & ~says_nothing) | trace.has_stat("cuda_graph_exec_id")
    return np.flatnonzero(on_stream(trace) & is_kernel & (trace.duration_ps > 0))


def launch_calls(trace: Trace, event: Int64) -> tuple[Int64, Int64]:
    call = compute_launches(trace).call_of(event)
    kernels = kernel_events(trace)
    both = np.concatenate([kernels, event])
    owner, n = dense_codes(trace.plane_id[both], trace.session_id[both])
    call_ps, queued = np.full(len(event), -1, np.int64), np.full(len(event), -1, np.int64)
    for one in range(n):  # bounded by devices and sessions
        own, wanted = (
            kernels[owner[: len(kernels)] == one],
            np.flatnonzero((owner[len(kernels) :] == one) & (call >= 0)),
        )
        n_before = np.searchsorted(np.sort(trace.start_ps[own]), trace.start_ps[event[wanted]])
        n_done = np.searchsorted(np.sort(trace.ends(own)), trace.start_ps[call[wanted]], side="right")
        call_ps[wanted] = trace.duration_ps[call[wanted]]
        queued[wanted] = np.maximum(n_before - n_done, 0) if len(own) else -1
    return call_ps, queued


def compute_kernel_launches(trace: Trace, kernels: Kernels) -> pd.DataFrame:
    """One row per row of `kernels`, in the same order; means are over the executions whose call is known."""
    frame, n = kernels.frame, len(kernels.frame)
    call_ps, queued = launch_calls(trace, kernels.run_event)
    known = call_ps >= 0
    row, queued = kernels.run_kernel[known], queued[known]
    calls = np.bincount(row, minlength=n)
    share = np.where(calls > 0, 1 / np.maximum(calls, 1), np.nan)
    told = frame[["rank", "name", "op_name", "occurrences"]].assign(
        calls=calls.astype(np.int64),
        launch_us=np.bincount(row, call_ps[known] / PS_PER_US, n) * share,
        queue_depth=np.bincount(row, queued, n) * share,
        starved_ratio=np.bincount(row, queued == 0, n) * share,
    )
    return told[list(KERNEL_LAUNCHES.names)]


POSITIONS = ("before", "between", "after", "outside")
_BEFORE, _BETWEEN, _AFTER, _OUTSIDE = range(len(POSITIONS))


@dataclass(frozen=True, eq=False, repr=False)
class Gaps:
    """Gaps of devices, by device, then time, in a row for each cause; columns of equal length."""

    gap: Int64
    plane: Int64
    step: Int64
    """Row of the steps table, -1 between steps."""
    position: Int64
    """Index into `POSITIONS`."""
    cause: Int64
    """What the device waited for, an index into `STEP_CATEGORIES`."""
    start_ps: Int64
    """When it began to wait for that."""
    duration_ps: Int64
    """For how long it waited for that, within the gap."""
    gap_ps: Int64
    kernel: Int64
    """What ends the gap, a row of the trace; -1 for nothing."""

    def __len__(self) -> int:
        return len(self.gap)


def find_gaps(trace: Trace, types: UInt8, table: StepTable, work: HostWork) -> Gaps:
    """Find the gaps of all devices that ran anything; a copy between host and device is a cause of a gap and ends none."""
    events = device_events(trace, types)
    device, n = dense_codes(trace.plane_id[events], trace.session_id[events])
    launches = DeviceWork.of(trace, events, device)
    start, end, parts = trace.start_ps[launches.event], trace.ends(launches.event), PART_OF_TYPE[types[launches.event]]
    windows = _gap_windows(trace, table, launches, n)
    pair, span = overlaps(windows.device, windows.start_ps, windows.end_ps, launches.owner, start, end)
    limits = {"step_start_ps": windows.start_ps, "step_end_ps": windows.end_ps}
    pieces = resolve(pair, start[span], end[span], parts[span], **limits)
    return _gaps(trace, pieces, windows, launches, launches.where(_is_kernel(parts)), work)


class _Gaps(NamedTuple):
    """Time in steps and between them, by device, then start."""

    device: Int64
    """The owner of its work."""
    step: Int64
    """-1 between steps."""
    start_ps: Int64
    end_ps: Int64


def _gap_windows(trace: Trace, table: StepTable, launches: DeviceWork, n: int) -> _Gaps:
    """The windows of `n` devices, each in one session."""
    found = [_Gaps(*(np.empty(0, np.int64),) * 4)]
    for device in range(n):  # bounded by devices and sessions
        events = launches.event[slice(*np.searchsorted(launches.owner, [device, device + 1]))]
        session, first_ps, last_ps = trace.session_id[events[0]], trace.start_ps[events[0]], trace.ends(events).max()
        step, start, end = _of_session(table, int(session), int(first_ps), int(last_ps))
        found.append(_Gaps(np.full(len(step), device), step, start, end))
    return _Gaps(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _of_session(table: StepTable, session: int, first_ps: int, last_ps: int) -> tuple[Int64, Int64, Int64]:
    """Step, start and end of a session's steps and, with step -1, of what lies between; overlaps are the first step's."""
    steps = np.flatnonzero(table.session == session)
    steps = steps[np.argsort(table.start_ps[steps], kind="stable")]
    begins, high = table.start_ps[steps], table.end_ps[steps]
    reach = np.maximum.accumulate(high)
    low = np.append(begins[:1], np.maximum(begins[1:], reach[:-1]))
    between = np.maximum(first_ps, np.append(first_ps, reach)), np.minimum(last_ps, np.append(begins, last_ps))
    step = np.append(steps, np.full(len(reach) + 1, -1))
    start, end = np.append(low, between[0]), np.append(high, between[1])
    order = np.argsort(start, kind="stable")
    order = order[end[order] > start[order]]
    return step[order], start[order], end[order]


def _is_kernel(parts: UInt8) -> Bool:
    """Which parts are work of a device that leaves no gap."""
    return np.asarray(parts >= Part.DEVICE_TO_DEVICE)


def _gaps(
    trace: Trace, pieces: Pieces, windows: _Gaps, launches: DeviceWork, kernels: DeviceWork, work: HostWork
) -> Gaps:
    window = pieces.step
    is_busy = _is_kernel(pieces.span_type)
    begins = ~is_busy & (np.append(True, is_busy[:-1]) | (window != np.append(-1, window[:-1])))[: len(window)]
    rows = np.flatnonzero(~is_busy)
    gap = np.cumsum(begins)[rows] - 1
    first = rows[np.flatnonzero(np.diff(gap, prepend=-1))]
    last = rows[np.flatnonzero(np.diff(gap, append=len(rows) + 1))]
    start, end, of_window = pieces.start_ps[first], pieces.end_ps[last], window[first]
    step, device = windows.step[of_window], windows.device[of_window]
    n_before = np.cumsum(is_busy)
    n_busy = np.bincount(window, is_busy, minlength=len(windows.step)).astype(np.int64)
    done = np.append(0, np.cumsum(n_busy))[of_window]
    is_before, is_after = n_before[first] == done, n_before[first] == done + n_busy[of_window]
    position = np.where(is_before, _BEFORE, np.where(is_after, _AFTER, _BETWEEN))
    position[step < 0] = _OUTSIDE
    plane = trace.plane_id[launches.event[np.searchsorted(launches.owner, device)]]
    wait, cause, start_ps, duration_ps = _causes(trace, pieces, rows, windows, launches, work)
    code = gap[wait] * len(STEP_CATEGORIES) + cause
    order = np.lexsort((start_ps, code))
    begin = np.flatnonzero(np.diff(code[order], prepend=-1))
    own = code[order][begin] // len(STEP_CATEGORIES)
    return Gaps(
        gap=own,
        plane=plane.astype(np.int64)[own],
        step=step[own],
        position=position[own],
        cause=cause[order][begin],
        start_ps=start_ps[order][begin],
        duration_ps=np.add.reduceat(duration_ps[order], begin),
        gap_ps=(end - start)[own],
        kernel=np.append(kernels.event, -1)[kernels.after(trace, device, end)][own],
    )


def _causes(
    trace: Trace, pieces: Pieces, rows: Int64, windows: _Gaps, launches: DeviceWork, work: HostWork
) -> tuple[Int64, ...]:
    """What some pieces of gaps are charged to: of each part the number of its piece, the category, begin and length."""
    window, start, end = pieces.step[rows], pieces.start_ps[rows], pieces.end_ps[rows]
    idle, copy = (np.flatnonzero((pieces.span_type[rows] == Part.OTHER) == is_idle) for is_idle in (True, False))
    following = launches.after(trace, windows.device[window[idle]], end[idle])
    step = windows.step[window[idle]]
    waits = waits_of(trace, launches, following, step=step, start_ps=start[idle], end_ps=end[idle])
    told = charge(work, waits)
    return (
        np.append(copy, idle[waits.stretch[told.step]]),
        np.append(CATEGORY_CODE[pieces.span_type[rows[copy]]], CATEGORY_CODE[told.span_type]).astype(np.int64),
        np.append(start[copy], told.start_ps),
        np.append((end - start)[copy], told.end_ps - told.start_ps),
    )


def compute_idle(
    trace: Trace, steps: TracedSteps, op_shares: OpShares, event_op: Int32, layers: Layers
) -> pd.DataFrame:
    """The gaps of each device, by device, then time; empty where nothing ran on one."""
    table, types = table_of(steps), steps.span_type
    work = host_work(trace, steps.host_part, table, exchange_pieces(trace, types, table))
    gaps = find_gaps(trace, types, table, work)
    if not len(gaps):
        return typed_table([], IDLE.types)
    op = np.append(event_op, -1)[gaps.kernel]
    launch_us, depth = _launch(trace, gaps.kernel)
    return pd.DataFrame(
        {
            "gap": gaps.gap,
            "device": label_column(plane_labels(trace), gaps.plane),
            "step": gaps.step,
            "position": label_column(POSITIONS, gaps.position),
            "start_ms": gaps.start_ps / PS_PER_MS,
            "duration_us": gaps.duration_ps / PS_PER_US,
            "cause": label_column(STEP_CATEGORIES, gaps.cause),
            "gap_us": gaps.gap_ps / PS_PER_US,
            "kernel": label_column(trace.strings, np.append(trace.name_id, -1)[gaps.kernel]),
            "op": label_column(op_shares.name, op),
            "layer": label_column(layers.entries["layer"].tolist(), np.append(layers.op_entry, -1)[op]),
            "phase": label_column(*_phases(gaps, layers, op)),
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


def idle_times(trace: Trace, occurrences: Occurrences) -> dict[str, int]:
    """For how many ps something ran, and could have run, on devices, host threads and on duty; see `Idle`."""
    devices = trace.on_planes([is_accelerator(plane) for plane in trace.planes])
    stream = devices & on_stream(trace)
    ops, steps = on_core_line(trace, "XLA Ops"), on_core_line(trace, "Steps")
    modules = on_core_line(trace, "XLA Modules")
    on_tpu = trace.on_planes([plane.name.startswith("/device:TPU") for plane in trace.planes])
    kernels = stream & ~on_tpu
    chosen = ~occurrences.lane_is_device
    window = (occurrences.lane_last_ps - occurrences.lane_first_ps)[chosen]
    busy = sum_by(occurrences.lane, occurrences.self_ps, len(chosen))[chosen]
    found = {
        "device": _busy_and_window(trace, kernels | ops, kernels | ops | steps),
        "host": (int(busy.sum()), int(np.maximum(window, busy).sum())),
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
